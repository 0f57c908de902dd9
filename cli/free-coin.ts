/**
 * `free`: an operator lets a coin pay again that a closed withdrawal has spent, because the chain
 * undid that transaction. Shows the withdrawal and what must hold before the yes.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import type { SpentCoinView } from "../agent/socket/verbs.ts";
import { agentStateEnds } from "../agent/state-ends.ts";
import { AgentError } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { commandOfStateEnd } from "./command-hint.ts";
import { approverOf } from "./decide.ts";
import { askOperator } from "./operator.ts";
import { fieldLines, type Terminal, wrapText } from "./terminal.ts";

const wordsWidth = 62;

export interface FreeCoinOptions {
  readonly yes?: boolean | undefined;
  readonly as?: string | undefined;
  readonly json?: boolean | undefined;
}

/** A coin as it is typed. */
interface NamedCoin {
  readonly chain: string; // its name in config.json
  readonly coin: string; // TXID:INDEX, in any letters
}

/**
 * @throws AgentError COMMAND_*, ACCOUNT_COIN_UNKNOWN, ACCOUNT_PIN_TAKEN, CHAIN_UNKNOWN, SIGNER_*
 */
export async function runFreeCoin(
  state: StateFolder,
  named: NamedCoin,
  options: FreeCoinOptions,
  terminal: Terminal,
): Promise<number> {
  const approver = approverOf(options, terminal);
  const coin = { chain: named.chain, coin: named.coin.toLowerCase(), approver };
  const { spent } = await askOperator(state, "freeCoin", { ...coin, isLook: true });
  if (options.json !== true) terminal.out(spentWords(spent));
  if (spent.isFree) return done(spent, options, terminal, "it is free already");
  if (options.yes !== true) await confirmed(spent, terminal);
  const answer = await askOperator(state, "freeCoin", coin);
  return done(answer.spent, options, terminal, "freed: it is offered again within ten minutes");
}

async function confirmed({ chain, coin }: SpentCoinView, terminal: Terminal): Promise<void> {
  if (!terminal.isInteractive) {
    const line = commandOfStateEnd(agentStateEnds.courier.coinSpent, { CHAIN: chain, COIN: coin });
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "free asks for a yes on a terminal, and this is none",
      { hint: `when all of it is right: ${line} --yes` },
    );
  }
  if (!(await terminal.confirm("free it? (yes/no) ")))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

function spentWords({
  chain,
  network,
  coin,
  transactionId,
  orderId,
  state,
  txHash,
}: SpentCoinView): string {
  const before =
    "say yes only if the nodes of both sides and a block explorer show this coin unspent, after " +
    "as many new blocks as the chain's confirmations, and the transaction that spent it in no block";
  const does =
    "the coin may pay another order, and the chain takes one of two transactions: the one that " +
    "spent it, and then the other order fails and may be asked for again; or the new one, and " +
    `then order ${orderId} stays as it ended, though nothing pays it`;
  const never =
    "until another transaction that spends the coin is final, the withdrawal's bytes stay good: " +
    "pay its receiver by no other order before, and not by hand";
  const wrapped = (name: string, text: string): readonly (readonly [string, string])[] =>
    wrapText(text, wordsWidth).map((line, at) => [at === 0 ? name : "", line]);
  const rows = [
    ["chain", `${chain} (${network})`],
    ["coin", coin],
    ["spent by", `${transactionId} of order ${orderId}: ${state}`],
    ["with", txHash === "" ? "a transaction that is not its own" : txHash],
    ...wrapped("before", before),
    ...wrapped("does", does),
    ...wrapped("never", never),
  ] as const;
  return `${fieldLines(rows)}\n`;
}

function done(
  spent: SpentCoinView,
  options: FreeCoinOptions,
  terminal: Terminal,
  text: string,
): number {
  terminal.out(
    options.json === true ? `${formatTerminalSafeJson({ ok: true, spent })}\n` : `${text}\n`,
  );
  return exitCodes.fine;
}
