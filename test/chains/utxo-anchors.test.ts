/**
 * The anchor: all attempts of a withdrawal spend one coin, so the chain pays at most one of them.
 * Offline by every order of attempts up to four, over accounts of one to five coins, with the rule
 * of the signer over each attempt; and over a real bitcoind by withdrawals of three attempts each,
 * of which a block takes any one. WITHDRAWALS=<number> sets their count, SEED=<number> repeats a
 * run. The second part is skipped, with the command that brings the daemon, where it is not there.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type OfferedAttempt,
  refuseIfCoinsUnspendable,
} from "../../agent/signer/handlers/intent.ts";
import type { Coin, PricedAttempt, TxParams } from "../../chains/family.ts";
import { bitcoin, litecoin, type NativeCoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { utxoFeesOf } from "../../chains/utxo/offers.ts";
import { amountOf, coinTexts, feeMaxOf, figuresOf } from "../../chains/utxo/tx-params.ts";
import { missing } from "../../lab/utxo-node/daemon.ts";
import { seed } from "../support/evm-values.ts";
import { Anchored } from "./utxo-anchored.ts";
import { evidenceFor, type MadeCoin, mainOf, Values } from "./utxo-values.ts";
import { openWallet, type Wallet } from "./utxo-wallet.ts";

const versionsMax = 4;
const kinds = ["first", "replacement", "operator's replacement", "cancel"] as const;
type Kind = (typeof kinds)[number];

/** The makings of one withdrawal's versions. */
interface Scene {
  readonly coin: NativeCoin;
  readonly network: UtxoNetwork;
  readonly account: string;
  readonly made: readonly MadeCoin[]; // the account's coins at the first attempt
  readonly later: MadeCoin; // larger than all of them, and final only after the first attempt
  readonly destination: string;
  readonly amountUnits: bigint;
}

/** The number of attempts that were made, by their kind. */
type Counted = Record<Kind, number>;

/** The rate rises fast enough that some attempts need more coins than the one before. */
const rateOf = (version: number): bigint => 2_000n * 4n ** BigInt(version);

const textOf = ({ id, units }: Coin): string => `${id}:${units}`;
const pinOfParams = (txParams: TxParams): string => coinTexts(txParams)[0];

/** Every offer of a kind after the attempts so far; none where the coins do not suffice. */
function offersOf(
  scene: Scene,
  kind: Kind,
  attempts: readonly PricedAttempt[],
): readonly TxParams[] {
  const { first, bidding } = utxoFeesOf(scene.coin);
  const { network, destination, amountUnits } = scene;
  const wanted = { network: network.id, contract: "", destination, tag: "", amountUnits };
  const feeMarket = { satPerKvB: rateOf(attempts.length) };
  if (kind === "first") {
    const offer = first({ feeMarket, computeLimit: 1n, coins: scene.made }, wanted);
    return offer === null ? [] : [offer];
  }
  if (bidding === null) throw new Error("such a coin has offers");
  if (kind === "replacement") {
    // The nodes leave out what the attempts spend, or not, where they have not seen them.
    const spent = attempts.flatMap(({ txParams }) =>
      txParams === null ? [] : coinTexts(txParams),
    );
    const all = [scene.later, ...scene.made];
    const views = [all, all.filter((one) => !spent.includes(textOf(one))), []];
    const made = views.map((coins) =>
      bidding.replacementAt(
        { feeMarket, computeLimit: 1n, coins },
        wanted,
        attempts,
        attempts.length,
        false,
      ),
    );
    return made.filter((offer) => offer !== null);
  }
  const offered = bidding.manualReplacement(
    attempts,
    kind === "cancel",
    { satPerKvB: "" },
    feeMarket,
  );
  return offered.ok ? offered.txParams : [];
}

/** The signer's word on an attempt after the others: "" if it may be signed. */
function refusalOf(
  scene: Scene,
  attempts: readonly PricedAttempt[],
  txParams: TxParams,
  evidence: readonly string[],
): string {
  const { network, account } = scene;
  const job = { network: network.id };
  const withdrawal = { job, account, attempts } as unknown as OfferedAttempt["withdrawal"];
  const run = { sightings: { names: () => true } };
  const book = { open: () => [withdrawal], spenderOf: () => undefined };
  const core = { book, owed: { of: () => [] } };
  const context = { core, run } as unknown as Parameters<typeof refuseIfCoinsUnspendable>[0];
  const held = {
    network: network.id,
    account,
    adopted: "0",
    next: "1",
    pending: 0,
    lastTimestamp: 0n,
  };
  return (
    refuseIfCoinsUnspendable(context, {
      withdrawal,
      approval: {},
      account: held,
      slot: "0",
      txParams,
      evidence,
    })?.code ?? ""
  );
}

/** Makes every order of attempts after these, and checks each new one against all before it. */
function grow(scene: Scene, attempts: readonly PricedAttempt[], counted: Counted): void {
  if (attempts.length === versionsMax) return;
  for (const kind of attempts.length === 0 ? kinds.slice(0, 1) : kinds.slice(1)) {
    for (const [at, txParams] of offersOf(scene, kind, attempts).entries()) {
      const pin = pinOfParams(txParams);
      const shared = attempts.filter((earlier) => earlier.pin === pin);
      if (shared.length !== attempts.length)
        throw new Error(`a ${kind} has another pin: ${JSON.stringify([attempts, txParams])}`);
      const isCancel =
        kind === "cancel" || (kind === "replacement" && attempts.at(-1)?.isCancel === true);
      if (amountOf(figuresOf(txParams)) !== (isCancel ? 0n : scene.amountUnits))
        throw new Error(`a ${kind} pays another amount`);
      const evidence = evidenceFor(txParams, [scene.later, ...scene.made]);
      const refusal = refusalOf(scene, attempts, txParams, evidence);
      if (refusal !== "")
        throw new Error(`a ${kind} is refused with ${refusal}: ${JSON.stringify(txParams)}`);
      counted[kind] += 1;
      const attempt = { txHash: "", txParams, feeMax: `${feeMaxOf(txParams)}`, isCancel, pin };
      // The operator's further offers differ by the fee alone, and each is checked above.
      if (at === 0) grow(scene, [...attempts, attempt], counted);
    }
  }
}

