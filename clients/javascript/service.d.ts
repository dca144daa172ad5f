// Made from the service's OpenAPI document by generate.py: do not edit.

/** The contents of a file. */
export type Contents = string | ArrayBuffer | Uint8Array | Blob;
/** What may stand in a query. */
export type Word = string | number | boolean;

/** A round. `event_id` makes the call repeatable; `voter` is who will answer. */
export interface ChooseDocument {
  items: NewItem[];
  context?: string | Record<string, string | number | boolean | number[] | Record<string, string | number | boolean>> | number[] | null;
  event_id?: string | null;
  voter?: string | null;
}

/** An item: its vector is learnt, or its text where it has none, and its features; all else is for people. */
export interface NewItem {
  id: string;
  text?: string | null;
  features?: Record<string, string | number | boolean> | null;
  vector?: number[] | null;
  label?: string | null;
  meta?: Record<string, string | number | boolean | string[] | null> | null;
  image?: string | null;
  format?: "code" | "markdown" | "plain" | null;
}

export interface ChooseReply {
  event_id: string;
  query: "best" | "duel" | "none";
  shown: Shown[];
  left: string;
  scores: number[];
  chance: number | null;
  ordinal: number;
  done?: boolean;
}

export interface Shown {
  id: string;
}

/** `winner` is a shown item's id, or `tie`, `both_bad`, `skip`; for a `best` question also the item itself. */
export interface AnswerRequest {
  winner: string;
  voter?: string | null;
  kind?: "judge" | "person";
  strength?: number | null;
  seconds?: number | null;
}

/** `learnt`, `repeat` (said before; nothing changed) or `ignored` with the reason. Never silent. */
export interface AnswerReply {
  status: "ignored" | "learnt" | "repeat";
  event_id: string;
  reason?: string | null;
  first?: string | null;
}

export interface BatchChooseDocument {
  rounds: ChooseDocument[];
}

/** One result per request, in order: the reply, or `{"error": ...}`; each stands for itself. */
export interface BatchReply {
  results: unknown[];
}

export interface BatchAnswers {
  answers: BatchAnswer[];
}

export interface BatchAnswer {
  winner: string;
  voter?: string | null;
  kind?: "judge" | "person";
  strength?: number | null;
  seconds?: number | null;
  event_id: string;
}

/** An event as its log rows tell it. */
export interface EventInfo {
  event: ChooseReply;
  at: number;
  voter: string | null;
  items: unknown;
  context: unknown;
  answers: Standing[];
  expired: boolean;
}

export interface Standing {
  voter: string;
  winner: string;
  learnt: boolean;
  reason: string | null;
  position: number;
}

export interface UndoRequest {
  voter?: string | null;
}

export interface FlagRequest {
  comment?: string;
  voter?: string | null;
}

/**
 * How much was added, and what was made of the file's columns where that is not plain.
 *
 * `text` is the column that texts came from where it has another name, `features` are columns that became features,
 * `shown` columns that people see and nobody learns, `unused` columns that nothing was made of, `empty` counts rows
 * left out because their text is empty, `large` are features whose numbers outweigh everything else.
 */
export interface Uploaded {
  items: number;
  groups: number;
  text?: string;
  features?: string[];
  unused?: string[];
  empty?: number;
  shown?: string[];
  large?: string[];
}

/**
 * What became of a file: votes learnt now, those that had been learnt before, and those that teach nothing.
 *
 * `undone`: those that had been learnt and were taken back. They stay so; an answer to their event says them again.
 */
export interface VotesReply {
  votes: number;
  learnt: number;
  repeated: number;
  undone: number;
  ties: number;
  skipped: number;
  both_bad: number;
}

/** `shared`: also questions that others are answering now. */
export interface NextRequest {
  voter: string;
  shared?: boolean;
}

/** What a page shows: the event with its items in full, and the voter's number of answers. */
export interface Question {
  event: ChooseReply | null;
  items: Item[];
  context: unknown;
  answered: number;
  reason?: string | null;
  done?: boolean;
  paused?: boolean;
  board?: BoardReply | null;
  parse?: unknown;
}

