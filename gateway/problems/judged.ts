/**
 * The gateway as the table of problems (table.ts) judges it: its state as the running process sees
 * it, or as an operator's command reads it from outside. A part that a looker cannot know is empty,
 * and the rows of that part find nothing. Costly parts are read only when a row asks. Types, and
 * the state of a looker that sees nothing.
 */

import type { BooksState } from "../books/state.ts";
import type { CertificateState } from "../config/certificate-end.ts";
import type { Fault } from "../faults/fault.ts";
import type { UnpricedPair } from "../prices/unpriced.ts";
import type { Counts, FailingTarget } from "../store/counts.ts";
import type { ShownGateway } from "../store/leases.ts";
import type { WaitingForReader } from "../store/levels.ts";
import type { WaitingMerchant } from "../store/withdrawals.ts";
import type { ChainStatus } from "../watcher/chain-status.ts";

export interface ChainPart {
  readonly chain: string;
  status(): ChainStatus | undefined; // undefined before its first pass
}

export interface CurrencyPart {
  readonly id: string;
  /** Why nothing of it is taken, as public text; "" in service. */
  why(): string;
}

export interface BooksPart {
  readonly chain: string;
  state(): Pick<BooksState, "ok" | "detail">;
}

/** The parts of the running gateway, each a check of `/ready`. */
export interface JudgedParts {
  store(): string; // why the database takes nothing; "" if it does
  freeBytes(): number | null; // on the database's disk; null if unknown
  walBytes(): number;
  /** The other programs that have the database open, as text; "" if none is seen. */
  databaseReaders(): string;
  certificate(): CertificateState;
  clock(): string; // why this machine's clock is wrong; "" if it is right
  readonly chains: readonly ChainPart[];
  readonly currencies: readonly CurrencyPart[];
  unpriced(): readonly UnpricedPair[];
  readonly books: readonly BooksPart[];
}

/** An alarm that an operator has not been told of. */
export interface JudgedAlarm {
  readonly id: number;
  readonly code: string;
  readonly cause?: string | undefined;
  readonly subject: string;
  readonly detail: string;
}

export interface JudgedLock {
  readonly id: string;
  readonly merchant: string; // its name; "" if the looker does not read it
  readonly code: string;
}

/** The view of an operator's command: the answer at the gateway's address, and the database. */
export interface JudgedScreen {
  readonly configFault: string; // why the file on disk cannot be used; "" if it can
  readonly answer: "none" | "untrusted" | "foreign" | "own";
  readonly answerWords: string; // why there is none, or why it is not trusted; else ""
  readonly storeFault: { readonly message: string; readonly advice: string } | null;
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string;
  }[];
  readonly agentsConnected: number | undefined;
  readonly restored: string; // why the database counts as restored from a backup, "" if it does not
  readonly counts: Counts | null; // null if the database cannot be read
}

export interface JudgedGateway extends JudgedParts {
  readonly nowMs: number; // Unix milliseconds
  readonly awayAgents: readonly string[]; // paired, without a link
  readonly lockedAgents: readonly JudgedLock[];
  readonly waitingForReader: readonly WaitingForReader[];
  readonly failingTargets: readonly FailingTarget[];
  readonly waitingMerchants: readonly WaitingMerchant[]; // for longer than `withdrawalsWaitMs`
  readonly stuckSweeps: number;
  readonly gateways: readonly ShownGateway[]; // that share the database; none on a file
  readonly faults: readonly Fault[]; // in the fault book
  readonly faultsTold: ReadonlySet<string>; // groups of faults that an earlier run told of
  readonly alarms: readonly JudgedAlarm[];
  readonly down: { readonly code: string; readonly words: string; readonly advice: string } | null;
  readonly screen: JudgedScreen | null; // null for the running gateway
}

export const nothingSeen: JudgedGateway = {
  nowMs: 0,
  store: () => "",
  freeBytes: () => null,
  walBytes: () => 0,
  databaseReaders: () => "",
  certificate: () => ({ left: "enough", words: "" }),
  clock: () => "",
  chains: [],
  currencies: [],
  unpriced: () => [],
  books: [],
  awayAgents: [],
  lockedAgents: [],
  waitingForReader: [],
  failingTargets: [],
  waitingMerchants: [],
  stuckSweeps: 0,
  gateways: [],
  faults: [],
  faultsTold: new Set(),
  alarms: [],
  down: null,
  screen: null,
};
