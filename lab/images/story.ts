/**
 * A ledger with a past: the real signer lives through withdrawals of every kind, crashes and new
 * segments, and at many moments its folder is kept together with what the gateway's database truly
 * held then. The same seed gives the same bytes.
 */
import { isFinal } from "../../agent/signer/state/machine.ts";
import { invariant } from "../../base/fault.ts";
import { privateKeyFromSeed, sealEnvelope, signJob } from "../../protocol/envelope.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import { recoveryNameOf } from "../../protocol/recovery.ts";
import { SeededRandom } from "../kit/seeded.ts";
import { agentId, hotWallet, Kit, settings, txParams, wallet } from "../kit/signer-kit.ts";

export const gatewayKey = privateKeyFromSeed(new Uint8Array(32).fill(9));

/**
 * The folder as it was, and the world around it. Bytes are shared between moments and never
 * changed.
 */
export interface Moment {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly segment: number; // the newest
  readonly head: AgentLedgerHead;
  readonly nowMs: number;
  /**
   * The gateway's database: the epoch, the newest head it holds, its newest job, every job's text.
   */
  readonly ledgerEpoch: number;
  readonly stored: AgentLedgerHead | null;
  /** The newest record that any gateway ever held: what was signed up to there may be out. */
  readonly receivedSeq: number;
  readonly last: { readonly sequence: number; readonly hash: string };
  readonly texts: readonly string[];
  /** The next rotation follows: this segment never gets another record. */
  readonly isFull: boolean;
}

/** One slot as the ledger assigns it. */
export interface Bound {
  readonly transactionId: string;
  readonly token: string; // network, account and nonce
  readonly signedSeq: number; // its first SIGNED record's
}

export interface Story {
  readonly moments: readonly Moment[];
  readonly hashes: readonly string[]; // by seq, from 1
  readonly kinds: readonly string[];
  readonly bound: readonly Bound[];
}

export interface StoryOptions {
  readonly seed: number;
  readonly records: number; // at least 50
  readonly segmentBytesMax: number;
}

/** Above this two operators must say yes. */
const usdt = {
  maxPerWithdrawal: "1000",
  maxPerDay: "1000000",
  maxFee: "0.01",
  maxFeePerDay: "10",
  twoApproversAbove: "100",
};

/** Lives until the ledger has exactly so many records, the last of them a LOCKED. */
export function tellStory({ seed, records, segmentBytesMax }: StoryOptions): Story {
  const kit = new Kit({
    segmentBytesMax,
    gatewayKey,
    settings: { ...settings, policy: { ...settings.policy, usdt } },
  });
  const narrator = new Narrator(kit, new SeededRandom(seed));
  opening(narrator);
  while (narrator.seq < records / 2) narrator.step();
  narrator.recover();
  while (narrator.seq < records - 7) narrator.step();
  while (narrator.seq < records - 1) narrator.kit.request({ orderId: "order-1" });
  narrator.keep(true);
  narrator.lock();
  narrator.keep(true);
  const all = kit.records();
  const tokens = new Map(
    all.flatMap((one) =>
      one.kind === "INTENT"
        ? [[one.transactionId, `${one.network} ${one.account} ${one.slot}`]]
        : [],
    ),
  );
  invariant(all.length === records, `a story of ${all.length} records instead of ${records}`);
  const bound = all.flatMap((one) =>
    one.kind === "SIGNED" && one.attempt === 1
      ? [
          {
            transactionId: one.transactionId,
            token: tokens.get(one.transactionId) ?? "",
            signedSeq: one.seq,
          },
        ]
      : [],
  );
  return {
    moments: narrator.moments,
    hashes: all.map(({ hash }) => hash),
    kinds: all.map(({ kind }) => kind),
    bound,
  };
}

