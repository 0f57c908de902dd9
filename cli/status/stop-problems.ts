/** The problems of stopped signatures: a pause, and networks without first attempts. Pure. */
import type { SignerStatus, StoppedView } from "../../agent/socket/verbs.ts";
import { agentEnds } from "../../agent/state-ends.ts";
import { codes } from "../../base/codes.ts";
import { lineOf } from "../../base/state-end.ts";
import { typedEnd } from "../command-hint.ts";
import { moment } from "../terminal.ts";

const { signer } = agentEnds;

interface Found {
  readonly code: string;
  readonly what: string;
  readonly hint: string;
}

/** One problem for each stop, what may be a theft first. */
export function stopProblems({ paused, stopped = [] }: Pick<SignerStatus, "paused" | "stopped">): readonly Found[] {
  const isTheft = ({ txHashes }: StoppedView): boolean => txHashes.length > 0;
  const found = [...stopped.filter(isTheft).map(theft), ...stopped.filter((one) => !isTheft(one)).map(ordered)];
  if (paused === null) return found;
  const what = `paused by ${paused.approver} (claimed) at ${moment(paused.at)}: no payment is signed`;
  return [...found, { code: "SIGNER_PAUSED", what, hint: typedEnd(signer.paused) }];
}

/** The name by which `resume` knows a stopped network. */
export const stopName = ({ chain, network }: StoppedView): string => chain || network;

const resumeLine = (one: StoppedView): string => typedEnd(signer.networkStopped, { CHAIN: stopName(one) });

function theft(one: StoppedView): Found {
  const newest = one.txHashes.at(-1) ?? "";
  const others = one.txHashes.length > 1 ? ` and ${one.txHashes.length - 1} more` : "";
  const what = `the account on ${stopName(one)} paid by ${newest}${others}, which nothing here signed, as the ${one.approver} shows: no first payment is signed there since ${moment(one.at)}`;
  const line = lineOf(signer.networkStopped).replace(/^autowithdraw /, "");
  const hint = codes.CHAIN_COIN_FOREIGN[4].replace(line, resumeLine(one));
  return { code: "CHAIN_COIN_FOREIGN", what, hint };
}

function ordered(one: StoppedView): Found {
  const what = `first payments on ${stopName(one)} stopped by ${one.approver} (claimed) at ${moment(one.at)}`;
  return { code: "NETWORK_PAUSED", what, hint: resumeLine(one) };
}
