/**
 * The causes of alarms, and their danger. A code whose causes want different acts has one row for
 * each cause here; any other code has one cause, and its advice stands in codes.ts. The tables of
 * docs/errors.md and docs/alerts.md are made from these.
 */
import { type Code, codes } from "./codes.ts";

/** The dangers, the gravest first: each with its meaning, and with what is typed at once. */
export const dangerWords = Object.freeze({
  theft: [
    "somebody else may hold the wallet's key",
    "`autowithdraw pause`, then compare, then move the funds",
  ],
  twice: [
    "an order may be paid twice, or paid wrongly",
    "`autowithdraw pause`, then look the payment up in a block explorer",
  ],
  work: ["no money leaves wrongly", "nothing; in the morning, what the hint says"],
} as const);

export type Danger = keyof typeof dangerWords;

type CauseRow = readonly [danger: Danger, meaning: string, advice: string];

type AlarmCode = { [C in Code]: (typeof codes)[C]["kind"] extends "alarm" ? C : never }[Code];

const table = <const T extends Partial<Record<AlarmCode, Readonly<Record<string, CauseRow>>>>>(
  rows: T,
): Readonly<T> => Object.freeze(rows);

// biome-ignore format: a table, one row a line
export const causes = table({
  WATCHER_SLOT_CONSUMED: {
    foreign: ["theft", "another transaction used the slot", codes.WATCHER_OUTGOING_FOREIGN.advice],
    unconfigured: ["work", "the withdrawal's currency was taken out of the configuration", "put the currency back into the configuration, then systemctl reload autowithdraw-gateway"],
  },
  WATCHER_PAYMENT_FAILED: {
    reverted: ["work", "the chain carried the payment out and it failed, or no block takes it any more", "nothing was paid; look the transaction up in a block explorer for the reason"],
    consumed: ["theft", "another transaction used the payment's slot or coin", codes.WATCHER_OUTGOING_FOREIGN.advice],
  },
  WATCHER_FINAL_REORG: {
    payment: ["work", "a credited payment is final again, in another block", "raise confirmations; nothing was credited twice"],
    deposit: ["twice", "the block of a credited payment left the chain, and no final block holds the payment", "stop the delivery of its order; look the transaction up in a block explorer; then deposits revoke ID, or deposits keep ID: deposits list --reorged names all of them"],
    chain: ["twice", "a block that was read as final left the chain", "deposits list --reorged names the deposits that were credited in such blocks and are in none now; then raise confirmations"],
  },
  BOOKS_DIFFERENCE: {
    hot: ["theft", "money left a hot wallet that nobody here ordered out", "have the agent's operator type autowithdraw pause first; then compare: reconcile --last names block and transaction (find HASH, a block explorer): unless the wallet's owner made it, or it paid an order (withdrawals paid names it), it is a theft: move the funds to a new wallet at once; what is explained, take in with reconcile note"],
    "deposit-less": ["theft", "a deposit address holds less than was credited", "stop the delivery of its order; look the address up in a block explorer from the block that reconcile --last names: if a transaction there took the money, have the agent's operator type autowithdraw pause, then move the funds; else the payment never came"],
    "deposit-more": ["work", "a deposit address holds more than was credited", "look the address up in a block explorer from the block that reconcile --last names; then credit the deposit, and take the difference in with reconcile note"],
  },
});

type CausedCode = keyof typeof causes;
/** The causes of one code. */
export type CauseOf<C extends CausedCode> = keyof (typeof causes)[C] & string;
/** A code that has one cause. */
export type SingleCauseCode = Exclude<Code, CausedCode>;
/** A code with its cause, or a code that has one cause. */
export type CodeWithCause =
  | { [C in CausedCode]: { readonly code: C; readonly cause: CauseOf<C> } }[CausedCode]
  | { readonly code: SingleCauseCode; readonly cause?: undefined };

/** True for a code that has one cause. */
export function isSingleCauseCode(code: string): code is SingleCauseCode {
  return Object.hasOwn(codes, code) && !Object.hasOwn(causes, code);
}

