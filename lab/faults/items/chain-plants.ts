/**
 * One fault of a whole chain of each kind in each family: its name, and what goes on beside it.
 * Each copies a report. A kind or a family without a cell does not compile.
 */

import type { Code } from "../../../base/codes.ts";
import { AgentError } from "../../../base/fault.ts";
import type { BlockId, HeadView, NodeStatus, WatcherNodes } from "../../../chains/nodes.ts";
import type { FaultDomain } from "../../../gateway/faults/domains.ts";
import type { FamilyKey, Reason } from "./plants.ts";

export type ChainDomain = Extract<FaultDomain, "head" | "final" | "span" | "history" | "provider">;

/** The state of the chain while a plant is in. */
export interface ChainTime {
  isOn(): boolean;
  /** Unix milliseconds. */
  now(): number;
}

export interface ChainPlant {
  readonly report: string;
  readonly code: Code; // by which the chain's row names it
  /** Payments are seen, and payouts are judged; a fault of a head stops both. */
  readonly goesOn: "nothing" | "seen" | "payouts" | "all";
  wrap(honest: WatcherNodes, time: ChainTime): WatcherNodes;
}

const fault = (code: Code, words: string): AgentError => new AgentError(code, "none", words);

const viewOf = (number: number, ageMs: number, nowMs: number): HeadView => ({
  ...{ number, atMs: nowMs - ageMs, seenAgoMs: 0, stoodForMs: 0, highest: number, blockMs: null },
});

const nodeOf = (name: string, nowMs: number, more: Partial<NodeStatus>): NodeStatus => {
  const head = viewOf(1_000, 500, nowMs);
  const well = {
    ok: true,
    detail: "",
    outForMs: null,
    block: 1_000,
    head,
    final: null,
    ranges: null,
  };
  return { url: `http://${name}`, ...well, ...more };
};

const twoNodes = (nowMs: number, more: Partial<NodeStatus>): readonly NodeStatus[] => [
  nodeOf("one", nowMs, more),
  nodeOf("two", nowMs, more),
];

const noHead = (report: string): ChainPlant => ({
  report,
  code: "NODE_UNREACHABLE",
  goesOn: "nothing",
  wrap: (honest, time) => ({
    ...honest,
    tip: async () => {
      if (time.isOn()) throw fault("NODE_UNREACHABLE", "the node cut the line");
      return honest.tip();
    },
  }),
});

/** The final block stands, and the head goes on. */
const finalStands = (report: string): ChainPlant => ({
  report,
  code: "CHAIN_FINAL_STALE",
  goesOn: "seen",
  wrap: (honest, time) => {
    let last: BlockId | null = null;
    let sinceMs = 0;
    return {
      ...honest,
      finalTip: async () => {
        if (time.isOn() && last !== null) return last;
        sinceMs = time.now();
        last = await honest.finalTip();
        return last;
      },
      status: () => {
        const nowMs = time.now();
        return twoNodes(nowMs, { final: viewOf(last?.number ?? 0, nowMs - sinceMs, nowMs) });
      },
    };
  },
});

/** A block is known by its hash, and no node gives its content. */
const noContent = (report: string, code: Code): ChainPlant => ({
  report,
  code,
  goesOn: "payouts",
  wrap: (honest, time) => ({
    ...honest,
    block: async (number, isAgreed) => {
      if (time.isOn()) throw fault(code, "the node does not have the block");
      return honest.block(number, isAgreed);
    },
  }),
});

