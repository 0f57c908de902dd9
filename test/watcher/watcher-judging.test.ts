/**
 * The watcher's judgements alone: what a withdrawal or a deposit has become, given what the chain
 * showed.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import {
  type FinalTransaction,
  judgePayout,
  judgeSlotConsumer,
  needsReceiverCode,
} from "../../chains/evm/outcome.ts";
import type { Payment as Payout } from "../../chains/family.ts";
import { findAgreedAnswer } from "../../chains/providers/node-agreement.ts";
import { judgeDeposit, type Payment } from "../../gateway/watcher/credit.ts";
import { receiver } from "../../lab/kit/gateway-database.ts";
import { outsider, token } from "../support/watched-chain.ts";

describe("judging", () => {
  const asked = {
    ...{
      status: 0 as const,
      stage: "waiting",
      amountUnits: 10n,
      expiresAt: 100,
      receivedUnits: 0n,
      late: false,
    },
    endBlock: null as number | null,
    toleranceUnits: 0n,
  };
  const paid = (units: bigint, final = true, block = 1): Payment => ({
    units,
    final,
    block,
    txHash: `0x${block}`,
  });

  it.each([
    [[], 99, 0, "waiting"],
    [[], 100, 2, "expired"],
    [[paid(3n, false)], 99, 0, "seen"],
    [[paid(3n, false)], 100, 0, "seen"],
    [[paid(10n, false)], 100, 0, "confirming"],
    [[paid(4n), paid(6n, false)], 100, 0, "confirming"],
    [[paid(4n), paid(5n, false)], 100, 0, "partial"],
    [[paid(4n)], 99, 0, "partial"],
    [[paid(4n)], 100, 2, "expired"],
    [[paid(4n), paid(6n)], 100, 1, "completed"],
    [[paid(11n)], 1, 1, "completed"],
  ] as const)("deposit %# ends as it must", (payments_, at, status, stage) => {
    expect(judgeDeposit(asked, payments_, at)).toMatchObject({ status, stage });
  });

  it("the judge of deposits counts what came up to the block of the end, and calls late what came behind it", () => {
    const ended = { ...asked, endBlock: 5 };
    expect(judgeDeposit(ended, [paid(4n), paid(6n, true, 5)], 100)).toMatchObject({
      status: 1,
      late: false,
    });
    const late = judgeDeposit(ended, [paid(4n), paid(6n, true, 6)], 100);
    expect(late).toMatchObject({ status: 2, stage: "expired", receivedUnits: 10n, late: true });
    expect(judgeDeposit(ended, [paid(4n), paid(6n, false, 5)], 100)).toMatchObject({
      status: 0,
      stage: "confirming",
    });
    expect(judgeDeposit(ended, [paid(4n), paid(6n, false, 6)], 100)).toMatchObject({
      status: 2,
      receivedUnits: 4n,
      late: false,
    });
  });

  it("the judge of deposits completes what is short by the tolerance, and neither one unit more nor nothing at all", () => {
    const tolerant = { ...asked, toleranceUnits: 2n };
    expect(judgeDeposit(tolerant, [paid(8n)], 1)).toMatchObject({ status: 1, receivedUnits: 8n });
    expect(judgeDeposit(tolerant, [paid(8n, false)], 1).stage).toBe("confirming");
    expect(judgeDeposit(tolerant, [paid(7n)], 1)).toMatchObject({ status: 0, stage: "partial" });
    expect(judgeDeposit(tolerant, [paid(7n)], 100).status).toBe(2);
    expect(judgeDeposit({ ...tolerant, toleranceUnits: 10n }, [], 1).status).toBe(0);
    expect(judgeDeposit(asked, [paid(9n)], 1).status).toBe(0);
  });

  it("the judge of deposits keeps a finished request finished whatever comes", () => {
    const expired = { ...asked, status: 2 as const, stage: "expired" };
    expect(judgeDeposit(expired, [paid(50n)], 500)).toMatchObject({
      status: 2,
      stage: "expired",
      receivedUnits: 50n,
    });
    const completed = { ...asked, status: 1 as const, stage: "completed" };
    expect(judgeDeposit(completed, [], 500)).toMatchObject({
      status: 1,
      stage: "completed",
      receivedUnits: 0n,
    });
  });

  it("the judge of deposits calls money late that came after the end, permanently, and none that came before", () => {
    const lateOf = (change: Partial<typeof expired>, payments: readonly Payment[]): boolean =>
      judgeDeposit({ ...expired, ...change }, payments, 500).late;
    const expired = { ...asked, status: 2 as 0 | 1 | 2, stage: "expired", receivedUnits: 4n };
    expect(lateOf({}, [paid(4n)])).toBe(false);
    expect(lateOf({}, [paid(4n), paid(6n, false)])).toBe(false); // not final yet
    expect(lateOf({}, [paid(4n), paid(6n)])).toBe(true);
    expect(lateOf({ status: 1, stage: "completed" }, [paid(4n), paid(1n)])).toBe(true);
    expect(lateOf({ status: 0, stage: "partial" }, [paid(4n), paid(6n)])).toBe(false);
    expect(lateOf({ receivedUnits: 10n, late: true }, [paid(10n)])).toBe(true);
  });

  const payout: Payout = {
    ...{ network: "eip155:1", account: outsider, slot: "4" },
    ...{ contract: "", destination: receiver, tag: "", amountUnits: 5n },
  };
  const final = (
    change: Partial<FinalTransaction["transaction"]>,
    status: 0 | 1 = 1,
  ): FinalTransaction => ({
    transaction: {
      hash: "0x1",
      from: outsider,
      nonce: 4n,
      to: receiver,
      valueUnits: 5n,
      input: "0x",
      ...change,
    },
    receipt: {
      txHash: "0x1",
      blockNumber: 9,
      blockHash: "0xb",
      status,
      from: outsider,
      to: receiver,
      gasUsed: 1n,
      effectiveGasPrice: 1n,
      dataFee: 0n,
      logs: [],
    },
  });

  it("an attempt is judged by its final transaction first, then by its block, then by the account's slot count", () => {
    const attempt = { txHash: "0x1", includedIn: 9, final: final({}) };
    expect(judgePayout(payout, { attempts: [attempt], finalCount: 9n }).kind).toBe("completed");
    expect(
      judgePayout(payout, { attempts: [{ ...attempt, final: null }], finalCount: 9n }).kind,
    ).toBe("confirming");
    const unseen = { txHash: "0x1", includedIn: null, final: null };
    expect(judgePayout(payout, { attempts: [unseen], finalCount: 5n }).kind).toBe("stuck");
    expect(judgePayout(payout, { attempts: [unseen], finalCount: 4n }).kind).toBe("waiting");
    expect(judgePayout(payout, { attempts: [unseen], finalCount: null }).kind).toBe("waiting");
  });

  it("a foreign transaction of the same nonce fails the withdrawal only when it cannot have paid", () => {
    const judge = (one: FinalTransaction, code: string | null = "0x") =>
      judgeSlotConsumer(payout, one, code).kind;
    expect(judge(final({}))).toBe("completed");
    expect(judge(final({ to: outsider }))).toBe("failed");
    // a contract may pass the coins on
    expect(judge(final({ to: outsider }), "0x6000")).toBe("stuck");
    expect(judge(final({ to: outsider }), null)).toBe("stuck");
    expect(judge(final({ to: outsider }, 0), "0x6000")).toBe("failed");
    expect(judge(final({ to: outsider, input: "0x00" }))).toBe("stuck");
    expect(judge(final({ to: null }))).toBe("stuck");
    expect(judge(final({ valueUnits: 4n }))).toBe("stuck");
    expect(judge(final({ to: outsider, input: "0x00" }, 0))).toBe("failed");
    expect(
      [final({ to: outsider }), final({}), final({ to: null })].map((one) =>
        needsReceiverCode(payout, one),
      ),
    ).toEqual([true, false, false]);
    expect(
      judgeSlotConsumer({ ...payout, contract: token }, final({ to: outsider }), null).kind,
    ).toBe("failed");
  });

  it("agreement wants two like answers of several nodes and asks no more than it needs", async () => {
    const calls: number[] = [];
    const ask = (answers: readonly (string | null)[]) => (node: number) => {
      calls.push(node);
      const answer = answers[node];
      return answer === null || answer === undefined
        ? Promise.reject(new AgentError("NODE_TIMEOUT", "none", "late"))
        : Promise.resolve(answer);
    };
    const agree = (answers: readonly (string | null)[]) =>
      findAgreedAnswer(
        answers.map((_answer, node) => node),
        ask(answers),
        (value) => value,
        "thing",
      );
    expect(await agree(["a"])).toBe("a");
    calls.length = 0;
    expect(await agree(["a", "a", "b"])).toBe("a");
    expect(calls).toEqual([0, 1]);
    expect(await agree(["b", "a", "a"])).toBe("a");
    expect(await agree([null, "a", "a"])).toBe("a");
    await expect(agree(["a", "b"])).rejects.toMatchObject({ code: "NODE_DISAGREE" });
    await expect(agree([null, "a"])).rejects.toMatchObject({ code: "NODE_TIMEOUT" });
  });
});
