/**
 * A final payment that moved something else than was asked for: it ends by the gateway's word and
 * the courier's together, and first payments in its currency wait until an operator resumes them.
 * Report of the kind: a token that takes a fee on transfer is paid in again and again, and its
 * withdrawals stay open permanently.
 */
import { describe, expect, it } from "vitest";
import { stopMarkName } from "../../agent/signer/runtime/stop-mark.ts";
import { listCurrencyStops } from "../../gateway/store/currency-holds.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { Kit, txParams } from "../../lab/kit/signer-kit.ts";

import { backup, restore } from "../support/recovery-offer.ts";
import { SignerAndGateway } from "../support/signer-and-gateway.ts";

const network = "eip155:31337";

interface Paid {
  readonly kit: Kit;
  readonly id: string;
  readonly txHash: string;
}

/** A payment whose bytes are released and acknowledged, and that a block holds. */
function paid(kit = new Kit().ready()): Paid {
  const { transactionId: id, attempts } = kit.pay();
  const { txHash } = attempts[0]!;
  kit.ask("observed", { transactionId: id, stage: "included", outcome: "", txHash, block: 7 });
  return { kit, id, txHash };
}

const tells = ({ kit, id, txHash }: Paid, outcome = "moved") =>
  kit.ask("observed", { transactionId: id, stage: "final", outcome, txHash, block: 7 });
/** The gateway's word alone, whatever the courier said. */
const ends = ({ kit, id }: Paid) => {
  kit.receive();
  return kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, ended: [id] }));
};
const isOver = ({ kit, id }: Paid): boolean => kit.show(id).isOver;
const signs = (kit: Kit, currency = "usdt"): string =>
  kit.ask("sign", {
    transactionId: kit.request({ currency, amount: "0.5" }).transactionId,
    txParams,
  }).code ?? "signed";
const resume = (kit: Kit, currency = "usdt") => kit.operate("pause", { paused: false, currency });
const stopped = (kit: Kit) => kit.operate("status").status.stopped ?? [];
const pauses = (kit: Kit): number => kit.kinds().filter((kind) => kind === "PAUSED").length;

describe("a final payment that moved something else", () => {
  it("stops first payments in its currency alone, and resume lets them go on", () => {
    const one = paid();
    const { kit, txHash } = one;
    expect(tells(one)).toMatchObject({ ok: true, withdrawal: { state: "moved" } });
    expect(kit.kinds().slice(-3)).toEqual(["ALARM", "PAUSED", "OBSERVED"]);
    expect(kit.records().at(-2)).toMatchObject({
      approver: "courier",
      network,
      currency: "usdt",
      txHashes: [txHash],
    });
    const code = "CURRENCY_MOVES_OTHERWISE";
    expect(kit.pushes).toContainEqual({
      push: "paused",
      paused: true,
      network,
      currency: "usdt",
      code,
    });
    expect(stopped(kit)).toEqual([
      expect.objectContaining({ chain: "local", currency: "usdt", txHashes: [txHash] }),
    ]);
    expect([signs(kit), signs(kit, "eth")]).toEqual([code, "signed"]);
    kit.acknowledge();
    expect(resume(kit)).toMatchObject({ ok: true, paused: false, currency: "usdt" });
    expect(kit.pushes).toContainEqual({
      push: "paused",
      paused: false,
      network,
      currency: "usdt",
      code,
    });
    expect([signs(kit), stopped(kit)]).toEqual(["signed", []]);
    kit.receive();
    const entries = kit.statements
      .flatMap((statement) => statement.entries)
      .filter(({ kind }) => kind === "paused");
    expect(entries).toEqual([
      expect.objectContaining({ paused: true, network, currency: "usdt", txHashes: [txHash] }),
      expect.objectContaining({ paused: false, network, currency: "usdt" }),
    ]);
  });

  it("has paid like one that paid exactly: nothing stops", () => {
    const one = paid();
    expect(tells(one, "paid").ok).toBe(true);
    expect([pauses(one.kit), signs(one.kit)]).toEqual([0, "signed"]);
  });

  it("is over by both words, in either order, and by neither alone", () => {
    const courierFirst = paid();
    tells(courierFirst);
    expect(isOver(courierFirst)).toBe(false);
    expect(ends(courierFirst).ok).toBe(true);
    expect(isOver(courierFirst)).toBe(true);
    const gatewayFirst = paid();
    expect(ends(gatewayFirst).ok).toBe(true);
    expect(isOver(gatewayFirst)).toBe(false);
    expect(
      gatewayFirst.kit
        .ask("hello")
        .open.map(({ transactionId }: { transactionId: string }) => transactionId),
    ).toContain(gatewayFirst.id);
    tells(gatewayFirst);
    expect(isOver(gatewayFirst)).toBe(true);
  });

  it("counts against the limits as what was asked for, before its end and after it", () => {
    const used = (kit: Kit) =>
      kit.operate("status").status.limits.find(({ currency }) => currency === "usdt")?.usedInDay;
    const one = paid();
    const before = used(one.kit);
    tells(one);
    expect(used(one.kit)).toBe(before);
    ends(one);
    expect([isOver(one), used(one.kit)]).toEqual([true, before]);
  });

  it("is a claim that another replaces until the gateway has confirmed an end", () => {
    const one = paid();
    tells(one);
    expect(tells(one, "paid")).toMatchObject({ ok: true, withdrawal: { state: "paid" } });
    tells(one);
    ends(one);
    expect(tells(one, "paid")).toMatchObject({ ok: false, code: "WITHDRAWAL_CLOSED" });
  });

  it("stops nothing by a transaction that is none of its attempts", () => {
    const one = paid();
    expect(tells({ ...one, txHash: `0x${"ab".repeat(32)}` }).code).toBe(
      "WITHDRAWAL_OTHER_TRANSACTION",
    );
    expect([pauses(one.kit), signs(one.kit)]).toEqual([0, "signed"]);
  });

  it("stops its currency once: sent a second time after a resume it is the same end, and another one stops it again", () => {
    const one = paid();
    tells(one);
    resume(one.kit);
    tells(one);
    expect([pauses(one.kit), stopped(one.kit)]).toEqual([2, []]);
    const next = paid(one.kit);
    tells(next);
    expect(stopped(one.kit)).toEqual([
      expect.objectContaining({ currency: "usdt", txHashes: [next.txHash] }),
    ]);
  });
});

