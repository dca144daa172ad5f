import { answers, flags } from "/static/latest.js";
import { api, begin, curve, find, growth, make, pathPart, percent, stranded, whole } from "/static/shell.js";

const name = pathPart(2), base = `/v1/models/${encodeURIComponent(name)}`;
await begin(name);
find("title").textContent = name;
document.title = `${name} · CONQUER`;
const links = { file: "file", preferences: "log?format=preferences", answers: "log?format=answers", ledger: "log?format=ledger", trees: "trees", parserfile: "parser/file" };
for (const [id, path] of Object.entries(links)) find(id).href = `${base}/${path}`;
find("board").href = `/board/${encodeURIComponent(name)}`;
find("table").href = `${base}/log?format=csv`;
find("table").download = `${name}.csv`;
find("answers").download = `${name}.answers.jsonl`;

function weight(share) {
  const line = make("i");
  line.style.width = `${Math.round(share * 100)}%`;
  return make("span", { class: "weight", "aria-hidden": "true" }, line);
}

function words(list, features, largest) {
  list.replaceChildren(...features.map(({ name: word, weight: value }) => make("li", {},
    make("span", { dir: "auto", title: word }, word),
    weight(Math.abs(value) / largest),
    make("output", {}, value.toFixed(3)))));
}

const decimals = (value, places) => (value == null ? "–" : value.toFixed(places));
const row = (...cells) => make("tr", {}, ...cells.map((cell) => (cell instanceof Node ? cell : make("td", { dir: "auto" }, cell))));
const agreed = ({ answers, agreement }) => (answers ? `${percent(agreement)} of ${whole(answers)}` : "–");

function numbers({ settings, summary }, parser) {
  const common = { "seconds an answer": decimals(summary.seconds_per_answer, 1), "agree with themselves": agreed(summary.planted), "agree with others": agreed(summary.planted_between) };
  if (settings.task === "parse") {
    return { "answers learnt": whole(summary.answers.learnt), "right heads (UAS)": percent(parser?.uas), "words asked about": parser ? `${whole(parser.asked)} of ${whole(parser.words)}` : "–", "held-out sentences": whole(parser?.held_out ?? 0), ...common };
  }
  return { "rounds": whole(summary.rounds), "answers learnt": whole(summary.answers.learnt), "of rounds asked": percent(summary.query_rate), "first choice preferred": percent(summary.first_preferred), "regret estimate": decimals(summary.repeated_questions.regret_estimate, 3), ...common };
}

let seen = null;
async function refresh() {
  const model = await api("GET", base), { settings, summary } = model;
  const parse = settings.task === "parse";
  document.body.classList.toggle("parser", parse);
  const parser = parse ? await api("GET", `${base}/parser`) : null;
  const refused = Object.entries(summary.answers.ignored).map(([reason, count]) => `${whole(count)} ${reason.replace("_", " ")}`).join(", ");
  find("go").href = `/${settings.task ?? "pick"}/${encodeURIComponent(name)}`;
  find("about").textContent = (parse ? "A dependency parser" : `${settings.algorithm ?? "gnc"} on a ${settings.model ?? "diagonal"} model`) +
    (refused ? ` · answers not learnt: ${refused}` : "") + (summary.answers.undone ? ` · ${whole(summary.answers.undone)} taken back` : "");
  find("tiles").replaceChildren(...Object.entries(numbers(model, parser)).map(([text, value]) => make("div", { class: "tile" }, make("b", {}, value), make("span", {}, text))));
  find("curve").replaceChildren(summary.rounds ? curve(summary.curve.bins) : make("p", { class: "note" }, "It starts with the first round."));
  if (parser) find("uas").replaceChildren(parser.held_out ? growth(summary.measured) : make("p", { class: "note" }, "Add sentences with trees to watch the parser improve on them."));
  const people = Object.entries(summary.people).sort((a, b) => b[1].answers - a[1].answers);
  find("persons").hidden = !people.length;
  find("people").replaceChildren(...people.map(([who, one]) => row(who, whole(one.answers), decimals(one.seconds_per_answer, 1), percent(one.agreement), percent(one.agreement_with_others))));
  if (model.position !== seen) await Promise.all([answers(base), flags(base, summary.flags)]);
  seen = model.position;
  return parse;
}

async function features() {
  const { liked, disliked } = await api("GET", `${base}/features?count=12`);
  const largest = Math.max(1e-9, ...[...liked, ...disliked].map(({ weight }) => Math.abs(weight)));
  find("learnt").hidden = !liked.length && !disliked.length;
  words(find("liked"), liked, largest);
  words(find("disliked"), disliked, largest);
}

const problem = (error) => (error.code === "unknown_model" ? stranded(error) : void (find("problem").textContent = error.message));
find("heldout").addEventListener("change", async () => {
  try { await api("POST", `${base}/items?held_out=1`, await find("heldout").files[0].arrayBuffer(), true); await refresh(); } catch (error) { problem(error); }
});
const parsing = await refresh().catch(problem);
setInterval(() => { if (!document.hidden) refresh().catch(problem); }, parsing ? 5000 : 2000);
if (!parsing) {
  await features().catch(problem);
  setInterval(() => { if (!document.hidden) features().catch(problem); }, 10000);
}
