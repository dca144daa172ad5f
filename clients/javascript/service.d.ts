// Made from the service's OpenAPI document by generate.py: do not edit.

/** The contents of a file. */
export type Contents = string | ArrayBuffer | Uint8Array | Blob;
/** What may stand in a query. */
export type Word = string | number | boolean;

/** A round. `event_id` makes the request safe to repeat; `voter` is the person who will answer. */
export interface ChooseRequest {
  items: Item[];
  context?: string | Record<string, string | number | boolean | number[] | Record<string, string | number | boolean>> | number[] | null;
  event_id?: string | null;
  voter?: string | null;
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

export interface BatchChoose {
  rounds: ChooseRequest[];
}

/** One result per request, in order: the reply, or `{"error": ...}`. */
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

/** An event: the question and its answers. */
export interface EventInfo {
  event: ChooseReply;
  at: number;
  voter: string | null;
  items: unknown;
  context: unknown;
  answers: Standing[];
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
 * What was added, and how the file's columns were read.
 *
 * - `text`: the column of the texts.
 * - `features`: the columns that are features, in a table without texts, vectors or features.
 * - `shown`: columns that are displayed and not learnt.
 * - `unused`: columns that are not read.
 * - `empty`: rows left out because their text is empty.
 * - `large`: features whose numbers outweigh all other features.
 */
export interface Uploaded {
  items?: number;
  groups?: number;
  text?: string;
  features?: string[];
  unused?: string[];
  empty?: number;
  shown?: string[];
  large?: string[];
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
 * An item: its vector is learnt, or its text where it has none, and its features, unless the model says otherwise.
 *
 * All else is only shown and exported.
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
 * `groups`: the feature whose values group the items, null on a board of items. `fit_p`: a p-value of the law that
 * every item has one score. `warnings`: what makes the board doubtful, and what to do.
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
  fit_p?: number;
  warnings?: string[];
}

/**
 * `low`, `high`: interval of the score minus the mean, null where infinite. `better`: items it certainly beats.
 *
 * `best`: whether it may be the best. `more`: answers needed to separate it from the next item, null if no number is
 * enough. `rank_low`, `rank_high`: the best and the worst rank that is possible; `tier`: everything in one beats
 * everything in the next. `win`: the chance to win against a mean item. On a board of groups `id` is the group and
 * `count` its number of items.
 */
export interface BoardItem {
  id: string;
  rank: number;
  score: number;
  low: number | null;
  high: number | null;
  better: number;
  best: boolean;
  rank_low: number;
  rank_high: number;
  tier: number;
  win: number;
  elo: number;
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
 * `pairs` of the pool, and those `covered` by a learnt answer; of a parser, words, and those asked about.
 *
 * `voters`: most pairs first.
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

/**
 * Votes in the file; of these learnt now, learnt before, and undone since; ties among them; votes not learnt.
 *
 * An undone vote stays undone. An answer to its event learns it again.
 */
export interface VotesReply {
  votes: number;
  learnt?: number;
  repeated?: number;
  undone?: number;
  ties?: number;
  skipped?: number;
  both_bad?: number;
}

/** What annotators read before they start. */
export interface TaskInfo {
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

/** `image`: the name by which an item refers to it; `file`: the name by which a file of items may. */
export interface UploadedImage {
  image: string;
  kind: string;
  bytes: number;
  file?: string | null;
}

/**
 * Voters in the order of their first answers; `worth`: the number of people whose answers equal the judges'.
 *
 * `worth` is null for a diagonal model, which keeps no variances of pairs.
 */
export interface VotersReply {
  believe: string;
  voters: Voter[];
  worth: number | null;
}

/**
 * One voter as `learner.voters()` reports it; intervals have 95 % coverage.
 *
 * `left`: the share of decisive answers (no ties, side known) for the left. `side`: what the left is worth to this
 * voter, learnt, in units of an answer (0: nothing, 1: always left); its interval is None on diagonal models.
 * `agreement`: the share of decisive answers that agree with the prediction from the others' answers. `weight`: the
 * rho of the next answer. `doubtful`, with its `reason`: a significant side bias or a significantly low weight, after
 * a correction for the number of voters. A share without answers is None.
 */
export interface Voter {
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
export interface RankingRequest {
  items: Item[];
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

/** Newest first; `next` is the `before` of the following page, null on the last page. */
export interface LatestReply {
  rows: LatestRow[];
  next: number | null;
}

/**
 * An answer (`winner`, `learnt`, `reason`) or a flag (`comment`, `settled`) with its question.
 *
 * An item is its id, label, image and format, and its text or features, cut after 500 characters; of a parse question
 * a word, and `word` is the one whose head is asked for.
 */
export interface LatestRow {
  position: number;
  at: number;
  event: string | null;
  voter: string | null;
  items: Item[];
  context?: string | null;
  word?: string | null;
  winner?: string | null;
  learnt?: boolean | null;
  reason?: string | null;
  comment?: string | null;
  settled?: boolean | null;
}

/** Rounds and answers taken over, and rows passed over by kind. */
export interface Replayed {
  rounds?: number;
  learnt?: number;
  passed_over?: Record<string, number>;
}

export interface EraseRequest {
  voter: string;
}

/** `rows` were emptied. The weights keep what pruned answers taught, under no name. */
export interface Gone {
  rows: number;
}

/** A model to make. `believe` "auto": "voters" where the algorithm can weigh voters, else none. */
export interface NewModel {
  algorithm?: string;
  model?: string | null;
  parameters?: Record<string, string | number | boolean | null>;
  features?: FeatureSettings;
  seed?: number;
  window_seconds?: number | null;
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
 * What may change about a model; fields that are left out stay.
 *
 * `title`: its name on pages, "" for `name`. `paused`: no new questions are asked; answers still count.
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

/** `spread`: the standard deviation of the weight if all answers were random; null if unknown. */
export interface Feature {
  name: string;
  weight: number;
  spread: number | null;
}

/**
 * `uses`: how many people may join by the link; `hours`: how long it is valid; unlimited if left out.
 *
 * `note` is shown in the list of links.
 */
export interface InvitationRequest {
  note?: string;
  uses?: number | null;
  hours?: number | null;
}

/** A new link: `path` on this server contains its secret, which is not shown again. */
export interface NewInvitation {
  invitation: Invitation;
  path: string;
}

/**
 * A link by which people without a key answer questions of one model, each as a voter of their own.
 *
 * Like a key it is a random secret of which only the digest is stored. The secret is the fragment of an address, which
 * browsers do not send: it reaches no log, and a preview of the link does not use it up.
 */
export interface Invitation {
  id: string;
  model: string;
  note: string;
  created: number;
  expires?: number | null;
  uses?: number | null;
  used?: number;
}

export interface InvitationList {
  invitations: Invitation[];
}

export interface Health {
  status: string;
}

/** `degraded` while there are alarms; `compiling`: kernels that are interpreted until they are compiled. */
export interface Readiness {
  status: "degraded" | "ready";
  alarms: Alarm[];
  compiling: number;
}

/** A problem for the operator; a caller who may not read its subject gets its kind alone. */
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
    given: { path: { name: string }; body: ChooseRequest };
    reply: ChooseReply;
  };
  /** Answer which was preferred */
  "POST /v1/models/{name}/events/{event_id}/answer": {
    given: { path: { name: string; event_id: string }; body: AnswerRequest };
    reply: AnswerReply;
  };
  /** Choose for many rounds; a refused round does not stop the others */
  "POST /v1/models/{name}/choose/batch": {
    given: { path: { name: string }; body: BatchChoose };
    reply: BatchReply;
  };
  /** Answer many events; a refused answer does not stop the others */
  "POST /v1/models/{name}/answers": {
    given: { path: { name: string }; body: BatchAnswers };
    reply: BatchReply;
  };
  /** Inspect an event */
  "GET /v1/models/{name}/events/{event_id}": {
    given: { path: { name: string; event_id: string } };
    reply: EventInfo;
  };
  /** Undo an answer; the reply comes when the model has been replayed without it */
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
    given: { path: { name: string }; query?: { text?: Word }; body: Contents };
    reply: Uploaded;
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
  /** Learn a file of votes: CSV, JSON lines or a JSON array; sent again it changes nothing */
  "POST /v1/models/{name}/votes": {
    given: { path: { name: string }; query?: { id?: Word; kind?: Word; content?: Word }; body: Contents };
    reply: VotesReply;
  };
  /** Instructions and progress */
  "GET /v1/models/{name}/task": {
    given: { path: { name: string } };
    reply: TaskInfo;
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
  /** Delete an image; items that refer to it are shown without */
  "DELETE /v1/models/{name}/images/{image}": {
    given: { path: { name: string; image: string } };
    reply: undefined;
  };
  /** Which items win, how certain that is, and whether to stop */
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
    given: { path: { name: string }; body: RankingRequest };
    reply: RankingReply;
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
  /** Remove a voter's rows; the model becomes what it would be without them */
  "POST /v1/models/{name}/erase": {
    given: { path: { name: string }; body: EraseRequest };
    reply: Gone;
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
  /** Inspect a model */
  "GET /v1/models/{name}": {
    given: { path: { name: string } };
    reply: ModelInfo;
  };
  /** Give a model a title, or pause it */
  "PATCH /v1/models/{name}": {
    given: { path: { name: string }; body: ModelChanges };
    reply: ModelInfo;
  };
  /** Delete a model and its log; its rows leave the disk soon after */
  "DELETE /v1/models/{name}": {
    given: { path: { name: string } };
    reply: undefined;
  };
  /** Export the model file */
  "GET /v1/models/{name}/file": {
    given: { path: { name: string } };
    reply: string | ArrayBuffer;
  };
  /** Import a model file, of export or conquer.save, as a new model with an empty log */
  "PUT /v1/models/{name}/file": {
    given: { path: { name: string }; body: Contents };
    reply: ModelInfo;
  };
  /** What it has learnt: the features with the largest weights, among those of the latest rounds */
  "GET /v1/models/{name}/features": {
    given: { path: { name: string }; query?: { count?: Word } };
    reply: Insight;
  };
  /** Create a link by which people answer without a key */
  "POST /v1/models/{name}/invitations": {
    given: { path: { name: string }; body: InvitationRequest };
    reply: NewInvitation;
  };
  /** The links of a model */
  "GET /v1/models/{name}/invitations": {
    given: { path: { name: string } };
    reply: InvitationList;
  };
  /** Revoke a link and sign out the people who joined by it: here at once, on other servers within a second */
  "DELETE /v1/models/{name}/invitations/{invitation}": {
    given: { path: { name: string; invitation: string } };
    reply: undefined;
  };
  /** The process is alive */
  "GET /healthz": {
    given: {};
    reply: Health;
  };
  /** Ready to serve: the store takes a write */
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
