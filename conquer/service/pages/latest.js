// The lead's two lists: the last answers, and what people flagged, with texts and dates.
import { api, find, make } from "/static/shell.js";

const WORDS = { tie: "a tie", both_bad: "both bad", skip: "skipped" };
const when = (at) => {
  const date = new Date(at * 1000);
  return make("time", { datetime: date.toISOString() }, date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }));
};
const named = (one, parsing) => one.text ?? (parsing ? "a word that is gone" : one.id);
const said = (text) => make("div", { class: "said", dir: "auto", title: text }, text);
const cell = (...children) => make("td", { dir: "auto" }, ...children);

// Under which context, or about which word of which sentence.
function about(row) {
  if (row.word != null) return said(`the head of “${row.word}” in: ${row.context}`);
  return row.context == null ? null : make("div", { class: "said note", dir: "auto", title: row.context }, row.context);
}

function answer(row) {
  const parsing = row.word != null, won = row.items.find((one) => one.id === row.winner);
  // Without its question a head is only a number, which says nothing.
  const gone = !row.items.length && document.body.classList.contains("parser") ? "a word of a sentence that is gone" : row.winner;
  const word = parsing && row.winner === "both_bad" ? "neither" : (WORDS[row.winner] ?? gone);
  const rest = row.items.filter((one) => one !== won).map((one) => said(named(one, parsing)));
  return make("tr", {}, cell(when(row.at)), cell(won ? said(named(won, parsing)) : word, about(row)), cell(...rest), cell(row.voter ?? ""),
    make("td", { class: "note" }, row.learnt ? "learnt" : `not learnt${row.reason && !WORDS[row.reason] ? `: ${row.reason}` : ""}`));
}

const flag = (row) => make("tr", {}, cell(when(row.at)), cell(row.comment || make("span", { class: "note" }, "no comment")),
  cell(about(row), ...row.items.map((one) => said(named(one, row.word != null)))), cell(row.voter ?? ""), make("td", { class: "note" }, row.event ?? ""));

export async function answers(base) {
  const { rows } = await api("GET", `${base}/latest?kind=answers`);
  find("recent").replaceChildren(...rows.map(answer));
}

// Newest first; what stands far back in a long log is looked for when somebody asks, and stays until there is a new flag.
let counted = 0;
export async function flags(base, count) {
  find("flagged").hidden = !count;
  if (!count || count === counted) return;
  const list = find("flags"), older = find("older");
  const take = ({ rows, next }) => {
    list.append(...rows.map(flag));
    older.hidden = next == null || list.children.length >= count;
    older.onclick = async () => take(await api("GET", `${base}/latest?kind=flags&before=${next}`).catch(() => ({ rows: [], next })));
  };
  const newest = await api("GET", `${base}/latest?kind=flags`);
  list.replaceChildren();
  take(newest);
  counted = count;
}
