/**
 * The problems of stopped signatures: a pause, and networks and currencies without first attempts.
 */
import type { SignerStatus, StoppedView } from "../../agent/socket/verbs.ts";
import { agentStateEnds } from "../../agent/state-ends.ts";
import { codes } from "../../base/codes.ts";
import { commandOfEnd } from "../../base/state-end.ts";
import { commandOfStateEnd } from "../command-hint.ts";
import { momentText } from "../terminal.ts";

const { signer } = agentStateEnds;

interface StopProblem {
  readonly code: string;
  readonly what: string;
  readonly hint: string;
}

/** One problem for each stop, what may be a theft first. */
export function stopProblems({
  paused,
  stopped = [],
}: Pick<SignerStatus, "paused" | "stopped">): readonly StopProblem[] {
  const isTheft = ({ txHashes }: StoppedView): boolean => txHashes.length > 0;
  const places = stopped.filter(({ currency }) => currency === undefined);
  const currencies = stopped.filter(({ currency }) => currency !== undefined);
  const found = [
    ...places.filter(isTheft).map(theft),
    ...currencies.map(moved),
    ...places.filter((one) => !isTheft(one)).map(ordered),
  ];
  if (paused === null) return found;
  const what = `paused by ${paused.approver} (claimed) at ${momentText(paused.at)}: no payment is signed`;
  return [...found, { code: "SIGNER_PAUSED", what, hint: commandOfStateEnd(signer.paused) }];
}

/** The name by which `resume` knows a stopped network. */
export const nameOfStop = ({ chain, network }: StoppedView): string => chain || network;

const resumeLine = (one: StoppedView): string =>
  commandOfStateEnd(signer.networkStopped, { CHAIN: nameOfStop(one) });

function theft(one: StoppedView): StopProblem {
  const newest = one.txHashes.at(-1) ?? "";
  const others = one.txHashes.length > 1 ? ` and ${one.txHashes.length - 1} more` : "";
  const what = `the account on ${nameOfStop(one)} paid by ${newest}${others}, which nothing here signed, as the ${one.approver} shows: no first payment is signed there since ${momentText(one.at)}`;
  const line = commandOfEnd(signer.networkStopped).replace(/^autowithdraw /, "");
  const hint = codes.CHAIN_COIN_FOREIGN.advice.replace(line, resumeLine(one));
  return { code: "CHAIN_COIN_FOREIGN", what, hint };
}

function moved({ currency = "", txHashes, approver, at }: StoppedView): StopProblem {
  const newest = txHashes.at(-1);
  const why =
    newest === undefined
      ? `the ${approver} beside the ledger says so`
      : `${newest} moved something else than was asked for`;
  const what = `no first payment is signed in ${currency} since ${momentText(at)}: ${why}`;
  const hint = `look at that transaction: a token that takes a fee must not be paid in; once it is clear why: ${commandOfStateEnd(signer.currencyStopped, { ID: currency })}`;
  return { code: "CURRENCY_MOVES_OTHERWISE", what, hint };
}

function ordered(one: StoppedView): StopProblem {
  const what = `first payments on ${nameOfStop(one)} stopped by ${one.approver} (claimed) at ${momentText(one.at)}`;
  return { code: "NETWORK_PAUSED", what, hint: resumeLine(one) };
}