describe("a stopped currency", () => {
  it("stays so over a restart and in a checkpoint", () => {
    const one = paid();
    tells(one);
    one.kit.settle();
    one.kit.crash();
    one.kit.handshake();
    expect(signs(one.kit)).toBe("CURRENCY_MOVES_OTHERWISE");
    expect(one.kit.core.checkpoint().state.stopped).toEqual([
      expect.objectContaining({ network, currency: "usdt", txHashes: [one.txHash] }),
    ]);
  });

  it("stays so with a ledger that lost the record, by the mark beside it, until it is resumed", () => {
    const one = paid();
    const { kit } = one;
    kit.acknowledge();
    const kept = MemoryDisk.of(kit.disk.files);
    tells(one);
    kit.settle();
    expect(kit.beside.list()).toEqual([stopMarkName]);
    kit.disk = MemoryDisk.of(kept.files);
    kit.forget();
    kit.start();
    kit.settle();
    kit.handshake();
    expect(stopped(kit)).toEqual([
      expect.objectContaining({ approver: "mark", network, currency: "usdt", txHashes: [] }),
    ]);
    expect(signs(kit)).toBe("CURRENCY_MOVES_OTHERWISE");
    resume(kit);
    kit.settle();
    expect([signs(kit), kit.beside.list()]).toEqual(["signed", []]);
  });

  it("stays so in a recovered ledger, which tells the gateway of it again", () => {
    const both = new SignerAndGateway();
    try {
      const { kit, store } = both;
      const id = both.pay("one");
      const { txHash } = kit.show(id).attempts[0]!;
      expect(tells({ kit, id, txHash }).ok).toBe(true);
      both.acknowledge();
      const place = { network, currency: "usdt" };
      expect(listCurrencyStops(store.database, 9)).toEqual([expect.objectContaining(place)]);
      const copy = backup(kit);
      both.order("two");
      both.acknowledge();
      restore(kit, copy);
      both.connect();
      both.recover();
      both.acknowledge();
      expect(kit.core.stops.on(network, "usdt")).toMatchObject({ ...place, txHashes: [txHash] });
      expect(listCurrencyStops(store.database, 9)).toEqual([expect.objectContaining(place)]);
    } finally {
      both.remove();
    }
  });

  it("is not the network's stop: each goes on by its own resume", () => {
    const one = paid();
    tells(one);
    one.kit.operate("pause", { paused: true, network: "local" });
    expect(signs(one.kit)).toBe("NETWORK_PAUSED");
    one.kit.operate("pause", { paused: false, network: "local" });
    expect(signs(one.kit)).toBe("CURRENCY_MOVES_OTHERWISE");
    one.kit.operate("pause", { paused: true, network: "local" });
    resume(one.kit);
    expect(signs(one.kit)).toBe("NETWORK_PAUSED");
  });

  it("is resumed by its id: one that is not stopped is harmless, one that is not known is refused, and none is paused", () => {
    const { kit } = paid();
    expect(resume(kit, "eth")).toMatchObject({ ok: true, paused: false });
    expect(resume(kit, "gold").code).toBe("POLICY_CURRENCY_UNKNOWN");
    expect(kit.operate("pause", { paused: true, currency: "usdt" }).code).toBe("SOCKET_VERB");
    expect(pauses(kit)).toBe(0);
  });
});
