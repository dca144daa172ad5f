import { curve, LEAST } from "/static/curve.js";
import { invitations } from "/static/invite.js";
import { answers, flags } from "/static/latest.js";
import { lead } from "/static/lead.js";
import { api, begin, call, find, make, pathPart, percent, stranded, whole } from "/static/shell.js";
import { hasBoard } from "/static/standing.js";
import { words } from "/static/words.js";

const name = pathPart(2), base = `/v1/models/${encodeURIComponent(name)}`;
const me = await begin(name), mayChange = me.roles.includes("admin");
for (const id of ["keptname", "deletename"]) find(id).textContent = name;
const links = { file: "file", preferences: "log?format=preferences", answers: "log?format=answers", ledger: "log?format=ledger", trees: "trees", parserfile: "parser/file" };
for (const [id, path] of Object.entries(links)) find(id).href = `${base}/${path}`;
find("board").href = `/board/${encodeURIComponent(name)}`;
find("table").href = `${base}/log?format=csv`;

const decimals = (value, places) => (value == null ? "–" : value.toFixed(places));
const row = (who, ...cells) => make("tr", {}, make("td", { dir: "auto", class: "who" }, who), ...cells.map((cell) => make("td", { class: "number" }, cell)));
const agreed = ({ answers, agreement }) => (answers ? `${percent(agreement)} of ${whole(answers)}` : "–");

function numbers({ settings, summary }, progress) {
  const common = { "seconds an answer": decimals(summary.seconds_per_answer, 1), "agree with themselves": agreed(summary.planted), "agree with others": agreed(summary.planted_between) };
  if (settings.task === "parse") {
    return { "answers learnt": whole(summary.answers.learnt), "words asked about": `${whole(progress.covered)} of ${whole(progress.pairs)}`, ...common };
  }
  return { "rounds": whole(summary.rounds), "answers learnt": whole(summary.answers.learnt), "of rounds asked": percent(summary.query_rate), "first choice preferred": percent(summary.first_preferred), ...common };
}

// Answers against the quota, and about how many pairs everyone has answered.
function pool(told) {
  find("pool").hidden = !told.pairs;
  const counts = told.wanted != null;
  find("bar").hidden = !counts;
  if (counts) Object.assign(find("bar"), { max: told.wanted || 1, value: told.answered });
  find("done").textContent = (counts ? `${whole(told.answered)} of ${whole(told.wanted)} answers (${percent(told.answered / told.wanted)}), ${whole(told.quota)} per pair · ` : "") +
    `${whole(told.covered)} of ${whole(told.pairs)} pairs have an answer${counts ? "" : ", without a quota of answers per pair"}`;
  return Object.fromEntries(told.voters.map((one) => [one.name, `${whole(one.pairs)} of ${whole(told.pairs)}`]));
}

const update = mayChange ? lead(name, base, () => refresh()) : () => {};
let seen = null, progress = null, learnt = 0;
async function refresh() {
  const model = await api("GET", base), { settings, summary } = model;
  call(model.title || name);
  find("title").textContent = model.title || name;
  document.title = `${model.title || name} · CONQUER`;
  find("paused").hidden = !model.paused;
  update(model);
  learnt = summary.answers.learnt + (summary.votes ?? 0);
  const parse = settings.task === "parse";
  document.body.classList.toggle("parser", parse);
  // Only an answer, an item or a pause changes it, and all but items are in the log.
  if (model.position !== seen) progress = await api("GET", `${base}/progress`);
  const told = pool(progress);
  const refused = Object.entries(summary.answers.ignored).map(([reason, count]) => `${whole(count)} ${reason.replace("_", " ")}`).join(", ");
  find("go").href = `/${settings.task ?? "pick"}/${encodeURIComponent(name)}`;
  find("board").hidden = !hasBoard(settings);
  find("about").textContent = (parse ? "A dependency parser" : `${settings.algorithm ?? "gnr"} on a ${settings.model ?? "diagonal"} model`) +
    (refused ? ` · answers not learnt: ${refused}` : "") + (summary.answers.undone ? ` · ${whole(summary.answers.undone)} undone` : "");
  find("tiles").replaceChildren(...Object.entries(numbers(model, progress)).map(([text, value]) => make("div", { class: "tile" }, make("b", {}, value), make("span", {}, text))));
  find("curve").replaceChildren(curve(summary.curve.bins));
  find("legend").hidden = summary.answers.learnt < LEAST;
  const people = Object.entries(summary.people).sort((a, b) => b[1].answers - a[1].answers);
  find("persons").hidden = !people.length;
  find("people").replaceChildren(...people.map(([who, one]) => row(who, whole(one.answers), ...(parse ? [] : [told[who] ?? "–"]), decimals(one.seconds_per_answer, 1), percent(one.agreement), percent(one.agreement_with_others))));
  if (model.position !== seen) await Promise.all([answers(base, settings.format), flags(base, summary.flags, summary.settled ?? 0, mayChange, settings.format)]);
  seen = model.position;
  return parse;
}

const problem = (error) => (error.code === "unknown_model" ? stranded(error) : void (find("problem").textContent = error.message));
find("manage").hidden = !mayChange;
const parsing = await refresh().catch(problem);
setInterval(() => { if (!document.hidden) refresh().catch(problem); }, 2000);
if (!parsing) {
  await words(base, learnt).catch(problem);
  setInterval(() => { if (!document.hidden) words(base, learnt).catch(problem); }, 10000);
}
// Where there are no keys, everyone on this machine may answer, without a link.
if (mayChange && !me.open) {
  find("invites").hidden = false;
  await invitations(base).catch(problem);
}
