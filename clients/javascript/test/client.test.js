// The client against a running server, whose address is SERVER: every call, every refusal, and a network that fails.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Client, ServiceError } from "../client.js";
import { proxy } from "./proxy.js";

const SERVER = process.env.SERVER;
const ITEMS = [{ id: "a", vector: [1, 0] }, { id: "b", vector: [0, 1] }];
const FULL = { model: "full", features: { dim: 2 } };
const client = new Client(SERVER, { timeout: 120 });
let count = 0;

async function fresh(algorithm = "gnr", settings = FULL) {
  const name = `js-${process.pid}-${count++}`;
  assert.equal((await client.create(name, algorithm, settings)).name, name);
  return name;
}

const refused = (status, code) => (error) => {
  assert.ok(error instanceof ServiceError, String(error));
  assert.deepEqual([error.status, error.code], [status, code]);
  assert.equal(error.message, `${status} ${code}: ${error.detail}`);
  return true;
};

test("a model from its making to its end", async () => {
  const name = await fresh();
  assert.equal(await client.log(name), "");
  const question = await client.ask(name, ITEMS, { event_id: "one", voter: "ann" });
  assert.equal(question.query, "duel");
  assert.deepEqual(question.shown.map((one) => one.id).sort(), ["a", "b"]);
  assert.deepEqual(await client.ask(name, ITEMS, { event_id: "one", voter: "ann" }), question);
  assert.equal((await client.tell(name, "one", "a", { voter: "ann", seconds: 1.5 })).status, "learnt");
  assert.equal((await client.tell(name, "one", "a", { voter: "ann", seconds: 1.5 })).status, "repeat");
  assert.equal((await client.get(name)).summary.answers.learnt, 1);
  assert.ok((await client.models()).some((one) => one.name === name));
  await assert.rejects(client.tell(name, "one", "b", { voter: "ann" }), refused(409, "answered"));
  assert.equal(await client.delete(name), undefined);
  await assert.rejects(client.get(name), refused(404, "unknown_model"));
});

test("what the service refuses is told once, with its status, code and words", async () => {
  const name = await fresh(), middle = await proxy(SERVER);
  const through = new Client(middle.address);
  await assert.rejects(through.ask(name, []), refused(422, "invalid"));
  await assert.rejects(through.ask(name, [{ id: "a", vector: [1, 2, 3] }, ITEMS[1]]), refused(422, "invalid"));
  await assert.rejects(through.tell(name, "never", "a"), refused(404, "unknown_event"));
  await assert.rejects(through.create(name, "no-such"), (error) => error.status === 422 && error.detail.includes("no-such"));
  assert.equal(middle.requests.length, 4);
  middle.close();
});

test("many at once, each standing for itself", async () => {
  const name = await fresh();
  const rounds = [{ items: ITEMS, event_id: "b-1" }, { items: ITEMS }, { items: [] }];
  const results = await client.askBatch(name, rounds);
  assert.deepEqual(results.map((one) => one instanceof ServiceError), [false, false, true]);
  refused(422, "invalid")(results[2]);
  assert.match(results[1].event_id, /^[0-9a-f]{32}$/);
  const told = await client.tellBatch(name, [
    { event_id: "b-1", winner: "a" }, { event_id: results[1].event_id, winner: "skip" }, { event_id: "b-3", winner: "a" },
  ]);
  assert.deepEqual(told.slice(0, 2).map((one) => one.status), ["learnt", "ignored"]);
  refused(404, "unknown_event")(told[2]);
});

test("votes make a board, a ranking and voters", async () => {
  const name = await fresh("gnr", { model: "full", features: { dim: 64 }, stop: 0.5 });
  const votes = "left,right,winner,voter\nblue,red,left,ann\nred,green,tie,bob\ngreen,blue,right,ann\n";
  assert.equal((await client.votes(name, votes)).learnt, 3);
  assert.equal((await client.votes(name, new TextEncoder().encode(votes))).repeated, 3);
  const board = await client.board(name, { interval: "fixed", delta: 0.1, stop: 0.5 });
  assert.equal(board.items[0].id, "blue");
  assert.deepEqual([board.interval, board.delta, board.answers, board.stop.leader], ["fixed", 0.1, 3, "blue"]);
  assert.equal((await client.board(name, { limit: 1, stop: undefined })).items.length, 1);
  const ranked = await client.rank(name, ["red", "blue"].map((id) => ({ id, features: { id } })));
  assert.deepEqual(ranked.items.map((one) => one.id), ["blue", "red"]);
  assert.deepEqual((await client.voters(name)).voters.map((one) => one.name), ["ann", "bob"]);
  assert.equal((await client.log(name, { format: "ledger" })).trim().split("\n").length > 3, true);
  assert.ok((await client.get(name, "file")) instanceof ArrayBuffer);
});

test("an answer is taken back, a picture added", async () => {
  const name = await fresh("gnr", { features: { dim: 2 } });
  const { event_id, shown } = await client.ask(name, [{ id: "a", vector: [1, 0] }, { id: "b", vector: [0, 1] }]);
  await client.tell(name, event_id, shown[0].id, { voter: "ann" });
  assert.equal((await client.undo(name, event_id, { voter: "ann" })).reason, "undone");
  await assert.rejects(client.undo(name, event_id), refused(409, "not_answered"));
  const told = await client.image(name, new TextEncoder().encode("GIF89a"), { file: "dot.gif" });
  assert.deepEqual([told.image, told.file], ["610f5ae4d76e332636a17bd357fd6ce9.gif", "dot.gif"]);
});

