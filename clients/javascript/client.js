// A client of the CONQUER service for browsers, Node (18 or later) and Deno: one file, no dependencies.
// Every call can be sent again without being counted twice.

// After these the same call may be sent again: nothing has happened, or it is safe to repeat.
const AGAIN = new Set([429, 502, 503, 504]);
// Those of them that do not say whether it has happened.
const UNSURE = new Set([502, 504]);
// Seconds between two tries at most.
const LONGEST = 30;

/** What the service said no to: its status, the code of the error and its own words. */
export class ServiceError extends Error {
  constructor(status, code, detail) {
    super(`${status} ${code}: ${detail}`);
    Object.assign(this, { name: "ServiceError", status, code, detail });
  }
}

/** The service at `address`. Calls that fail on the way, or find it busy, are sent again up to `retries` times. */
export class Client {
  #address;
  #headers;
  #timeout;
  #retries;

  constructor(address, { key, timeout = 30, retries = 5 } = {}) {
    if (!(timeout > 0 && timeout <= 1e6)) throw new RangeError(`timeout must be seconds in (0, 1e6], got ${timeout}`);
    if (!(Number.isInteger(retries) && retries >= 0 && retries <= 1000)) {
      throw new RangeError(`retries must be a whole number in [0, 1000], got ${retries}`);
    }
    this.#address = new URL(address).href.replace(/\/+$/, "");
    if (!/^https?:/.test(this.#address)) throw new TypeError(`address must be of http or https, got ${address}`);
    this.#headers = key ? { authorization: `Bearer ${key}` } : {};
    this.#timeout = timeout;
    this.#retries = retries;
  }

  /** Send to any route until it is answered; a ServiceError for a no, fetch's own error where nobody can be reached. */
  async send(route, { path = {}, query = {}, body, repeats = route.startsWith("GET "), signal } = {}) {
    const [method, template] = route.split(" ");
    const place = template.replace(/\{(\w+)\}/g, (_, name) => segment(name, path[name]));
    const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value != null)).toString();
    const url = this.#address + place + (words && `?${words}`);
    const headers = isFile(body) ? this.#headers : { ...this.#headers, "content-type": "application/json" };
    const content = isFile(body) ? body : JSON.stringify(body);
    for (let tried = 0; ; tried++) {
      let reply;
      try {
        reply = await once(url, { method, headers, body: content }, this.#timeout, signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (tried >= this.#retries || !repeats) throw error;
      }
      if (reply) {
        if (reply.ok) return told(reply);
        // A call that may not be repeated goes again only where the server says that nothing has happened.
        // Who is told to stay away for long is told so at once, and does not knock in between.
        const final = !AGAIN.has(reply.status) || (UNSURE.has(reply.status) && !repeats) || reply.after > LONGEST;
        if (final || tried >= this.#retries) throw refusal(reply.status, told(reply));
      }
      await pause(Math.max(waiting(tried), reply?.after ?? 0), signal);
    }
  }

  #on(name, method, rest, given) {
    return this.send(`${method} /v1/models/{name}${rest}`, { ...given, path: { name, ...given.path } });
  }

  /** The models that this key may read. */
  async models({ signal } = {}) {
    return (await this.send("GET /v1/models", { signal })).models;
  }

  /** Make a model. `settings`: parameters, features, seed, stop and the other fields of `POST /v1/models`. */
  create(name, algorithm = "gnc", { signal, ...settings } = {}) {
    return this.send("POST /v1/models", { body: { name, algorithm, ...settings }, signal });
  }

  /** What `GET /v1/models/NAME/what` says: "" the model itself, "task", "features", "latest", ... */
  get(name, what = "", { signal, ...query } = {}) {
    return this.#on(name, "GET", what && `/${what}`, { query, signal });
  }

  /** Delete the model and its log. */
  delete(name, { signal } = {}) {
    return this.#on(name, "DELETE", "", { signal });
  }

  /** Which items to show. Without an `event_id` it is given one here, so that it can be sent again. */
  choose(name, items, { signal, ...more } = {}) {
    return this.#on(name, "POST", "/choose", { body: named({ items, ...more }), repeats: true, signal });
  }

  /** Which items to show in many rounds, in one commit: a reply or a ServiceError for each, in order. */
  async chooseBatch(name, rounds, { signal } = {}) {
    const body = { rounds: rounds.map(named) };
    return each(await this.#on(name, "POST", "/choose/batch", { body, repeats: true, signal }));
  }

  /** Say which item won: its id, "tie", "both_bad" or "skip". */
  answer(name, event_id, winner, { signal, ...more } = {}) {
    const given = { path: { event_id }, body: { winner, ...more }, repeats: true, signal };
    return this.#on(name, "POST", "/events/{event_id}/answer", given);
  }

  /** Answer many events in one commit: a reply or a ServiceError for each, in order. */
  async answerBatch(name, answers, { signal } = {}) {
    return each(await this.#on(name, "POST", "/answers", { body: { answers }, repeats: true, signal }));
  }

  /** Take an answer back; the reply comes when the model has been folded without it. */
  undo(name, event_id, { signal, ...more } = {}) {
    return this.#on(name, "POST", "/events/{event_id}/undo", { path: { event_id }, body: more, signal });
  }

  /** The next question of an uploaded pool for this person: the one they hold, or a new one. */
  next(name, voter, { signal, ...more } = {}) {
    return this.#on(name, "POST", "/next", { body: { voter, ...more }, repeats: true, signal });
  }

  /** These items by score, best first; no round is used. */
  rank(name, items, { signal, ...more } = {}) {
    return this.#on(name, "POST", "/rank", { body: { items, ...more }, repeats: true, signal });
  }

  /** Who wins, how sure that is, and whether one may stop. null stands for infinity. */
  board(name, { signal, ...query } = {}) {
    return this.#on(name, "GET", "/board", { query, signal });
  }

  /** Each voter's pull to a side, agreement and weight. */
  voters(name, { signal } = {}) {
    return this.#on(name, "GET", "/voters", { signal });
  }

  /** Learn a file of votes from elsewhere; the same file is learnt once. */
  votes(name, contents, { signal, ...query } = {}) {
    return this.#on(name, "POST", "/votes", { query, body: contents, repeats: true, signal });
  }

  /** Add a file of items to ask people about. */
  upload(name, contents, { signal, ...query } = {}) {
    return this.#on(name, "POST", "/items", { query, body: contents, signal });
  }

  /** Add a picture: PNG, JPEG, WebP or GIF. Its `image` is what an item says to show it. */
  image(name, contents, { signal, ...query } = {}) {
    return this.#on(name, "POST", "/images", { query, body: contents, repeats: true, signal });
  }

  /** The log as text: `format` jsonl, preferences, ledger, answers or csv. */
  log(name, { signal, ...query } = {}) {
    return this.#on(name, "GET", "/log", { query, signal });
  }
}

const isFile = (body) => body == null || typeof body === "string" || body instanceof Blob
  || body instanceof ArrayBuffer || ArrayBuffer.isView(body);

// A name as one part of a path; URLs read dots alone as "here" and "up", also where they are escaped.
function segment(name, value) {
  if (value == null || /^\.*$/.test(value)) throw new RangeError(`${name} must be more than dots, got ${value}`);
  return encodeURIComponent(value);
}

// One try: its status, what it said, and in how many seconds to come back. All of it has `seconds`.
async function once(url, request, seconds, signal) {
  signal?.throwIfAborted();
  const both = new AbortController(), stop = () => both.abort(signal.reason);
  const late = () => both.abort(new DOMException(`no reply within ${seconds} s`, "TimeoutError"));
  const timer = setTimeout(late, seconds * 1000);
  signal?.addEventListener("abort", stop);
  try {
    const reply = await fetch(url, { ...request, signal: both.signal });
    const kind = reply.headers.get("content-type") ?? "", said = reply.headers.get("retry-after") ?? "";
    const content = kind.startsWith("application/octet-stream") ? await reply.arrayBuffer() : await reply.text();
    return { status: reply.status, ok: reply.ok, after: /^\d+$/.test(said) ? Number(said) : 0, kind, content };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

// What a reply says: JSON as it is meant, files as bytes, everything else as text. The service sends no HTML here.
function told({ status, ok, kind, content }) {
  if (status === 204) return undefined;
  if (kind.startsWith("application/octet-stream")) return content;
  try {
    if (kind.startsWith("application/json")) return JSON.parse(content);
    if (!ok || !kind.startsWith("text/html")) return content;
  } catch {
    if (!ok) return content;
  }
  const words = "this is no reply of the service; does its address lead there? It says: ";
  throw new ServiceError(status, "unreadable", words + (content.slice(0, 200) || "nothing"));
}

// Seconds until the next try. Half of it by chance: many clients that failed together do not come back together.
const waiting = (tried) => Math.min(LONGEST, 0.1 * 2 ** tried) * (0.5 + Math.random() / 2);

function pause(seconds, signal) {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => { clearTimeout(timer); reject(signal.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

// An error as the service told it, or as whatever stands before it did.
function refusal(status, said) {
  const error = said?.error;
  if (!error || typeof error !== "object") return new ServiceError(status, "unknown", String(said ?? "").slice(0, 200));
  return new ServiceError(status, error.code ?? "unknown", error.message ?? "");
}

const each = ({ results }) => results.map((one) => (one.error ? refusal(one.error.status, one) : one));

const named = (round) => ({ ...round, event_id: round.event_id ?? eventId() });

function eventId() {
  const bytes = new Uint8Array(16);
  // Node 18 has no global crypto; an event id must be new, not secret.
  if (globalThis.crypto) globalThis.crypto.getRandomValues(bytes);
  else bytes.forEach((_, k) => { bytes[k] = Math.random() * 256; });
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
