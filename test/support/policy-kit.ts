/**
 * A signer whose policy is all but one rule generous, and the short words for asking, approving and
 * paying on it.
 */
import { expect } from "vitest";
import type { PolicySettings, SignerSettings } from "../../agent/config/settings.ts";
import { Kit, type KitOptions, settings, txParams } from "../../lab/kit/signer-kit.ts";

export const minuteMs = 60_000;
export const dayMs = 86_400_000;
const generous = {
  maxPerWithdrawal: "1000000",
  maxPerDay: "1000000",
  maxFee: "1",
  maxFeePerDay: "1",
};

export function settingsWith(policy: Partial<PolicySettings>): SignerSettings {
  const one = { ...generous, ...policy };
  return { ...settings, policy: { usdt: one, usdc: one, eth: one } };
}

export function withPolicy(policy: Partial<PolicySettings>, options: KitOptions = {}): Kit {
  return new Kit({ ...options, settings: settingsWith(policy) }).ready();
}

export const request = (kit: Kit, amount: string, change: object = {}) =>
  kit.request({ amount, expiresAt: kit.now + 10 * dayMs, ...change });

export const outcome = (kit: Kit, amount: string, change: object = {}): string => {
  const { state, code } = request(kit, amount, change);
  return code === "" ? state : `${state} ${code}`;
};

/** Signs an approved withdrawal, and has the courier observe it up to `end`. */
export function seen(
  kit: Kit,
  transactionId: string,
  end: "paid" | "reverted" | "included" = "paid",
): void {
  kit.ask("sign", { transactionId, txParams });
  kit.acknowledge();
  const txHash = kit.show(transactionId).attempts[0]!.txHash;
  kit.ask("observed", { transactionId, stage: "included", outcome: "", txHash, block: 9 });
  if (end !== "included")
    kit.ask("observed", { transactionId, stage: "final", outcome: end, txHash, block: 9 });
  kit.acknowledge();
}

/** Makes a destination known by one final payment to it, with a yes where policy holds that. */
export function pay(kit: Kit, change: object = {}): void {
  const { transactionId, state } = request(kit, "0.1", change);
  if (state === "held") approve(kit, transactionId);
  seen(kit, transactionId);
  expect(kit.show(transactionId).state).toBe("paid");
}

export function approve(kit: Kit, transactionId: string, approver = "ann", address = "") {
  return kit.operate("approve", {
    transactionId,
    digest: kit.show(transactionId).approvalDigest,
    address,
    approver,
  });
}
