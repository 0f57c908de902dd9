/**
 * rippled's JSON-RPC methods, answered from the chain as one node sees it: only what wallets of
 * one account ask. Answers and errors are those of API version 1. Source: xrpl.org, public API
 * methods.
 */
import { accountTx } from "./account-tx.ts";
import type { Ledger } from "./chain.ts";
import { isAddress, type Json } from "./codecs.ts";
import { type OpenLedger, referenceLevel, type Verdict } from "./open-ledger.ts";
import { accountRoot, ctidOf, doneJson, ledgerJson, metaJson, txJson } from "./printing.ts";
import { Refusal } from "./refusal.ts";
import { codeOf, messageOf } from "./results.ts";
import { type Account, accountFlags, type State } from "./state.ts";
import { type ReadTransaction, readBlob, UnreadableBlobError } from "./transaction.ts";
import { completeLedgers, hasLedger, type View } from "./view.ts";

type Answer = (view: View, asked: Json) => Json;

const searchedMost = 1_000;
const version = "2.6.2";

const answers: Readonly<Record<string, Answer>> = {
  account_info: accountInfo,
  account_tx: (view, asked) => {
    if (!isAddress(asked.account)) throw malformedAccount();
    return accountTx(view, asked);
  },
  fee: feeJson,
  ledger: ledgerAnswer,
  server_info: serverInfo,
  submit,
  tx: txAnswer,
};

/** @throws Refusal */
export function answerOf(view: View, method: string, asked: Json): Json {
  const answer = Object.hasOwn(answers, method) ? answers[method] : undefined;
  if (answer === undefined) throw new Refusal("unknownCmd", 32, "Unknown method.");
  return answer(view, asked);
}

function malformedAccount(): Refusal {
  return new Refusal("actMalformed", 35, "Account malformed.");
}

interface Place {
  readonly state: State;
  readonly names: Json; // the ledger as answers name it
}

/** The ledger that a question names: current, closed, validated, a number or a hash. */
function placeOf(
  view: View,
  { ledger_index: index = usualLedger(view), ledger_hash: hash }: Json,
): Place {
  if (hash === undefined && index === "current") {
    const names = { ledger_current_index: view.head + 1, validated: false };
    return { state: view.isBehind ? headOf(view).state : view.chain.open.state, names };
  }
  const ledger = closedOf(view, index, hash);
  return {
    state: ledger.state,
    names: { ledger_hash: ledger.hash, ledger_index: ledger.index, validated: true },
  };
}

/** Clio takes the newest validated ledger where a question names none. */
function usualLedger({ isClio }: View): string {
  return isClio ? "validated" : "current";
}

function closedOf(view: View, index: unknown, hash: unknown): Ledger {
  if (hash === undefined && (index === "validated" || index === "closed")) return headOf(view);
  const number = typeof index === "number" || /^\d+$/.test(String(index)) ? Number(index) : null;
  if (hash === undefined && number === null)
    throw new Refusal("invalidParams", 31, "Invalid field 'ledger_index', not string or number.");
  const found =
    hash === undefined
      ? view.chain.ledger(number!)
      : view.chain.ledgers.find((one) => one.hash === String(hash).toUpperCase());
  if (found === undefined || !hasLedger(view, found.index))
    throw new Refusal("lgrNotFound", 21, "ledgerNotFound");
  return found;
}

function headOf({ chain, head }: View): Ledger {
  return chain.ledger(head)!;
}

function accountInfo(view: View, asked: Json): Json {
  const { account: address } = asked;
  if (!isAddress(address)) throw malformedAccount();
  const { state, names } = placeOf(view, asked);
  const account = state.account(address);
  if (account === undefined)
    throw new Refusal("actNotFound", 19, "Account not found.", { account: address, ...names });
  const isOpen = names.validated === false;
  if (asked.queue === true && !isOpen)
    throw new Refusal("invalidParams", 31, "Invalid parameters.");
  const queue = asked.queue === true ? { queue_data: queueJson(view.chain.open, address) } : {};
  return {
    account_data: accountRoot(address, account),
    account_flags: flagsJson(account),
    ...names,
    ...queue,
  };
}

function flagsJson({ flags }: Account): Json {
  return {
    depositAuth: (flags & accountFlags.depositAuth) !== 0,
    disallowIncomingXRP: (flags & accountFlags.disallowXrp) !== 0,
    requireDestinationTag: (flags & accountFlags.requireDest) !== 0,
  };
}

function queueJson(open: OpenLedger, address: string): Json {
  const line = open.queueOf(address);
  if (line.length === 0) return { txn_count: 0 };
  const transactions = line.map((tx) => ({
    ...(tx.lastLedger === null ? {} : { LastLedgerSequence: tx.lastLedger }),
    auth_change: false,
    fee: String(tx.feeDrops),
    fee_level: String(open.levelOf(tx.feeDrops ?? 0n)),
    seq: tx.sequence,
  }));
  const ends = { lowest_sequence: line[0]!.sequence, highest_sequence: line.at(-1)!.sequence };
  return { auth_change_queued: false, ...ends, transactions, txn_count: line.length };
}

function feeJson({ chain, head, openFeeDrops }: View): Json {
  const { open, rules } = chain;
  const base = String(rules.baseFeeDrops);
  return {
    current_ledger_size: String(open.opened.length),
    current_queue_size: String(open.queue.length),
    drops: {
      base_fee: base,
      median_fee: "5000",
      minimum_fee: base,
      open_ledger_fee: String(openFeeDrops),
    },
    expected_ledger_size: "100",
    ledger_current_index: head + 1,
    levels: {
      median_level: String(open.levelOf(5000n)),
      minimum_level: String(referenceLevel),
      open_ledger_level: String(open.levelOf(openFeeDrops)),
      reference_level: String(referenceLevel),
    },
    max_queue_size: "2000",
  };
}

