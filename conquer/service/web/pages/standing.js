// A board as rows: rank, item, a bar from low to high, and what is sure. Used by the board's page and at the end of a pool.
import { make, percent, whole } from "/static/shell.js";

// Only these keep what intervals are made of; a parser ranks no items.
export const hasBoard = ({ task, model }) => task !== "parse" && ["full", "kernel"].includes(model);

const infinite = (value) => value === null;

// All that is finite decides the axis; what is infinite goes to its ends.
function axis({ items, mean }) {
  const ends = items.flatMap((one) => [one.low, one.high, one.score - mean]).filter((value) => !infinite(value));
  const low = Math.min(...ends, 0), high = Math.max(...ends, 0), width = high - low || 1;
  return { mean, place: (value, end) => (infinite(value) ? end : ((value - low) / width) * 100) };
}

function interval(one, { mean, place }) {
  const from = place(one.low, 0), to = place(one.high, 100);
  const bar = make("i", { class: "span" }), dot = make("i", { class: "dot" }), middle = make("i", { class: "mean" });
  bar.style.left = `${from}%`; bar.style.width = `${Math.max(0.5, to - from)}%`;
  dot.style.left = `${place(one.score - mean, 50)}%`; middle.style.left = `${place(0, 50)}%`;
  return make("span", { class: "interval", "aria-hidden": "true" }, middle, bar, dot);
}

const between = (one) => (infinite(one.low) ? "anything" : `${one.low.toFixed(2)} to ${one.high.toFixed(2)}`);
const possible = (one) => (one.rank_low === one.rank_high ? `rank ${one.rank_low}` : `rank ${one.rank_low} to ${one.rank_high}`);
const separating = (more) => (infinite(more) ? "no number of answers separates these two" : more < 1 ? "certainly in this order" : more > 99999 ? "almost equal: more than 100,000 answers" : `about ${whole(Number(Math.ceil(more).toPrecision(2)))} answers to tell these two apart`);

// Under an item's text its id, under a group how many items it is the mean of.
const note = (one) => (one.count ? `mean of ${whole(one.count)} item${one.count > 1 ? "s" : ""}` : one.text ? one.id : "");

export function drawBoard(board) {
  const scale = axis(board), last = board.items.length;
  const tiered = (one, before) => (before && before.tier < one.tier ? " tier" : "");
  const rows = board.items.map((one, place) => make("li", { class: (one.best ? "may" : "") + tiered(one, board.items[place - 1]) },
    make("b", { class: "rank" }, String(one.rank)),
    make("span", { class: "what" }, make("span", { dir: "auto", class: "name" }, one.text ?? one.id), note(one) ? make("span", { class: "note" }, note(one)) : null),
    interval(one, scale),
    make("span", { class: "sure note" }, `${possible(one)} · wins ${percent(one.win)} · Elo ${Math.round(one.elo)}`),
    make("span", { class: "sure note" }, one.best ? make("span", { class: "tag best" }, "may be best") : null, ` beats ${whole(one.better)} others · ${between(one)}`),
    one.rank < last ? make("span", { class: "gap note" }, separating(one.more)) : null));
  const level = percent(1 - board.delta);
  return make("div", { class: "standings" }, ...board.warnings.map((text) => make("p", { class: "error" }, text)),
    make("ol", {}, ...rows),
    make("p", { class: "note" }, `Scores less the mean of all, with ${level} intervals (${board.interval}) from ${whole(board.answers)} answers: ${whole(board.pairs[0])} of ${whole(board.pairs[1])} pairs have a certain order. The line is the mean. Wins: the chance against a mean item; ranks: those that are possible. Above a thick line everything beats everything below.`));
}
