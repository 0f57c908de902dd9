/**
 * The beginning of an account of XRP, over the stand-in for rippled: its first sequence is the
 * number of the ledger that made it, no ledger takes one below (a vector of the ledger's own rule),
 * and nodes that lack those ledgers say nothing.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readBlob } from "../../lab/xrp-node/transaction.ts";
import { openLab, type XrpLab, xrpOf } from "./xrp-lab.ts";
import { owner, paymentOf, type SignedXrp, sign } from "./xrp-wallet.ts";

let lab: XrpLab;
beforeEach(async () => {
  lab = await openLab();
});
afterEach(() => lab.close());

const late = owner("a late payer");

/** An account that a payment made in a ledger far above the first, and the ledger's number. */
async function made(): Promise<number> {
  lab.node.closeLedgers(10);
  lab.validate(lab.sign(lab.payment({ destination: late.address, amountUnits: xrpOf(30) })));
  const { index } = lab.node.chain.head;
  lab.node.closeLedgers(3);
  return index;
}

const signed = (slot: string, feeDrops = "12"): SignedXrp =>
  sign(late, paymentOf(late, { slot }), {
    feeDrops,
    lastLedger: `${lab.node.chain.head.index + 20}`,
  });
const engineOf = ({ raw }: SignedXrp): string =>
  lab.node.chain.open.submit(readBlob(raw.slice(2)), 0n).result;
const judged = (slot: string, one: SignedXrp) => lab.judged(paymentOf(late, { slot }), [one]);

describe("the beginning of an account", () => {
  it("is the ledger that made it, for courier and gateway, and holds when it has paid", async () => {
    const first = await made();
    const began = { slot: `${first}`, absentMs: expect.any(Number) };
    expect(await lab.sender.began?.(late.address)).toEqual(began);
    lab.validate(signed(`${first}`));
    const other = lab.open(lab.node.urls);
    expect(await other.began?.(late.address)).toEqual(began);
    const absent = await other.began?.(late.address);
    expect(absent!.absentMs).toBeLessThanOrEqual((await lab.watcher.timestamp(first)) * 1_000);
  });

  it("no ledger takes a sequence below it: the ledger's own answer, before and after a payment of the account", async () => {
    const first = await made();
    for (const slot of ["1", `${first - 1}`]) expect(engineOf(signed(slot))).toBe("tefPAST_SEQ");
    lab.validate(signed(`${first}`));
    for (const slot of ["1", `${first - 1}`, `${first}`])
      expect(engineOf(signed(slot, "20"))).toBe("tefPAST_SEQ");
    expect(engineOf(signed(`${first + 1}`))).toBe("tesSUCCESS");
  });

  it("a payment below it is judged unreachable, and one whose slot is used for all nodes know is not", async () => {
    const first = await made();
    const below = signed(`${first - 1}`);
    expect(await judged(`${first - 1}`, below)).toEqual({
      kind: "unreachable",
      absentMs: expect.any(Number),
      detail: expect.stringContaining(`began at ${first}`),
    });
    expect(await judged(`${first}`, signed(`${first}`))).toEqual({ kind: "waiting" });
    const foreign = signed(`${first}`, "40");
    lab.validate(foreign);
    const mine = signed(`${first}`, "12");
    expect(await judged(`${first}`, mine)).not.toMatchObject({ kind: "unreachable" });
  });

  it("is said by nobody while a node has not the ledger before it, nor of an account that is none", async () => {
    const first = await made();
    lab.node.closeLedgers(5);
    const pruned = { holes: [{ from: 0, to: first - 1 }] };
    lab.suffer(pruned, pruned);
    const sender = lab.open(lab.node.urls);
    expect(await sender.began?.(late.address)).toBeNull();
    const below = signed(`${first - 1}`);
    expect(await judged(`${first - 1}`, below)).toMatchObject({
      kind: "stuck",
      code: "WATCHER_SLOT_CONSUMED",
    });
    lab.suffer(pruned, {});
    expect(await sender.began?.(late.address)).toBeNull();
    // What such nodes list as the oldest may be any transaction of the account.
    lab.validate(signed(`${first}`));
    const unlisted = { holes: [{ from: 0, to: first }] };
    lab.suffer(unlisted, unlisted);
    expect(await sender.began?.(late.address)).toBeNull();
    lab.suffer({}, {});
    expect(await sender.began?.(late.address)).toMatchObject({ slot: `${first}` });
    expect(await sender.began?.(owner("an outsider").address)).toBeNull();
  });
});
