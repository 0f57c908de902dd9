/**
 * A provider of chain nodes as data: its limits with the shape of each refusal, the backends behind
 * its name, the methods and fields that it lacks, its settings and its broken bodies. Plain values,
 * so that a profile prints, travels as JSON and is drawn by a seed. Every count is of calls, not of
 * HTTP requests, unless the name says otherwise.
 */

/**
 * The body of a refusal. object: one JSON-RPC error, which names no call of a batch · list: one
 * error for each call · fields: java-tron's `{"Error": words}` · text: the words alone · page: an
 * HTML page · cut: the connection breaks and nothing is answered.
 */
type RefusalForm = "object" | "list" | "fields" | "text" | "page" | "cut";

/** In `words`, `{most}` stands for the limit and `{asked}` for what was asked. */
export interface Refusal {
  readonly status?: number; // HTTP status; default 200
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: RefusalForm; // object unless told
  readonly code?: number; // code of the JSON-RPC error; default -32000
  readonly words: string;
}

export interface Limit {
  readonly most: number;
  readonly refusal: Refusal;
}

interface Limits {
  readonly batchCalls?: Limit; // calls in one HTTP request
  readonly rangeBlocks?: Limit; // blocks of one eth_getLogs
  readonly filterTopics?: Limit; // topics of one place in eth_getLogs
  readonly resultLogs?: Limit; // logs in one answer
  readonly answerBytes?: Limit; // most bytes of one HTTP body; `cut` breaks the body off there
  readonly perSecond?: Limit & { readonly quietS?: number }; // refused so long after one too many
  /** A daily quota, in a window short enough for a run. */
  readonly quota?: Limit & { readonly windowS: number };
}

/**
 * How one backend malforms answers. amount: a balance is ten times what it is · log: a transfer
 * that never was, to the first address asked for · success: a failed receipt is shown as done ·
 * other-hash: its newest blocks have other hashes.
 */
type BackendLie = "amount" | "log" | "success" | "other-hash";

/** One node behind the provider's name. The backends take turns by HTTP request. */
export interface Backend {
  readonly behind: number; // blocks
  readonly keepsState?: number; // blocks below its head whose state it has; all unless told
  readonly lies?: readonly BackendLie[]; // EVM alone
}

/**
 * Fields that other readers stumbled over. op-deposit: a system transaction of type 0x7e without
 * nonce opens each block · arbitrum: transactions of types 0x6a, 0x69 and 0x65 open each block ·
 * no-price: receipts of outsiders lack effectiveGasPrice · leading-zeros: quantities are padded to
 * whole bytes · upper-case: addresses have capital digits · zero-bloom: every block's logsBloom is
 * zero · strange-contracts: Tron blocks hold transactions of kinds that have no owner and no value.
 */
export type OddField =
  | "op-deposit"
  | "arbitrum"
  | "no-price"
  | "leading-zeros"
  | "upper-case"
  | "zero-bloom"
  | "strange-contracts";

/**
 * A body that a client cannot read. cut: the connection breaks · torn: half of the JSON with status
 * 200 · page: an HTML page · hang: no answer within `ms`, and then none · slow: the answer after
 * `ms`.
 */
export interface BodyTrouble {
  readonly kind: "cut" | "torn" | "page" | "hang" | "slow";
  readonly every: number; // one of so many HTTP requests, by chance
  readonly ms?: number;
}

/** Sends that are refused. `isTaken`: the chain has the bytes all the same. */
export interface SendTrouble {
  readonly every: number; // one of so many, by chance; 1 refuses all
  readonly isTaken?: boolean;
  readonly refusal?: Refusal; // EVM
  readonly code?: string; // Tron: java-tron's own
  readonly words?: string; // Tron: beside the code
}

export interface Profile {
  readonly name: string;
  readonly family: "evm" | "tron";
  /** Reports that the behaviour is taken from: a repository and a number, or a page. */
  readonly sources: readonly string[];
  /**
   * False: a gateway cannot work with such a node, and has to name it. A run draws none of these.
   */
  readonly isFit: boolean;
  readonly limits?: Limits;
  readonly backends?: readonly Backend[]; // one that is up to date unless told
  /** In each run of so many blocks the node hides the last `forBlocks` until they are over. */
  readonly still?: { readonly everyBlocks: number; readonly forBlocks: number };
  readonly missing?: { readonly methods: readonly string[]; readonly refusal: Refusal };
  readonly noFinalized?: Refusal;
  readonly odd?: readonly OddField[];
  /** For backends that do not say: state older than so many blocks is refused. */
  readonly state?: { readonly blocks: number; readonly refusal: Refusal };
  /** Tron: receipts without internal entries, with those that move coins, or with all. */
  readonly internal?: "off" | "on" | "featured";
  readonly receiptsBehind?: number; // Tron: newest blocks that have no receipts yet
  readonly sends?: SendTrouble;
  readonly body?: BodyTrouble;
}

/** The words of a refusal, with its numbers. */
export function wordsOf({ words }: Refusal, most = 0, asked = 0): string {
  return words.replaceAll("{most}", `${most}`).replaceAll("{asked}", `${asked}`);
}

/** How far one backend is behind at this head; a node that stands still has a pause of its own. */
export function behindAt({ still }: Profile, backend: Backend, head: number): number {
  const pause =
    still === undefined
      ? 0
      : Math.max(0, (head % still.everyBlocks) - (still.everyBlocks - still.forBlocks));
  return Math.min(head, backend.behind + pause);
}

const upToDate: Backend = { behind: 0 };

/** The backend that answers the HTTP request with this number. */
export function backendAt({ backends = [upToDate] }: Profile, turn: number): Backend {
  return backends[turn % backends.length] ?? upToDate;
}
