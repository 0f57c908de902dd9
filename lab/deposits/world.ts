/**
 * Deposits of every shape through the real gateway with a paired agent, on a chain that
 * reorganises, while processes are killed: asked for, paid, credited, swept. At the end `judge.ts`
 * holds what gateway and agent did against the chain.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Mnemonic } from "ethers";
import { addressesAheadMin } from "../../gateway/watcher/ahead.ts";
import { Killer, processesOf } from "../faults/killer.ts";
import { type Random, seeded } from "../faults/tally.ts";
import { type Kit, settle } from "../kit/kit.ts";
import { until } from "../kit/processes.ts";
import { createShop } from "../kit/shop.ts";
import { type Figures, judge, type Request } from "./judge.ts";
import { GatewayRecords, type RecordRow } from "./records.ts";
import type { DepositFaults, DepositReport } from "./report.ts";
import {
  type DueMoment,
  type Pay,
  planOf,
  type ShapedDeposit,
  shareOf,
  untimed,
} from "./shapes.ts";
import { type AddressedPayment, decimalText, type TestNetwork } from "./test-network.ts";

/** The gateway's time for a deposit; late payments wait so long. */
export const depositMinutes = 3;
const askedAtOnce = 6;
const usual = { byContract: false, fails: false, isVain: false };
const recordsMs = 700;
/** Before its end a request is paid by a contract, so near that the payment is final after it. */
const endingMs = 2_500;
/** One address of so many is paid before it is handed out. */
const earlyOf = 20;
/**
 * Money that a contract sends after a request's end is found once half the request's age has passed
 * again, a few addresses of Tron in a pass: after the ends it may take so long.
 */
const comparedMs = 400_000;
/** A start that reads through a bad provider, amid reorganisations, takes its time. */
export const readyMs = 600_000;
/** An answer comes within so long. */
const patienceMs = 180_000;
/** So long nothing moves where a payment's end is waited for; then what is open stays open. */
const stillMs = 900_000;

/** The merchant who has no agent, and whose addresses nobody sweeps. */
interface OtherMerchant {
  readonly gatewayUrl: string;
  readonly shopKey: string;
}

export class DepositsWorld {
  readonly #faults: DepositFaults;
  readonly #profiles: readonly string[];
  readonly #payouts = new Set<string>();
  readonly #early = new Set<string>(); // as the test network names them
  #others: ReturnType<typeof createShop> | null = null;
  #otherMerchant: OtherMerchant | null = null;
  #payoutCount = 0;
  readonly #family: string;
  readonly #testNetwork: TestNetwork;
  readonly #kit: Kit;
  readonly #hotWalletAddress: string;
  readonly #records: GatewayRecords;
  readonly #random: Random;
  readonly #requests: Request[] = [];
  readonly #shop: ReturnType<typeof createShop>;
  #rows: readonly RecordRow[] = [];
  #ended = 0; // records of any kind
  #endedAtMs = 0; // when the newest of them did
  #byId: ReadonlyMap<string, RecordRow> = new Map();
  #payments = 0;
  #reorganised = { times: 0, blocks: 0, again: 0, redone: 0, lost: 0, ours: 0 };
  readonly #troubles: Record<string, number> = {};
  #isOver = false;

  constructor(
    family: string,
    testNetwork: TestNetwork,
    kit: Kit,
    hotWalletAddress: string,
    profiles: readonly string[],
    faults: DepositFaults,
  ) {
    this.#family = family;
    this.#profiles = profiles;
    this.#testNetwork = testNetwork;
    this.#kit = kit;
    this.#hotWalletAddress = hotWalletAddress;
    this.#faults = faults;
    this.#records = new GatewayRecords(kit.dir);
    this.#random = seeded(`${faults.seed}/${family}`);
    this.#shop = createShop(kit);
  }

