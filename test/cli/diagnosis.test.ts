/** The diagnosis of `show`: STUCK only if an operator must act, otherwise a wait with its cause. */
import { expect, it } from "vitest";
import { diagnosisOf } from "../../cli/diagnosis.ts";
import { broadcast, transactionId, well } from "../support/operator-socket.ts";

function verdictOf(why: string, link: "up" | "down" = "up") {
  const courier = { ...well.courier!, link, waiting: why === "" ? [] : [{ transactionId, why }] };
  const state = link === "down" ? "signed" : "released";
  const one = { ...broadcast, transactionId, state } as const;
  return diagnosisOf({
    one,
    history: [],
    outgoing: [],
    status: { ...well, courier },
    nowMs: broadcast.changedAt,
  });
}

it.each([
  ["WITHDRAWAL_TOO_SOON", "up", "waits", "nothing: it goes on by itself"],
  ["SIGNER_PAUSED", "up", "waits for an operator", "resume, when signing may go on"],
  ["", "down", "waits", "nothing is lost, and it goes on by itself when the link is up"],
  ["ACCOUNT_BEHIND", "up", "STUCK", "look whether another program uses this wallet"],
  ["funds", "up", "STUCK", "send funds to"],
  [
    "ACCOUNT_COIN_SPENT: a closed payment has spent ab:1, and nodes still show it",
    "up",
    "waits",
    "free ethereum ab:1",
  ],
] as const)("a withdrawal that waits for %j with the link %s is %j", (why, link, verdict, what) => {
  const found = verdictOf(why, link);
  expect([found.verdict, found.what]).toEqual([verdict, expect.stringContaining(what)]);
});

it.each([
  ["eip155:1", "POLICY_ABOVE_DAY", "it can be paid once", "or cancel in its place"],
  [
    "tron:0x2b6653dc",
    "RECOVERY_HOLD",
    "nothing on this chain keeps a second one out",
    "a later one is in no list: look for its receiver",
  ],
] as const)(
  "a quarantined withdrawal on %s with %s says whether it may be paid twice, and what to compare",
  (network, code, why, what) => {
    const one = { ...broadcast, transactionId, network, state: "quarantined", code } as const;
    const status = { ...well, recovery: "RECOVERY_HOLD" } as const;
    const found = diagnosisOf({
      one,
      history: [],
      outgoing: [],
      status,
      nowMs: broadcast.changedAt,
    });
    expect(found).toMatchObject({
      verdict: "waits for an operator",
      why: expect.stringContaining(why),
      what: expect.stringContaining(what),
    });
  },
);
