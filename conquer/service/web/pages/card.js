// What a card shows of an item: its label, its picture, its text as the model or the item says, and what else is known.
import { make } from "/static/shell.js";
import { code, markdown } from "/static/markdown.js";

const formatted = { plain: (text) => [text], markdown, code: (text) => [code(text)] };
const said = (value) => (Array.isArray(value) ? value.join(", ") : value === null ? "–" : String(value));
const facts = (pairs, kind) => make("dl", { class: kind }, ...pairs.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, said(value))]));
const entries = (object) => Object.entries(object ?? {});

// Pictures come from this server alone: a path of it, or one that was uploaded to the model.
function picture(item, base) {
  const image = make("img", { src: item.image.startsWith("/") ? item.image : `${base}/images/${encodeURIComponent(item.image)}`, alt: item.label ?? item.text?.slice(0, 120) ?? `picture ${item.id}` });
  image.addEventListener("error", () => image.replaceWith(make("p", { class: "note" }, "The picture cannot be shown.")));
  return image;
}

export function showItem(element, item, format, base) {
  const way = item.format ?? format ?? "plain", text = item.text ?? null;
  const plain = text !== null && way === "plain";
  element.className = way === "plain" ? "text" : "text rich";
  element.replaceChildren();
  if (plain && item.label == null && item.image == null && !item.features && !item.meta) { element.textContent = text; return; }
  if (item.label != null) element.append(make("p", { class: "label" }, item.label));
  if (item.image != null) element.append(picture(item, base));
  if (text !== null) element.append(make("div", { class: "body" }, ...formatted[way](text)));
  if (item.features && !(item.image != null && isName(item))) element.append(facts(entries(item.features), text === null ? "" : "besides"));
  if (item.vector && text === null && item.label == null && item.image == null && !item.features) element.append(facts(item.vector.map((value, k) => [`${k + 1}`, value])));
  if (item.meta) element.append(facts(entries(item.meta), "besides"));
}

// An item with nothing to learn from but what it is called.
const isName = (item) => entries(item.features).length === 1 && item.features.id === item.id;

// Short texts alone are shown large.
export const isBrief = (item, format) => item.text?.length < 120 && (item.format ?? format ?? "plain") === "plain" && item.image == null && !item.meta && !item.features;

// The context of a question: a text, one beside a vector, or features; a vector says nothing to people.
export function showContext(element, context, format) {
  const whole = typeof context === "object" && context !== null && !Array.isArray(context) && (Array.isArray(context.vector) || (typeof context.features === "object" && context.features !== null));
  const text = typeof context === "string" ? context : whole ? context.text ?? null : null;
  const others = whole ? entries(context.features) : typeof context === "object" && !Array.isArray(context) ? entries(context) : [];
  element.hidden = text === null && !others.length;
  element.classList.toggle("rich", format === "markdown");
  element.replaceChildren(...(text === null ? [] : format === "markdown" ? markdown(text) : [text]), ...(others.length ? [facts(others, "besides")] : []));
}
