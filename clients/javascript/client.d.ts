// The types of client.js. Requests and replies are those of the service's OpenAPI document: service.d.ts.
import type {
  AnswerReply, AnswerRequest, BatchAnswer, BoardReply, ChooseRequest, ChooseReply, Contents, ModelInfo, Item, NewModel,
  NextRequest, Question, RankingRequest, RankingReply, Routes, UndoRequest, Uploaded, UploadedImage, VotersReply,
  VotesReply,
} from "./service.d.ts";

export type * from "./service.d.ts";

export interface Options {
  /** The secret of an API key, for servers that require one. */
  key?: string | undefined;
  /** Seconds to wait for each reply; 30 by default. */
  timeout?: number;
  /** How many times a request is sent again; 5 by default. */
  retries?: number;
}

export interface Sent {
  /** Cancels the call, for instance `AbortSignal.timeout(5000)`. */
  signal?: AbortSignal | undefined;
}

/** The query parameters of a route. */
type Query<Route extends keyof Routes> = Routes[Route]["given"] extends { query?: infer Words } ? Words & Sent : Sent;
/** A request's fields without those that are arguments. */
type More<Request, Given extends keyof Request> = Omit<Request, Given> & Sent;
type Reading<What extends string> = What extends "" ? "GET /v1/models/{name}" : `GET /v1/models/{name}/${What}`;

export declare class ServiceError extends Error {
  constructor(status: number, code: string, detail: string);
  /** The HTTP status; in a batch, the status of the part. */
  readonly status: number;
  /** The error's code, for programs: "unknown_model", "answered", ... */
  readonly code: string;
  /** The service's message. `message` joins status, code and detail. */
  readonly detail: string;
}

export declare class Client {
  constructor(address: string | URL, options?: Options);

  /** Send a request to any route. `repeats`: the request is idempotent, as GET always is. */
  send<Route extends keyof Routes>(
    route: Route,
    given: Routes[Route]["given"] & Sent & { repeats?: boolean },
  ): Promise<Routes[Route]["reply"]>;

  /** List the models that the key may read. */
  models(more?: Sent): Promise<ModelInfo[]>;

  /** Create a model; the default algorithm is "gnr". */
  create(name: string, algorithm?: string, settings?: More<NewModel, "name" | "algorithm">): Promise<ModelInfo>;

  /** Get `/v1/models/NAME/what`: the model itself, "task", "features", "latest", ... */
  get<What extends string = "">(
    name: string,
    what?: What,
    query?: Reading<What> extends keyof Routes ? Query<Reading<What>> : Record<string, unknown>,
  ): Promise<Reading<What> extends keyof Routes ? Routes[Reading<What>]["reply"] : unknown>;

  /** Delete the model and its log. */
  delete(name: string, more?: Sent): Promise<undefined>;

  /** Ask which items to show. An `event_id` is added where there is none. */
  ask(name: string, items: Item[], more?: More<ChooseRequest, "items">): Promise<ChooseReply>;

  /** Ask for many rounds in one commit: a reply or a ServiceError for each, in order. */
  askBatch(name: string, rounds: ChooseRequest[], more?: Sent): Promise<(ChooseReply | ServiceError)[]>;

  /** Answer a question: an item's id, "tie", "both_bad" or "skip". */
  tell(name: string, event_id: string, winner: string, more?: More<AnswerRequest, "winner">): Promise<AnswerReply>;

  /** Answer many questions in one commit: a reply or a ServiceError for each, in order. */
  tellBatch(name: string, answers: BatchAnswer[], more?: Sent): Promise<(AnswerReply | ServiceError)[]>;

  /** Withdraw an answer; the reply comes after the model has been replayed without it. */
  undo(name: string, event_id: string, more?: UndoRequest & Sent): Promise<AnswerReply>;

  /** Get a person's next question about the uploaded items: the open one, or a new one. */
  next(name: string, voter: string, more?: More<NextRequest, "voter">): Promise<Question>;

  /** Rank items by score, best first, without using a round. */
  rank(name: string, items: Item[], more?: More<RankingRequest, "items">): Promise<RankingReply>;

  /** Get the board: scores with intervals, and whether asking may stop. null means infinity. */
  board(name: string, query?: Query<"GET /v1/models/{name}/board">): Promise<BoardReply>;

  /** Get each voter's bias towards a side, agreement and weight. */
  voters(name: string, more?: Sent): Promise<VotersReply>;

  /** Learn a file of votes; the same file is learnt once. */
  votes(name: string, contents: Contents, query?: Query<"POST /v1/models/{name}/votes">): Promise<VotesReply>;

  /** Add a file of items to ask people about. */
  upload(name: string, contents: Contents, query?: Query<"POST /v1/models/{name}/items">): Promise<Uploaded>;

  /** Upload a PNG, JPEG, WebP or GIF image; the reply's `image` is the value for an item's `image` field. */
  image(name: string, contents: Contents, query?: Query<"POST /v1/models/{name}/images">): Promise<UploadedImage>;

  /** Get the log as text: `format` jsonl, preferences, ledger, answers or csv. */
  log(name: string, query?: Query<"GET /v1/models/{name}/log">): Promise<string>;
}