  async play(): Promise<DepositReport> {
    const { records, kills, seed, say } = this.#faults;
    const startedAt = performance.now();
    const { asked, shapes } = this.#testNetwork;
    const items = planOf(
      this.#random,
      records,
      asked,
      this.#faults.untilExpired ? shapes : untimed(shapes),
    );
    const total = items.reduce((sum, { shape }) => sum + (shape.requests ?? 1), 0);
    await this.#openOthers();
    await this.#payEarly(total);
    // Payments on the chain by now stay there, whichever blocks are replaced.
    await this.#testNetwork.settled();
    await settle(this.#kit.anvil.url, 8);
    const chance = seeded(`${seed}/${this.#family}/kills`);
    const killer = new Killer(processesOf(this.#kit, chance, readyMs), chance, kills);
    const looking = this.#look();
    const reorganising = this.#reorganise();
    const killing = killer.play(() => this.#progress(total));
    const paying = this.#payAll(items);
    await Promise.race([Promise.all([paying, killing]), reorganising, looking]);
    say(
      `${this.#family}: ${this.#requests.length} requests paid, ${kills} kills; waiting for their ends`,
    );
    await this.#untilEnded();
    this.#isOver = true;
    await Promise.all([looking, reorganising]);
    await this.#testNetwork.settled();
    const { violations, ...figures } = await this.#judged();
    const { times, blocks, again, redone, lost, ours } = this.#reorganised;
    return {
      ...{ family: this.#family, profiles: this.#profiles, early: this.#early.size },
      ...{ deposits: this.#requests.length, payments: this.#payments, kills: killer.struck },
      ...{
        reorganisations: times,
        blocksReplaced: blocks,
        paymentsMoved: again,
        paymentsRedone: redone,
        paymentsLost: lost,
        ownDropped: ours,
        troubles: this.#troubles,
      },
      ...figures,
      seconds: Math.round((performance.now() - startedAt) / 1_000),
      violations: [
        ...violations,
        ...(this.#requests.length === total
          ? []
          : [`${this.#requests.length} of ${total} requests were made`]),
      ],
    };
  }

  /** The second merchant of the gateway, with an account of a wallet of its own. */
  async #openOthers(): Promise<void> {
    const { gatewayUrl } = this.#kit;
    const mnemonic = Mnemonic.fromEntropy(
      createHash("sha256").update(`${this.#faults.seed} others`).digest().subarray(0, 16),
    ).phrase;
    const account = this.#testNetwork.receivingAccount(mnemonic);
    const made = await this.#kit.operate(
      "merchant",
      "create",
      "Receiver",
      "--xpub",
      account,
      "--json",
    );
    const { shopKey } = JSON.parse(made.slice(made.indexOf("{"), made.lastIndexOf("}") + 1)) as {
      shopKey: string;
    };
    this.#otherMerchant = { gatewayUrl, shopKey };
    this.#others = createShop(this.#otherMerchant);
  }

  /**
   * Addresses that were used before their request: the gateway passes them over. It has looked at
   * the first ones by now, which counts for a quarter of an hour.
   */
  async #payEarly(total: number): Promise<void> {
    if (!this.#faults.untilExpired) return;
    for (let index = addressesAheadMin; index < total; index += 1) {
      if (this.#random() * earlyOf >= 1) continue;
      const to = this.#testNetwork.addressAt(this.#kit.mnemonic, index);
      if (to === null) return;
      const asset =
        this.#random() < 0.5 || this.#testNetwork.asked.token === undefined ? "coin" : "token";
      const units = this.#leastOf(asset);
      await this.#testNetwork.send({
        ...usual,
        pays: [{ asset, to, units }],
        byContract: index % 2 === 0,
      });
      this.#early.add(this.#testNetwork.nameOf(to));
    }
  }

  /** Judged when old addresses were compared: again while anything is missing, for a while. */
  async #judged(): Promise<Figures> {
    const validUntilMs = performance.now() + comparedMs;
    for (;;) {
      const figures = await judge({
        ...{
          testNetwork: this.#testNetwork,
          kit: this.#kit,
          hotWalletAddress: this.#hotWalletAddress,
          records: this.#records,
          requests: this.#requests,
        },
        ...{ payouts: this.#payouts, early: this.#early, others: this.#others },
      });
      if (figures.violations.length === 0 || performance.now() > validUntilMs) return figures;
      this.#faults.say(
        `${this.#family}: judged again in a while: ${figures.violations.slice(0, 3).join("; ")}`,
      );
      await sleep(10_000);
    }
  }

  /** Half of the way are the requests, half their ends and the sweeps. */
  #progress(total: number): number {
    const ended = this.#rows.filter(
      ({ operation, status }) => operation === "deposit" && status !== 0,
    ).length;
    const swept = this.#rows.filter(
      ({ operation, status }) => operation === "sweep" && status === 1,
    ).length;
    const isSwept = Object.keys(this.#testNetwork.sweptFrom).length > 0;
    const parts = [this.#requests.length, ended, ...(isSwept ? [swept * 1.5] : [])];
    return parts.reduce((sum, one) => sum + Math.min(one / total, 1), 0) / parts.length;
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      await sleep(recordsMs);
      try {
        this.#rows = this.#records.now();
        this.#byId = new Map(this.#rows.map((row) => [row.id, row]));
        const ended = this.#rows.filter(({ status }) => status !== 0).length;
        if (ended !== this.#ended) [this.#ended, this.#endedAtMs] = [ended, performance.now()];
      } catch {
        // The copy was made while a start tidied up: the next one is another.
      }
    }
  }

  async #reorganise(): Promise<void> {
    const random = seeded(`${this.#faults.seed}/${this.#family}/reorganisations`);
    while (!this.#isOver) {
      await sleep(1_500 + random() * 2_500);
      const { blocks, again, redone, lost, ours, trouble } = await this.#testNetwork.reorganise(
        random,
        this.#faults.untilExpired,
      );
      if (trouble !== undefined) this.#troubles[trouble] = (this.#troubles[trouble] ?? 0) + 1;
      const before = this.#reorganised;
      this.#reorganised = {
        ...{ times: before.times + (blocks > 0 ? 1 : 0), blocks: before.blocks + blocks },
        ...{
          again: before.again + again,
          redone: before.redone + redone,
          lost: before.lost + lost,
          ours: before.ours + ours,
        },
      };
      this.#payments += redone;
    }
  }

  async #payAll(items: readonly ShapedDeposit[]): Promise<void> {
    let next = 0;
    const rests: Promise<void>[] = [];
    const worker = async (): Promise<void> => {
      while (next < items.length) {
        const number = next;
        next += 1;
        const item = items[number] as ShapedDeposit;
        const requests = await this.#ask(item, number);
        // A payment that is due later does not delay the next request.
        rests.push(this.#pay(item, requests));
        await sleep(this.#random() * 900);
      }
    };
    await Promise.all(Array.from({ length: askedAtOnce }, worker));
    await Promise.all(rests);
  }

  /** Again and again until it is answered. */
  async #ask({ shape, askedUnits }: ShapedDeposit, number: number): Promise<readonly Request[]> {
    const currency = this.#currencyOf(shape.asked);
    const amount = decimalText(askedUnits, this.#testNetwork.decimals[currency] ?? 0);
    const made: Request[] = [];
    for (let place = 0; place < (shape.requests ?? 1); place += 1) {
      const orderId = `${number}-${place}`;
      const request = await until(
        `an answer to deposit request ${orderId}`,
        patienceMs,
        async () => ({
          shape,
          askedUnits,
          currency,
          ...(await this.#made(shape, currency, amount, orderId)),
        }),
        () => this.#kit.gateway?.output().slice(-2_000) ?? "",
        300,
      );
      made.push(request);
      this.#requests.push(request);
    }
    return made;
  }

  async #made(
    shape: ShapedDeposit["shape"],
    currency: string,
    amount: string,
    orderId: string,
  ): Promise<{ id: string; address: string; askedAtMs: number }> {
    const shop = shape.isOthers === true ? (this.#others ?? this.#shop) : this.#shop;
    const askedAtMs = performance.now();
    const { transactionId, address, tag } = await shop.deposit(currency, amount, orderId);
    return { id: transactionId, address: this.#testNetwork.payeeOf(address, tag), askedAtMs };
  }

  async #pay({ shape, askedUnits }: ShapedDeposit, requests: readonly Request[]): Promise<void> {
    const [first] = requests as readonly [Request];
    for (const { due = "now", pays, isPayout = false, ...sending } of shape.sendings) {
      await this.#due(due, first);
      const paying = pays.map((pay): AddressedPayment => {
        const { to = 0 } = pay;
        const payee =
          typeof to === "number"
            ? (requests[to] as Request).address
            : this.#testNetwork.newAddress(to, first.address);
        return { asset: pay.asset, to: payee, units: this.#unitsOf(pay, shape, askedUnits) };
      });
      if (isPayout) await this.#payOut(paying[0] as AddressedPayment);
      else await this.#testNetwork.send({ ...usual, ...sending, pays: paying });
      this.#payments += 1;
    }
  }

  /** Ordered from the agent until it is on the chain for good. */
  async #payOut({ asset, to, units }: AddressedPayment): Promise<void> {
    const currency = this.#currencyOf(asset === "lookAlike" ? "coin" : asset);
    const amount = decimalText(units, this.#testNetwork.decimals[currency] ?? 0);
    this.#payoutCount += 1;
    const order = { currency, amount, receiver: to, orderId: `payout-${this.#payoutCount}` };
    let said = "";
    const { transactionId } = await until(
      `an answer to ${order.orderId}`,
      patienceMs,
      async () => {
        const answer = await this.#shop.autoWithdraw(order);
        said = `${answer.code}: ${answer.message}`;
        return answer.status === 200 ? answer : undefined;
      },
      () => said,
      500,
    );
    const { txHash } = await until(
      `the end of ${order.orderId}`,
      stillMs,
      async () => {
        const record = await this.#shop.transaction(transactionId);
        return record.status === 1 ? record : undefined;
      },
      () => this.#kit.crypto?.output().slice(-2_000) ?? "",
      1_000,
    );
    this.#payouts.add(txHash);
  }

  /** An amount of usual size for the other currency that is paid. */
  #unitsOf(
    { asset, permille = 1_000, units }: Pay,
    shape: ShapedDeposit["shape"],
    askedUnits: bigint,
  ): bigint {
    if (units !== undefined) return units;
    const isOther = asset !== "lookAlike" && asset !== shape.asked;
    return shareOf(isOther ? this.#leastOf(asset) * 3n : askedUnits, permille);
  }

  #leastOf(asset: ShapedDeposit["shape"]["asked"]): bigint {
    const range = this.#testNetwork.asked[asset];
    if (range === undefined) throw new Error(`nobody asks for ${asset} on ${this.#family}`);
    return range.least;
  }

  #currencyOf(asset: ShapedDeposit["shape"]["asked"]): string {
    const currency = this.#testNetwork.currencies[asset];
    if (currency === undefined) throw new Error(`${this.#family} has no ${asset}`);
    return currency;
  }

  async #due(due: DueMoment, { id, address, askedAtMs }: Request): Promise<void> {
    if (due === "now") return;
    if (due === "ending") {
      await sleep(Math.max(0, askedAtMs + depositMinutes * 60_000 - endingMs - performance.now()));
      return;
    }
    const isSwept = (): boolean =>
      this.#rows.some(({ operation, payer }) => operation === "sweep" && payer === address);
    const isDue = (): boolean => {
      const row = this.#byId.get(id);
      // A payment that a reorganisation took makes no request partial or Completed.
      if (row === undefined) return false;
      if (row.status === 2) return true;
      if (due === "partial") return row.stage === "partial";
      if (due === "sweeping") return isSwept();
      return due !== "expired" && row.status === 1;
    };
    // Others may stand before it: a busy machine sweeps a few addresses a minute.
    for (const sinceMs = performance.now(); !isDue(); ) {
      await sleep(300);
      const stoodMs = performance.now() - Math.max(sinceMs, this.#endedAtMs);
      if (stoodMs > depositMinutes * 60_000 + stillMs)
        throw new Error(`request ${id} never was ${due}, and nothing else ended`);
    }
  }

  /**
   * Until no request, sweep or top-up is open and nothing is worth a sweep, as long as anything
   * moves.
   */
  async #untilEnded(): Promise<void> {
    let [seen, seenAt] = ["", performance.now()];
    for (let open = 1; performance.now() - seenAt < (open > 0 ? stillMs : patienceMs / 2); ) {
      await sleep(1_000);
      open = this.#rows.filter(({ status }) => status === 0).length;
      const worth = this.#worth();
      if (open === 0 && worth === 0) return;
      const now = `${open} ${worth} ${this.#rows.length}`;
      if (now !== seen) [seen, seenAt] = [now, performance.now()];
    }
  }

  #worth(): number {
    try {
      const { sweptFrom } = this.#testNetwork;
      const least = ({ currency }: { currency: string }): bigint | undefined => sweptFrom[currency];
      const others = new Set(
        this.#requests.filter(({ shape }) => shape.isOthers).map(({ address }) => address),
      );
      const own = this.#records.unsweptBalances().filter(({ address }) => !others.has(address));
      return own.filter((row) => BigInt(row.units) >= (least(row) ?? 10n ** 40n)).length;
    } catch {
      return -1; // as above
    }
  }
}
