/**
 * The scheduler's requests to the signer in one turn go on one line a verb, and each answer comes
 * back as its own event.
 */
import { setImmediate as nextRound } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { createEffectRunner, type SignerSocket } from "../../agent/courier/effects.ts";
import { createMetrics } from "../../agent/courier/metrics.ts";
import type { SchedulerEffect, SchedulerEvent } from "../../agent/courier/scheduler/scheduler.ts";
import { batchRequestsMax } from "../../agent/socket/each.ts";
import { AgentError } from "../../base/fault.ts";
import { idOf, viewOf } from "../support/scheduler-views.ts";

interface Line {
  readonly verb: string;
  readonly body: {
    readonly of?: string;
    readonly bodies?: readonly { readonly transactionId: string }[];
  };
}

/** Hands in front of a signer with the test's answer to each line. */
function handsBefore(answer: (line: Line) => unknown) {
  const lines: Line[] = [];
  const events: SchedulerEvent[] = [];
  const request = async (verb: string, body: Line["body"]): Promise<unknown> => {
    lines.push({ verb, body });
    return answer({ verb, body });
  };
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const carry = createEffectRunner({
    signer: { request } as unknown as SignerSocket,
    chainAccess: new Map(),
    readBack: () => Promise.resolve(""),
    feed: (event) => events.push(event),
    refresh: () => undefined,
    wake: () => undefined,
    state: { questions: null },
    log: log as never,
    metrics: createMetrics(() => 0),
    onBug: (error) => {
      throw error;
    },
  });
  return { carry, lines, events };
}

const txParams = { gasLimit: "21000", maxFeePerGas: "3", maxPriorityFeePerGas: "1" };
const signing = (number: number): SchedulerEffect => ({
  kind: "ask",
  withdrawal: viewOf(number, "approved"),
  verb: "sign",
  body: { transactionId: idOf(number), txParams },
});
const stating = (number: number): SchedulerEffect => ({
  kind: "ask",
  withdrawal: viewOf(number, "broadcast"),
  verb: "observed",
  body: {
    transactionId: idOf(number),
    stage: "included",
    outcome: "",
    txHash: `0x${"ab".repeat(32)}`,
    block: 7,
  },
});
const signed = (number: number) => ({ ok: true, withdrawal: viewOf(number, "signed") });

it("requests of one turn go on one line a verb, and each answer is fed by itself", async () => {
  const no = { ok: false, code: "ACCOUNT_FULL", detail: "", effect: "none" };
  const { carry, lines, events } = handsBefore(({ body }) =>
    body.of === "sign"
      ? { ok: true, answers: [signed(1), no] }
      : { ok: true, withdrawal: viewOf(3, "included") },
  );
  for (const effect of [signing(1), stating(3), signing(2)]) carry(effect);
  await nextRound();
  await nextRound();
  expect(lines.map(({ verb }) => verb)).toEqual(["observed", "each"]);
  expect(lines[1]?.body.bodies?.map(({ transactionId }) => transactionId)).toEqual([
    idOf(1),
    idOf(2),
  ]);
  expect(events).toMatchObject([
    { kind: "answered", verb: "observed", transactionId: idOf(3), answer: { ok: true } },
    {
      kind: "answered",
      verb: "sign",
      transactionId: idOf(1),
      answer: { ok: true, withdrawal: { state: "signed" } },
    },
    {
      kind: "answered",
      verb: "sign",
      transactionId: idOf(2),
      answer: { ok: false, code: "ACCOUNT_FULL" },
    },
  ]);
});

it("each request learns that its line got lost, with what is known of its effect", async () => {
  const { carry, events } = handsBefore(() =>
    Promise.reject(new AgentError("SOCKET_TIMEOUT", "unknown", "no answer")),
  );
  for (const number of [1, 2]) carry(signing(number));
  await nextRound();
  await nextRound();
  expect(events.map((event) => (event.kind === "answered" ? event.answer : null))).toEqual([
    { ok: false, code: "SOCKET_TIMEOUT", effect: "unknown" },
    { ok: false, code: "SOCKET_TIMEOUT", effect: "unknown" },
  ]);
});

it("a line asks for no more than the signer takes, and a short answer is taken for none", async () => {
  const { carry, lines, events } = handsBefore(({ body }) =>
    body.of === undefined ? signed(batchRequestsMax + 1) : { ok: true, answers: [signed(1)] },
  );
  for (let number = 1; number <= batchRequestsMax + 1; number++) carry(signing(number));
  await nextRound();
  await nextRound();
  expect(lines.map(({ verb, body }) => [verb, body.bodies?.length])).toEqual([
    ["each", batchRequestsMax],
    ["sign", undefined],
  ]);
  const faults = events.filter((event) => event.kind === "answered" && !event.answer.ok);
  expect(faults).toHaveLength(batchRequestsMax - 1);
  expect(faults[0]).toMatchObject({
    transactionId: idOf(2),
    answer: { code: "SOCKET_FORMAT", effect: "unknown" },
  });
});
