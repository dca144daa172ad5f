// The lead's two lists: the last answers, and what people flagged, with texts and dates.
import { api, find, make } from "/static/shell.js";

const WORDS = { tie: "a tie", both_bad: "both bad", skip: "skipped" };
const when = (at) => {
  const date = new Date(at * 1000);
  return make("time", { datetime: date.toISOString() }, date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }));
};
const said = (text) => make("div", { class: "said", dir: "auto", title: text }, text);
// Markdown in one line without its marks: fences, headings, quotations, lists, emphasis and code.
export const unmarked = (text) => text.replace(/^ {0,3}(```|~~~).*$/gm, "").replace(/^\s*(#{1,6}|>|[*+-])\s+/gm, "")
  .replace(/(?<![\p{L}\p{N}])\*+(?=\S)|(?<=\S)\*+(?![\p{L}\p{N}])|`+/gu, "").trim();
const read = (text, format) => (format === "markdown" ? unmarked(text) : text);
// An item by its label, or its id, and its text.
function shownItem(one, parsing, format) {
  if (parsing) return said(one.text ?? "a word that is gone");
  const name = one.label ?? one.id, text = one.text == null ? name : read(one.text, one.format ?? format);
  return text === name ? said(name) : make("div", { class: "said", dir: "auto", title: one.text }, make("bdi", { class: "note" }, name), ` ${text}`);
}
const cell = (name, ...children) => make("td", { dir: "auto", "data-name": name, class: name === "By" ? "who" : null }, ...children);

// Under which context, or about which word of which sentence.
function about(row, format) {
  if (row.word != null) return said(`the head of “${row.word}” in: ${row.context}`);
  return row.context == null ? null : make("div", { class: "said note", dir: "auto", title: row.context }, read(row.context, format));
}

function answer(row, format) {
  const parsing = row.word != null, won = row.items.find((one) => one.id === row.winner);
  // Without its question a head is only a number, which says nothing.
  const gone = !row.items.length && document.body.classList.contains("parser") ? "a word of a sentence that is gone" : row.winner;
  const word = parsing && row.winner === "both_bad" ? "neither" : (WORDS[row.winner] ?? gone);
  const rest = row.items.filter((one) => one !== won).map((one) => shownItem(one, parsing, format));
  return make("tr", {}, cell("", when(row.at)), cell("Picked", won ? shownItem(won, parsing, format) : word, about(row, format)), cell("Instead of", ...rest), cell("By", row.voter ?? ""),
    make("td", { class: "note" }, row.learnt ? "learnt" : `not learnt${row.reason && !WORDS[row.reason] ? `: ${row.reason}` : ""}`));
}

// A question's flags are settled together: it has been looked at.
function settling(base, row, again) {
  if (row.settled) return make("span", { class: "note" }, "settled");
  return again && make("button", { onclick: () => api("POST", `${base}/events/${encodeURIComponent(row.event)}/settle`).then(again, again) }, "Settle");
}
const flag = (row, act, format) => make("tr", {}, cell("", when(row.at)), cell("Comment", row.comment || make("span", { class: "note" }, "no comment")),
  cell("Question", about(row, format), ...row.items.map((one) => shownItem(one, row.word != null, format))), cell("By", row.voter ?? ""), make("td", {}, act || null));

// Ten, and more when somebody asks, up to what one call tells: all of them are in the table to download.
const MOST = 50;
let wanted = 10;
export async function answers(base, format) {
  const { rows, next } = await api("GET", `${base}/latest?kind=answers&limit=${wanted}`);
  find("recent").replaceChildren(...rows.map((row) => answer(row, format)));
  find("moreanswers").hidden = next == null || wanted >= MOST;
  find("moreanswers").onclick = () => { wanted = Math.min(MOST, wanted + 20); return answers(base, format).catch(() => {}); };
  find("recenttable").hidden = !rows.length;
  find("unanswered").hidden = rows.length > 0;
}

// Newest first; what stands far back in a long log is looked for when somebody asks, and stays until something changes.
let shown = "";
export async function flags(base, count, settled, maySettle, format) {
  find("flagged").hidden = !count;
  const all = find("settled"), mark = () => `${count} ${settled} ${all.checked}`;
  const again = () => { shown = ""; return flags(base, count, settled, maySettle, format); };
  all.onchange = again;
  if (!count || mark() === shown) return;
  shown = mark();
  const list = find("flags"), older = find("older"), kind = all.checked ? "flags" : "open";
  const take = ({ rows, next }) => {
    list.append(...rows.map((row) => flag(row, settling(base, row, maySettle && again), format)));
    older.hidden = next == null || list.children.length >= (all.checked ? count : count - settled);
    older.onclick = async () => take(await api("GET", `${base}/latest?kind=${kind}&before=${next}`).catch(() => ({ rows: [], next })));
    find("flagtable").hidden = !list.children.length;
    find("unflagged").hidden = list.children.length > 0 || !older.hidden;
  };
  const newest = await api("GET", `${base}/latest?kind=${kind}`);
  list.replaceChildren();
  take(newest);
}
