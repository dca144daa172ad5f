// A client of the CONQUER service for browsers, Node (18 or later) and Deno: one file, no dependencies.
// A request that is sent again is neither asked nor learnt twice.

// Statuses after which a request may be sent again: it had no effect, or it is idempotent.
const AGAIN = new Set([429, 502, 503, 504]);
// Those that leave open whether the request had an effect.
const UNSURE = new Set([502, 504]);
// Seconds between two attempts at most.
const LONGEST = 30;

/** A request that the service refused: the HTTP status, the error's code and its message. */
export class ServiceError extends Error {
  constructor(status, code, detail) {
    super(`${status} ${code}: ${detail}`);
    Object.assign(this, { name: "ServiceError", status, code, detail });
  }
}

/** A connection to the service at `address`. A request that meets a lost connection or a busy server is sent again. */
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

  /** Send a request to any route. Throws a ServiceError when it is refused, fetch's error when there is no connection. */
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
        if (reply.ok) return contentOf(reply);
        // A request that is not idempotent is sent again only when the server says that it had no effect.
        // A long Retry-After is raised at once.
        const final = !AGAIN.has(reply.status) || (UNSURE.has(reply.status) && !repeats) || reply.after > LONGEST;
        if (final || tried >= this.#retries) throw refusal(reply.status, contentOf(reply));
      }
      await pause(Math.max(waiting(tried), reply?.after ?? 0), signal);
    }
  }

  #on(name, method, rest, given) {
    return this.send(`${method} /v1/models/{name}${rest}`, { ...given, path: { name, ...given.path } });
  }

  /** List the models that the key may read. */
  async models({ signal } = {}) {
    return (await this.send("GET /v1/models", { signal })).models;
  }

  /** Create a model; `settings` are the other fields of `POST /v1/models`, such as parameters and stop. */
  create(name, algorithm = "gnr", { signal, ...settings } = {}) {
    return this.send("POST /v1/models", { body: { name, algorithm, ...settings }, signal });
  }

  /** Get `/v1/models/NAME/what`: "" for the model itself, "task", "features", "latest", ... */
  get(name, what = "", { signal, ...query } = {}) {
    return this.#on(name, "GET", what && `/${what}`, { query, signal });
  }

  /** Delete the model and its log. */
  delete(name, { signal } = {}) {
    return this.#on(name, "DELETE", "", { signal });
  }

  /** Ask which items to show. An `event_id` is added where there is none, so that the request can be repeated. */
  ask(name, items, { signal, ...more } = {}) {
    return this.#on(name, "POST", "/choose", { body: named({ items, ...more }), repeats: true, signal });
  }

  /** Ask for many rounds in one commit: a reply or a ServiceError for each, in order. */
  async askBatch(name, rounds, { signal } = {}) {
    const body = { rounds: rounds.map(named) };
    return each(await this.#on(name, "POST", "/choose/batch", { body, repeats: true, signal }));
  }

  /** Answer a question: `winner` is an item's id, "tie", "both_bad" or "skip". */
  tell(name, event_id, winner, { signal, ...more } = {}) {
    const given = { path: { event_id }, body: { winner, ...more }, repeats: true, signal };
    return this.#on(name, "POST", "/events/{event_id}/answer", given);
  }

  /** Answer many questions in one commit: a reply or a ServiceError for each, in order. */
  async tellBatch(name, answers, { signal } = {}) {
    return each(await this.#on(name, "POST", "/answers", { body: { answers }, repeats: true, signal }));
  }

  /** Withdraw an answer; the reply comes after the model has been replayed without it. */
  undo(name, event_id, { signal, ...more } = {}) {
    return this.#on(name, "POST", "/events/{event_id}/undo", { path: { event_id }, body: more, signal });
  }

  /** Get a person's next question about the uploaded items: the open one, or a new one. */
  next(name, voter, { signal, ...more } = {}) {
    return this.#on(name, "POST", "/next", { body: { voter, ...more }, repeats: true, signal });
  }

  /** Rank items by score, best first, without using a round. */
  rank(name, items, { signal, ...more } = {}) {
    return this.#on(name, "POST", "/rank", { body: { items, ...more }, repeats: true, signal });
  }

  /** Get the board: scores with intervals, and whether asking may stop. null means infinity. */
  board(name, { signal, ...query } = {}) {
    return this.#on(name, "GET", "/board", { query, signal });
  }

  /** Get each voter's bias towards a side, agreement and weight. */
  voters(name, { signal } = {}) {
    return this.#on(name, "GET", "/voters", { signal });
  }

  /** Learn a file of votes; the same file is learnt once. */
  votes(name, contents, { signal, ...query } = {}) {
    return this.#on(name, "POST", "/votes", { query, body: contents, repeats: true, signal });
  }

  /** Add a file of items to ask people about. */
  upload(name, contents, { signal, ...query } = {}) {
    return this.#on(name, "POST", "/items", { query, body: contents, signal });
  }

  /** Upload a PNG, JPEG, WebP or GIF image; the reply's `image` is the value for an item's `image` field. */
  image(name, contents, { signal, ...query } = {}) {
    return this.#on(name, "POST", "/images", { query, body: contents, repeats: true, signal });
  }

  /** Get the log as text: `format` jsonl, preferences, ledger, answers or csv. */
  log(name, { signal, ...query } = {}) {
    return this.#on(name, "GET", "/log", { query, signal });
  }
}

const isFile = (body) => body == null || typeof body === "string" || body instanceof Blob
  || body instanceof ArrayBuffer || ArrayBuffer.isView(body);

// A name as one segment of a path. URLs resolve "." and "..", also when they are escaped.
function segment(name, value) {
  if (value == null || /^\.*$/.test(value)) throw new RangeError(`${name} must be more than dots, got ${value}`);
  return encodeURIComponent(value);
}

// One attempt of at most `seconds`: status, content and Retry-After.
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

// The content of a reply: JSON decoded, files as bytes, anything else as text. The service sends no HTML here.
function contentOf({ status, ok, kind, content }) {
  if (status === 204) return undefined;
  if (kind.startsWith("application/octet-stream")) return content;
  try {
    if (kind.startsWith("application/json")) return JSON.parse(content);
    if (!ok || !kind.startsWith("text/html")) return content;
  } catch {
    if (!ok) return content;
  }
  const words = "this is not a reply of the service; check the address. It begins: ";
  throw new ServiceError(status, "unreadable", words + (content.slice(0, 200) || "(empty)"));
}

// Seconds before the next attempt, half of them random so that clients that failed together spread out.
const waiting = (tried) => Math.min(LONGEST, 0.1 * 2 ** tried) * (0.5 + Math.random() / 2);

function pause(seconds, signal) {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => { clearTimeout(timer); reject(signal.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

// The error of the service, or of a proxy before it.
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
