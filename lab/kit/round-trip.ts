/**
 * Money in and out again on real parts, for the demo and for anybody who adds a chain: a deposit,
 * Completed, swept to the hot wallet where it has an address of its own, withdrawn again to the
 * last unit, with a `kill -9` of each process in between. Every figure is read from the chain by
 * code of the scripts' own.
 */

import { formatAmount } from "../../protocol/amount.ts";
import type { Kit } from "./kit.ts";
import { until } from "./processes.ts";
import type { Shop } from "./shop.ts";

/** One currency on one chain, as the round trip plays with it. */
export interface Trip {
  readonly currency: string;
  readonly network: string; // CAIP-2
  readonly decimal: number;
  readonly amount: string;
  /** Where a sweep's fee comes from: beside the amount, out of it, or in another coin. */
  readonly sweepFee: "beside" | "inside" | "other coin";
  newReceiver(): string;
  /** Pays a deposit address from outside, with the request's tag or "" for none. */
  pay(address: string, units: bigint, tag: string): Promise<void>;
  /** By the chain itself, at its newest block, or the newest final one. */
  held(address: string): Promise<bigint>;
}

/** The result of one trip, as the demo's line of JSON names it. */
interface TripReport {
  readonly network: string;
  readonly currency: string;
  readonly depositId: string;
  readonly deposited: string;
  readonly sweepId: string; // "" where the deposit came to the hot wallet itself
  readonly swept: string;
  readonly topUp: string; // in the coin that pays the fees, "" for none
  readonly withdrawalId: string;
  readonly withdrawn: string;
}

/** A sweep or a top-up as `gateway sweeps list --json` has it. */
interface ListedSweep {
  readonly transactionId: string;
  readonly kind: "sweep" | "topup";
  readonly sweep: string;
  readonly currency: string;
  readonly network: string;
  readonly from: string;
  readonly to: string;
  readonly amount: string;
  readonly status: number;
  readonly code: string;
  readonly fee: string;
}

const waitMs = 120_000;

export async function listSweeps(kit: Kit): Promise<readonly ListedSweep[]> {
  const said = await kit.operate("sweeps", "list", "--limit", "10000", "--json");
  return (JSON.parse(said.slice(said.indexOf("{"))) as { readonly sweeps: readonly ListedSweep[] })
    .sweeps;
}

/** Waits until what an address was paid is swept. Throws when the sweep fails. */
export async function completedSweep(
  kit: Kit,
  from: string,
  currency: string,
): Promise<ListedSweep> {
  return until(`the sweep of ${currency} from ${from}`, waitMs, async () => {
    const all = await listSweeps(kit);
    const one = all.find(
      (each) => each.kind === "sweep" && each.from === from && each.currency === currency,
    );
    if (one?.status === 2) throw new Error(`the sweep of ${currency} failed: ${one.code}`);
    return one?.status === 1 ? one : undefined;
  });
}

/** Base units of a decimal text. */
export function unitsOf(text: string, decimal: number): bigint {
  const [whole = "0", rest = ""] = text.split(".");
  return BigInt(whole + rest.padEnd(decimal, "0"));
}

type Tell = (who: string, what: string) => void;

/** Kills signer, courier and gateway, one after the other; the gateway is started again here. */
async function killEach(kit: Kit, tell: Tell): Promise<void> {
  for (const [name, pid] of [
    ["signer", kit.signerPid()] as const,
    ["courier", kit.courierPid()] as const,
  ]) {
    if (pid === undefined) throw new Error(`the ${name} does not run`);
    process.kill(pid, "SIGKILL");
    tell("demo", `kill -9 of the ${name} (process ${pid})`);
  }
  const { gateway } = kit;
  if (gateway === null) throw new Error("the gateway does not run");
  process.kill(gateway.pid, "SIGKILL");
  tell("demo", `kill -9 of the gateway (process ${gateway.pid})`);
  await gateway.ended;
  await kit.startGateway();
}