/**
 * An item as the store holds it: its id, what is learnt of it, and what is only shown and exported; of any size.
 *
 * Learnt are its vector, or its text where it has none, and its features, unless the model says otherwise.
 */
export interface Item {
  id: string;
  text?: string | null;
  features?: Record<string, string | number | boolean> | null;
  vector?: number[] | null;
  label?: string | null;
  meta?: Record<string, string | number | boolean | string[] | null> | null;
  image?: string | null;
  format?: "code" | "markdown" | "plain" | null;
}

/**
 * Items best first. `pairs`: pairs with a certain order, and all pairs. `mean`: of all scores.
 *
 * `groups`: the feature whose values group the items, null on a board of items.
 */
export interface BoardReply {
  items: BoardItem[];
  mean: number;
  pairs: [number, number];
  answers: number;
  position: number;
  interval: "anytime" | "fixed" | "proved";
  delta: number;
  stop: StopReply | null;
  groups?: string | null;
}

/**
 * `low`, `high`: interval of the score minus the mean, null where infinite. `better`: items it certainly beats.
 *
 * `best`: whether it may be the best. `more`: answers needed to separate it from the next item, null if no number is
 * enough. On a board of groups `id` is the group and `count` its number of items.
 */
export interface BoardItem {
  id: string;
  rank: number;
  score: number;
  low: number | null;
  high: number | null;
  better: number;
  best: boolean;
  more: number | null;
  text?: string | null;
  count?: number | null;
}

/** Whether to stop asking; `more`: answers still needed, null where no number is enough. */
export interface StopReply {
  done: boolean;
  leader: string;
  tolerance: number;
  chance: number;
  more: number | null;
  text: string;
}

/**
 * `pairs` of the pool, and those `covered` by a learnt answer. `voters`: most pairs first.
 *
 * `answered` of `wanted` answers count towards the quota; both are null without one.
 */
export interface Progress {
  pairs: number;
  covered: number;
  quota: number | null;
  answered: number | null;
  wanted: number | null;
  voters: VoterProgress[];
}

export interface VoterProgress {
  name: string;
  pairs: number;
}

/** What annotators read before they start. */
export interface Task {
  instructions: string;
  question: string;
  task: string;
  items: number;
  learnt: number;
  per_round: number;
  format?: "code" | "markdown" | "plain";
  title?: string;
  paused?: boolean;
}

/** `image` is what an item says to show it; `file` is the name under which a file of items may speak of it. */
export interface UploadedImage {
  image: string;
  kind: string;
  bytes: number;
  file?: string | null;
}

/**
 * Who has answered, in the order of first appearance; `worth`: of how many people's answers the judges' were.
 *
 * null where the model cannot say: a diagonal one keeps no variances of pairs.
 */
export interface VotersReply {
  believe: string;
  voters: VoterReply[];
  worth: number | null;
}

/** A voter as the model sees them; intervals are of 95 %. See `conquer.learners.voters.Voter`. */
export interface VoterReply {
  name: string;
  kind: string;
  answers: number;
  left: number | null;
  left_interval: [number, number];
  side: number;
  side_interval: [number, number] | null;
  agreement: number | null;
  agreement_interval: [number, number];
  weight: number;
  weight_interval: [number, number];
  doubtful: boolean;
  reason: string;
}

/** Items to rank, as in choose; no round is used. */
export interface RankingDocument {
  items: NewItem[];
  context?: string | Record<string, string | number | boolean | number[] | Record<string, string | number | boolean>> | number[] | null;
}

/** The items, best first; equal scores in the order given. */
export interface RankingReply {
  items: RankedItem[];
}

export interface RankedItem {
  id: string;
  score: number;
}

