import { api, begin, curve, find, make, pathPart, percent, whole } from "/static/shell.js";

const name = pathPart(2), base = `/v1/models/${encodeURIComponent(name)}`;
await begin(name);
find("title").textContent = name;
find("file").href = `${base}/file`;
find("preferences").href = `${base}/log?format=preferences`;
find("ledger").href = `${base}/log?format=ledger`;

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

async function refresh() {
  const { settings, summary, position } = await api("GET", base);
  const refused = Object.entries(summary.answers.ignored).map(([reason, count]) => `${count} ${reason}`).join(", ");
  find("go").href = `/${settings.task ?? "pick"}/${encodeURIComponent(name)}`;
  find("about").textContent = `${settings.algorithm ?? "gnc"} on a ${settings.model ?? "diagonal"} model · log position ${whole(position)}` +
    (refused ? ` · answers not learnt: ${refused}` : "");
  const tiles = {
    "rounds": whole(summary.rounds), "answers learnt": whole(summary.answers.learnt), "of rounds asked": percent(summary.query_rate),
    "first choice preferred": percent(summary.first_preferred), "agreement on repeats": percent(summary.planted.agreement ?? summary.repeated_questions.agreement),
    "regret estimate": summary.repeated_questions.regret_estimate == null ? "–" : summary.repeated_questions.regret_estimate.toFixed(3),
    "seconds an answer": summary.seconds_per_answer == null ? "–" : summary.seconds_per_answer.toFixed(1), "taken back": whole(summary.answers.undone),
  };
  find("tiles").replaceChildren(...Object.entries(tiles).map(([text, value]) => make("div", { class: "tile" }, make("b", {}, value), make("span", {}, text))));
  find("curve").replaceChildren(summary.rounds ? curve(summary.curve.bins) : make("p", { class: "note" }, "It starts with the first round."));
  find("recent").replaceChildren(...summary.recent.map((row) => make("tr", {},
    make("td", {}, new Date(row.at * 1000).toLocaleTimeString()), make("td", { dir: "auto" }, row.winner), make("td", { dir: "auto" }, row.shown.join(" · ")),
    make("td", {}, row.voter ?? ""), make("td", { class: "note" }, row.learnt ? "learnt" : "not learnt"))));
}

async function features() {
  const { liked, disliked } = await api("GET", `${base}/features?count=12`);
  const largest = Math.max(1e-9, ...[...liked, ...disliked].map(({ weight }) => Math.abs(weight)));
  find("learnt").hidden = !liked.length && !disliked.length;
  words(find("liked"), liked, largest);
  words(find("disliked"), disliked, largest);
}

async function parser() {
  const found = await api("GET", `${base}/parser`);
  const tiles = { "sentences": whole(found.sentences), "words asked": `${whole(found.asked)} of ${whole(found.words)}`, "held-out sentences": whole(found.held_out), "right heads (UAS)": percent(found.uas) };
  find("parser").replaceChildren(...Object.entries(tiles).map(([text, value]) => make("div", { class: "tile" }, make("b", {}, value), make("span", {}, text))));
  find("uas").replaceChildren(found.history.length > 1 ? curve(found.history.map(([, uas]) => [0, 0, 1, uas]), false, `${whole(found.history.at(-1)[0])} answers`) : "");
}

const problem = (error) => { find("problem").textContent = error.message; };
await refresh().catch(problem);
await features().catch(problem);
const { settings: made } = await api("GET", base);
if (made.task === "parse") {
  find("parsing").hidden = false;
  find("file").hidden = find("preferences").hidden = true;
  find("trees").href = `${base}/trees`;
  find("parserfile").href = `${base}/parser/file`;
  find("heldout").addEventListener("change", async () => {
    try { await api("POST", `${base}/items?held_out=1`, await find("heldout").files[0].arrayBuffer(), true); await parser(); } catch (error) { problem(error); }
  });
  await parser().catch(problem);
  setInterval(() => { if (!document.hidden) parser().catch(problem); }, 5000);
}
setInterval(() => { if (!document.hidden) refresh().catch(problem); }, 2000);
setInterval(() => { if (!document.hidden) features().catch(problem); }, 10000);
