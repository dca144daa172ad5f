// The learning curve: how often the first choice won, smoothed over enough answers, with the interval that they allow.
import { axes, draw, frame, make, percent, whole } from "/static/shell.js";

export const LEAST = 20; // answers below which there is nothing to draw: a share of two is noise
const Z = 1.96;

// Wilson's interval for a share of `won` among `count`, at 95 %.
export function wilson(won, count) {
  const share = won / count, square = Z * Z, middle = (share + square / (2 * count)) / (1 + square / count);
  const half = (Z / (1 + square / count)) * Math.sqrt((share * (1 - share)) / count + square / (4 * count * count));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

const total = (bins, column) => bins.reduce((sum, bin) => sum + bin[column], 0);

// A point for every bin: the shares over its neighbours, as many as it takes to have a sixth of all answers, or LEAST.
export function smoothed(bins) {
  const learnt = total(bins, 2), wanted = Math.max(LEAST, learnt / 6), points = [];
  if (learnt < LEAST) return points;
  for (let k = 0; k < bins.length; k += 1) {
    let reach = 0, near = [];
    do near = bins.slice(Math.max(0, k - reach), k + ++reach); while (total(near, 2) < wanted && reach <= bins.length);
    const count = total(near, 2), won = total(near, 3);
    points.push({ place: k, asked: total(near, 1) / Math.max(1, total(near, 0)), won: won / count, count, interval: wilson(won, count) });
  }
  return points;
}

export function curve(bins, small = false) {
  const points = smoothed(bins);
  if (!points.length) return make("p", { class: "note blank" }, small ? `No curve before ${LEAST} answers.` : `The curve begins with ${LEAST} answers; there ${total(bins, 2) === 1 ? "is" : "are"} ${whole(total(bins, 2))}.`);
  const [w, h, left, bottom] = frame(small), last = points.at(-1);
  const x = (k) => left + ((w - left - 6) * (k + 0.5)) / bins.length, y = (share) => 6 + (h - bottom - 6) * (1 - share);
  const said = `the first choice is preferred in ${percent(last.won)} of the last ${whole(last.count)} answers, between ${last.interval.map(percent).join(" and ")}`;
  const chart = draw("svg", { viewBox: `0 0 ${w} ${h}`, class: "chart", role: "img", "aria-label": `learning curve: ${said}` });
  if (!small) axes(chart, w, h, left, bottom, y, "first round", `round ${whole(total(bins, 0))}`);
  const line = (value) => points.map((one) => `${x(one.place)},${y(value(one))}`);
  chart.append(draw("polygon", { points: [...line((one) => one.interval[1]), ...line((one) => one.interval[0]).reverse()].join(" "), class: "band" }));
  chart.append(draw("polyline", { points: line((one) => one.asked).join(" "), class: "asked" }));
  chart.append(draw("polyline", { points: line((one) => one.won).join(" "), class: "won" }));
  return chart;
}