/** Every kind of record once, with the crash between INTENT and SIGNED. */
function opening(narrator: Narrator): void {
  const { kit } = narrator;
  kit.ready();
  const { transactionId: paid } = kit.pay();
  narrator.observe(paid, "broadcast");
  narrator.observe(paid, "included");
  narrator.keep();
  narrator.observe(paid, "final");
  kit.acknowledge();
  narrator.turn();
  const { transactionId: held, approvalDigest: digest } = kit.request({
    mode: "manual",
    amount: "100.5",
  });
  for (const approver of ["ann", "bob"])
    kit.operate("approve", { transactionId: held, digest, address: "", approver });
  narrator.dieBetween(held);
  kit.ask("sign", { transactionId: held, txParams });
  narrator.keep();
  kit.acknowledge();
  kit.ask("replace", { transactionId: held, above: 1, txParams });
  narrator.turn();
  kit.acknowledge();
  kit.request({ amount: "1000.5" });
  kit.request({ expiresAt: kit.now + 1 });
  kit.now += 90_000;
  kit.signer.tick();
  kit.settle();
  narrator.turn();
  narrator.repeat();
  kit.skew = -90_000;
  kit.crash();
  kit.handshake();
  kit.skew = 0;
  narrator.turn();
}

/** Withdrawals under way at a time: enough for several slots to be open. */
const openWanted = 8;

class Narrator {
  readonly kit: Kit;
  readonly moments: Moment[] = [];
  readonly #random: SeededRandom;

  constructor(kit: Kit, random: SeededRandom) {
    this.kit = kit;
    this.#random = random;
  }

  get seq(): number {
    return this.kit.signer.ledger.durableHead.seq;
  }

  /** Something that happens to a live agent. */
  step(): void {
    const random = this.#random;
    const open = [...this.kit.core.book.open()];
    const some = (...states: readonly string[]): string | undefined =>
      open.find((withdrawal) => states.includes(withdrawal.state))?.transactionId;
    const approved = some("approved", "intent");
    const seen = some("released", "broadcast", "included");
    const ticket = random.below(20);
    if (ticket < 9 && seen !== undefined)
      this.observe(seen, random.pick(["broadcast", "included", "final", "final"]));
    else if (ticket < 10 && seen !== undefined) this.#replace(seen);
    else if (ticket < 11 && approved !== undefined) this.dieBetween(approved);
    else if (ticket < 15 && approved !== undefined)
      this.kit.ask("sign", { transactionId: approved, txParams });
    else if (ticket < 16) this.kit.receive();
    else if (ticket < 17) this.#live();
    else if (open.length < openWanted)
      this.kit.request({ amount: `${1 + random.below(9)}.${1 + random.below(9)}` });
    if (random.chance(3)) this.kit.acknowledge();
    this.turn();
    if (random.chance(12)) this.keep();
  }

  /** The courier saw it on chain. */
  observe(transactionId: string, stage: "broadcast" | "included" | "final"): void {
    const { attempts } = this.kit.show(transactionId);
    const outcome = stage === "final" ? "paid" : "";
    this.kit.ask("observed", {
      transactionId,
      stage,
      outcome,
      txHash: attempts.at(-1)?.txHash ?? "",
      block: this.#random.below(99),
    });
  }

  /** The power goes when INTENT is on disk and SIGNED is not. */
  dieBetween(transactionId: string): void {
    this.kit.send("sign", { transactionId, txParams });
    this.kit.disk.sync();
    this.kit.crash();
    this.turn();
    this.keep();
    this.kit.handshake();
  }

  /** An order comes again under a new job: one record. */
  repeat(): void {
    this.kit.request({ orderId: "order-1" });
    this.turn();
  }

  /** The gateway says of a record what the ledger denies. */
  lock(): void {
    const { gateway, core, nonce, now } = this.kit;
    this.kit.admit(
      gateway.welcome(nonce, {
        gatewayHead: { seq: core.heads.head.seq, hash: "ab".repeat(32) },
        at: now + 1,
      }),
    );
  }

