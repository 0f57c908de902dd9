/**
 * The signer around its core: every request is decided at once, in memory, and answered when its records are on disk, many to one
 * sync. Owns the order "recorded, signed, recorded, answered" and the statements for the gateway. Reaches disk and keys only
 * through ledger and vault; clock, chance and sockets are passed in.
 */
import { type AgentError, type Refusal, refuse } from "../../../protocol/fault.ts";
import type { ConfigSource } from "../../config/settings.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { RecordBody } from "../../ledger/records.ts";
import type { CourierAnswers, CourierRequests, Push, WithdrawalView } from "../../socket/verbs.ts";
import { acknowledge } from "../acts/ack.ts";
import { admit } from "../acts/admit.ts";
import { adopt, checkChainCount } from "../acts/adopt.ts";
import { expire, reconsider } from "../acts/decide.ts";
import { decline } from "../acts/decline.ts";
import { observe } from "../acts/observe.ts";
import { prepareReplace } from "../acts/replace.ts";
import type { Admitted, Reply, Run, Turn } from "../acts/run.ts";
import { prepareBound, prepareSign } from "../acts/sign.ts";
import type { Core } from "../state/core.ts";
import { ledgerTime } from "../state/ledger-time.ts";
import { stepOf, viewOf, withoutBytes } from "../state/view.ts";
import { isFinal, type Withdrawal } from "../state/withdrawal.ts";
import type { Vault } from "../vault/vault.ts";
import type { Log } from "./log.ts";
import { Signatures } from "./signatures.ts";
import { Statements } from "./statements.ts";

/** Kinds that follow from the limits in force. */
const deciding: ReadonlySet<RecordBody["kind"]> = new Set(["APPROVED", "HELD", "CONFIRMED", "REFUSED", "INTENT"]);

/** @public */
export interface SignerOptions {
  readonly core: Core; // with the whole ledger folded
  readonly ledger: Ledger;
  readonly vault: Vault;
  /** Of this process, new: the ledger is stamped by the same. */
  readonly run: Run;
  readonly clock: () => number; // local
  readonly monotonic: () => number; // milliseconds
  readonly chains: Readonly<Record<string, { readonly chainId: number }>>; // by name in the settings
  readonly config: Pick<ConfigSource, "path" | "digest">; // by which the core decides
  readonly push: (message: Push) => void; // to every courier connected
  readonly log: Log;
  /** Calls back once, at the end of this turn, when what was answered in it is on its way. */
  readonly soon: (act: () => void) => void;
  /** Calls back once, a little later: what nobody waits for shares a sync with what comes until then. */
  readonly later: (act: () => void) => void;
  /** Calls back once, when what came meanwhile has been heard: long work goes on then. */
  readonly next: (act: () => void) => void;
  /** The disk failed: nothing is answered any more, the process must end. */
  readonly onPoisoned: (fault: AgentError) => void;
}

type Answer<V extends keyof CourierAnswers> = Reply<CourierAnswers[V]>;

/**
 * What the courier's socket asks. The operator's requests are `operator.ts`, over the same turn and the same wait for the disk.
 * @public
 */
export class Signer {
  readonly core: Core;
  readonly run: Run;
  readonly ledger: Ledger;
  readonly #options: SignerOptions;
  readonly #account: string;
  readonly #signatures: Signatures;
  readonly #statements: Statements;
  #isLockTold = false;
  #isSpeaking = false;
  /** Told with the next sync, whoever asks for it. */
  #late: (() => void)[] = [];

