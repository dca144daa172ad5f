// Every route of the OpenAPI document: what it takes and gives, an example, and a form that sends it.
import { begin, find, make } from "/static/shell.js";
import { reader } from "/static/shape.js";

const MOST = 20000; // characters of a reply that are shown
const me = await begin("API");
const spec = await (await fetch("/openapi.json")).json();
const { fields, sample } = reader(spec);

const folded = (title, ...children) => make("details", {}, make("summary", {}, title), ...children);
const code = (value) => make("pre", { tabindex: "0" }, typeof value === "string" ? value : JSON.stringify(value, null, 2));

async function beginning(reply) {
  const parts = reply.body.getReader(), decoder = new TextDecoder();
  let text = "";
  for (let part = await parts.read(); !part.done; part = await parts.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > MOST) { await parts.cancel(); return `${text.slice(0, MOST)}\n… cut here`; }
  }
  return text;
}

function shown(text, type) {
  if (!type.startsWith("application/json")) return type.startsWith("text/") || type.includes("ndjson") ? text : `${text.length} characters of ${type}`;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function trying(path, method, operation, form, example) {
  const inputs = Object.fromEntries((operation.parameters ?? []).map((one) => [one.name, { ...one, input: make("input", { autocomplete: "off", required: one.required, placeholder: one.required ? "" : "optional" }) }]));
  const body = form && make("textarea", { rows: Math.min(14, example.split("\n").length + 1), spellcheck: "false" });
  if (body) body.value = example;
  const status = make("b", { role: "status" }), reply = make("pre", { tabindex: "0", "aria-label": "Reply", hidden: true });
  async function send(event) {
    event.preventDefault();
    if (method === "delete" && !confirm("Really? This cannot be undone.")) return;
    const place = path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(inputs[name].input.value));
    const query = new URLSearchParams(Object.values(inputs).filter((one) => one.in === "query" && one.input.value).map((one) => [one.name, one.input.value])).toString();
    const key = find("key").value.trim(), headers = key ? { Authorization: `Bearer ${key}` } : { "X-Conquer-Token": me.token };
    if (body) headers["Content-Type"] = form;
    try {
      const got = await fetch(place + (query ? `?${query}` : ""), { method: method.toUpperCase(), headers, body: body?.value, credentials: key ? "omit" : "same-origin" });
      status.textContent = `${got.status} ${got.statusText}`;
      status.className = got.ok ? "ok" : "error";
      const text = got.body ? await beginning(got) : "";
      reply.hidden = !text;
      reply.textContent = shown(text, got.headers.get("content-type") ?? "");
    } catch (error) { status.textContent = error.message; status.className = "error"; reply.hidden = true; }
  }
  return make("form", { class: "stack try", onsubmit: send },
    ...Object.values(inputs).map((one) => make("label", {}, one.name, one.input)),
    body ? make("label", {}, "Body", body) : null,
    make("p", { class: "row" }, make("button", { class: "primary" }, "Send"), status), reply);
}

function route(path, method, operation) {
  const [form, taken] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const given = Object.entries(operation.responses).find(([status]) => status.startsWith("2")), told = Object.values(given[1].content ?? {})[0]?.schema;
  const made = taken && (taken.example ?? (taken.schema.format === "binary" ? "" : sample(taken.schema)));
  const example = typeof made === "string" ? made : made ? JSON.stringify(made, null, 2) : "";
  const card = make("section", { class: "card route", "aria-label": `${method.toUpperCase()} ${path}` },
    make("h2", { class: "path" }, make("span", { class: "method" }, method.toUpperCase()), path, " ",
      make("span", { class: "tag" }, operation["x-role"] === "none" ? "no key" : operation["x-role"])),
    make("p", {}, operation.summary));
  // What is folded is made when it is opened: there are many routes.
  const lazily = (title, build) => {
    const one = folded(title);
    one.addEventListener("toggle", () => { if (one.open && one.children.length === 1) one.append(...build().filter(Boolean)); });
    card.append(one);
  };
  if (form) lazily("Body", () => [fields(taken.schema), make("p", { class: "note" }, "For example"), code(example)]);
  if (told) lazily(`Reply ${given[0]}`, () => [fields(told), make("p", { class: "note" }, "It looks like"), code(sample(told))]);
  lazily("Try it", () => [trying(path, method, operation, form, example)]);
  card.dataset.text = `${method} ${path} ${operation.summary} ${operation["x-role"]}`.toLowerCase();
  return card;
}

find("routes").append(...Object.entries(spec.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => route(path, method, operation))));
find("find").addEventListener("input", () => {
  const words = find("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const card of find("routes").children) card.hidden = !words.every((word) => card.dataset.text.includes(word));
});
