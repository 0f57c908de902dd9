/**
 * Sees what leaves a signer and what the gateway's database holds at each commit, and asks the
 * invariants that need both: no bytes before their signature is known there, and who counts as
 * caught up has told all.
 */
import type { Answer, CourierView, PushMessage } from "../../../agent/socket/verbs.ts";
import { type AccountRow, unsweptUnitsOf } from "../../../gateway/store/journal.ts";
import { jobHashOf } from "../../../protocol/identity.ts";
import type { Statement } from "../../../protocol/messages.ts";
import type { BytesOwner } from "../invariants/money.ts";
import type { WithdrawalRow } from "../invariants/payments.ts";
import { RequestEnds } from "../invariants/request-ends.ts";
import type { Books, MovedRow } from "../invariants/sweeps.ts";
import { must } from "../invariants/violation.ts";
import { kernel, note } from "../kernel/kernel.ts";
import type { Machine } from "./agent.ts";
import type { Scene } from "./scene.ts";
import { merchant } from "./setting.ts";

const envelopeHeaderBytes = 66;
/**
 * Rows for one merchant's things that cannot be read, and questions about them: first, and in a
 * minute.
 */
const badRowsMax = 256;
const badQuestionsFirst = 300;
const badQuestionsEach = 40;
/** Some passes of the gateway. */
const passesMs = {
  evm: 20_000,
  xrp: 20_000,
  bitcoinregtest: 20_000,
  litecoinregtest: 20_000,
  tron: 40_000,
} as const;

export class Observer {
  readonly #world: Scene;
  /** Bytes that left, raw, by anybody who keeps them, and the withdrawal that they left as. */
  readonly #left = new Set<string>();
  readonly #leftBy = new Map<string, string[]>(); // their hashes, by agent
  readonly #places = new Map<string, string>(); // hash of a job, by agent, epoch and sequence
  readonly #jobs = new Set<string>(); // every text that was ever committed
  /**
   * Hashes of jobs that neither ledger nor database knew after a restore. A carrier of frames may
   * bring one again; the agent locks itself once the job comes that has this place now.
   */
  readonly #outdated = new Set<string>();
  readonly #known = new Set<string>(); // hashes that a committed database held, ever
  readonly #ends = new RequestEnds();

  constructor(world: Scene) {
    this.#world = world;
  }

  /** Whether the gateway ever made this job. */
  isGenuine(job: string): boolean {
    return this.#jobs.has(job);
  }

