/**
 * Theft where no count of transactions shows it: a final transaction that nothing here signed
 * stops first payments on its network, by the gateway's word or by the courier's, until an operator
 * resumes it. Report of the kind: a Bitcoin hot wallet emptied coin by coin while its agent goes on
 * signing.
 */
import { describe, expect, it } from "vitest";
import { stopMarkName } from "../../agent/signer/runtime/stop-mark.ts";
import { foreignKeptMax } from "../../agent/signer/state/stops.ts";
import { families } from "../../chains/families.ts";
import type { FamilyName } from "../../chains/family.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { hotWallet, Kit, txParams } from "../../lab/kit/signer-kit.ts";
import type { ForeignTransaction } from "../../protocol/messages.ts";
import { evidenceFor } from "../chains/utxo-values.ts";
import {
  type CoinKit,
  cancelled,
  coinKit,
  made,
  network,
  raised,
  sender,
} from "../support/coin-kit.ts";
import {
  offerAt,
  receiver,
  network as tron,
  sender as tronSender,
  waitingKit,
} from "../support/waiting-kit.ts";

const hash = (number: number): string => number.toString(16).padStart(64, "0");
const foreign = (number: number, change: Partial<ForeignTransaction> = {}): ForeignTransaction => ({
  ...{ network, account: sender, txHash: hash(number) },
  ...change,
});

/** The gateway's newest word names these. */
function names(kit: Kit, named: readonly ForeignTransaction[]): void {
  kit.receive();
  kit.now += 1;
  expect(
    kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, foreign: named })).ok,
  ).toBe(true);
}

const courierTells = (kit: Kit, number: number) =>
  kit.ask("foreign", { chain: "regtest", coin: `${hash(0)}:0`, txHash: hash(number) });
const resume = (kit: Kit, chain = "regtest") =>
  kit.operate("pause", { paused: false, network: chain });
const stopped = (kit: Kit) => kit.operate("status").status.stopped ?? [];
const stops = (kit: Kit): number => kit.records().filter(({ kind }) => kind === "PAUSED").length;

/** Its own eye on theft, of each family; where transactions are counted, a lock by the count. */
const eyes: Readonly<Record<FamilyName, "coins and the gateway" | "the gateway" | "the count">> = {
  evm: "the count",
  tron: "the gateway",
  utxo: "coins and the gateway",
  xrp: "the count",
};

