/**
 * Checks that a token counts its units as the configuration says. USDT has 6 decimals on one chain
 * and 18 on another, and a wrong number credits a millionfold. A token whose contract reports other
 * decimals, or does not answer, is out of service: its transfers are recorded, but judged only
 * after the contract has answered as configured. Every other currency of the chain continues.
 * Source: EIP-20, decimals().
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayCurrency } from "../config/config.ts";
import type { TokenMemory, WatchedChain } from "./chain.ts";

/** Milliseconds between two questions to a contract that did not answer as configured. */
const askAgainMs = 3_000;

export function newTokenMemory(): TokenMemory {
  return { confirmed: new Set(), out: new Map(), askedAt: null };
}

/**
 * Asks every token that has not answered as configured yet, some seconds apart. Harmless to call
 * again.
 * @throws AgentError NODE_CLOSED
 */
export async function checkDecimals(chain: WatchedChain): Promise<void> {
  const { tokens } = chain;
  const waiting = chain.currencies.filter(
    ({ id, contract }) => contract !== "" && !tokens.confirmed.has(id),
  );
  const nowMs = chain.clock();
  if (
    waiting.length === 0 ||
    (tokens.askedAt !== null && Math.abs(nowMs - tokens.askedAt) < askAgainMs)
  )
    return;
  tokens.askedAt = nowMs;
  for (const currency of waiting) {
    const fault = await faultOf(chain, currency);
    if (fault !== null) putOut(chain, currency.id, fault);
    else takeIn(chain, currency.id);
  }
}

async function faultOf(
  { reader }: WatchedChain,
  { id, contract, decimal }: GatewayCurrency,
): Promise<AgentError | null> {
  try {
    const answered = await reader.decimals(contract);
    if (answered === BigInt(decimal)) return null;
    const context = { currency: id, contract, configured: decimal, answered: `${answered}` };
    return new AgentError(
      "WATCHER_DECIMALS",
      "none",
      `the contract of ${id} has ${answered} decimals, not ${decimal}`,
      context,
    );
  } catch (error) {
    if (!(error instanceof AgentError) || error.code === "NODE_CLOSED") throw error;
    return error;
  }
}

function putOut(
  { tokens, log, name }: WatchedChain,
  currency: string,
  { code, message }: AgentError,
): void {
  const reason = `${code}: ${message}`;
  if (tokens.out.get(currency) === reason) return;
  tokens.out.set(currency, reason);
  const words = "the currency is out of service: its contract does not confirm its decimals";
  log.warn({ event: "currency-out", chain: name, currency, code, reason: message }, words);
}

function takeIn({ tokens, log, name }: WatchedChain, currency: string): void {
  tokens.confirmed.add(currency);
  if (tokens.out.delete(currency))
    log.info({ event: "currency-back", chain: name, currency }, "the currency is in service again");
}