/** The danger of each alarm that has one cause. */
const dangers: Readonly<Record<Exclude<AlarmCode, CausedCode>, Danger>> = {
  CHAIN_COIN_FOREIGN: "theft",
  CHAIN_SLOT_FOREIGN: "theft",
  WATCHER_OUTGOING_FOREIGN: "theft",
  CHAIN_SLOT_CONFLICTED: "theft",
  CHAIN_SLOT_AHEAD: "theft",
  ACCOUNT_KEY_CHANGED: "theft",
  COURIER_ACCOUNT_CODE: "theft",
  CHAIN_VOID_INCLUDED: "twice",
  COURIER_VOID_INCLUDED: "twice",
  WATCHER_VOID_INCLUDED: "twice",
  HUB_SLOT_REUSED: "twice",
  COURIER_READ_BACK: "twice",
  COURIER_TOKEN_MOVED: "twice",
  WATCHER_CONTENT_DIFFERS: "twice",
  CURRENCY_MOVES_OTHERWISE: "twice",
  ORDER_PAID_BEFORE: "work",
  PIN_UNREADABLE: "work",
  ROW_SET_ASIDE: "work",
  WATCHER_PAYMENT_GONE: "work",
  WATCHER_UNREAD: "work",
  WATCHER_GAP: "work",
  WATCHER_STRAYS: "work",
  WATCHER_ADDRESS_USED: "work",
  HUB_CONTRADICTION: "work",
  HUB_LEDGER_FORKED: "work",
  HUB_ORDER_REPLACED: "work",
  HUB_DATABASE_BEHIND: "work",
  AGENT_BEHIND: "work",
  AGENT_UPGRADE_REQUIRED: "work",
  LEDGER_BEHIND_GATEWAY: "work",
  LEDGER_FORKED: "work",
  ALARM_UNKNOWN: "work",
  CALLBACK_OFF: "work",
  CLOCK_SKEW: "work",
  JOB_ID_MISMATCH: "work",
  WITHDRAWAL_EXISTS_DIFFERENT_CURRENCY: "work",
  WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT: "work",
  WITHDRAWAL_EXISTS_DIFFERENT_ADDRESS: "work",
  WITHDRAWAL_EXISTS_DIFFERENT_TAG: "work",
  WITHDRAWAL_STUCK: "work",
  SWEEP_UNREACHABLE: "work",
  SLOT_UNREACHABLE: "work",
  COIN_UNKNOWN: "work",
  COIN_RETURNED: "twice",
  COURIER_TOKEN_REFUSES: "work",
  COURIER_FUNDS: "work",
  COURIER_NOTIFY: "work",
};

const gravestFirst = Object.keys(dangerWords) as readonly Danger[];

/**
 * The row of a stored code and its cause. An alarm of before causes were stored has none: the
 * gravest one is assumed.
 */
const rowOf = (code: string, cause: string): CauseRow | undefined => {
  const rows: Readonly<Record<string, Readonly<Record<string, CauseRow>>>> = causes;
  const ofCode = Object.hasOwn(rows, code) ? rows[code] : undefined;
  if (ofCode === undefined || Object.hasOwn(ofCode, cause)) return ofCode?.[cause];
  return Object.values(ofCode).sort(
    ([a], [b]) => gravestFirst.indexOf(a) - gravestFirst.indexOf(b),
  )[0];
};

/** The advice for a stored code and its cause; "" for a code of another version. */
export function adviceOf(code: string, cause = ""): string {
  return rowOf(code, cause)?.[2] ?? (Object.hasOwn(codes, code) ? codes[code as Code].advice : "");
}

/** The advice of the gateway's operator for an agent's lock. */
export function lockedAdvice(code: string): string {
  return `${adviceOf(code) || "docs/recovering.md"}; autowithdraw status on the agent's server says more`;
}

/** The danger of a stored code and its cause. A code that this version does not know can wait. */
export function dangerOf(code: string, cause = ""): Danger {
  const row = rowOf(code, cause);
  if (row !== undefined) return row[0];
  return Object.hasOwn(dangers, code) ? dangers[code as keyof typeof dangers] : "work";
}
