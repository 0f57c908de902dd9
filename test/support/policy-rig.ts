/**
 * A signer whose policy is all but one rule generous, and the short words for asking, approving and
 * paying on it.
 */
import { expect } from "vitest";
import type { PolicySettings, SignerSettings } from "../../agent/config/settings.ts";
import { facts, Rig, type RigOptions, settings } from "../../lab/rig/signer-rig.ts";

export const minuteMs = 60_000;
export const dayMs = 86_400_000;
const generous = { maxPerWithdrawal: "1000000", maxPerDay: "1000000", maxFee: "1", maxFeePerDay: "1" };

export function settingsWith(policy: Partial<PolicySettings>): SignerSettings {
  const one = { ...generous, ...policy };
  return { ...settings, policy: { usdt: one, usdc: one, eth: one } };
}

export function withPolicy(policy: Partial<PolicySettings>, options: RigOptions = {}): Rig {
  return new Rig({ ...options, settings: settingsWith(policy) }).ready();
}

export const request = (rig: Rig, amount: string, change: object = {}) =>
  rig.request({ amount, expiresAt: rig.now + 10 * dayMs, ...change });

export const outcome = (rig: Rig, amount: string, change: object = {}): string => {
  const { state, code } = request(rig, amount, change);
  return code === "" ? state : `${state} ${code}`;
};

/** Signs an approved withdrawal, and has the courier observe it up to `end`. */
export function seen(rig: Rig, transactionId: string, end: "paid" | "reverted" | "included" = "paid"): void {
  rig.ask("sign", { transactionId, facts });
  rig.acknowledge();
  const txHash = rig.show(transactionId).versions[0]!.txHash;
  rig.ask("observed", { transactionId, stage: "included", outcome: "", txHash, block: 9 });
  if (end !== "included") rig.ask("observed", { transactionId, stage: "final", outcome: end, txHash, block: 9 });
  rig.acknowledge();
}

/** Makes a destination known by one final payment to it, with a yes where policy holds that. */
export function pay(rig: Rig, change: object = {}): void {
  const { transactionId, state } = request(rig, "0.1", change);
  if (state === "held") approve(rig, transactionId);
  seen(rig, transactionId);
  expect(rig.show(transactionId).state).toBe("paid");
}

export function approve(rig: Rig, transactionId: string, approver = "ann", address = "") {
  return rig.operate("approve", { transactionId, digest: rig.show(transactionId).approvalDigest, address, approver });
}
