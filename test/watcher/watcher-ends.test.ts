/**
 * The end of a deposit request: by the gateway's clock and the chain's together. The chain makes a
 * block each second, block N at second 1,000 + N.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { goodResult } from "../../base/result.ts";
import { depositEndBlock, listDepositsWithProvisionalEnd } from "../../gateway/store/deposits.ts";
import { findFirstBlockNotBefore } from "../../gateway/watcher/block-times.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { hashOf, NodeErrorAnswer } from "../../lab/kit/fake-chain.ts";
import { until } from "../support/until.ts";
import {
  chain,
  clock,
  counting,
  db,
  eachTestItsChain,
  eth,
  network,
  nodes,
  outsider,
  passes,
  request,
  row,
  start,
  usd,
} from "../support/watched-chain.ts";

eachTestItsChain();

const atBlock = (number: number): number => (1_000 + number) * 1_000;
const pay = (name: string, address: string) => ({
  hash: hashOf(name),
  from: outsider,
  to: address,
  value: eth,
});
const endOf = (id: string): number | null => depositEndBlock(db.store.database, id);

it("a clock that is hours ahead for some seconds ends no request, in the coin and in a token", async () => {
  clock.nowMs = atBlock(5);
  const expiresAt = atBlock(60);
  const [coins, tokens] = [request(0, { expiresAt }), request(1, { ...usd, expiresAt })];
  await start(1, 3);
  clock.nowMs += 3 * 3_600_000;
  await passes();
  expect([row(coins.id).status, row(tokens.id).status, endOf(coins.id)]).toEqual([0, 0, null]);
  clock.nowMs = atBlock(6);
  chain.mineEmpty(20);
  chain.mine(pay("in time", coins.address));
  chain.mineEmpty(20);
  await until(() => row(coins.id).status === 1);
  // The twin: the chain passes the end too.
  chain.mineEmpty(20);
  await passes();
  expect(row(tokens.id).status).toBe(0);
  clock.nowMs = expiresAt;
  await until(() => row(tokens.id).status === 2);
});

it("the chain alone ends no request either: it waits for the clock", async () => {
  clock.nowMs = atBlock(5);
  const { id } = request(0, { ...usd, expiresAt: atBlock(20) });
  await start(1, 3);
  chain.mineEmpty(30);
  await passes();
  expect(row(id).status).toBe(0);
  clock.nowMs = atBlock(20);
  await until(() => row(id).status === 2);
});

it("a payment in the first block whose own time reaches the end is in time, and one in the next is late", async () => {
  clock.nowMs = atBlock(5);
  const expiresAt = atBlock(20);
  const [inTime, late] = [request(0, { expiresAt }), request(1, { expiresAt })];
  await start(1, 3);
  clock.nowMs = expiresAt;
  // The gateway sees all of them at once, as after a pause.
  chain.mineEmpty(20 - chain.top - 1);
  expect(chain.mine(pay("in time", inTime.address))).toBe(20);
  expect(chain.mine(pay("late", late.address))).toBe(21);
  chain.mineEmpty(10);
  await until(() => row(inTime.id).status === 1);
  await until(() => row(late.id).status === 2);
  expect(row(late.id)).toMatchObject({ late: 1 });
});

it("an end whose block is not final is taken back when the clock goes back", async () => {
  clock.nowMs = atBlock(5);
  const [early, other] = [
    request(0, { expiresAt: atBlock(8) }),
    request(1, { expiresAt: atBlock(18) }),
  ];
  await start(1, 12);
  chain.mineEmpty(20 - chain.top);
  clock.nowMs = atBlock(30);
  await until(() => endOf(other.id) !== null && endOf(early.id) !== null);
  expect([endOf(early.id), endOf(other.id)]).toEqual([8, 18]);
  expect(listDepositsWithProvisionalEnd(db.store.database, network, 8)).toEqual([other.id]);
  clock.nowMs = atBlock(6);
  await until(() => endOf(other.id) === null);
  chain.mine(pay("in time", other.address));
  chain.mineEmpty(15);
  await until(() => row(other.id).status === 1);
});

it("a block whose time no node tells ends no pass: its request ends a little late, the others as ever", async () => {
  clock.nowMs = atBlock(5);
  const expiresAt = atBlock(20);
  const [overdue, open] = [request(0, { expiresAt }), request(1, { expiresAt: atBlock(200) })];
  await start(1, 3);
  const isDropped = true;
  nodes[0]!.lie = counting((method, params, honest) => {
    const isHeader = method === "eth_getBlockByNumber" && params[1] === false;
    return isHeader && isDropped && Number(params[0]) <= 25
      ? new NodeErrorAnswer("header not found")
      : honest;
  });
  clock.nowMs = expiresAt;
  chain.mineEmpty(30 - chain.top);
  chain.mine(pay("for the other", open.address));
  chain.mineEmpty(10);
  await until(() => row(open.id).status === 1);
  await until(() => row(overdue.id).status === 2);
});

describe("the first block at or after a time", () => {
  const times = (known: (number: number) => number): WatchedChain =>
    ({ reader: { timestamp: async (number: number) => known(number) } }) as unknown as WatchedChain;
  const fault = (code: "NODE_PRUNED" | "NODE_TIMEOUT") => () => {
    throw new AgentError(code, "none", "no header");
  };
  const find = (
    known: (number: number) => number,
    floor = 0,
    untold: "before" | "notBefore" = "before",
  ) => findFirstBlockNotBefore(times(known), 50_000, { floor, top: 100, untold });

  it("is found from any floor", async () => {
    for (const [floor, block] of [
      [0, 50],
      [50, 50],
      [51, 51],
      [100, 100],
    ] as const)
      expect(await find((number) => number, floor)).toEqual(goodResult(block));
    expect(await find((number) => number - 60)).toEqual(goodResult(100));
  });

  it("is the lowest known one where nodes have dropped older headers", async () => {
    expect(await find((number) => (number < 70 ? fault("NODE_PRUNED")() : number))).toEqual(
      goodResult(70),
    );
    expect(await find(fault("NODE_PRUNED"))).toEqual(goodResult(100));
  });

  it("is never too low, or never too high, wherever one block's time is not told", async () => {
    for (let one = 0; one < 100; one += 1) {
      const known = (number: number) => (number === one ? fault("NODE_PRUNED")() : number);
      const [late, early] = [await find(known), await find(known, 0, "notBefore")];
      expect(late.ok && late.value >= 50, `${one}`).toBe(true);
      expect(early.ok && early.value <= 50, `${one}`).toBe(true);
    }
  });

  it("is asked for again after a failure that passes", async () => {
    expect(await find(fault("NODE_TIMEOUT"))).toMatchObject({
      ok: false,
      fault: { code: "NODE_TIMEOUT" },
    });
  });
});
