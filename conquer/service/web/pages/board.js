import { api, begin, call, find, make, pathPart, percent, stranded, whole } from "/static/shell.js";
import { drawBoard, hasBoard } from "/static/standing.js";

const name = pathPart(2), base = `/v1/models/${encodeURIComponent(name)}`;
await begin(name);
find("title").textContent = `${name}: the board`;
document.title = `${name}: the board · CONQUER`;
find("back").href = `/models/${encodeURIComponent(name)}`;
find("go").href = `/pick/${encodeURIComponent(name)}`;
const model = api("GET", base);
model.then(({ title }) => {
  call(title || name);
  find("title").textContent = `${title || name}: the board`;
  document.title = `${title || name}: the board · CONQUER`;
}).catch(() => {});
const query = new URLSearchParams(location.search).toString();

const range = ([low, high]) => `[${percent(low)}, ${percent(high)}]`;
const share = (value, interval) => (value == null ? "–" : `${percent(value)} ${range(interval)}`);
const row = (...cells) => make("tr", {}, ...cells.map((cell) => make("td", { dir: "auto" }, cell)));

async function voters() {
  const told = await api("GET", `${base}/voters`);
  find("persons").hidden = !told.voters.length;
  find("voters").replaceChildren(...told.voters.map((one) => row(
    one.kind === "judge" ? `${one.name} (judge)` : one.name, whole(one.answers), share(one.left, one.left_interval),
    share(one.agreement, one.agreement_interval), `${one.weight.toFixed(2)} [${one.weight_interval.map((end) => end.toFixed(2)).join(", ")}]`,
    one.doubtful ? `doubtful: ${one.reason}` : "")));
}

async function refresh() {
  const board = await api("GET", `${base}/board${query ? `?${query}` : ""}`);
  find("about").textContent = `${whole(board.items.length)} ${board.groups ? `groups by ${board.groups}` : "items"}, ${whole(board.answers)} answers.`;
  find("verdict").hidden = !board.stop;
  if (board.stop) {
    find("verdict").textContent = board.stop.text;
    find("verdict").classList.toggle("done", board.stop.done);
  }
  find("table").hidden = false;
  find("board").replaceChildren(drawBoard(board));
  find("problem").textContent = "";
}

async function problem(error) {
  if (error.code === "unknown_model") return stranded(error);
  const plain = error.code === "no_board" && (await model.then(({ settings }) => settings.task !== "parse" && !hasBoard(settings), () => false));
  find("problem").textContent = plain ? "This model keeps no board. Make a new one with “Say who wins” and feed it this one’s ledger." : error.message;
}
const go = () => Promise.all([refresh().catch(problem), voters().catch(() => {})]);
await go();
setInterval(() => { if (!document.hidden) go(); }, 5000);
