// A sentence with its tree as arcs, in as many rows as it needs; the two candidate arcs in the colours of their sides.
import { draw } from "/static/shell.js";

const GAP = 18, LEVEL = 17, TALLEST = 150, TEXT = 22, ROOT = "the sentence itself";
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

function laidOut(texts, room, bold) {
  const pen = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  let row = 0, x = 0;
  return texts.map((text, place) => {
    pen.font = `${bold.includes(place) ? "750" : "400"} 16px ${family}`;
    const width = Math.max(26, pen.measureText(text).width);
    if (x && x + width > room) { row += 1; x = 0; }
    const word = { text, place, row, x: x + width / 2, end: x + width };
    x += width + GAP;
    return word;
  });
}

// What is drawn in each row. A candidate across rows leaves at the edge of one and comes back at the edge of another;
// other arcs across rows would only hide the sentence, so such a word names its head below it instead.
function segmentsOf(arcs, words) {
  const found = [], elsewhere = {};
  for (const arc of arcs) {
    const head = words[arc.from], end = words[arc.to];
    if (head.row === end.row) found.push({ ...arc, row: head.row, low: Math.min(arc.from, arc.to), high: Math.max(arc.from, arc.to), part: "whole" });
    else if (arc.kind === "tree") elsewhere[arc.to] = head.text;
    else {
      const places = (row) => words.filter((one) => one.row === row).map((one) => one.place), down = end.row > head.row;
      const [first, last] = [Math.min, Math.max].map((pick) => (row) => pick(...places(row)));
      found.push({ ...arc, row: head.row, part: "out", down, low: down ? arc.from : first(head.row) - 0.5, high: down ? last(head.row) + 0.5 : arc.from });
      found.push({ ...arc, row: end.row, part: "into", down, low: down ? first(end.row) - 0.5 : arc.to, high: down ? arc.to : last(end.row) + 0.5 });
    }
  }
  // Longer arcs go above the shorter ones they span.
  found.sort((a, b) => a.high - a.low - (b.high - b.low));
  found.forEach((one, k) => {
    const under = found.slice(0, k).filter((other) => other.row === one.row && other.low < one.high && other.high > one.low);
    one.level = 1 + Math.max(0, ...under.map((other) => other.level));
  });
  return [found, elsewhere];
}

export function drawTree(container, { forms, tags, heads, word, candidates }, left, right) {
  container.replaceChildren();
  const room = Math.max(240, container.clientWidth - 40);
  const words = laidOut([ROOT, ...forms], room, [word, left, right]);
  const width = Math.max(...words.map((one) => one.end));
  // Right-to-left sentences begin on the right: the same picture in a mirror, text aside.
  const mirrored = forms.filter((form) => RTL.test(form)).length * 2 > forms.length;
  const at = (x) => (mirrored ? width - x : x);
  const [segments, elsewhere] = segmentsOf([
    ...heads.map((head, k) => ({ from: head, to: k + 1, kind: "tree" })).filter((arc) => arc.to !== word),
    ...candidates.map((head) => ({ from: head, to: word, kind: head === left ? "left" : "right" })),
  ], words);
  const rows = words.at(-1).row + 1, base = [], unit = [];
  let top = 0;
  for (let row = 0; row < rows; row += 1) {
    const levels = Math.max(1, ...segments.filter((one) => one.row === row).map((one) => one.level));
    unit[row] = Math.min(LEVEL, TALLEST / levels);
    base[row] = top + 12 + unit[row] * levels;
    top = base[row] + TEXT + 30;
  }
  const picture = draw("svg", { viewBox: `-4 0 ${width + 8} ${top}`, width: width + 8, height: top, class: "tree" });
  // Candidates last, so that they lie on top.
  for (const one of segments.sort((a, b) => (a.kind !== "tree") - (b.kind !== "tree"))) picture.append(...pieces(one, words, base[one.row], unit[one.row] * one.level, width, at));
  for (const one of words) {
    const kind = one.place === word ? "asked" : one.place === left ? "left" : one.place === right ? "right" : one.place === 0 ? "root" : "plain";
    const label = (y, text, style) => draw("text", { x: at(one.x), y: base[one.row] + y, class: style, "text-anchor": "middle" }, text);
    picture.append(label(TEXT, one.text, `word ${kind}`));
    if (one.place) picture.append(label(TEXT + 14, tags[one.place - 1], "tag"));
    if (elsewhere[one.place]) picture.append(label(TEXT + 26, `of ${elsewhere[one.place].slice(0, Math.max(3, (one.end - one.x) * 2 / 5.5 - 2))}`, "tag far"));
  }
  container.append(picture);
  // On a phone a long sentence is cut: what the question is about stands in the middle of what can be seen.
  const about = [...picture.querySelectorAll(".word.asked, .word.left, .word.right")].map((one) => one.getBoundingClientRect());
  const middle = (boxes) => (Math.min(...boxes.map((one) => one.top)) + Math.max(...boxes.map((one) => one.bottom))) / 2;
  if (about.length) container.scrollTop += middle(about) - middle([container.getBoundingClientRect()]);
  picture.querySelector(".asked")?.scrollIntoView({ block: "nearest" });
}

function pieces({ from, to, kind, part, down }, words, y, rise, width, at) {
  const head = words[from], end = words[to], bendOf = (a, b) => Math.min(10, Math.abs(b - a) / 2, rise);
  const after = part === "whole" ? end.x > head.x : down;
  const hx = head.x + (after ? 5 : -5), ex = end.x + (after ? -3 : 3), edge = (part === "out") === down ? width + 4 : -4;
  const up = (x, b) => { const bend = bendOf(x, b), side = Math.sign(b - x) || 1; return `M ${at(x)} ${y} L ${at(x)} ${y - rise + bend} Q ${at(x)} ${y - rise} ${at(x + side * bend)} ${y - rise}`; };
  const fall = (a, x) => { const bend = bendOf(a, x), side = Math.sign(x - a) || 1; return `L ${at(x - side * bend)} ${y - rise} Q ${at(x)} ${y - rise} ${at(x)} ${y - rise + bend} L ${at(x)} ${y - 4}`; };
  const tip = draw("path", { d: `M ${at(ex) - 4} ${y - 7} L ${at(ex)} ${y} L ${at(ex) + 4} ${y - 7} Z`, class: `tip ${kind}` });
  const arc = (d) => draw("path", { d, class: `arc ${kind}` });
  if (part === "out") return [arc(`${up(hx, edge)} L ${at(edge)} ${y - rise}`)];
  if (part === "into") return [arc(`M ${at(edge)} ${y - rise} ${fall(edge, ex)}`), tip];
  return [arc(`${up(hx, ex)} ${fall(hx, ex)}`), tip];
}