  /**
   * The gateway's database is restored to an earlier day and the agent locked; a new ledger is
   * opened by the gateway's order: what is open with a slot keeps it, what had none is left out,
   * what the gateway lost is sent again.
   */
  recover(): void {
    const { kit } = this;
    const { gateway } = kit;
    const lost = gateway.stored?.seq ?? 0;
    kit.request({ amount: "7" });
    this.lock();
    const held = kit.statements.map(({ head }) => head).find(({ seq }) => seq > lost - 12) ?? null;
    gateway.stored = null; // In a new epoch it holds nothing yet.
    gateway.ledgerEpoch += 1;
    const open = [...kit.core.book.open()].filter(
      ({ slot, state }) => slot !== "" && !isFinal(state),
    );
    const withdrawals = open.flatMap(({ transactionId, address, account, slot, attempts }) => {
      const job = gateway.texts.find((text) => text.includes(transactionId)) ?? "";
      const signed = attempts.filter(({ txHash }) => txHash !== "");
      if (signed.length === 0) return [];
      const told = signed.map(({ txHash }) => ({ txHash, feeMax: "130000000000000" }));
      return [
        { job, signature: signJob(job, gateway.key), address, account, slot, attempts: told },
      ];
    });
    const next = kit.core.accounts.find("eip155:31337", hotWallet)?.next.toString();
    const contents = {
      ...{
        agent: agentId,
        wallet,
        ledgerEpoch: gateway.ledgerEpoch,
        answers: kit.nonce,
        part: 1,
        parts: 1,
        held,
      },
      ...{
        jobs: gateway.last,
        accounts: [{ network: "eip155:31337", account: hotWallet, next }],
        spent: [],
      },
      ...{ withdrawals, ended: [], outgoing: [] },
    };
    const order = { ...contents, order: recoveryNameOf("", contents), at: kit.now };
    kit.admit(sealEnvelope("recovery", order, gateway.key));
    kit.ask("account", { chain: "local", slot: "0", quorum: 2 });
    const shown = kit.operate("recover", { digest: "", bothRestored: true }) as unknown as {
      readonly plan: { readonly digest: string };
    };
    kit.operate("recover", { digest: shown.plan.digest, bothRestored: true });
    this.keep();
    kit.now += 1;
    kit.handshake();
    kit.acknowledge();
    this.turn();
    kit.operate("finish");
    this.keep();
    this.turn();
  }

  /**
   * As each second of a process's life: the folder is kept before a full segment gets its
   * successor.
   */
  turn(): void {
    this.kit.settle();
    this.kit.now += 1 + this.#random.below(500);
    const { wantsRotation } = this.kit.signer.ledger;
    if (wantsRotation) this.keep(true);
    this.kit.signer.tick();
    if (wantsRotation) this.keep();
    this.kit.settle();
  }

  keep(isFull = false): void {
    this.kit.settle();
    const { disk, gateway, now, signer } = this.kit;
    const files = new Map(disk.files);
    const segment = Math.max(
      ...[...files.keys()].map((name) => Number(/^(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)),
    );
    const receivedSeq = Math.max(0, ...this.kit.statements.map(({ head }) => head.seq));
    const around = {
      receivedSeq,
      ledgerEpoch: gateway.ledgerEpoch,
      stored: gateway.stored,
      last: gateway.last,
      texts: [...gateway.texts],
    };
    this.moments.push({
      files,
      segment,
      head: signer.ledger.durableHead,
      nowMs: now,
      ...around,
      isFull,
    });
  }

  #replace(transactionId: string): void {
    const above = this.kit.show(transactionId).attempts.length;
    this.kit.ask("replace", { transactionId, above, txParams });
  }

  #live(): void {
    if (this.#random.chance(2)) this.kit.crash();
    this.kit.now += this.#random.below(600_000);
    this.kit.handshake();
    this.kit.ask("report", { after: 0 });
  }
}
