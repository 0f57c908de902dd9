/** The verdict of `show`: STUCK only if a person must act, otherwise a wait with its cause. */
import { expect, it } from "vitest";
import { diagnosisOf } from "../../cli/diagnosis.ts";
import { broadcast, transactionId, well } from "../support/operator-socket.ts";

function verdictOf(why: string, link: "up" | "down" = "up") {
  const courier = { ...well.courier!, link, waiting: why === "" ? [] : [{ transactionId, why }] };
  const state = link === "down" ? "signed" : "released";
  const one = { ...broadcast, transactionId, state } as const;
  return diagnosisOf({ one, history: [], outgoing: [], status: { ...well, courier }, nowMs: broadcast.changedAt });
}

it.each([
  ["WITHDRAWAL_TOO_SOON", "up", "waits", "nothing: it goes on by itself"],
  ["SIGNER_PAUSED", "up", "waits for an operator", "resume, when signing may go on"],
  ["", "down", "waits", "nothing is lost, and it goes on by itself when the link is up"],
  ["ACCOUNT_BEHIND", "up", "STUCK", "look whether another program uses this wallet"],
  ["funds", "up", "STUCK", "send funds to"],
] as const)("a withdrawal that waits for %j with the link %s is %j", (why, link, verdict, what) => {
  const found = verdictOf(why, link);
  expect([found.verdict, found.what]).toEqual([verdict, expect.stringContaining(what)]);
});