/** Ledgers that were not read are kept by no node any more. */
const noHistory: ChainPlant = {
  report: "XRPLF/rippled #2903, #4262: a stock server keeps 512 ledgers",
  code: "NODE_HISTORY_SHORT",
  goesOn: "payouts",
  wrap: (honest, time) => {
    const list = fault("NODE_NO_BLOCK", "lgrNotFound");
    let newest = 0;
    return {
      ...honest,
      finalTip: async () => {
        const tip = await honest.finalTip();
        newest = tip.number;
        return tip;
      },
      status: () => {
        const nowMs = time.now();
        const final = viewOf(newest, 4_000, nowMs);
        return twoNodes(nowMs, {
          final,
          ranges: time.isOn() ? [[newest + 1, newest + 60]] : [[1, newest + 60]],
        });
      },
      payments: async (...question) => {
        if (time.isOn()) throw list;
        return honest.payments(...question);
      },
    };
  },
};

/** One server of three is out; the others are enough. */
const oneOut = (report: string): ChainPlant => ({
  report,
  code: "NODE_QUOTA",
  goesOn: "all",
  wrap: (honest, time) => ({
    ...honest,
    status: () => {
      const nowMs = time.now();
      const out = {
        ok: false,
        detail: "NODE_QUOTA: HTTP status 429 (too many requests)",
        outForMs: 600_000,
      };
      return [...twoNodes(nowMs, {}), nodeOf("three", nowMs, time.isOn() ? out : {})];
    },
  }),
});

const each = (
  of: (report: string) => ChainPlant,
  reports: Record<FamilyKey, string>,
): Record<FamilyKey, ChainPlant> => ({
  evm: of(reports.evm),
  tron: of(reports.tron),
  bitcoin: of(reports.bitcoin),
  litecoin: of(reports.litecoin),
  xrp: of(reports.xrp),
});

const wholeBlocks: Reason = { none: "blocks are read whole, so what lacks is a span's" };

export const chainPlants: Readonly<
  Record<ChainDomain, Readonly<Record<FamilyKey, ChainPlant | Reason>>>
> = {
  head: each(noHead, {
    evm: "hyperlane-xyz/hyperlane-monorepo #2570: a node that is gone for days",
    tron: "tronprotocol/java-tron: a full node that is restarted",
    bitcoin: "Blockstream/esplora #449: every question is refused",
    litecoin: "litecoin-project/litecoin #410: a node that is restarted",
    xrp: "XRPLF/rippled #5031: a server that falls out of the network",
  }),
  final: each(finalStands, {
    evm: "ethereum-optimism/optimism #11234, #13809: safe and final stand for hours, the head goes on",
    tron: "public-bugs-chains-and-shop.md N5, on a chain with solidified blocks",
    bitcoin: "public-bugs-coins.md 11: an hour without a block comes once in some 400",
    litecoin: "public-bugs-coins.md 11, with blocks of 2.5 minutes",
    xrp: "public-bugs-chains-and-shop.md N5, where both servers stop validating",
  }),
  span: {
    evm: noContent(
      "ethereum/go-ethereum: a balancer in front of nodes at two heads",
      "NODE_NO_BLOCK",
    ),
    tron: noContent("trustwallet/blockatlas #934: an index behind the tip", "NODE_NO_BLOCK"),
    bitcoin: noContent(
      "interlay/interbtc #368: a block whose hash is known and whose bytes are 404",
      "NODE_NO_BLOCK",
    ),
    litecoin: noContent("interlay/interbtc #368", "NODE_NO_BLOCK"),
    xrp: noContent("XRPLF/clio #263: a server that has the ledger's number alone", "NODE_NO_BLOCK"),
  },
  history: {
    evm: wholeBlocks,
    tron: wholeBlocks,
    bitcoin: wholeBlocks,
    litecoin: wholeBlocks,
    xrp: noHistory,
  },
  provider: each(oneOut, {
    evm: "ethers-io/ethers.js: a public provider's 429",
    tron: "tronprotocol/trongrid: a key at its daily limit",
    bitcoin: "CypherBoxLLC/Cypher-Box #194: 700 questions an hour for an address",
    litecoin: "mempool/mempool #4106: repeated excess is banned",
    xrp: "XRPLF/rippled #2628: tooBusy and slowDown",
  }),
};
