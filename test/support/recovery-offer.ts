/**
 * The gateway's side of a recovery for a signer in memory: the content of its database, and the
 * order from it.
 */
import type { KeyObject } from "node:crypto";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { isFinal } from "../../agent/signer/state/machine.ts";
import type { RecoveryPlan } from "../../agent/socket/recovery-plan.ts";
import { familyOf } from "../../chains/families.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { type AnyAnswer, agentId, type Kit } from "../../lab/kit/signer-kit.ts";
import { sealEnvelope, signJob } from "../../protocol/envelope.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import { type RecoveryPart, recoveryNameOf } from "../../protocol/recovery.ts";

export type Contents = Pick<
  RecoveryPart,
  "held" | "jobs" | "accounts" | "spent" | "withdrawals" | "ended" | "outgoing"
>;

/** Everything on the signer's disk now, read past what the kit remembers. */
export function ledgerOf(kit: Kit): readonly LedgerRecord[] {
  kit.settle();
  const { ledger } = kit.signer;
  return ledger.read(1, ledger.durableHead.seq);
}

/** The gateway's rows on this signer, as of the newest head that the gateway stored. */
export function databaseOf(kit: Kit): Contents {
  const { stored, texts, last } = kit.gateway;
  const known = ledgerOf(kit).filter(({ seq }) => seq <= (stored?.seq ?? 0));
  const next = new Map<string, bigint>();
  const hotWallet = kit.keys.vault.accounts[0]!.id;
  const signed = known.filter((record) => record.kind === "SIGNED");
  const withdrawals = texts.flatMap((text) => {
    const { transactionId } = JSON.parse(text) as { transactionId: string };
    const withdrawal = kit.core.book.find(transactionId);
    const attempts = signed
      .filter((record) => record.transactionId === transactionId)
      .map(({ txHash, attempt }) => {
        const {
          feeMax = "0",
          validUntilMs,
          pin,
          isCancel,
        } = withdrawal?.attempts[attempt - 1] ?? {};
        const cancel = isCancel === true ? { cancel: true as const } : {};
        const excluded = {
          ...(validUntilMs === undefined ? {} : { validUntilMs }),
          ...(pin === undefined ? {} : { pin }),
        };
        return { txHash, feeMax, ...excluded, ...cancel };
      });
    const slot = attempts.length === 0 ? "" : (withdrawal?.slot ?? "");
    const network = withdrawal?.job.network ?? "";
    if (slot !== "" && BigInt(slot) >= (next.get(network) ?? 0n))
      next.set(network, BigInt(slot) + 1n);
    if (slot === "" || (withdrawal !== undefined && isFinal(withdrawal.state))) return [];
    const signature = signJob(text, kit.gateway.key);
    return [
      {
        job: text,
        signature,
        address: withdrawal?.address ?? "",
        account: hotWallet,
        slot,
        attempts,
      },
    ];
  });
  const accounts = [...next].map(([network, to]) => ({
    network,
    account: hotWallet,
    next: to.toString(),
  }));
  return { held: stored, jobs: last, accounts, spent: [], withdrawals, ended: [], outgoing: [] };
}

/** The order with which the shop would get the job of this text again. */
export function orderOf(text: string): { orderId: string; currency: string; amount: string } {
  const { orderId, currency, amount } = JSON.parse(text) as {
    orderId: string;
    currency: string;
    amount: string;
  };
  return { orderId, currency, amount };
}

/** One part of an order for the run under way; by default the complete order. */
export function orderFrame(
  kit: Kit,
  contents: Contents,
  change: Partial<RecoveryPart> = {},
  key?: KeyObject,
): Uint8Array {
  const base = {
    agent: agentId,
    wallet: kit.keys.wallet,
    ledgerEpoch: kit.core.paired.ledgerEpoch + 1,
    answers: kit.nonce,
  };
  const order = recoveryNameOf("", { ...base, ...contents, ...change, at: 0 });
  const part = { ...base, order, part: 1, parts: 1, ...contents, at: kit.now, ...change };
  return sealEnvelope("recovery", part, key ?? kit.gateway.key);
}

/** The disk as it is, to be restored later. */
export function backup(kit: Kit): MemoryDisk {
  kit.settle();
  return MemoryDisk.of(kit.disk.files);
}

/** Another disk, and a run on it: what stood there before is gone. */
export function restore(kit: Kit, disk: MemoryDisk): void {
  kit.disk = MemoryDisk.of(disk.files);
  kit.forget();
  kit.left.clear();
  kit.start();
}

export function offer(kit: Kit, contents: Contents, change: Partial<RecoveryPart> = {}): AnyAnswer {
  countChains(kit);
  return kit.admit(orderFrame(kit, contents, change));
}

/** The nodes have no transaction on each chain that counts, unless they have said otherwise. */
export function countChains(kit: Kit): void {
  const { signer } = kit;
  for (const { chain, network } of signer.accounts()) {
    const { isCounted, least } = familyOf(network).slots;
    for (const quorum of [1, 2])
      if (isCounted && !signer.run.counts.has(network))
        kit.ask("account", { chain, slot: least, quorum });
  }
}

/** The plan of the order. */
export function shown(kit: Kit, both = false): RecoveryPlan {
  const answer = kit.operate("recover", { digest: "", bothRestored: both }) as AnyAnswer & {
    plan: RecoveryPlan;
  };
  if (!answer.ok) throw new Error(`${answer.code} ${answer.detail}`);
  return answer.plan;
}

/**
 * The order is offered, shown and done; the gateway knows the new epoch and has no word of it yet.
 */
export function recovered(
  kit: Kit,
  contents: Contents,
  change: Partial<RecoveryPart> = {},
  both = false,
): RecoveryPlan {
  offer(kit, contents, change);
  const plan = shown(kit, both);
  const done = kit.operate("recover", { digest: plan.digest, bothRestored: both });
  if (!done.ok) throw new Error(`${done.code} ${done.detail}`);
  kit.gateway.ledgerEpoch = plan.newLedgerEpoch;
  kit.gateway.stored = null;
  return plan;
}

/**
 * Recovered, after the handshake under the new epoch and acknowledged; gives the head that the
 * gateway holds then.
 */
export function taken(
  kit: Kit,
  contents: Contents,
  change: Partial<RecoveryPart> = {},
): AgentLedgerHead {
  recovered(kit, contents, change);
  kit.handshake();
  kit.acknowledge();
  return kit.gateway.stored!;
}
