import { curve } from "/static/curve.js";
import { api, begin, find, make, percent, stranded, whole } from "/static/shell.js";
import { lines, question as example } from "/static/example.js";

const me = await begin();

function card({ name, title, paused, settings, summary }) {
  const parse = settings.task === "parse", picture = !parse && summary.rounds > 0 && curve(summary.curve.bins, true);
  const facts = parse
    ? [`${whole(summary.questions)} questions`]
    : [`${whole(summary.rounds)} rounds`, summary.rounds && `${percent(summary.query_rate)} asked`];
  return make("a", { class: "card entry", href: `/models/${encodeURIComponent(name)}` },
    make("header", {}, make("b", { dir: "auto" }, title || name), make("span", { class: "tag" }, paused ? "paused" : settings.algorithm ?? "gnr")),
    picture || make("p", { class: "note blank" }, summary.rounds ? "A dependency parser." : "No rounds yet."),
    make("div", { class: "legend" }, ...[`${whole(summary.answers.learnt)} learnt`, ...facts].filter(Boolean).map((text) => make("span", {}, text))));
}

async function refresh() {
  const { models } = await api("GET", "/v1/models");
  find("models").replaceChildren(...(models.length ? models.map(card) : [make("p", { class: "note" }, "No models yet. Start one below, or over the API.")]));
}

const algorithms = { gnc: "gnc: the best item and its most likely challenger; asks nothing when certain", gnr: "gnr: best and any other", ttg: "ttg: the two best", gnu: "gnu: best and best upper bound", gnt: "gnt: best and a posterior draw", gnw: "gnw: best and worst" };
for (const [name, text] of Object.entries(algorithms)) find("algorithm").append(make("option", { value: name, selected: name === "gnr" }, text));

const nameOf = (file) => file.name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 64);
const isPicture = (file) => /\.(png|jpe?g|webp|gif)$/i.test(file.name);
const identifier = (text) => text.replace(/[\x00-\x1f\x7f/?#\\]/g, "-").slice(0, 200);
// A file of items, and pictures that it speaks of by their names; pictures alone are the items.
function chosen() {
  const files = [...find("file").files], pictures = files.filter(isPicture);
  const own = new Blob(pictures.map((one) => JSON.stringify({ id: identifier(one.name), image: one.name }) + "\n"));
  return { file: files.find((one) => !isPicture(one)) ?? (pictures.length ? new File([own], "pictures.jsonl") : undefined), pictures };
}
function named() {
  const { file, pictures } = chosen();
  find("chosen").textContent = [file?.name, pictures.length && `${whole(pictures.length)} pictures`].filter(Boolean).join(" and ") || "or drop it here";
  if (file && !find("name").value) find("name").value = nameOf(file);
  // Many words would crowd a board's columns.
  if (file) find("board").value = file.size < 20000 ? "full" : "";
  boardless();
}
// What was switched off for somebody is said where they see it; what they switch off themselves is not.
function boardless() {
  const { file } = chosen();
  find("boardless").hidden = !file || file.size < 20000 || /\.conllu$/i.test(file.name) || find("board").value !== "";
}
find("board").addEventListener("change", boardless);
find("file").addEventListener("change", named);
const drop = find("drop");
drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault(); drop.classList.remove("over");
  find("file").files = event.dataTransfer.files; find("file").dispatchEvent(new Event("change"));
});

// A model with its items; a model whose items were refused does not stay. Pictures come first: items speak of them.
async function start(settings, bytes, pictures = []) {
  const path = `/v1/models/${encodeURIComponent(settings.name)}`;
  await api("POST", "/v1/models", settings);
  try {
    for (const file of pictures) await api("POST", `${path}/images?file=${encodeURIComponent(file.name)}`, await file.arrayBuffer(), true);
    told(settings, path, await api("POST", `${path}/items`, bytes, true));
  } catch (error) {
    await api("DELETE", path);
    throw error;
  }
}

// What was made of a file, where that is not plain: before anybody is asked about it.
function told({ name, task }, path, { items, text, features = [], shown = [], unused = [], empty = 0, large = [] }) {
  const ask = `/${task}/${encodeURIComponent(name)}`;
  if (!features.length && !unused.length && !empty && !large.length) { location.assign(ask); return; }
  const lines = [
    text && `Texts are those of the column “${text}”.`,
    features.length && `There is no column of texts: ${features.map((one) => `“${one}”`).join(", ")} are taken as features.`,
    shown.length && `Shown, and not learnt: ${shown.map((one) => `“${one}”`).join(", ")}.`,
    unused.length && `Not used: ${unused.map((one) => `“${one}”`).join(", ")}.`,
    large.length && `The numbers of ${large.map((one) => `“${one}”`).join(", ")} are large and will outweigh everything else: better divide them, so that most lie between -1 and 1.`,
    empty && (empty === 1 ? "One row without a text was left out." : `${whole(empty)} rows without a text were left out.`),
  ].filter(Boolean);
  const discard = async () => { await api("DELETE", path); find("made").hidden = true; find("form").hidden = false; await refresh(); };
  find("made").replaceChildren(make("h3", {}, `“${name}” has ${whole(items)} items`), make("ul", {}, ...lines.map((line) => make("li", { dir: "auto" }, line))),
    make("p", { class: "row" }, make("a", { class: "button primary", href: ask }, "That is right: start"), make("button", { type: "button", onclick: () => trying(discard) }, "Take another file")));
  find("form").hidden = true;
  find("made").hidden = false;
  find("made").focus();
}

// A board needs a full matrix, and that few columns.
function picking(model, kind) {
  const ends = Object.fromEntries(["quota", "stop"].filter((id) => find(id).value).map((id) => [id, Number(find(id).value)]));
  const features = model ? { kind, dim: 1024 } : { kind };
  return { task: "pick", algorithm: find("algorithm").value, features, ...(model && { model }), ...ends };
}

async function trying(work) {
  find("problem").textContent = "";
  try { await work(); } catch (error) { find("problem").textContent = error.message; }
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  trying(async () => {
    const { file, pictures } = chosen(), parse = /\.conllu$/i.test(file.name);
    const words = parse ? { task: "parse", algorithm: "parser" } : picking(find("board").value, find("kind").value);
    await start({
      ...words, name: find("name").value, question: find("question").value, instructions: find("instructions").value,
      per_round: Number(find("per_round").value), planted: Number(find("planted").value),
      ...(find("format").value !== "plain" && { format: find("format").value }),
    }, await file.arrayBuffer(), pictures);
  });
});

find("example").addEventListener("click", () => trying(async () => {
  const { models } = await api("GET", "/v1/models");
  if (models.some((model) => model.name === "example")) location.assign("/pick/example");
  else await start({ name: "example", task: "pick", algorithm: "gnr", model: "full", features: { dim: 1024 }, question: example, planted: 0.05 }, lines.map((line) => JSON.stringify(line)).join("\n"));
}));

find("begin").hidden = !me.roles.includes("admin");
// Nothing can be sent before this script can act on it; a file may have been chosen already, or kept over a reload.
find("begin").inert = false;
named();
await refresh().catch(stranded);
setInterval(() => { if (!document.hidden) refresh().catch(() => {}); }, 3000);
