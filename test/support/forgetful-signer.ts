/**
 * A signer whose ledger was restored to before the gateway's newest head, and the safety sentences
 * for a recovered signer.
 */
import { expect } from "vitest";
import { assertSafe } from "../../lab/rig/invariants.ts";
import { Rig } from "../../lab/rig/signer-rig.ts";
import { backup, databaseOf, ledgerOf, restore } from "./recovery-order.ts";

/** The limits of the rig's policy. */
const limits = {
  eth: { perWithdrawal: 2n * 10n ** 18n, perHour: 5n * 10n ** 18n, perDay: 10n ** 19n, fee: 10n ** 16n, feePerDay: 10n ** 17n },
  usdt: { perWithdrawal: 10n ** 9n, perHour: null, perDay: 10n ** 12n, fee: 10n ** 16n, feePerDay: 10n ** 19n },
};

/**
 * The sentences hold of everything in the ledger; `forgotten` are the jobs that the gateway no
 * longer knows it made.
 */
export function assertWhole(rig: Rig, forgotten: readonly string[] = []): void {
  assertSafe({ records: ledgerOf(rig), left: rig.left, genuine: new Set([...rig.gateway.texts, ...forgotten]), limits });
}

/**
 * One withdrawal paid before a backup; then one released and one held, which are missing in the
 * backup.
 */
export function forgetful(): { rig: Rig; lost: string; raw: string; held: string; contents: ReturnType<typeof databaseOf> } {
  const rig = new Rig().ready();
  rig.pay();
  const copy = backup(rig);
  const { transactionId: lost, versions } = rig.pay();
  const { transactionId: held } = rig.request({ currency: "eth", amount: "1.5" });
  rig.acknowledge();
  const contents = databaseOf(rig);
  restore(rig, copy);
  return { rig, lost, raw: versions[0]?.raw ?? "", held, contents };
}

/** The same, found out and locked. */
export function locked(): ReturnType<typeof forgetful> {
  const found = forgetful();
  expect(found.rig.greet()).toMatchObject({ code: "SIGNER_LOCKED", detail: "LEDGER_BEHIND_GATEWAY" });
  return found;
}

/** A person's yes to one withdrawal as it is shown. */
export function approve(rig: Rig, transactionId: string): void {
  const { approvalDigest: digest } = rig.show(transactionId);
  expect(rig.operate("approve", { transactionId, digest, address: "" })).toMatchObject({ ok: true });
}