/** All trips side by side: paid in, swept while each process is killed, paid out again. */
export async function roundTrips(
  kit: Kit,
  shop: Shop,
  trips: readonly Trip[],
  tell: Tell,
): Promise<readonly TripReport[]> {
  const paid = await Promise.all(
    trips.map(async (trip) => {
      const { currency, amount } = trip;
      const asked = await shop.deposit(currency, amount, `round-trip-${currency}`);
      await trip.pay(asked.address, unitsOf(amount, trip.decimal), asked.tag);
      await until(`the deposit of ${amount} ${currency}`, waitMs, async () =>
        (await shop.transaction(asked.transactionId, 1)).status === 1 ? true : undefined,
      );
      const tag = asked.tag === "" ? "" : ` with the tag ${asked.tag}`;
      tell("gateway", `deposit of ${amount} ${currency} Completed at ${asked.address}${tag}`);
      return { trip, ...asked };
    }),
  );
  await killEach(kit, tell);
  return Promise.all(
    paid.map(async ({ trip, address, tag, transactionId }) => {
      if (tag !== "") return payOutUnswept(kit, shop, trip, transactionId, tell);
      const sweep = await completedSweep(kit, address, trip.currency);
      return payOutAgain(kit, shop, { trip, address, depositId: transactionId, sweep }, tell);
    }),
  );
}

interface SweptDeposit {
  readonly trip: Trip;
  readonly address: string;
  readonly depositId: string;
  readonly sweep: ListedSweep;
}

/** Exactly what the sweep brought goes out again. */
async function payOutAgain(
  kit: Kit,
  shop: Shop,
  { trip, address, depositId, sweep }: SweptDeposit,
  tell: Tell,
): Promise<TripReport> {
  const { currency, network, amount, decimal } = trip;
  const topUp = (await listSweeps(kit)).find(
    (one) => one.kind === "topup" && one.sweep === sweep.transactionId,
  );
  const swept = unitsOf(sweep.amount, decimal);
  const fee = trip.sweepFee === "other coin" ? 0n : unitsOf(sweep.fee, decimal);
  const besideUnits = trip.sweepFee === "beside" ? fee : 0n;
  const brought = formatAmount(trip.sweepFee === "inside" ? swept - fee : swept, decimal);
  const left = await trip.held(address);
  const paid = unitsOf(amount, decimal);
  if (left + swept + besideUnits !== paid)
    throw new Error(
      `${paid} ${currency} came, ${swept} were swept, the fee was ${fee}, and ${left} are left`,
    );
  tell(
    "agent",
    `swept ${sweep.amount} ${currency}${topUp === undefined ? "" : ` after a top-up of ${topUp.amount}`}`,
  );
  const withdrawalId = await payOut(shop, trip, brought, tell);
  return {
    ...{
      network,
      currency,
      depositId,
      deposited: amount,
      sweepId: sweep.transactionId,
      swept: sweep.amount,
    },
    ...{ topUp: topUp?.amount ?? "", withdrawalId, withdrawn: brought },
  };
}

/** A deposit that came to the hot wallet itself goes out again as it came. */
async function payOutUnswept(
  kit: Kit,
  shop: Shop,
  trip: Trip,
  depositId: string,
  tell: Tell,
): Promise<TripReport> {
  const { currency, network, amount } = trip;
  const sweeps = (await listSweeps(kit)).filter((one) => one.network === network);
  if (sweeps.length > 0)
    throw new Error(
      `${sweeps.length} sweeps on ${network}, where no deposit has an address of its own`,
    );
  const withdrawalId = await payOut(shop, trip, amount, tell);
  const unswept = { sweepId: "", swept: "", topUp: "" };
  return {
    network,
    currency,
    depositId,
    deposited: amount,
    ...unswept,
    withdrawalId,
    withdrawn: amount,
  };
}

/** Pays an amount to a new receiver, and compares what came there. */
async function payOut(shop: Shop, trip: Trip, amount: string, tell: Tell): Promise<string> {
  const { currency, decimal } = trip;
  const receiver = trip.newReceiver();
  const before = await trip.held(receiver);
  const out = await until(`the withdrawal of ${amount} ${currency}`, waitMs, async () => {
    const answer = await shop.autoWithdraw({
      currency,
      amount,
      receiver,
      orderId: `out-again-${currency}`,
    });
    return answer.status === 200 ? answer : undefined;
  });
  await until(`its end`, waitMs, async () =>
    (await shop.transaction(out.transactionId)).status === 1 ? true : undefined,
  );
  const got = (await trip.held(receiver)) - before;
  if (got !== unitsOf(amount, decimal))
    throw new Error(`the receiver got ${got} base units of ${currency}, not ${amount}`);
  tell("gateway", `${amount} ${currency} paid out again, to the last unit`);
  return out.transactionId;
}
