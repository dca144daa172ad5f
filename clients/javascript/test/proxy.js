// A proxy that spoils what passes, one fault per request, in the order of `faults`; then it lets everything through.
import http from "node:http";

const FAULTS = {
  // Lost on the way there, and on the way back: the second has been carried out.
  lost: (_, response) => response.destroy(),
  unheard: (reply, response) => response.destroy(),
  // The headers arrive and half of the body.
  cut: (reply, response) => {
    response.writeHead(reply.status, { "content-type": "application/json", "content-length": reply.body.length });
    response.write(reply.body.subarray(0, reply.body.length / 2), () => response.destroy());
  },
  indeterminate: (_, response) => failed(response, 504, "indeterminate", { "retry-after": "0" }),
  busy: (_, response) => failed(response, 429, "busy", { "retry-after": "0" }),
  gateway: (_, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>"),
  away: (_, response) => failed(response, 503, "storage", { "retry-after": "3600" }),
  portal: (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Sign in</h1>"),
  broken: (_, response) => response.writeHead(200, { "content-type": "application/json" }).end("{"),
  silent: () => {},
};
const NOT_FORWARDED = new Set(["lost", "busy", "gateway", "away", "portal", "broken", "silent"]);

function failed(response, status, code, headers) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ error: { code, message: "said by the proxy" } }));
}

/** {address, faults, requests, close}: `requests` are those that came in, as "POST /path". */
export async function proxy(server) {
  const faults = [], requests = [];
  const serving = http.createServer(async (request, response) => {
    const fault = faults.shift();
    requests.push(`${request.method} ${request.url}`);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (NOT_FORWARDED.has(fault)) return FAULTS[fault](null, response);
    const body = chunks.length ? Buffer.concat(chunks) : undefined;
    const answer = await fetch(server + request.url, { method: request.method, headers: { "content-type": "application/json" }, body });
    const reply = { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
    if (fault) return FAULTS[fault](reply, response);
    response.writeHead(reply.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(reply.body);
  });
  await new Promise((resolve) => serving.listen(0, "127.0.0.1", resolve));
  const close = () => { serving.close(); serving.closeAllConnections(); };
  return { address: `http://127.0.0.1:${serving.address().port}`, faults, requests, close };
}