  constructor(options: SignerOptions) {
    this.#options = options;
    this.core = options.core;
    this.ledger = options.ledger;
    this.run = options.run;
    this.#account = options.vault.accounts[0]?.address ?? "";
    this.#isLockTold = options.core.locked !== null;
    const { core, ledger, vault, run, next, later } = options;
    this.#signatures = new Signatures({
      ...{ core, ledger, vault, run, next },
      commit: (bodies) => this.#commit(bodies),
      whenDurable: (act) => this.whenDurable(act),
      stepOf: (withdrawal) => stepOf(this.view(withdrawal)),
    });
    this.#statements = new Statements({
      ...{ core, ledger, run, later },
      signerKey: () => vault.signerKey,
      push: options.push,
    });
  }

  /** The view of one request, at ledger time. */
  turn(): Turn {
    const { core, run } = this;
    const localMs = this.#options.clock();
    const monotonicMs = this.#options.monotonic();
    return {
      core,
      run,
      // A greeting in the midst of a turn sets time going again.
      get nowMs() {
        return Math.max(core.heads.at, ledgerTime(run, localMs, monotonicMs));
      },
      localMs,
      monotonicMs,
      account: this.#account,
      hasRoom: () => this.ledger.hasRoom(),
      commit: (bodies) => this.#commit(bodies),
    };
  }

  /** Calls `act` when everything recorded so far is on disk; what it says was to be computed before. */
  whenDurable(act: () => void): void {
    const late = this.#late;
    this.#late = [];
    this.ledger.flush((fault) => {
      if (fault !== null) {
        this.#options.onPoisoned(fault);
        return;
      }
      for (const each of late) each();
      act();
      this.#speakSoon();
    });
  }

  /** Behind the answers of this turn: somebody waits for those. */
  #speakSoon(): void {
    if (this.#isSpeaking) return;
    this.#isSpeaking = true;
    this.#options.soon(() => {
      this.#isSpeaking = false;
      this.#speak();
    });
  }

  /** As `whenDurable`, for what holds nobody up: it does not ask for a sync of its own at once. */
  #whenDurableLater(act: () => void): void {
    this.#late.push(act);
    if (this.#late.length > 1) return;
    this.#options.later(() => {
      if (this.#late.length > 0) this.whenDurable(() => {});
    });
  }

  /** Once a second: what ran out ends, what a delay held is judged, and a long segment gets its successor. */
  tick(): void {
    this.changed(expire(this.turn()));
    this.changed(reconsider(this.turn()));
    if (this.ledger.wantsRotation) {
      this.core.fold(this.ledger.rotate(JSON.stringify(this.core.snapshot())));
      this.whenDurable(() => {});
    }
  }

  /** Tells the courier of withdrawals that somebody else moved. */
  changed(withdrawals: readonly Withdrawal[]): void {
    if (withdrawals.length === 0) return;
    const views = withdrawals.map((withdrawal) => this.view(withdrawal));
    this.whenDurable(() => {
      for (const withdrawal of views) this.#options.push({ push: "changed", withdrawal });
    });
  }

  /** A recovery changed what everybody was told: the courier begins anew, with the new epoch. */
  restarted(): void {
    this.#isLockTold = false;
    this.#statements.restart();
    this.#options.push({ push: "recovered" });
  }

  view(withdrawal: Withdrawal): WithdrawalView {
    return viewOf(withdrawal, this.core.policy);
  }

  /** A locked signer records no acknowledgement; what it repeated of what the gateway holds would be refused, each time. */
  get #heldThere(): number {
    return Math.max(this.core.heads.acked.seq, this.run.echoed ?? 0);
  }

  accounts(): CourierAnswers["hello"]["accounts"] {
    return Object.entries(this.#options.chains).map(([chain, { chainId }]) => {
      const network = `eip155:${chainId}`;
      const next = this.core.accounts.find(network, this.#account)?.next;
      return { chain, network, address: this.#account, nextNonce: next === undefined ? "" : next.toString() };
    });
  }

  hello(reply: Answer<"hello">): void {
    const { core, run } = this;
    const { agent, epoch, wallet } = core.paired;
    const open: WithdrawalView[] = [];
    for (const withdrawal of core.book.open()) if (!isFinal(withdrawal.state)) open.push(this.view(withdrawal));
    const answer = {
      ...{ ok: true as const, agent, epoch, wallet, head: core.heads.head, acked: this.#heldThere },
      ...{ nonce: run.nonce, greeted: run.greeted, locked: this.#lockCode(), accounts: this.accounts(), open },
    };
    this.whenDurable(() => reply(answer));
  }

  /** To the courier an order that waits for a person is a lock like any other. */
  #lockCode(): string {
    return this.core.locked?.code ?? (this.run.orders.isWhole ? "RECOVERY_OFFERED" : "");
  }

  admit(frame: Uint8Array, reply: Answer<"admit">): void {
    const releasedBefore = this.core.heads.acked.seq;
    const { greeted, greeting } = this.run;
    const views = this.#touched(admit(this.turn(), frame));
    if (this.run.greeted && (!greeted || this.run.greeting !== greeting)) this.signBound();
    if (views.ok && !views.withdrawals.some(showsBytes)) {
      // What was decided shows in no act before its INTENT, which stands behind it in the same file; so the courier may prepare the
      // next step while the disk works. The gateway hears of it from durable records only.
      reply(views);
      this.#options.soon(() => this.whenDurable(() => {}));
      return;
    }
    this.whenDurable(() => {
      reply(views);
      // Only a welcome moves the acknowledged head here: what it released is told like any other change.
      if (!views.ok || this.core.heads.acked.seq === releasedBefore) return;
      for (const withdrawal of views.withdrawals) this.#options.push({ push: "changed", withdrawal });
    });
  }

  release(frame: Uint8Array, reply: Answer<"release">): void {
    const views = this.#touched(acknowledge(this.turn(), frame));
    const steps = views.ok ? { ok: true as const, withdrawals: views.withdrawals.map(stepOf) } : views;
    const answer = (): void => reply(steps);
    if (steps.ok && steps.withdrawals.length === 0) this.#whenDurableLater(answer);
    else this.whenDurable(answer);
  }

  sign({ transactionId, facts }: CourierRequests["sign"], reply: Answer<"sign">): void {
    const turn = this.turn();
    const prepared = prepareSign(turn, transactionId, facts);
    const withdrawal = this.core.book.find(transactionId);
    if (!prepared.ok && prepared.code === "JOB_EXPIRED" && withdrawal !== undefined) this.changed([withdrawal]);
    this.#signatures.carryOut(prepared, transactionId, reply);
  }

  /** Before anything new is bound: at each greeting, and when a person lets go on what a recovery had stopped. */
  signBound(): void {
    for (const { transactionId, prepared } of prepareBound(this.turn())) {
      this.#signatures.carryOut(prepared, transactionId, (answer) => {
        const withdrawal = this.core.book.find(transactionId);
        if ("ok" in answer && answer.ok && withdrawal !== undefined) this.changed([withdrawal]);
      });
    }
  }

  replace({ transactionId, above, facts }: CourierRequests["replace"], reply: Answer<"replace">): void {
    this.#signatures.carryOut(prepareReplace(this.turn(), transactionId, above, facts), transactionId, reply);
  }

  decline({ transactionId, code }: CourierRequests["decline"], reply: Answer<"decline">): void {
    this.answer(decline(this.turn(), transactionId, code), reply);
  }

  observed(claim: CourierRequests["observed"], reply: Answer<"observed">): void {
    const done = observe(this.turn(), claim);
    const answer = done.ok ? { ok: true as const, withdrawal: withoutBytes(stepOf(this.view(done.withdrawal))) } : done;
    // What was seen on chain is a claim that moves no money: it may wait for company.
    this.#whenDurableLater(() => reply(answer));
  }

  adopt({ chain, nonce }: CourierRequests["adopt"], reply: Answer<"adopt">): void {
    const known = this.#chain(chain);
    const done = known === undefined ? refuse("ACCOUNT_NOT_ADOPTED", chain) : adopt(this.turn(), known, BigInt(nonce));
    const account = this.accounts().find((view) => view.chain === chain);
    this.whenDurable(() => reply(done.ok && account !== undefined ? { ok: true, account } : (done as Refusal)));
  }

  account({ chain, nonce, witnesses }: CourierRequests["account"], reply: Answer<"account">): void {
    const known = this.#chain(chain);
    const claim = { name: chain, chainId: known?.chainId ?? 0 };
    const weighed =
      known === undefined ? refuse("ACCOUNT_NOT_ADOPTED", chain) : checkChainCount(this.turn(), claim, BigInt(nonce), witnesses);
    this.whenDurable(() => reply(weighed));
  }

  /** By name, as the courier says it: no name that every object has is a chain. */
  #chain(name: string): { readonly chainId: number } | undefined {
    const { chains } = this.#options;
    return Object.hasOwn(chains, name) ? chains[name] : undefined;
  }

  report({ after }: CourierRequests["report"], reply: Answer<"report">): void {
    this.whenDurable(() => reply({ ok: true, frames: this.#statements.after(after) }));
  }

  tell({ courier }: CourierRequests["tell"]): void {
    this.run.courier = courier;
  }

  /** Answers about one withdrawal, as it is now, when that is on disk. */
  answer(
    done: { readonly ok: true; readonly withdrawal: Withdrawal } | Refusal,
    reply: Reply<{ withdrawal: WithdrawalView }>,
  ): void {
    const answer = done.ok ? { ok: true as const, withdrawal: this.view(done.withdrawal) } : done;
    this.whenDurable(() => reply(answer));
  }

  #commit(bodies: readonly RecordBody[]): ReturnType<Turn["commit"]> {
    const { path, digest } = this.#options.config;
    // Before the first decision under it, and not before: until the gateway has greeted, nobody knows whether the ledger is whole.
    if (this.core.ruled?.digest !== digest && bodies.some(({ kind }) => deciding.has(kind))) {
      this.#append([{ kind: "POLICY", digest, path }]);
    }
    return this.#append(bodies);
  }

  #append(bodies: readonly RecordBody[]): ReturnType<Turn["commit"]> {
    const records = this.ledger.append(bodies);
    for (const record of records) {
      this.core.fold(record);
      if (record.kind === "ALARM") this.#options.log("ledger-alarm", record.detail, { code: record.code });
      if (record.kind === "POLICY")
        this.#options.log("policy-changed", "policy changed", { path: record.path, digest: record.digest });
      if (record.kind === "LOCKED") this.#options.log("signer-locked", `locked: ${record.detail}`, { code: record.code });
    }
    return records;
  }

  #touched(admitted: Admitted): { readonly ok: true; readonly withdrawals: readonly WithdrawalView[] } | Refusal {
    if (!admitted.ok) return admitted;
    const withdrawals: WithdrawalView[] = [];
    for (const transactionId of admitted.touched) {
      const withdrawal = this.core.book.find(transactionId);
      if (withdrawal !== undefined) withdrawals.push(this.view(withdrawal));
    }
    return { ok: true, withdrawals };
  }

  /** What became durable with the last sync and concerns others: a new lock, and statements for the gateway. */
  #speak(): void {
    const { locked } = this.core;
    if (locked !== null && !this.#isLockTold) {
      this.#isLockTold = true;
      this.whenDurable(() => this.#options.push({ push: "locked", code: locked.code }));
    }
    this.#statements.speak();
  }
}

/** A repeated job may be of a withdrawal whose release is on its way to the disk: its bytes wait for that. */
function showsBytes({ versions }: WithdrawalView): boolean {
  return versions.some(({ raw }) => raw !== undefined);
}