test("a board of groups", async () => {
  const name = await fresh("gnr", { model: "full", features: { dim: 64 } });
  const items = ["x", "y", "x"].map((brand, k) => ({ id: `i${k}`, features: { brand, place: k } }));
  for (let k = 0; k < 5; k++) {
    const { event_id, shown } = await client.ask(name, items);
    await client.tell(name, event_id, shown.some((one) => one.id === "i1") ? "i1" : "tie");
  }
  const board = await client.board(name, { groups: "brand" });
  assert.deepEqual(board.items.map((one) => [one.id, one.count]), [["y", 1], ["x", 2]]);
  await assert.rejects(client.board(name, { groups: "colour" }), refused(409, "no_group"));
});

test("people are asked about an uploaded pool", async () => {
  const name = await fresh("gnr", {});
  assert.equal((await client.upload(name, "id,text\nx,green tea\ny,black tea\n")).items, 2);
  const question = await client.next(name, "ann");
  assert.deepEqual((await client.next(name, "ann")).event, question.event);
  const { event_id, left } = question.event;
  assert.equal((await client.tell(name, event_id, left, { voter: "ann" })).status, "learnt");
  const path = { name, event_id };
  const undone = await client.send("POST /v1/models/{name}/events/{event_id}/undo", { path, body: { voter: "ann" } });
  assert.equal(undone.reason, "undone");
  assert.equal((await client.get(name, "task")).items, 2);
});

describe("a network that fails", () => {
  let middle, through, name;
  before(async () => {
    middle = await proxy(SERVER);
    through = new Client(middle.address, { timeout: 120 });
    name = await fresh();
  });
  after(() => middle.close());

  test("asks and learns once", async () => {
    const spoilt = ["lost", "unheard", "cut", "indeterminate", "busy", "gateway"];
    for (const fault of spoilt) {
      middle.faults.push(fault);
      const question = await through.ask(name, ITEMS);
      middle.faults.push(fault);
      const { status } = await through.tell(name, question.event_id, question.shown[0].id);
      assert.equal(status, ["unheard", "cut", "indeterminate"].includes(fault) ? "repeat" : "learnt", fault);
    }
    const { summary } = await client.get(name);
    assert.deepEqual([summary.rounds, summary.answers.learnt], [spoilt.length, spoilt.length]);
    assert.equal(middle.requests.length, 4 * spoilt.length);
  });

  test("a batch and a file of votes are learnt once", async () => {
    middle.faults.push("unheard");
    const rounds = await through.askBatch(name, [{ items: ITEMS }, { items: ITEMS }]);
    middle.faults.push("indeterminate", "lost");
    const answers = rounds.map((one) => ({ event_id: one.event_id, winner: "a" }));
    assert.deepEqual((await through.tellBatch(name, answers)).map((one) => one.status), ["repeat", "repeat"]);
    const other = await fresh("gnr", { model: "full", features: { dim: 64 } });
    middle.faults.push("cut");
    assert.equal((await through.votes(other, "left,right,winner\nx,y,left\n")).repeated, 1);
    assert.equal((await client.get(other)).summary.votes, 1);
  });

  test("what may not be repeated is sent once, unless nothing has happened", async () => {
    const before = middle.requests.length;
    middle.faults.push("lost");
    await assert.rejects(through.create("js-lost"), TypeError);
    middle.faults.push("indeterminate");
    await assert.rejects(through.delete("js-none"), refused(504, "indeterminate"));
    middle.faults.push("gateway");
    await assert.rejects(through.delete("js-none"), refused(502, "unknown"));
    assert.equal(middle.requests.length, before + 3);
    middle.faults.push("busy");
    await through.delete(await fresh());
    assert.equal(middle.requests.length, before + 5);
  });

  test("the last try says what was wrong", async () => {
    const twice = new Client(middle.address, { retries: 1 });
    middle.faults.push("gateway", "gateway");
    await assert.rejects(twice.get(name), (error) => refused(502, "unknown")(error) && error.detail === "<h1>Bad Gateway</h1>");
    middle.faults.push("lost", "lost");
    await assert.rejects(twice.get(name), TypeError);
  });

  test("who is told to stay away for long does not knock again", async () => {
    const before = middle.requests.length;
    middle.faults.push("away");
    await assert.rejects(through.get(name), refused(503, "storage"));
    assert.equal(middle.requests.length, before + 1);
  });

  test("a success that is no reply of the service says so", async () => {
    for (const [fault, says] of [["portal", "<h1>Sign in</h1>"], ["broken", "{"]]) {
      middle.faults.push(fault);
      await assert.rejects(through.get(name), (error) => refused(200, "unreadable")(error) && error.detail.endsWith(says));
    }
  });

  test("a server that is silent is asked again, and a caller may leave", async () => {
    middle.faults.push("silent");
    assert.equal((await new Client(middle.address, { timeout: 3, retries: 50 }).get(name)).name, name);
    middle.faults.push("silent");
    await assert.rejects(new Client(middle.address, { timeout: 0.1, retries: 0 }).get(name), { name: "TimeoutError" });
    const leaving = new AbortController(), gone = new Error("the reader has gone");
    middle.faults.push("silent");
    const call = through.ask(name, ITEMS, { signal: leaving.signal });
    setTimeout(() => leaving.abort(gone), 50);
    await assert.rejects(call, gone);
    await assert.rejects(through.get(name, "", { signal: leaving.signal }), gone);
  });
});

test("settings are checked", async () => {
  assert.throws(() => new Client(SERVER, { retries: -1 }), /retries must be .* got -1/);
  assert.throws(() => new Client(SERVER, { timeout: 0 }), /timeout must be .* got 0/);
  assert.throws(() => new Client("no address"), TypeError);
  assert.throws(() => new Client("ftp://shop.example"), /address must be of http/);
  await assert.rejects(client.tell("teas", "..", "a"), /event_id must be more than dots, got \.\./);
  await assert.rejects(client.get(undefined), /name must be more than dots, got undefined/);
});