/** Values of the coins, as shares of the largest. */
const layouts: readonly (readonly [name: string, share: (place: number) => bigint])[] = [
  ["of one value", () => 100n],
  ["of falling values", (place) => 100n - 15n * BigInt(place)],
  ["of which one is large", (place) => (place === 0 ? 100n : 3n)],
];

/** Amounts from a small one up to all that the coins hold, less a fee. */
function amountsOf(coins: readonly Coin[]): readonly bigint[] {
  const sum = coins.reduce((total, { units }) => total + units, 0n);
  const largest = coins[0]?.units ?? 0n;
  return [10_000n, largest / 2n, largest - 3_000n, largest, sum / 2n, sum - 40_000n, sum - 2_000n];
}

describe.each<[string, NativeCoin]>([
  ["bitcoin", bitcoin],
  ["litecoin", litecoin],
])("attempts of a withdrawal on %s", (_, coin) => {
  const network = mainOf(coin);
  const unit = 10_000n * (network.dustSatPerKvB / 3_000n);

  it.each([1, 2, 3, 4, 5])(
    "each pair of every order shares the pin, and the signer takes it: accounts of %d coins",
    (count) => {
      const values = new Values(seed + count);
      const counted: Counted = { first: 0, replacement: 0, "operator's replacement": 0, cancel: 0 };
      for (const [, share] of layouts) {
        const owner = values.account(network);
        const made = Array.from({ length: count }, (_, place) =>
          values.coin(owner.script, unit * share(place)),
        );
        const later = values.coin(owner.script, unit * 1_000n);
        const destination = values.destination(network, "p2wpkh");
        const rest = { coin, network, account: owner.address, made, later, destination };
        for (const amountUnits of new Set(amountsOf(made)))
          grow({ ...rest, amountUnits }, [], counted);
      }
      process.stdout.write(`${network.name}, ${count} coins: ${JSON.stringify(counted)}\n`);
      for (const kind of kinds)
        expect(counted[kind], kind).toBeGreaterThan(kind === "first" ? 8 : 100);
    },
  );

  it("the signer refuses each of them on another pin, without its evidence, and with false amounts", () => {
    const values = new Values(seed);
    const owner = values.account(network);
    const made = [0, 1, 2].map(() => values.coin(owner.script, unit * 100n));
    const later = values.coin(owner.script, unit * 1_000n);
    const destination = values.destination(network, "p2wpkh");
    const scene: Scene = {
      coin,
      network,
      account: owner.address,
      made,
      later,
      destination,
      amountUnits: unit * 50n,
    };
    const [txParams = {}] = offersOf(scene, "first", []);
    const pin = pinOfParams(txParams);
    const attempts = [{ txHash: "", txParams, feeMax: `${feeMaxOf(txParams)}`, pin }];
    const others = made.filter((one) => textOf(one) !== pin);
    const [other = later] = others;
    const onOther = { ...txParams, coins: `${textOf(other)},${pin}` };
    expect(refusalOf(scene, attempts, onOther, [other.made, ""])).toBe("ACCOUNT_PIN_OTHER");
    const behind = { ...txParams, coins: `${pin},${textOf(other)}` };
    expect(refusalOf(scene, attempts, behind, ["", other.made])).toBe("");
    expect(refusalOf(scene, attempts, behind, ["", ""])).toBe("TRANSACTION_EVIDENCE");
    expect(
      refusalOf(scene, attempts, { ...behind, coins: `${behind.coins}1` }, ["", other.made]),
    ).toBe("TRANSACTION_EVIDENCE");
    expect(refusalOf(scene, [], txParams, [])).toBe("TRANSACTION_EVIDENCE");
  });
});

const why = missing("bitcoin");
const confirmations = 2;
const withdrawals = Number(process.env.WITHDRAWALS ?? 60);

describe.skipIf(why !== null)("withdrawals of three attempts over bitcoind", () => {
  if (why !== null) {
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    it.skip(why, () => undefined);
    return;
  }
  let wallet: Wallet;

  beforeAll(async () => {
    wallet = await openWallet("bitcoin", confirmations);
    await wallet.fund(40);
  });
  afterAll(() => wallet?.close());

  it(
    `${withdrawals} withdrawals are each paid once at most, and end once, by whichever attempt a block takes`,
    async () => {
      process.stdout.write(`SEED=${seed} WITHDRAWALS=${withdrawals}\n`);
      const anchored = new Anchored(wallet);
      const fates = await anchored.run(withdrawals);
      process.stdout.write(`${JSON.stringify(fates)}\n`);
      expect(fates.withdrawals).toBe(withdrawals);
      expect(fates.lost).toBeGreaterThan(0);
      const versions = new Set(Object.keys(fates.mined).map((name) => name.split(",")[0]));
      expect([...versions].sort()).toEqual(["version 1", "version 2", "version 3"]);
      for (const [paid, due] of await anchored.paid()) expect(paid).toEqual(due);
      expect(anchored.ends.map((ends) => ends.length)).toEqual(
        Array.from({ length: withdrawals }, () => 1),
      );
    },
    60_000 + withdrawals * 6_000,
  );
});
