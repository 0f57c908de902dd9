/** Gaps as rows: those that touch or cover one another are one, in whatever order they open. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { isItemFault } from "../../gateway/faults/blame.ts";
import type { OperatorContext } from "../../gateway/operator/accounts.ts";
import { giveUpGap } from "../../gateway/operator/faults.ts";
import { keepFault } from "../../gateway/store/faults.ts";
import { endFinishedGapHolds } from "../../gateway/store/gap-holds.ts";
import { fillGap, type GapRow, listGaps, openGap } from "../../gateway/store/gaps.ts";
import { type GatewayDatabase, gatewayDatabase } from "../../lab/kit/gateway-database.ts";

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

const open = (fromBlock: number, toBlock: number, account = "", summedTo = 0): void =>
  openGap(db.store.database, {
    ...{ network: "xrpl:0", account, fromBlock, toBlock, merchant: "" },
    ...{ code: "NODE_PRUNED", words: "none has them", since: fromBlock, summedTo },
  });
const spans = (): readonly (readonly [number, number])[] =>
  listGaps(db.store.database, "xrpl:0").map((gap) => [gap.fromBlock, gap.toBlock]);

it("a gap takes in those that it covers or touches, below and above", () => {
  open(122, 130);
  open(200, 210);
  open(90, 121);
  expect(spans()).toEqual([
    [90, 130],
    [200, 210],
  ]);
  open(122, 153);
  open(140, 199);
  expect(spans()).toEqual([[90, 210]]);
  const [gap] = listGaps(db.store.database, "xrpl:0");
  fillGap(db.store.database, gap as GapRow, 121);
  expect(spans()).toEqual([[122, 210]]);
});

it("a gap remembers up to which block payments were in sums before, so that none is added twice", () => {
  open(10, 20, "", 9);
  open(5, 9, "", 12);
  expect(listGaps(db.store.database, "xrpl:0").map(({ summedTo }) => summedTo)).toEqual([12]);
});

it("a gap of one account is no other's", () => {
  open(1, 5, "rA");
  open(6, 9, "rB");
  expect(spans()).toEqual([
    [1, 5],
    [6, 9],
  ]);
});

it("a list that leaves payments out is its account's fault, and no chain's", () => {
  expect(isItemFault(new AgentError("NODE_LIST_SHORT", "none", "7 drops unexplained"))).toBe(true);
  expect(isItemFault(new AgentError("NODE_TIMEOUT", "none", "no answer"))).toBe(false);
});

it("a gap is given up, by hand alone where tags tell requests apart", () => {
  const { database } = db.store;
  const by = { store: db.store, actor: "ayse", nowMs: 9 } as unknown as OperatorContext;
  const gap = {
    account: "",
    fromBlock: 7,
    toBlock: 7,
    merchant: "",
    code: "NODE_PRUNED",
    words: "none",
    since: 1,
  } as const;
  for (const network of ["xrpl:0", "eip155:31337"]) {
    openGap(database, { ...gap, network, summedTo: 0 });
    keepFault(database, {
      domain: "history",
      network,
      id: "* 7",
      merchant: "",
      code: gap.code,
      words: "none",
      since: 1,
      tries: 1,
    });
  }
  expect(giveUpGap(by, "history/xrpl:0/*/7", "no server has it")).toMatchObject({
    ok: false,
    code: "GATEWAY_GAP_TAGGED",
  });
  expect(giveUpGap(by, "history/eip155:31337/*/7", "no node has it")).toEqual({
    ok: true,
    held: 0,
    isByHand: false,
  });
  expect(giveUpGap(by, "history/xrpl:0/*/7", "no server has it", true)).toEqual({
    ok: true,
    held: 0,
    isByHand: true,
  });
  const givenUp = (network: string) =>
    listGaps(database, network).map(({ givenUpAt }) => givenUpAt);
  expect([givenUp("xrpl:0"), givenUp("eip155:31337")]).toEqual([[9], [9]]);
  // They are no gap any more that grows, and their blocks are none again.
  openGap(database, { ...gap, network: "eip155:31337", fromBlock: 5, toBlock: 9, summedTo: 0 });
  openGap(database, {
    ...gap,
    network: "eip155:31337",
    account: "0xA",
    fromBlock: 7,
    toBlock: 7,
    summedTo: 0,
  });
  expect(
    listGaps(database, "eip155:31337").map(({ fromBlock, toBlock, givenUpAt }) => [
      fromBlock,
      toBlock,
      givenUpAt,
    ]),
  ).toEqual([
    [5, 6, null],
    [7, 7, 9],
    [8, 9, null],
  ]);
  endFinishedGapHolds(database, "eip155:31337");
  expect(listGaps(database, "eip155:31337").map(({ fromBlock }) => fromBlock)).toEqual([5, 8]);
});
