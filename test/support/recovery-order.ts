/**
 * The gateway's side of a recovery for a signer in memory: the content of its database, and the
 * order from it.
 */
import type { KeyObject } from "node:crypto";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { isFinal } from "../../agent/signer/state/machine.ts";
import type { RecoveryPlan } from "../../agent/socket/recovery-plan.ts";
import { MemoryDisk } from "../../lab/rig/ledger-disk.ts";
import { type AnyAnswer, agentId, type Rig } from "../../lab/rig/signer-rig.ts";
import { sealEnvelope, signJob } from "../../protocol/envelope.ts";
import type { Head } from "../../protocol/messages.ts";
import { type Recovery, recoveryNameOf } from "../../protocol/recovery.ts";

export type Contents = Pick<Recovery, "held" | "jobs" | "accounts" | "spent" | "withdrawals" | "ended" | "spends">;

/** Everything on the signer's disk now, read past what the rig remembers. */
export function ledgerOf(rig: Rig): readonly LedgerRecord[] {
  rig.settle();
  const { ledger } = rig.signer;
  return ledger.read(1, ledger.durableHead.seq);
}

/** The gateway's rows on this signer, as of the newest head that the gateway stored. */
export function databaseOf(rig: Rig): Contents {
  const { stored, texts, last } = rig.gateway;
  const known = ledgerOf(rig).filter(({ seq }) => seq <= (stored?.seq ?? 0));
  const next = new Map<string, bigint>();
  const hot = rig.keys.vault.accounts[0]!.id;
  const signed = known.filter((record) => record.kind === "SIGNED");
  const withdrawals = texts.flatMap((text) => {
    const { transactionId } = JSON.parse(text) as { transactionId: string };
    const withdrawal = rig.core.book.find(transactionId);
    const versions = signed
      .filter((record) => record.transactionId === transactionId)
      .map(({ txHash, version }) => {
        const { feeMax = "0", until, isCancel } = withdrawal?.versions[version - 1] ?? {};
        const cancel = isCancel === true ? { cancel: true as const } : {};
        return { txHash, feeMax, ...(until === undefined ? {} : { until }), ...cancel };
      });
    const slot = versions.length === 0 ? "" : (withdrawal?.slot ?? "");
    const network = withdrawal?.job.network ?? "";
    if (slot !== "" && BigInt(slot) >= (next.get(network) ?? 0n)) next.set(network, BigInt(slot) + 1n);
    if (slot === "" || (withdrawal !== undefined && isFinal(withdrawal.state))) return [];
    const signature = signJob(text, rig.gateway.key);
    return [{ job: text, signature, address: withdrawal?.address ?? "", account: hot, slot, versions }];
  });
  const accounts = [...next].map(([network, to]) => ({ network, account: hot, next: to.toString() }));
  return { held: stored, jobs: last, accounts, spent: [], withdrawals, ended: [], spends: [] };
}

/** The order with which the shop would get the job of this text again. */
export function orderOf(text: string): { orderId: string; currency: string; amount: string } {
  const { orderId, currency, amount } = JSON.parse(text) as { orderId: string; currency: string; amount: string };
  return { orderId, currency, amount };
}

/** One part of an order for the run under way; by default the complete order. */
function orderFrame(rig: Rig, contents: Contents, change: Partial<Recovery> = {}, key?: KeyObject): Uint8Array {
  const base = { agent: agentId, wallet: rig.keys.wallet, epoch: rig.core.paired.epoch + 1, answers: rig.nonce };
  const order = recoveryNameOf("", { ...base, ...contents, ...change, at: 0 });
  const part = { ...base, order, part: 1, parts: 1, ...contents, at: rig.now, ...change };
  return sealEnvelope("recovery", part, key ?? rig.gateway.key);
}

/** The disk as it is, to be restored later. */
export function backup(rig: Rig): MemoryDisk {
  rig.settle();
  return MemoryDisk.of(rig.disk.files);
}

/** Another disk, and a run on it: what stood there before is gone. */
export function restore(rig: Rig, disk: MemoryDisk): void {
  rig.disk = MemoryDisk.of(disk.files);
  rig.forget();
  rig.left.clear();
  rig.start();
}

export function offer(rig: Rig, contents: Contents, change: Partial<Recovery> = {}): AnyAnswer {
  return rig.admit(orderFrame(rig, contents, change));
}

/** The plan of the order. */
export function shown(rig: Rig, both = false): RecoveryPlan {
  const answer = rig.operate("recover", { digest: "", both }) as AnyAnswer & { plan: RecoveryPlan };
  if (!answer.ok) throw new Error(`${answer.code} ${answer.detail}`);
  return answer.plan;
}

/**
 * The order is offered, shown and done; the gateway knows the new epoch and has no word of it yet.
 */
export function recovered(rig: Rig, contents: Contents, change: Partial<Recovery> = {}, both = false): RecoveryPlan {
  offer(rig, contents, change);
  const plan = shown(rig, both);
  const done = rig.operate("recover", { digest: plan.digest, both });
  if (!done.ok) throw new Error(`${done.code} ${done.detail}`);
  rig.gateway.epoch = plan.newEpoch;
  rig.gateway.stored = null;
  return plan;
}

/**
 * Recovered, greeted under the new epoch and acknowledged; gives the head that the gateway holds
 * then.
 */
export function taken(rig: Rig, contents: Contents, change: Partial<Recovery> = {}): Head {
  recovered(rig, contents, change);
  rig.greet();
  rig.acknowledge();
  return rig.gateway.stored!;
}
