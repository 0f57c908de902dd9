/**
 * Checks that the tokens of a hot wallet have the configured decimals: USDT has 6 decimals on one
 * chain and 18 on another, and a wrong figure would multiply a payment by a million. A contract
 * that confirmed its decimals is not asked again; a contract with another answer is asked again
 * later. Source: EIP-20, decimals(), which TRC-20 takes over.
 */
import type { PaidToken } from "../nodes.ts";

/** Milliseconds between two questions to a contract that does not have the configured decimals. */
const askAgainMs = 30_000;

export interface TokenDecimalsCheck {
  /** False for a token with other decimals. @throws AgentError NODE_* while no node can answer */
  confirmed(token: PaidToken): Promise<boolean>;
  /** The reason why a token must not be used for payments, by contract. */
  unfit(): ReadonlyMap<string, string>;
}

/**
 * `decimalsOf` needs the agreement of enough nodes and returns null if the address has no token
 * contract.
 */
export function createTokenDecimalsCheck(
  decimalsOf: (contract: string) => Promise<bigint | null>,
  clock: () => number,
): TokenDecimalsCheck {
  const fit = new Set<string>();
  const unfit = new Map<string, string>();
  const askedAtMs = new Map<string, number>();

  async function ask({ contract, decimal }: PaidToken): Promise<boolean> {
    const answered = await decimalsOf(contract);
    if (answered === BigInt(decimal)) {
      fit.add(contract);
      unfit.delete(contract);
      return true;
    }
    const said = answered === null ? "is no token's" : `has ${answered} decimals`;
    unfit.set(contract, `the contract ${said}, and config.json says ${decimal} decimals`);
    return false;
  }

  return {
    confirmed: async (token) => {
      if (fit.has(token.contract)) return true;
      const atMs = askedAtMs.get(token.contract);
      if (unfit.has(token.contract) && atMs !== undefined && clock() - atMs < askAgainMs)
        return false;
      askedAtMs.set(token.contract, clock());
      return ask(token);
    },
    unfit: () => new Map(unfit),
  };
}