function ledgerAnswer(view: View, asked: Json): Json {
  const { ledger_index: index = usualLedger(view), ledger_hash: hash } = asked;
  if (hash === undefined && index === "current") {
    const ledger = {
      closed: false,
      ledger_index: String(view.head + 1),
      parent_hash: headOf(view).hash,
    };
    return { ledger, ledger_current_index: view.head + 1, validated: false };
  }
  const ledger = closedOf(view, index, hash);
  const names = { ledger_hash: ledger.hash, ledger_index: ledger.index, validated: true };
  return { ledger: ledgerJson(ledger, asked.transactions === true), ...names };
}

function serverInfo(view: View): Json {
  const { chain, openFeeDrops, serverState } = view;
  const { rules } = chain;
  const xrp = (drops: bigint): number => Number(drops) / 1_000_000;
  const head = headOf(view);
  const server = view.isClio
    ? { clio_version: "2.4.0", rippled_version: version }
    : {
        build_version: version,
        hostid: "LAB",
        peers: 20,
        server_state: serverState,
        uptime: 1_000,
      };
  const info = {
    ...server,
    complete_ledgers: completeLedgers(view),
    load_factor: Number(openFeeDrops) / Number(rules.baseFeeDrops),
    network_id: view.networkId,
    time: new Date(chain.nowMs).toUTCString(),
    validated_ledger: {
      age: view.isBehind ? Math.ceil(((chain.head.index - view.head) * chain.closeMs) / 1000) : 1,
      base_fee_xrp: xrp(rules.baseFeeDrops),
      hash: head.hash,
      reserve_base_xrp: xrp(rules.reserveBaseDrops),
      reserve_inc_xrp: xrp(rules.reserveIncDrops),
      seq: head.index,
    },
    validation_quorum: 28,
  };
  return view.isClio ? { info, validated: true } : { info };
}

function txAnswer(view: View, asked: Json): Json {
  const { transaction, min_ledger: min, max_ledger: max } = asked;
  if (transaction === undefined) throw new Refusal("invalidParams", 31, "Invalid parameters.");
  if (!/^[0-9a-fA-F]{64}$/.test(String(transaction)))
    throw new Refusal("notImpl", 74, "Not implemented.");
  const isRange = typeof min === "number" && typeof max === "number";
  if (isRange && max < min) throw new Refusal("invalidLgrRange", 79, "Ledger range is invalid.");
  if (isRange && max - min > searchedMost)
    throw new Refusal("excessiveLgrRange", 78, "Ledger range exceeds 1000.");
  const hash = String(transaction).toUpperCase();
  const { chain } = view;
  const done = chain.placeOf(hash);
  if (done !== undefined && hasLedger(view, done.ledgerIndex))
    return {
      ...doneJson(chain, done),
      ctid: ctidOf(done, view.networkId),
      meta: metaJson(done),
      validated: true,
    };
  const waiting = view.kept.get(hash) ?? (view.isBehind ? undefined : chain.open.find(hash));
  if (waiting !== undefined) return { ...txJson(waiting), validated: false };
  const searched = isRange ? { searched_all: isSearched(view, min, max) } : {};
  throw new Refusal("txnNotFound", 29, "Transaction not found.", searched);
}

function isSearched(view: View, min: number, max: number): boolean {
  for (let index = min; index <= max; index += 1) if (!hasLedger(view, index)) return false;
  return true;
}

function submit(view: View, asked: Json): Json {
  if (asked.tx_blob === undefined)
    throw new Refusal("invalidParams", 31, "Missing field 'tx_blob'.");
  const tx = read(asked.tx_blob);
  const { chain, openFeeDrops } = view;
  const { open } = chain;
  const isTaken = view.taking === "takes";
  const verdict = isTaken ? open.submit(tx, openFeeDrops) : open.judge(tx, openFeeDrops);
  if (view.taking === "keeps" && verdict.isKept) view.kept.set(tx.hash, tx);
  return { ...verdictJson(verdict), ...sequences(open, tx), ...submitted(tx), ...costs(view) };
}

function read(blob: unknown): ReadTransaction {
  try {
    return readBlob(blob);
  } catch (error) {
    if (!(error instanceof UnreadableBlobError)) throw error;
    throw new Refusal("invalidTransaction", 0, "", { error_exception: error.message });
  }
}

function verdictJson({ result, isApplied, isQueued, isKept }: Verdict): Json {
  return {
    accepted: isApplied || isQueued || isKept,
    applied: isApplied,
    broadcast: isApplied || isQueued,
    engine_result: result,
    engine_result_code: codeOf(result),
    engine_result_message: messageOf(result),
    kept: isKept,
    queued: isQueued,
  };
}

function sequences(open: OpenLedger, { account }: ReadTransaction): Json {
  const next = open.state.account(account)?.sequence ?? 0;
  const last = open.queueOf(account).at(-1)?.sequence;
  return {
    account_sequence_available: last === undefined ? next : Math.max(next, last + 1),
    account_sequence_next: next,
  };
}

function submitted(tx: ReadTransaction): Json {
  return { tx_blob: tx.blob, tx_json: txJson(tx) };
}

function costs({ openFeeDrops, head }: View): Json {
  return { open_ledger_cost: String(openFeeDrops), validated_ledger_index: head };
}
