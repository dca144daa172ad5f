// What the types must let through, and what they must not: checked by `tsc --strict`, never run.
import { Client, ServiceError } from "conquer-client";
import type { BoardReply, ChooseReply, Item } from "conquer-client";

const items: Item[] = [{ id: "a", text: "green tea" }, { id: "b", features: { kind: "black", price: 3 } }];

export async function asked(client: Client): Promise<string> {
  const offer: ChooseReply = await client.ask("teas", items, { voter: "ann", signal: AbortSignal.timeout(5000) });
  if (offer.query !== "duel") return "none";
  const [first] = offer.shown;
  const { status } = await client.tell("teas", offer.event_id, first?.id ?? "skip", { strength: 0.5, kind: "judge" });
  return status;
}

export async function many(client: Client): Promise<number> {
  const results = await client.askBatch("teas", [{ items }, { items, event_id: "e", context: { hour: "late" } }]);
  const told = await client.tellBatch("teas", [{ event_id: "e", winner: "tie" }]);
  return results.filter((one) => !(one instanceof ServiceError)).length + told.length;
}

export async function looked(client: Client): Promise<(number | null)[]> {
  const board: BoardReply = await client.board("teas", { interval: "proved", delta: 0.05, limit: 3 });
  const brands = await client.board("teas", { groups: "kind" });
  const info = await client.get("teas");
  const task = await client.get("teas", "task");
  const ranked = await client.rank("teas", items, { context: "morning" });
  const { voters } = await client.voters("teas");
  const names: string[] = [info.name, task.question, ...ranked.items.map((one) => one.id), ...voters.map((one) => one.name)];
  const undone = await client.send("POST /v1/models/{name}/events/{event_id}/undo", {
    path: { name: "teas", event_id: "e" }, body: { voter: "ann" },
  });
  const text: string = await client.log("teas", { format: "csv" });
  const models = await client.models();
  return [board.items[0]?.low ?? null, brands.items[0]?.count ?? null, names.length, undone.event_id.length, text.length, models.length];
}

export async function refused(client: Client): Promise<void> {
  // @ts-expect-error a winner must be named
  await client.tell("teas", "e");
  // @ts-expect-error a misspelt field
  await client.ask("teas", items, { vote: "ann" });
  // @ts-expect-error an item has an id
  await client.ask("teas", [{ text: "green tea" }]);
  // @ts-expect-error no such kind of voter
  await client.tell("teas", "e", "a", { kind: "robot" });
  // @ts-expect-error no such route
  await client.send("GET /v1/model", {});
  // @ts-expect-error the board has no such option
  await client.board("teas", { width: 3 });
}