/** A model to make. `believe` "auto": "voters" where the algorithm can weigh voters, else none. */
export interface NewModel {
  algorithm?: string;
  model?: string | null;
  parameters?: Record<string, string | number | boolean | null>;
  features?: FeatureSettings;
  seed?: number;
  window_seconds?: number | null;
  default_answer?: number | null;
  per_round?: number;
  quota?: number | null;
  planted?: number;
  instructions?: string;
  question?: string;
  format?: "code" | "markdown" | "plain";
  task?: "parse" | "pick";
  stop?: number | null;
  delta?: number;
  believe?: "auto" | "people" | "voters" | null;
  name: string;
}

/**
 * How items become rows: text and dicts get `dim` columns, vectors have at most `dim` numbers.
 *
 * `tfidf`, `idf` and `vocabulary` are fitted to the first items uploaded, or come fitted in a file, and then stay.
 */
export interface FeatureSettings {
  dim?: number;
  kind?: "binary" | "counts" | "idf" | "tfidf";
  columns?: "hashing" | "vocabulary";
  ngrams?: number[];
  encoder?: string | null;
  learn?: ("features" | "text" | "vector")[] | null;
  products?: "all" | "matching";
}

/** A model: its settings, the position of its log, and what the log adds up to. */
export interface ModelInfo {
  name: string;
  settings: ModelSettings;
  position: number;
  summary: Record<string, unknown>;
  title?: string;
  paused?: boolean;
}

/** Everything that makes a model, fixed at its creation; its log does the rest. */
export interface ModelSettings {
  algorithm?: string;
  model?: string | null;
  parameters?: Record<string, string | number | boolean | null>;
  features?: FeatureSettings;
  seed?: number;
  window_seconds?: number | null;
  default_answer?: number | null;
  per_round?: number;
  quota?: number | null;
  planted?: number;
  instructions?: string;
  question?: string;
  format?: "code" | "markdown" | "plain";
  task?: "parse" | "pick";
  stop?: number | null;
  delta?: number;
  believe?: "people" | "voters" | null;
}

export interface ModelList {
  models: ModelInfo[];
}

/**
 * What changes about a model without changing what it learns; what is left out stays.
 *
 * `title`: what pages call it, "" for its name. `paused`: nobody is asked anything new, answers still count.
 */
export interface ModelChanges {
  title?: string;
  paused?: boolean;
}

/** The features with the largest weights, among those of the latest rounds. */
export interface Insight {
  liked: Feature[];
  disliked: Feature[];
}

/**
 * `spread`, if it was asked for: the standard deviation of the weight if every answer were a coin's.
 *
 * null where that is not known.
 */
export interface Feature {
  name: string;
  weight: number;
  spread?: number | null;
}

/**
 * A link to make. `uses`: how many people may come by it; `hours`: how long it holds; both without end if left out.
 *
 * `note` is for the list of links: whom it is for.
 */
export interface InvitationRequest {
  note?: string;
  uses?: number | null;
  hours?: number | null;
}

/** A new link: `path` on this server holds its secret, which is told this once. */
export interface NewInvitation {
  invitation: InvitationInfo;
  path: string;
}

/** A link as the list shows it; `holds`: its time has not run out and there is room for one more. */
export interface InvitationInfo {
  id: string;
  note: string;
  created: number;
  expires: number | null;
  uses: number | null;
  used: number;
  holds: boolean;
}

export interface InvitationList {
  invitations: InvitationInfo[];
}

/** Newest first; `next` is the `before` of the following page, null on the last page. */
export interface LatestReply {
  rows: LatestRow[];
  next: number | null;
}

/**
 * An answer (`winner`, `learnt`, `reason`) or a flag (`comment`, `settled`) with its question.
 *
 * `word`: of a parse question.
 */
export interface LatestRow {
  position: number;
  at: number;
  event: string | null;
  voter: string | null;
  items: ShownText[];
  context?: string | null;
  word?: string | null;
  winner?: string | null;
  learnt?: boolean | null;
  reason?: string | null;
  comment?: string | null;
  settled?: boolean | null;
}

/**
 * An item that was shown: its text, or its features as JSON, cut after 500 characters; null where it is gone.
 *
 * `label`, `image` and `format` are left out where it has none.
 */