describe("a transaction that nothing here signed", () => {
  it.each(Object.entries(families))("has an eye on %s", (_, { name, slots, exclusion }) => {
    const eye = slots.isCounted
      ? "the count"
      : exclusion.kind === "pin"
        ? "coins and the gateway"
        : "the gateway";
    expect(eye).toBe(eyes[name]);
  });

  it("stops first payments of Bitcoin by the gateway's word, names it in status, and resume lets them go on", () => {
    const kit = coinKit();
    const [first, coin] = [made(500_000n), made(400_000n)];
    const open = kit.released([first]);
    names(kit, [foreign(1)]);
    expect(kit.kinds().slice(-2)).toEqual(["ALARM", "PAUSED"]);
    expect(kit.records().at(-1)).toMatchObject({
      paused: true,
      approver: "gateway",
      network,
      txHashes: [hash(1)],
    });
    expect(kit.pushes).toContainEqual({
      push: "paused",
      paused: true,
      network,
      code: "CHAIN_COIN_FOREIGN",
    });
    expect(stopped(kit)).toEqual([
      expect.objectContaining({ chain: "regtest", network, txHashes: [hash(1)] }),
    ]);
    expect(kit.operate("status").status).toMatchObject({ locked: "", paused: null });
    const id = kit.order();
    expect(kit.sign(id, [coin])).toMatchObject({
      code: "NETWORK_PAUSED",
      detail: expect.stringContaining(hash(1)),
    });
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(1);
    // What is signed goes on: another attempt spends the same coin, and so does a cancel.
    const txParams = raised(kit, open, [first]);
    expect(
      kit.ask("replace", {
        transactionId: open,
        above: 1,
        txParams,
        evidence: evidenceFor(txParams, [first]),
      }).ok,
    ).toBe(true);
    kit.acknowledge();
    cancelled(kit, open);
    expect(resume(kit)).toMatchObject({ ok: true, paused: false, network: "regtest" });
    expect(stopped(kit)).toEqual([]);
    expect(kit.sign(id, [coin]).ok).toBe(true);
  });

  it("is told to the gateway, with its hash, so that it is not named again", () => {
    const kit = coinKit();
    kit.acknowledge();
    names(kit, [foreign(1)]);
    resume(kit);
    kit.acknowledge();
    const entries = kit.statements.flatMap((statement) => statement.entries);
    expect(entries).toContainEqual(
      expect.objectContaining({ kind: "alarm", code: "CHAIN_COIN_FOREIGN", locked: false }),
    );
    expect(entries).toContainEqual(
      expect.objectContaining({ kind: "paused", paused: true, network, txHashes: [hash(1)] }),
    );
    expect(entries.at(-1)).toMatchObject({ kind: "paused", paused: false, network });
  });

  it("stops once: the same one again is nothing, also after a resume and a start, and another one stops again", () => {
    const kit = coinKit();
    kit.acknowledge();
    names(kit, [foreign(1)]);
    names(kit, [foreign(1)]);
    expect(stops(kit)).toBe(1);
    resume(kit);
    kit.settle();
    kit.crash();
    kit.handshake();
    names(kit, [foreign(1)]);
    expect(stopped(kit)).toEqual([]);
    names(kit, [foreign(1), foreign(2)]);
    expect(stopped(kit)).toEqual([expect.objectContaining({ txHashes: [hash(2)] })]);
    expect(kit.kinds().filter((kind) => kind === "ALARM")).toHaveLength(2);
  });

  it("is remembered with some hundred others in a checkpoint", () => {
    const kit = coinKit();
    kit.acknowledge();
    for (let from = 1; from <= foreignKeptMax; from += 16)
      names(
        kit,
        Array.from({ length: 16 }, (_, at) => foreign(from + at)),
      );
    const { foreign: kept, stopped: networks } = kit.core.checkpoint().state;
    expect(kept).toHaveLength(foreignKeptMax);
    expect(networks).toEqual([
      expect.objectContaining({
        network,
        txHashes: expect.arrayContaining([hash(foreignKeptMax)]),
      }),
    ]);
    names(kit, [foreign(foreignKeptMax + 1)]);
    expect(kit.core.checkpoint().state.foreign).toHaveLength(foreignKeptMax);
    expect(kit.core.stops.knows(network, hash(1))).toBe(false);
  });

  it("stops by the courier's word too, once for each stop, so that it fills no disk", () => {
    const kit = coinKit();
    kit.acknowledge();
    expect(courierTells(kit, 1).ok).toBe(true);
    expect(kit.records().at(-1)).toMatchObject({
      kind: "PAUSED",
      approver: "courier",
      txHashes: [hash(1)],
    });
    for (let number = 2; number < 20; number += 1) expect(courierTells(kit, number).ok).toBe(true);
    expect(stops(kit)).toBe(1);
    expect(
      kit.ask("foreign", { chain: "nowhere", coin: `${hash(0)}:0`, txHash: hash(1) }).code,
    ).toBe("CHAIN_UNKNOWN");
  });

  const nothing: Readonly<Record<string, (kit: CoinKit) => Partial<ForeignTransaction>>> = {
    "one of its own attempts": (kit) => ({
      txHash: kit.show(kit.released([made(500_000n)])).attempts[0]!.txHash,
    }),
    "another's account": () => ({ account: hotWallet }),
    "a network that no family has": () => ({ network: "bip122:ffff" }),
    "a hash that the chain does not have": () => ({ txHash: "zz" }),
  };
  it.each(Object.entries(nothing))("is none if the gateway names %s", (_, change) => {
    const kit = coinKit();
    kit.acknowledge();
    names(kit, [foreign(1, change(kit))]);
    expect(stops(kit)).toBe(0);
    names(kit, [foreign(1)]);
    expect(stops(kit)).toBe(1);
  });

  it("stops Tron by the gateway's word", () => {
    const kit = waitingKit();
    kit.acknowledge();
    names(kit, [foreign(1, { network: tron, account: tronSender })]);
    expect(stopped(kit)).toEqual([expect.objectContaining({ network: tron })]);
    const { transactionId } = kit.request({ network: tron, address: receiver, amount: "1.5" });
    expect(kit.ask("sign", { transactionId, txParams: offerAt(kit.now) }).code).toBe(
      "NETWORK_PAUSED",
    );
    resume(kit, stopped(kit)[0]!.chain);
    expect(kit.ask("sign", { transactionId, txParams: offerAt(kit.now) }).ok).toBe(true);
  });

  it("stops nothing on EVM, where the count of transactions locks", () => {
    const kit = new Kit().ready();
    kit.acknowledge();
    names(kit, [
      foreign(1, { network: "eip155:31337", account: hotWallet, txHash: `0x${hash(1)}` }),
    ]);
    expect(stops(kit)).toBe(0);
    const { transactionId } = kit.request();
    expect(kit.ask("sign", { transactionId, txParams }).ok).toBe(true);
  });

  it("keeps an intent of before unsigned, and lets it be signed after the resume", () => {
    const kit = coinKit();
    const id = kit.order();
    kit.acknowledge();
    const coin = made(500_000n);
    const before = kit.offerOf([coin]);
    kit.sight({ coins: [{ network, account: sender, id: coin.id, units: `${coin.units}` }] });
    kit.send("sign", {
      transactionId: id,
      txParams: before,
      evidence: evidenceFor(before, [coin]),
    });
    kit.signer.pause(true, "ann", { network });
    kit.settle();
    expect(kit.kinds()).toContain("INTENT");
    expect(kit.kinds()).not.toContain("SIGNED");
    expect(resume(kit).ok).toBe(true);
    kit.settle();
    expect(kit.kinds()).toContain("SIGNED");
  });
});