  /** A key is about to sign. */
  signs(digest: string): void {
    const machine = this.#world.machineOf(kernel.scheduler.current);
    if (machine === undefined || !kernel.scheduler.current.isAlive) return;
    note("signs", digest.slice(0, 16));
    const isOffered = machine.signer?.signer.run.orders.isWhole === true;
    this.#world.holds(() =>
      must(
        !isOffered,
        "nothing is signed between a recovery's order and its yes",
        () => machine.name,
      ),
    );
    this.#world.holds(() => this.#world.ledgerOf(machine).signs(digest));
  }

  /** Something is about to leave the signer, unless it dies in the act. */
  seen(machine: Machine, message: Answer | PushMessage): void {
    if (this.#world.faultInjector.drives.answerDies(machine)) return;
    const found = message as {
      withdrawal?: CourierView;
      withdrawals?: CourierView[];
      open?: CourierView[];
    };
    for (const view of bySlot(
      [found.withdrawal ?? [], found.withdrawals ?? [], found.open ?? []].flat(),
    )) {
      for (const { raw } of view.attempts) if (raw !== undefined) this.#leaves(machine, raw, view);
    }
    const { frames = [] } = message as { frames?: readonly Uint8Array[] };
    for (const frame of frames) {
      const { head } = JSON.parse(
        Buffer.from(frame).toString("utf8", envelopeHeaderBytes),
      ) as Statement;
      this.#world.holds(() => this.#world.ledgerOf(machine).states(head));
    }
  }

  #leaves(machine: Machine, raw: string, whose: BytesOwner): void {
    const key = `${machine.name} ${whose.transactionId} ${raw}`;
    if (this.#left.has(key)) return;
    this.#left.add(key);
    this.#world.holds(() => {
      this.#world.ledgerOf(machine).leaves(raw);
      const { hash, nonce } = this.#world.payments.left(raw, whose);
      note("leaves", nonce, () => `${nonce} ${hash}`);
      this.#leftBy.set(machine.id, [...(this.#leftBy.get(machine.id) ?? []), hash]);
      must(
        this.#known.has(hash),
        "bytes leave after the gateway's database holds their signature",
        () => hash,
      );
    });
    this.#world.faultInjector.keep(raw);
  }

  /** A commit is durable; these tables were written to. */
  committed(tables: ReadonlySet<string>): void {
    const { gateway } = this.#world;
    if (tables.has("signatures")) {
      for (const { txHash } of gateway.all<{ txHash: string }>("SELECT txHash FROM signatures"))
        this.#known.add(txHash);
      this.#world.holds(() =>
        must(
          !gateway.servesUnpaired,
          "an unpaired agent does not count any more",
          () => "it signed once more",
        ),
      );
    }
    if (tables.has("agents")) {
      this.#world.holds(() => this.#caughtUpLackNothing());
      this.#world.holds(() => this.#ordersAreKept());
      if (this.#world.plan.liars === "a merchant") this.#world.holds(() => this.#placesAreUsed());
    }
    if (tables.has("jobs")) {
      for (const { text } of gateway.all<{ text: string }>("SELECT text FROM jobs"))
        this.#jobs.add(text);
    }
    if (this.#world.plan.bad.length > 0) this.#world.holds(() => this.#badIsBounded());
    if (tables.has("jobs") || tables.has("agents")) this.#world.holds(() => this.#placesStand());
    if (tables.has("transfers")) this.#world.holds(() => this.#world.payments.told(this.told()));
    const { plan, customers, chainFixture } = this.#world;
    if (plan.isClockWrong)
      this.#world.holds(() => this.#ends.told(customers.requests, chainFixture.headMs));
    if (this.#world.plan.deposits.length > 0)
      this.#world.holds(() => this.#world.payments.sweeps.told(this.#books()));
  }

  /**
   * A second in which nothing is wrong: the chain needs its blocks, and the gateway some passes.
   */
  settled(): void {
    const { plan, customers, chainFixture } = this.#world;
    if (!plan.isClockWrong) return;
    const seconds = (passesMs[plan.family] + (plan.confirmations + 3) * plan.blockMs) / 1_000;
    this.#world.holds(() => this.#ends.settled(customers.requests, chainFixture.headMs, seconds));
  }

  /** Another agent's word has no place of a deposit address passed over. */
  #placesAreUsed(): void {
    const { gateway, machines } = this.#world;
    const sql = `SELECT nextDepositIndex AS next, (SELECT count(*) FROM addresses d WHERE d.agent = a.id AND d.request IS NOT NULL) AS used
        FROM agents a WHERE id = ?`;
    const [row] = gateway.all<{ readonly next: number; readonly used: number }>(
      sql,
      machines[0]?.id ?? "",
    );
    const say = (): string => `${row?.used} of ${row?.next}`;
    must(
      row === undefined || row.next === row.used,
      "no address is passed over by another agent's word",
      say,
    );
  }

  /**
   * An unreadable thing of one merchant costs a number of rows, and questions that become rarer. A
   * token that nobody can read has one row.
   */
  #badIsBounded(): void {
    const { gateway, plan } = this.#world;
    const rows =
      gateway.all<{ n: number }>(
        "SELECT (SELECT count(*) FROM faults) + (SELECT count(*) FROM unreadTransactions) AS n",
      )[0]?.n ?? 0;
    must(rows <= badRowsMax, "one merchant's faults are so many rows at most", () => `${rows}`);
    const ofToken = gateway.all<{ id: string }>(
      "SELECT id FROM faults WHERE domain IN ('account', 'address') AND id LIKE '% usdt'",
    );
    const isOne = !plan.bad.includes("token") || ofToken.length === 0;
    must(isOne, "a token that nobody can read is one fault, and none of an account", () =>
      ofToken.map(({ id }) => id).join(),
    );
    const questionsMax = badQuestionsFirst + (badQuestionsEach * kernel.scheduler.nowMs) / 60_000;
    const say = (): string =>
      `${gateway.bad.questions} after ${Math.round(kernel.scheduler.nowMs / 1000)} s`;
    must(
      gateway.bad.questions <= questionsMax,
      "what cannot be read is asked for more and more rarely",
      say,
    );
  }

  /** In an epoch that an order began, no ledger is acknowledged but one that this order opened. */
  #ordersAreKept(): void {
    const { gateway, machines } = this.#world;
    type Row = {
      readonly id: string;
      readonly headSeq: number;
      readonly headHash: string;
      readonly mark: string;
    };
    const sql =
      "SELECT id, headSeq, headHash, mark FROM agents JOIN recoveries ON agent = id AND recoveries.ledgerEpoch = agents.ledgerEpoch WHERE headSeq > 0";
    for (const { id, headSeq, headHash, mark } of gateway.all<Row>(sql)) {
      for (const machine of machines.filter((each) => each.id === id)) {
        const { records } = this.#world.ledgerOf(machine);
        if (records[headSeq - 1]?.hash !== headHash) continue;
        const isItsOwn = records.some(
          (record) => record.kind === "RECOVERED" && record.order.startsWith(mark),
        );
        must(
          isItsOwn,
          "after an order no ledger is acknowledged but the one that it opened",
          () => `${id}: record ${headSeq}`,
        );
      }
    }
  }

  /**
   * Once the gateway has acknowledged a ledger, each of its jobs keeps its place in that epoch.
   */
  #placesStand(): void {
    const { gateway, machines } = this.#world;
    type Row = {
      readonly id: string;
      readonly ledgerEpoch: number;
      readonly headSeq: number;
      readonly headHash: string;
    };
    for (const { id, ledgerEpoch, headSeq, headHash } of gateway.all<Row>(
      "SELECT id, ledgerEpoch, headSeq, headHash FROM agents",
    )) {
      for (const machine of machines.filter((each) => each.id === id)) {
        const { records } = this.#world.ledgerOf(machine);
        if (records[headSeq - 1]?.hash !== headHash) continue;
        for (let seq = headSeq; seq > 0; seq -= 1) {
          const record = records[seq - 1];
          if (record?.kind === "RECOVERED") break;
          const isJob = record?.kind === "REQUESTED" || record?.kind === "REPEATED";
          if (isJob && !this.#outdated.has(record.jobHash))
            this.#places.set(`${id} ${ledgerEpoch} ${record.sequence}`, record.jobHash);
        }
      }
      type Job = { readonly sequence: number; readonly hash: string };
      for (const { sequence, hash } of gateway.all<Job>(
        "SELECT sequence, hash FROM jobs WHERE agent = ? AND sequence > 0",
        id,
      )) {
        const place = this.#places.get(`${id} ${ledgerEpoch} ${sequence}`) ?? hash;
        must(
          place === hash,
          "no job has the place of another that was acknowledged",
          () => `${id}: job ${sequence}`,
        );
      }
    }
  }

  /** A transaction that left an agent, and that the gateway's database does not know. */
  missingOf(id: string): string | undefined {
    const sql = "SELECT 1 FROM signatures WHERE txHash = ?";
    return this.#leftBy.get(id)?.find((hash) => this.#world.gateway.all(sql, hash).length === 0);
  }

  /** Ledger and database were restored together: of what left before neither can tell. */
  forget(id: string): void {
    this.#leftBy.delete(id);
    this.forgetJobs(id);
    for (const place of [...this.#places.keys()].filter((each) => each.startsWith(`${id} `)))
      this.#places.delete(place);
  }

  /** The database was restored: of some jobs only a carrier of frames may know. */
  forgetJobs(id: string): void {
    const { gateway, machines } = this.#world;
    const known = new Set(
      gateway.all<{ text: string }>("SELECT text FROM jobs").map(({ text }) => text),
    );
    for (const machine of machines.filter((each) => each.id === id)) {
      for (const record of this.#world.ledgerOf(machine).records)
        if (record.kind === "REQUESTED") known.add(record.job);
    }
    for (const text of this.#jobs) if (!known.has(text)) this.#outdated.add(jobHashOf(text));
  }

  /**
   * An agent that counts as caught up may be replaced by another: then nothing that left it may be
   * missing in the database.
   */
  #caughtUpLackNothing(): void {
    const { gateway } = this.#world;
    for (const { id } of gateway.all<{ id: string }>(
      "SELECT id FROM agents WHERE caughtUp = ?",
      gateway.run,
    )) {
      const missing = this.missingOf(id);
      must(
        missing === undefined,
        "who counts as caught up has told all that left it",
        () => `${id}: ${missing}`,
      );
    }
  }

  /** Its statements about sweeps, and about balances of deposit addresses. */
  #books(): Books {
    const { gateway } = this.#world;
    return {
      moved: this.moved(),
      unsweptBalances: gateway
        .all<AccountRow>("SELECT * FROM accounts WHERE kind = 'deposit' AND merchant = ?", merchant)
        .map((row) => {
          const { address, currency } = row;
          return { address, currency, units: unsweptUnitsOf(row).toString() };
        }),
      payments: gateway.all(
        `SELECT p.address, p.currency, p.units, p.txHash FROM payments p JOIN deposits d ON d.id = p.transactionId
           WHERE p.final = 1 AND d.merchant = ?`,
        merchant,
      ),
      requests: gateway.all(
        "SELECT id, status, currency, units, address FROM deposits WHERE merchant = ?",
        merchant,
      ),
    };
  }

  /** Every sweep and top-up. */
  moved(): readonly MovedRow[] {
    return this.#world.gateway.all<MovedRow>(
      `SELECT t.id, t.operation, coalesce(s.address || '/' || s.ordinal, u.sweep) AS orderId,
         coalesce(t.currency, u.sweptCurrency) AS currency, t.units, t.receiver, t.payer, t.status, coalesce(t.txHash, '') AS txHash,
         coalesce(t.feeUnits, '') AS feeUnits, t.finalBlock,
         (SELECT g.feeMax FROM signatures g WHERE g.transactionId = t.id AND g.txHash = t.txHash) AS feeMax
         FROM transfers t LEFT JOIN sweeps s ON s.id = t.id LEFT JOIN topUps u ON u.id = t.id
         WHERE t.operation IN ('sweep', 'topup') AND t.merchant = ?`,
      merchant,
    );
  }

  /** The gateway's statement about each withdrawal. */
  told(): readonly WithdrawalRow[] {
    return this.#world.gateway.all<WithdrawalRow>(
      `SELECT t.id, w.orderId, t.status, t.stage, coalesce(t.code, '') AS code, coalesce(t.txHash, '') AS txHash
         FROM transfers t JOIN withdrawals w ON w.id = t.id WHERE t.merchant = ?`,
      merchant,
    );
  }
}

/**
 * The transactions of one message leave at once, in the order of the requests, so the first one may
 * have the higher slot. The lowest one is looked at first, so that no slot seems to leave a gap
 * that the same message fills.
 */
function bySlot(views: readonly CourierView[]): readonly CourierView[] {
  return [...views].sort((a, b) => Number(a.slot || -1) - Number(b.slot || -1));
}
