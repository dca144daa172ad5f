// What every page needs: the top bar, calls to the API with the page's token, and small tools for building elements.
const session = { token: "", name: "", roles: [], open: true };

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  // Text is always text: strings become text nodes, never markup.
  element.append(...children.filter((child) => child != null));
  return element;
}

export const find = (id) => document.getElementById(id);
export const pathPart = (place) => decodeURIComponent(location.pathname.split("/")[place] || "");

export class ApiError extends Error {
  constructor(status, code, message) { super(message); this.status = status; this.code = code; }
}

let leaving = false;

export async function api(method, path, body, raw = false) {
  const headers = { "X-Conquer-Token": session.token };
  if (body !== undefined) headers["Content-Type"] = raw ? "application/octet-stream" : "application/json";
  const reply = await fetch(path, { method, headers, body: body === undefined ? undefined : raw ? body : JSON.stringify(body) });
  if (reply.status === 204) return null;
  const text = await reply.text();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch { value = null; }
  if (reply.ok) return value;
  // Once: of two calls that are refused, the second would stop the way that the first began. After a while it has led nowhere.
  if (reply.status === 401 && !leaving) {
    leaving = true;
    setTimeout(() => { leaving = false; }, 5000);
    location.assign("/login?next=" + encodeURIComponent(location.pathname));
  }
  throw new ApiError(reply.status, value?.error?.code ?? "unknown", value?.error?.message ?? `status ${reply.status}`);
}

// In place of a page that cannot be shown: why, and the way back. It never returns, so nothing after it runs.
export function stranded(error) {
  const gone = error.code === "unknown_model";
  document.body.querySelector("main").classList.remove("loading");
  document.body.querySelector("main").replaceChildren(make("section", { class: "card narrow stack", id: "stranded", role: "alert" },
    make("h1", {}, gone ? "There is no such model" : "This page cannot be shown"),
    make("p", { dir: "auto" }, gone ? `Nothing here is called “${pathPart(2)}”. It may have been deleted, or the address has a typing error.` : error.message),
    make("p", { class: "row" }, make("a", { class: "button primary", href: "/" }, "All models"), gone ? null : make("a", { class: "button", href: location.pathname }, "Try again"))));
  return new Promise(() => {});
}

export async function begin(crumb) {
  Object.assign(session, await (await fetch("/session")).json());
  const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  mark.setAttribute("viewBox", "0 0 32 32");
  mark.setAttribute("aria-hidden", "true");
  for (const [x, fill] of [[3, "var(--left)"], [17, "var(--right)"]]) {
    const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ x, y: 5, width: 12, height: 22, rx: 3.5, fill })) box.setAttribute(name, value);
    mark.append(box);
  }
  const home = make("a", { class: "home", href: "/" }, mark, "CONQUER");
  const bar = make("header", { class: "bar" }, home);
  if (crumb) bar.append(make("span", { class: "crumb", id: "crumb", dir: "auto" }, crumb));
  bar.append(make("a", { class: "push quiet button", href: "/docs" }, "API"));
  if (!session.open) bar.append(make("button", { class: "quiet", onclick: leave }, "Sign out"));
  document.body.prepend(bar);
  return session;
}

// What the bar calls the page, once a title is known.
export const call = (title) => void (find("crumb").textContent = title);

async function leave() {
  await api("POST", "/logout");
  location.assign("/login");
}

export const percent = (value) => (value == null ? "–" : `${Math.round(value * 100)} %`);
export const whole = (value) => Number(value).toLocaleString("en");

const SVG = "http://www.w3.org/2000/svg";
export function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function axes(chart, w, h, left, bottom, y, from, to) {
  for (const share of [0, 0.5, 1]) {
    chart.append(draw("line", { x1: left, x2: w, y1: y(share), y2: y(share), class: "rule" }), draw("text", { x: 0, y: y(share) + 4 }, `${share * 100} %`));
  }
  chart.append(draw("text", { x: left, y: h - 6 }, from), draw("text", { x: w, y: h - 6, "text-anchor": "end" }, to));
}

export const frame = (small) => (small ? [280, 56, 0, 2] : innerWidth < 600 ? [360, 190, 40, 26] : [720, 240, 40, 26]);
