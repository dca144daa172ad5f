// The types of client.js. Requests and replies are those of the service's OpenAPI document: service.d.ts.
import type {
  AnswerReply, AnswerRequest, BatchAnswer, BoardReply, ChooseDocument, ChooseReply, Contents, ModelInfo, NewItem, NewModel,
  NextRequest, Question, RankingDocument, RankingReply, Routes, UndoRequest, Uploaded, UploadedImage, VotersReply,
  VotesReply,
} from "./service.d.ts";

export type * from "./service.d.ts";

export interface Options {
  /** For servers that want one. */
  key?: string | undefined;
  /** Seconds that one try may take, 30 unless told. */
  timeout?: number;
  /** How often a call is sent again that failed on the way or found the server busy, 5 unless told. */
  retries?: number;
}

export interface Sent {
  /** Ends the call, whatever it waits for, with the signal's own reason: `AbortSignal.timeout(5000)`, for instance. */
  signal?: AbortSignal | undefined;
}

/** What the query of a route may hold. */
type Query<Route extends keyof Routes> = Routes[Route]["given"] extends { query?: infer Words } ? Words & Sent : Sent;
/** A request's fields but for those that are given by name. */
type More<Request, Given extends keyof Request> = Omit<Request, Given> & Sent;
type Reading<What extends string> = What extends "" ? "GET /v1/models/{name}" : `GET /v1/models/{name}/${What}`;

export declare class ServiceError extends Error {
  constructor(status: number, code: string, detail: string);
  /** Of the reply; in a batch, what the reply would have had. */
  readonly status: number;
  /** "unknown_model", "answered", ...: for programs. */
  readonly code: string;
  /** The service's own words. `message` is all three in one line. */
  readonly detail: string;
}

export declare class Client {
  constructor(address: string | URL, options?: Options);

  /** Any route of the service. `repeats`: sending it twice does what sending it once does; of GET it is known. */
  send<Route extends keyof Routes>(
    route: Route,
    given: Routes[Route]["given"] & Sent & { repeats?: boolean },
  ): Promise<Routes[Route]["reply"]>;

  /** The models that this key may read. */
  models(more?: Sent): Promise<ModelInfo[]>;

  /** Make a model, of "gnc" unless told. */
  create(name: string, algorithm?: string, settings?: More<NewModel, "name" | "algorithm">): Promise<ModelInfo>;

  /** What `GET /v1/models/NAME/what` says: the model itself, "task", "features", "latest", ... */
  get<What extends string = "">(
    name: string,
    what?: What,
    query?: Reading<What> extends keyof Routes ? Query<Reading<What>> : Record<string, unknown>,
  ): Promise<Reading<What> extends keyof Routes ? Routes[Reading<What>]["reply"] : unknown>;

  /** Delete the model and its log. */
  delete(name: string, more?: Sent): Promise<undefined>;

  /** Which items to show. Without an `event_id` it is given one, so that it can be sent again. */
  choose(name: string, items: NewItem[], more?: More<ChooseDocument, "items">): Promise<ChooseReply>;

  /** Many rounds in one commit: a reply or a ServiceError for each, in order. */
  chooseBatch(name: string, rounds: ChooseDocument[], more?: Sent): Promise<(ChooseReply | ServiceError)[]>;

  /** Say which item won: its id, "tie", "both_bad" or "skip". */
  answer(name: string, event_id: string, winner: string, more?: More<AnswerRequest, "winner">): Promise<AnswerReply>;

  /** Many answers in one commit: a reply or a ServiceError for each, in order. */
  answerBatch(name: string, answers: BatchAnswer[], more?: Sent): Promise<(AnswerReply | ServiceError)[]>;

  /** Take an answer back; the reply comes when the model has been folded without it. */
  undo(name: string, event_id: string, more?: UndoRequest & Sent): Promise<AnswerReply>;

  /** The next question of an uploaded pool for this person: the one they hold, or a new one. */
  next(name: string, voter: string, more?: More<NextRequest, "voter">): Promise<Question>;

  /** These items by score, best first; no round is used. */
  rank(name: string, items: NewItem[], more?: More<RankingDocument, "items">): Promise<RankingReply>;

  /** Who wins, how sure that is, and whether one may stop. null stands for infinity. */
  board(name: string, query?: Query<"GET /v1/models/{name}/board">): Promise<BoardReply>;

  /** Each voter's pull to a side, agreement and weight. */
  voters(name: string, more?: Sent): Promise<VotersReply>;

  /** Learn a file of votes from elsewhere; the same file is learnt once. */
  votes(name: string, contents: Contents, query?: Query<"POST /v1/models/{name}/votes">): Promise<VotesReply>;

  /** Add a file of items to ask people about. */
  upload(name: string, contents: Contents, query?: Query<"POST /v1/models/{name}/items">): Promise<Uploaded>;

  /** Add a picture: PNG, JPEG, WebP or GIF. Its `image` is what an item says to show it. */
  image(name: string, contents: Contents, query?: Query<"POST /v1/models/{name}/images">): Promise<UploadedImage>;

  /** The log as text: `format` jsonl, preferences, ledger, answers or csv. */
  log(name: string, query?: Query<"GET /v1/models/{name}/log">): Promise<string>;
}
