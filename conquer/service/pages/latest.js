// The lead's two lists: the last answers, and what people flagged, with texts and dates.
import { api, find, make } from "/static/shell.js";

const WORDS = { tie: "a tie", both_bad: "both bad", skip: "skipped" };
const when = (at) => {
  const date = new Date(at * 1000);
  return make("time", { datetime: date.toISOString() }, date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }));
};
const named = (one, parsing) => one.text ?? (parsing ? "a word that is gone" : one.id);
const said = (text) => make("div", { class: "said", dir: "auto", title: text }, text);
const cell = (name, ...children) => make("td", { dir: "auto", "data-name": name, class: name === "By" ? "who" : null }, ...children);

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
  return make("tr", {}, cell("", when(row.at)), cell("Picked", won ? said(named(won, parsing)) : word, about(row)), cell("Instead of", ...rest), cell("By", row.voter ?? ""),
    make("td", { class: "note" }, row.learnt ? "learnt" : `not learnt${row.reason && !WORDS[row.reason] ? `: ${row.reason}` : ""}`));
}

// A question's flags are settled together: it has been looked at.
function settling(base, row, again) {
  if (row.settled) return make("span", { class: "note" }, "settled");
  return again && make("button", { onclick: () => api("POST", `${base}/events/${encodeURIComponent(row.event)}/settle`).then(again, again) }, "Settle");
}
const flag = (row, act) => make("tr", {}, cell("", when(row.at)), cell("Comment", row.comment || make("span", { class: "note" }, "no comment")),
  cell("Question", about(row), ...row.items.map((one) => said(named(one, row.word != null)))), cell("By", row.voter ?? ""), make("td", {}, act || null));

export async function answers(base) {
  const { rows } = await api("GET", `${base}/latest?kind=answers`);
  find("recent").replaceChildren(...rows.map(answer));
  find("recenttable").hidden = !rows.length;
  find("unanswered").hidden = rows.length > 0;
}

// Newest first; what stands far back in a long log is looked for when somebody asks, and stays until something changes.
let shown = "";
export async function flags(base, count, settled, maySettle) {
  find("flagged").hidden = !count;
  const all = find("settled"), mark = () => `${count} ${settled} ${all.checked}`;
  const again = () => { shown = ""; return flags(base, count, settled, maySettle); };
  all.onchange = again;
  if (!count || mark() === shown) return;
  shown = mark();
  const list = find("flags"), older = find("older"), kind = all.checked ? "flags" : "open";
  const take = ({ rows, next }) => {
    list.append(...rows.map((row) => flag(row, settling(base, row, maySettle && again))));
    older.hidden = next == null || list.children.length >= (all.checked ? count : count - settled);
    older.onclick = async () => take(await api("GET", `${base}/latest?kind=${kind}&before=${next}`).catch(() => ({ rows: [], next })));
    find("flagtable").hidden = !list.children.length;
    find("unflagged").hidden = list.children.length > 0 || !older.hidden;
  };
  const newest = await api("GET", `${base}/latest?kind=${kind}`);
  list.replaceChildren();
  take(newest);
}
