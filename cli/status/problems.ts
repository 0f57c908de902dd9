/**
 * Reads the table of problems (agent/problems/table.ts) for an operator's command: the signer's
 * status and this machine as the state that the table judges. Pure: asks no process.
 */
import type {
  JudgedAgent,
  JudgedChain,
  JudgedStatus,
  JudgedStop,
} from "../../agent/problems/judged.ts";
import { errorCodeIn, wordsAfterCode } from "../../agent/problems/reasons.ts";
import { listProblems, nameOfStop, type Problem } from "../../agent/problems/table.ts";
import type { CourierStatus, SignerStatus, StoppedView } from "../../agent/socket/verbs.ts";
import { commandOfStateEnd } from "../command-hint.ts";
import { momentText } from "../terminal.ts";

/** Facts in addition to the status itself. */
export type StatusContext = Omit<JudgedStatus, "signer">;

/** Empty when everything works. */
export function problemsOf(status: SignerStatus, seen: StatusContext): readonly Problem[] {
  return listProblems(judgedOf(status, seen));
}

function judgedOf(signer: SignerStatus, seen: StatusContext): JudgedAgent {
  const { agent, locked, recovery, courier, stopped = [] } = signer;
  const { freeBytes, freeBytesMin, ledgerWritable, ledgerReadOnly } = signer;
  return {
    agent,
    locked,
    recovery,
    link: courier?.link ?? "unknown",
    linkDetail: courier?.linkDetail ?? "",
    stops: stopped.map(stopOf),
    room: {
      freeBytes,
      freeBytesMin,
      isWritable: ledgerWritable,
      isReadOnly: ledgerReadOnly === true,
    },
    isConfigSplit: courier === null ? null : courier.configDigest !== signer.config.digest,
    chains: (courier?.chains ?? []).map(chainOf),
    waits: (courier?.waiting ?? []).map((one) => ({ ...one, chain: "", currency: "" })),
    unbegun: courier?.unbegun ?? [],
    lowFunds: courier?.lowFunds ?? [],
    withdrawals: [],
    operator: { ...seen, signer },
    voice: { command: commandOfStateEnd, moment: momentText },
  };
}

function stopOf(view: StoppedView): JudgedStop {
  const { currency, txHashes } = view;
  if (currency !== undefined) return { kind: "moved", place: currency, view };
  return { kind: txHashes.length > 0 ? "foreign" : "ordered", place: nameOfStop(view), view };
}

function chainOf({
  chain,
  ok,
  isAsking,
  detail,
  delays = [],
  nodes,
  nativeBalance,
}: CourierStatus["chains"][number]): JudgedChain {
  return {
    chain,
    ok,
    isAsking,
    detail,
    nativeBalance,
    isBalanceKnown: nativeBalance !== "",
    delays: delays.map(codedWords),
    poorNodes: nodes
      .filter(({ since }) => since > 0)
      .map((node) => ({ url: node.url, ...codedWords(node.detail) })),
  };
}

const codedWords = (detail: string) => ({
  code: errorCodeIn(detail),
  words: wordsAfterCode(detail),
});