describe("an operator's stop of one network", () => {
  it("holds first payments there until resume, and is no alarm", () => {
    const kit = coinKit();
    const id = kit.order();
    expect(kit.operate("pause", { paused: true, network: "regtest" })).toMatchObject({
      ok: true,
      network: "regtest",
    });
    expect(kit.kinds()).not.toContain("ALARM");
    expect(stopped(kit)).toEqual([expect.objectContaining({ approver: "ann", txHashes: [] })]);
    expect(kit.sign(id, [made(500_000n)]).code).toBe("NETWORK_PAUSED");
    expect(kit.operate("pause", { paused: true, network: "nowhere" }).code).toBe("CHAIN_UNKNOWN");
    expect(resume(kit).ok).toBe(true);
    expect(kit.sign(id, [made(500_000n)]).ok).toBe(true);
  });

  it("outlives a ledger whose newest records were cut off, by the mark beside it", () => {
    const kit = coinKit();
    kit.acknowledge();
    const kept = MemoryDisk.of(kit.disk.files);
    kit.operate("pause", { paused: true, network: "regtest" });
    expect(kit.beside.list()).toEqual([stopMarkName]);
    kit.settle();
    kit.disk = MemoryDisk.of(kept.files);
    kit.forget();
    kit.start();
    kit.settle();
    kit.handshake();
    expect(kit.core.stops.on(network)).toMatchObject({ approver: "mark" });
    resume(kit);
    kit.settle();
    expect(kit.beside.list()).toEqual([]);
  });
});