export interface ShownText {
  id: string;
  text: string | null;
  label?: string | null;
  image?: string | null;
  format?: string | null;
}

/** Rounds taken in, answers learnt, and rows skipped by kind. */
export interface Replayed {
  rounds?: number;
  learnt?: number;
  passed_over?: Record<string, number>;
}

export interface EraseRequest {
  voter: string;
}

/**
 * `rows` were emptied. `remaining` learnt answers, by the person or to rounds made for them, have been pruned.
 *
 * The weights still contain what pruned answers taught, under no name.
 */
export interface Gone {
  rows: number;
  remaining: number;
}

export interface Health {
  status: string;
}

export interface Readiness {
  status: "degraded" | "ready";
  alarms: Alarm[];
  compiling: number;
}

/** Something an operator should look at. Who may not read what it is about is told its kind alone. */
export interface Alarm {
  kind: string;
  message: string;
}

export interface ErrorReply {
  error: Failure;
}

export interface Failure {
  code: string;
  message: string;
}

/** Every route: what it is given and what it replies. */
export interface Routes {
  /** Choose two items to show */
  "POST /v1/models/{name}/choose": {
    given: { path: { name: string }; body: ChooseDocument };
    reply: ChooseReply;
  };
  /** Say which was preferred */
  "POST /v1/models/{name}/events/{event_id}/answer": {
    given: { path: { name: string; event_id: string }; body: AnswerRequest };
    reply: AnswerReply;
  };
  /** Choose for many rounds */
  "POST /v1/models/{name}/choose/batch": {
    given: { path: { name: string }; body: BatchChooseDocument };
    reply: BatchReply;
  };
  /** Answer many events */
  "POST /v1/models/{name}/answers": {
    given: { path: { name: string }; body: BatchAnswers };
    reply: BatchReply;
  };
  /** Look at an event */
  "GET /v1/models/{name}/events/{event_id}": {
    given: { path: { name: string; event_id: string } };
    reply: EventInfo;
  };
  /** Take an answer back */
  "POST /v1/models/{name}/events/{event_id}/undo": {
    given: { path: { name: string; event_id: string }; body: UndoRequest };
    reply: AnswerReply;
  };
  /** Remark on a question */
  "POST /v1/models/{name}/events/{event_id}/flag": {
    given: { path: { name: string; event_id: string }; body: FlagRequest };
    reply: AnswerReply;
  };
  /** Mark a question's flags as dealt with */
  "POST /v1/models/{name}/events/{event_id}/settle": {
    given: { path: { name: string; event_id: string } };
    reply: AnswerReply;
  };
  /** Add a file of items to ask about: JSON or a table */
  "POST /v1/models/{name}/items": {
    given: { path: { name: string }; query?: { held_out?: Word; text?: Word }; body: Contents };
    reply: Uploaded;
  };
  /** Learn a file of votes: CSV, JSON lines or a JSON array */
  "POST /v1/models/{name}/votes": {
    given: { path: { name: string }; query?: { id?: Word; kind?: Word; content?: Word }; body: Contents };
    reply: VotesReply;
  };
  /** The next question for a person */
  "POST /v1/models/{name}/next": {
    given: { path: { name: string }; body: NextRequest };
    reply: Question;
  };
  /** How far the questions about its items have come */
  "GET /v1/models/{name}/progress": {
    given: { path: { name: string } };
    reply: Progress;
  };
  /** Instructions and progress */
  "GET /v1/models/{name}/task": {
    given: { path: { name: string } };
    reply: Task;
  };
  /** Add an image: PNG, JPEG, WebP or GIF */
  "POST /v1/models/{name}/images": {
    given: { path: { name: string }; query?: { file?: Word }; body: Contents };
    reply: UploadedImage;
  };
  /** An image */
  "GET /v1/models/{name}/images/{image}": {
    given: { path: { name: string; image: string } };
    reply: string | ArrayBuffer;
  };
  /** Delete an image */
  "DELETE /v1/models/{name}/images/{image}": {
    given: { path: { name: string; image: string } };
    reply: undefined;
  };
  /** Who wins, how sure that is, and whether one may stop */
  "GET /v1/models/{name}/board": {
    given: { path: { name: string }; query?: { delta?: Word; interval?: Word; stop?: Word; group?: Word; groups?: Word; limit?: Word } };
    reply: BoardReply;
  };
  /** Each voter's pull to a side, agreement and weight */
  "GET /v1/models/{name}/voters": {
    given: { path: { name: string } };
    reply: VotersReply;
  };
  /** Rank items without using a round */
  "POST /v1/models/{name}/rank": {
    given: { path: { name: string }; body: RankingDocument };
    reply: RankingReply;
  };
  /** A parser's progress */
  "GET /v1/models/{name}/parser": {
    given: { path: { name: string } };
    reply: Record<string, unknown>;
  };
  /** A parser's trees, CoNLL-U */
  "GET /v1/models/{name}/trees": {
    given: { path: { name: string } };
    reply: string | ArrayBuffer;
  };
  /** The parser for conquer parse predict */
  "GET /v1/models/{name}/parser/file": {
    given: { path: { name: string } };
    reply: string | ArrayBuffer;
  };
  /** Create a model */
  "POST /v1/models": {
    given: { body: NewModel };
    reply: ModelInfo;
  };
  /** List models */
  "GET /v1/models": {
    given: {};
    reply: ModelList;
  };
  /** Look at a model */
  "GET /v1/models/{name}": {
    given: { path: { name: string } };
    reply: ModelInfo;
  };
  /** Give a model a title, or pause it */
  "PATCH /v1/models/{name}": {
    given: { path: { name: string }; body: ModelChanges };
    reply: ModelInfo;
  };
  /** Delete a model and its log */
  "DELETE /v1/models/{name}": {
    given: { path: { name: string } };
    reply: undefined;
  };
  /** Export the model file */
  "GET /v1/models/{name}/file": {
    given: { path: { name: string } };
    reply: string | ArrayBuffer;
  };
  /** Import a model file as a new model */
  "PUT /v1/models/{name}/file": {
    given: { path: { name: string }; body: Contents };
    reply: ModelInfo;
  };
  /** What it has learnt */
  "GET /v1/models/{name}/features": {
    given: { path: { name: string }; query?: { count?: Word; spread?: Word } };
    reply: Insight;
  };
  /** Make a link by which people answer without a key */
  "POST /v1/models/{name}/invitations": {
    given: { path: { name: string }; body: InvitationRequest };
    reply: NewInvitation;
  };
  /** The links of a model */
  "GET /v1/models/{name}/invitations": {
    given: { path: { name: string } };
    reply: InvitationList;
  };
  /** Take a link back */
  "DELETE /v1/models/{name}/invitations/{invitation}": {
    given: { path: { name: string; invitation: string } };
    reply: undefined;
  };
  /** The log: jsonl, preferences, ledger, answers or csv */
  "GET /v1/models/{name}/log": {
    given: { path: { name: string }; query?: { format?: Word; after?: Word } };
    reply: string | ArrayBuffer;
  };
  /** Train a fresh model on a ledger */
  "POST /v1/models/{name}/log": {
    given: { path: { name: string }; body: Contents };
    reply: Replayed;
  };
  /** The last answers or flags with their texts */
  "GET /v1/models/{name}/latest": {
    given: { path: { name: string }; query?: { kind?: Word; before?: Word; limit?: Word } };
    reply: LatestReply;
  };
  /** Remove a voter's rows */
  "POST /v1/models/{name}/erase": {
    given: { path: { name: string }; body: EraseRequest };
    reply: Gone;
  };
  /** The process is alive */
  "GET /healthz": {
    given: {};
    reply: Health;
  };
  /** Ready to serve */
  "GET /readyz": {
    given: {};
    reply: Readiness;
  };
  /** Metrics for Prometheus */
  "GET /metrics": {
    given: {};
    reply: string | ArrayBuffer;
  };
  /** This document */
  "GET /openapi.json": {
    given: {};
    reply: Record<string, unknown>;
  };
}
