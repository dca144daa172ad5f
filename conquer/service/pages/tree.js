// A sentence with its tree as arcs, in as many rows as it needs; the two candidate arcs in the colours of their sides.
import { draw } from "/static/shell.js";

const GAP = 18, LEVEL = 17, TEXT = 22, ROOT = "the sentence itself";

// Longer arcs go above the shorter ones they span.
function levels(arcs) {
  const sorted = arcs.map((arc) => ({ ...arc, low: Math.min(arc.from, arc.to), high: Math.max(arc.from, arc.to) })).sort((a, b) => a.high - a.low - (b.high - b.low));
  sorted.forEach((arc, k) => {
    const under = sorted.slice(0, k).filter((other) => other.low < arc.high && other.high > arc.low);
    arc.level = 1 + Math.max(0, ...under.map((other) => other.level));
  });
  return sorted;
}

export function drawTree(container, { forms, tags, heads, word, candidates }, left, right) {
  container.replaceChildren();
  const width = Math.max(280, container.clientWidth - 40);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = getComputedStyle(document.body).font;
  const words = [ROOT, ...forms].map((text, place) => ({ text, place, width: Math.max(26, pen.measureText(text).width) }));
  let row = 0, x = 0;
  for (const one of words) {
    if (x && x + one.width > width) { row += 1; x = 0; }
    Object.assign(one, { row, x: x + one.width / 2 });
    x += one.width + GAP;
  }
  const arcs = levels([
    ...heads.map((head, k) => ({ from: head, to: k + 1, kind: "tree" })).filter((arc) => arc.to !== word),
    ...candidates.map((head) => ({ from: head, to: word, kind: head === left ? "left" : "right" })),
  ]);
  const rows = row + 1;
  const tall = Array.from({ length: rows }, (_, r) => 14 + LEVEL * Math.max(1, ...arcs.filter((arc) => [arc.from, arc.to].some((end) => words[end].row === r) || (words[arc.low].row < r && words[arc.high].row > r)).map((arc) => arc.level)));
  const base = [];
  tall.reduce((top, height, r) => (base[r] = top + height) + TEXT + 30, 0);
  const height = base[rows - 1] + TEXT + 22;
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "tree" });
  // Candidates last, so that they lie on top.
  for (const arc of [...arcs].sort((a, b) => (a.kind === "tree" ? 0 : 1) - (b.kind === "tree" ? 0 : 1))) picture.append(...pieces(arc, words, base, width));
  for (const one of words) {
    const kind = one.place === word ? "asked" : one.place === left ? "left" : one.place === right ? "right" : one.place === 0 ? "root" : "plain";
    picture.append(draw("text", { x: one.x, y: base[one.row] + TEXT, class: `word ${kind}`, "text-anchor": "middle" }, one.text));
    if (one.place) picture.append(draw("text", { x: one.x, y: base[one.row] + TEXT + 15, class: "tag", "text-anchor": "middle" }, tags[one.place - 1]));
  }
  container.append(picture);
}

// An arc from head to word; across rows it leaves at the edge of one row and comes back at the edge of another.
function pieces({ from, to, kind, level }, words, base, width) {
  const head = words[from], end = words[to], rise = LEVEL * level;
  const shape = (a, b, y) => {
    const bend = Math.min(10, Math.abs(b - a) / 2), side = Math.sign(b - a) || 1;
    return `M ${a} ${y} L ${a} ${y - rise + bend} Q ${a} ${y - rise} ${a + side * bend} ${y - rise} L ${b - side * bend} ${y - rise}`;
  };
  const tip = (b, y) => draw("path", { d: `M ${b - 4} ${y - 7} L ${b} ${y} L ${b + 4} ${y - 7} Z`, class: `tip ${kind}` });
  const [hy, ey] = [base[head.row], base[end.row]];
  const hx = head.x + (end.x > head.x || end.row > head.row ? 5 : -5), ex = end.x + (head.x > end.x && head.row === end.row ? 3 : -3);
  if (head.row === end.row) {
    const bend = Math.min(10, Math.abs(ex - hx) / 2), side = Math.sign(ex - hx) || 1;
    return [draw("path", { d: `${shape(hx, ex, hy)} Q ${ex} ${hy - rise} ${ex} ${hy - rise + bend} L ${ex} ${ey - 3}`, class: `arc ${kind}` }), tip(ex, ey)];
  }
  const down = end.row > head.row, out = down ? width : 0, into = down ? 0 : width, side = down ? 1 : -1;
  return [
    draw("path", { d: `${shape(hx, out, hy)}`, class: `arc ${kind}` }),
    draw("path", { d: `M ${into} ${ey - rise} L ${ex - side * 10} ${ey - rise} Q ${ex} ${ey - rise} ${ex} ${ey - rise + 10} L ${ex} ${ey - 3}`, class: `arc ${kind}` }),
    tip(ex, ey),
  ];
}
