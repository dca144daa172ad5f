// What the model has learnt, in words: only what stands out from chance, and nothing before there are enough answers.
import { api, find, make, whole } from "/static/shell.js";

const LEAST = 30, SHOWN = 12, SURE = 2;
// Words that say nothing by themselves, in English: a feature that begins or ends with one is not shown. "not" and "no" do.
const STOP = new Set(("a about after again all also am an and any are as at be because been before being both but by can could did do does doing down " +
  "each few for from further had has have having he her here hers him his how i if in into is it its itself just me more most my now of off on " +
  "once only or other our ours out over own same she should so some such than that the their theirs them then there these they this those through to too " +
  "under until up very was we were what when where which while who whom why will with would you your yours s t").split(" "));

export function isPlain(name) {
  const parts = name.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  return STOP.has(parts[0]) || STOP.has(parts.at(-1));
}
const standsOut = ({ weight, spread }) => spread == null || Math.abs(weight) > SURE * spread;

function row({ name, weight, spread }, largest) {
  const line = make("i");
  line.style.width = `${Math.round((100 * Math.abs(weight)) / largest)}%`;
  return make("li", {}, make("span", { dir: "auto", title: name }, name), make("span", { class: "weight", "aria-hidden": "true" }, line),
    make("output", {}, spread == null ? weight.toFixed(2) : `${weight.toFixed(2)} ± ${(SURE * spread).toFixed(2)}`));
}

export async function words(base, learnt) {
  const note = find("learntnote");
  find("learnt").hidden = false;
  if (learnt < LEAST) {
    note.textContent = `Words are shown from ${LEAST} answers on; there ${learnt === 1 ? "is" : "are"} ${whole(learnt)}.`;
    return;
  }
  const told = await api("GET", `${base}/features?count=200`);
  const [liked, disliked] = [told.liked, told.disliked].map((list) => list.filter((one) => standsOut(one) && !isPlain(one.name)).slice(0, SHOWN));
  const largest = Math.max(1e-9, ...[...liked, ...disliked].map(({ weight }) => Math.abs(weight)));
  note.textContent = liked.length || disliked.length
    ? "Weight, and two standard deviations of what chance alone would make it. Of very many words a few exceed it by chance. Words such as “the” are left out."
    : told.liked.length || told.disliked.length ? "No word exceeds chance yet." : "";
  find("learnt").hidden = !note.textContent;
  find("liked").replaceChildren(...liked.map((one) => row(one, largest)));
  find("disliked").replaceChildren(...disliked.map((one) => row(one, largest)));
}
