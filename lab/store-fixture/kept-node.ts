/**
 * A JSON-RPC node of the story's Ethereum, from the file that was kept beside the database: block
 * times and balances, which is all that a report and the books ask for.
 */

import { createHash } from "node:crypto";
import { goodResult } from "../../base/result.ts";
import type { BookNodes } from "../../gateway/books/compare.ts";
import { type FakeNode, startFakeNode } from "../kit/fake-node.ts";
import type { KeptChain } from "./chain.ts";

const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, "0")}`;
const hashOf = (block: number): string =>
  `0x${createHash("sha256").update(`block ${block}`).digest("hex")}`;
const noLogs = `0x${"0".repeat(512)}`;

/** Units of an account at the end of a block; letters of either case name the same account. */
function balanceOf({ moves }: KeptChain, account: string, contract: string, block: number): bigint {
  const isOwn = (text: string, other: string): boolean =>
    text.toLowerCase() === other.toLowerCase();
  return moves.reduce(
    (sum, [at, whose, which, units]) =>
      at <= block && isOwn(whose, account) && isOwn(which, contract) ? sum + BigInt(units) : sum,
    0n,
  );
}

/** For the books, without a network. */
export function keptReader(kept: KeptChain): BookNodes {
  return {
    balances: async (asked, block) =>
      asked.map(({ account, contract }) => goodResult(balanceOf(kept, account, contract, block))),
    finalTip: async () => ({ number: kept.final, hash: hashOf(kept.final) }),
  };
}

/** For commands, on a port of this machine. */
export function startKeptNode(kept: KeptChain): Promise<FakeNode> {
  const numberOf = (tag: unknown): number =>
    String(tag).startsWith("0x") ? Number(BigInt(String(tag))) : kept.times.length - 1;
  const blockOf = (number: number): object | null => {
    const at = kept.times[number];
    if (at === undefined) return null;
    const place = {
      number: quantity(number),
      hash: hashOf(number),
      parentHash: hashOf(number - 1),
    };
    return {
      ...place,
      timestamp: quantity(at),
      baseFeePerGas: "0x1",
      logsBloom: noLogs,
      transactions: [],
    };
  };
  return startFakeNode({
    answer: ({ method, params }) => {
      if (method === "eth_chainId") return { result: "0x1" };
      if (method === "eth_blockNumber") return { result: quantity(kept.times.length - 1) };
      if (method === "eth_getBlockByNumber") return { result: blockOf(numberOf(params[0])) };
      if (method === "eth_getCode") return { result: "0x" };
      if (method === "eth_getBalance")
        return { result: quantity(balanceOf(kept, String(params[0]), "", numberOf(params[1]))) };
      if (method !== "eth_call") return { error: { code: -32601, message: `no method ${method}` } };
      const { to, data } = params[0] as { readonly to: string; readonly data: string };
      return { result: word(balanceOf(kept, `0x${data.slice(34)}`, to, numberOf(params[1]))) };
    },
  });
}
