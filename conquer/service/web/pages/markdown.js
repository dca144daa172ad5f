// Markdown as elements. Everything is made by name and filled with text, so whatever a text says, nothing of it runs:
// there is no raw HTML, no picture, and a link leads to http, https or this server. What is not understood stays as it is.
import { make } from "/static/shell.js";

// How far the end of an emphasis or a link is looked for, and how deep they nest: a long text takes no long time.
const REACH = 1000, DEPTH = 6;

function link(address) {
  try {
    const url = new URL(address, location.origin);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch { return null; }
}

// [what was read, where it ends] of the marked piece that begins at `at`, or null where none does.
function piece(text, at, depth) {
  const near = text.slice(at, at + REACH), sign = near[0];
  if (sign === "\\" && /[^\sA-Za-z0-9]/.test(near[1] ?? "")) return [near[1], at + 2];
  if (sign === "`") {
    const ticks = near.match(/^`+/)[0], end = near.indexOf(ticks, ticks.length);
    if (end < 0 || near[end + ticks.length] === "`") return [ticks, at + ticks.length];
    return [make("code", {}, near.slice(ticks.length, end).trim() || " "), at + end + ticks.length];
  }
  if (depth >= DEPTH) return null;
  if (sign === "[" || (sign === "!" && near[1] === "[")) {
    const found = near.match(/^!?\[([^\[\]]*)\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s+["'][^"'\n]*["'])?\s*\)/);
    if (!found) return null;
    const inner = inline(found[1], depth + 1), end = at + found[0].length;
    // A picture from elsewhere would tell its server who is reading: what it is called stands for it.
    if (sign === "!") return [make("span", { class: "note" }, ...inner), end];
    const address = link(found[2]);
    return [address ? make("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, ...inner) : make("span", {}, ...inner), end];
  }
  for (const [mark, tag] of [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]]) {
    if (!near.startsWith(mark) || /\s/.test(near[mark.length] ?? " ")) continue;
    if (mark[0] === "_" && /\w/.test(text[at - 1] ?? "")) continue;
    const closes = (end) => !/\s/.test(near[end - 1]) && !(mark.length === 1 && (near[end + 1] === mark || near[end - 1] === mark));
    let end = near.indexOf(mark, mark.length + 1);
    while (end > 0 && !closes(end)) end = near.indexOf(mark, end + (near[end + 1] === mark ? 2 : 1));
    // Of three stars at the end the first closes what is inside.
    if (end > 0 && mark.length === 2 && near[end + 2] === mark[0]) end += 1;
    if (end > 0 && !(mark[0] === "_" && /\w/.test(near[end + mark.length] ?? ""))) return [make(tag, {}, ...inline(near.slice(mark.length, end), depth + 1)), at + end + mark.length];
  }
  return null;
}

function inline(text, depth = 0) {
  const nodes = [];
  let plain = "";
  for (let at = 0; at < text.length;) {
    const found = "\\`[!*_~".includes(text[at]) ? piece(text, at, depth) : null;
    if (!found) { plain += text[at++]; continue; }
    if (typeof found[0] === "string") plain += found[0];
    else { nodes.push(plain, found[0]); plain = ""; }
    at = found[1];
  }
  return [...nodes, plain].filter((node) => node !== "");
}

// A line break where a line ends in two spaces or a backslash; elsewhere lines flow.
function flow(lines) {
  const parts = [[]];
  lines.forEach((line, k) => {
    const last = k === lines.length - 1, breaks = !last && (line.endsWith("  ") || line.endsWith("\\"));
    parts.at(-1).push((breaks && line.endsWith("\\") ? line.slice(0, -1) : line).trim());
    if (breaks) parts.push([]);
  });
  return parts.flatMap((part, k) => [...(k ? [make("br")] : []), ...inline(part.join(" "))]);
}

const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?!\s)([^]*)$/, FENCE = /^\s*(`{3,}|~{3,})/, HEADING = /^ {0,3}(#{1,6})\s+(\S[^]*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/, QUOTE = /^ {0,3}> ?/, DASHES = /^[\s:|-]+$/;
// None of these looks at a sign twice: a text of any kind takes as long as its length.
const isRow = (line) => { const cut = line.trim(); return cut.length > 1 && cut.startsWith("|") && cut.endsWith("|"); };
const special = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line) || isRow(line);
const cells = (line) => line.trim().slice(1, -1).split("|").map((cell) => cell.trim());

function list(lines, depth) {
  const [, indent, mark] = lines[0].match(ITEM), ordered = /\d/.test(mark);
  const entries = [];
  for (const line of lines) {
    const found = line.match(ITEM);
    if (found && found[1].length <= indent.length) entries.push([found[3]]);
    else entries.at(-1).push(line.slice(Math.min(line.search(/\S|$/), indent.length + 2)));
  }
  const start = ordered ? parseInt(mark, 10) : 1;
  return make(ordered ? "ol" : "ul", start === 1 ? {} : { start }, ...entries.map(([first, ...rest]) => make("li", {}, ...inline(first), ...blocks(rest, depth + 1))));
}

function blocks(lines, depth) {
  const nodes = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at], begin = at;
    const taken = (test) => { while (at < lines.length && test(lines[at])) at++; return lines.slice(begin, at); };
    if (!line.trim()) { at++; continue; }
    const fence = line.match(FENCE)?.[1], heading = line.match(HEADING);
    if (fence) {
      at++;
      while (at < lines.length && !lines[at].trim().startsWith(fence)) at++;
      nodes.push(code(lines.slice(begin + 1, at++).join("\n")));
    } else if (heading) {
      nodes.push(make(`h${Math.min(6, heading[1].length + 2)}`, {}, ...inline(heading[2].trimEnd().replace(/\s#+$/, ""))));
      at++;
    } else if (RULE.test(line)) {
      nodes.push(make("hr"));
      at++;
    } else if (QUOTE.test(line) && depth < DEPTH) {
      nodes.push(make("blockquote", {}, ...blocks(taken((one) => QUOTE.test(one)).map((one) => one.replace(QUOTE, "")), depth + 1)));
    } else if (ITEM.test(line) && depth < DEPTH) {
      const open = (one, k = at) => one.trim() ? ITEM.test(one) || (/^\s{2,}\S/.test(one)) || (k > begin && !special(one) && lines[k - 1].trim()) : /^\s*([-*+]|\d{1,9}[.)])\s|^\s{2,}\S/.test(lines[k + 1] ?? "");
      while (at < lines.length && open(lines[at], at)) at++;
      nodes.push(list(lines.slice(begin, at).filter((one) => one.trim()), depth));
    } else if (isRow(line) && isRow(lines[at + 1] ?? "") && DASHES.test(lines[at + 1])) {
      const [head, , ...rows] = taken(isRow);
      const row = (tag) => (one) => make("tr", {}, ...cells(one).map((cell) => make(tag, {}, ...inline(cell))));
      nodes.push(make("div", { class: "scroll", tabindex: 0 }, make("table", {}, make("thead", {}, row("th")(head)), make("tbody", {}, ...rows.map(row("td"))))));
    } else {
      at++;
      while (at < lines.length && lines[at].trim() && !special(lines[at])) at++;
      nodes.push(make("p", {}, ...flow(lines.slice(begin, at))));
    }
  }
  return nodes;
}

// Lines as they are, longer ones scrolled sideways, also with the keyboard.
export const code = (text) => make("pre", { class: "code", tabindex: 0 }, make("code", {}, text));
export const markdown = (text) => blocks(text.replace(/\r\n?/g, "\n").split("\n"), 0);
