/**
 * A ledger that somebody without encKey wrote into while crypto was down: every shape of a forged
 * tail is refused at the start, naming file and line, however it is closed. The twin of each is
 * written with the wallet's own key and opens; what policy would not have let through stays
 * unsigned even then.
 */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { assertPairingMac, pairingMacText } from "../../agent/ledger/pairing-mac.ts";
import type { LedgerRecord, RecordBody } from "../../agent/ledger/records.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { outsidersSeal, testSeal } from "../../lab/kit/ledger-seal.ts";
import { settings, shop, txParams } from "../../lab/kit/signer-kit.ts";
import { jobHashOf } from "../../protocol/identity.ts";
import {
  approved,
  attacker,
  ether,
  faultOf,
  intent,
  inventedJob,
  paidBefore,
  started,
  type World,
} from "../support/forged-records.ts";
import { closings, firstSegment, forge, linesIn, withLines } from "../support/forger.ts";
import { codeOf } from "../support/memory-ledger.ts";

const ninety = 90n * ether;

interface Shape {
  readonly name: string;
  readonly forged: (world: World) => readonly RecordBody[];
  /**
   * The twin after a handshake: the number of withdrawals that it signs, and the codes of those
   * that are held on their slot.
   */
  readonly signed: number;
  readonly quarantined: readonly string[];
}

const shapes: readonly Shape[] = [
  {
    name: "a held withdrawal approved and assigned, to the attacker",
    forged: ({ held }) => [
      approved(held, attacker, (3n * ether) / 2n),
      intent(held, attacker, (3n * ether) / 2n),
    ],
    ...{ signed: 0, quarantined: ["POLICY_NOT_AS_APPROVED"] },
  },
  {
    name: "a held withdrawal approved and assigned, 90 ETH in the place of 1.5",
    forged: ({ held }) => [approved(held, shop, ninety), intent(held, shop, ninety)],
    ...{ signed: 0, quarantined: ["POLICY_NOT_AS_APPROVED"] },
  },
  {
    name: "a held withdrawal approved as it was asked for, and bound",
    forged: ({ held }) => [
      approved(held, shop, (3n * ether) / 2n),
      intent(held, shop, (3n * ether) / 2n),
    ],
    ...{ signed: 1, quarantined: [] },
  },
  {
    name: "a held manual withdrawal, paid to the forger",
    forged: ({ manual }) => [
      approved(manual, attacker, (3n * ether) / 2n),
      intent(manual, attacker, (3n * ether) / 2n),
    ],
    ...{ signed: 1, quarantined: [] },
  },
  {
    name: "an invented job, approved and assigned",
    forged: (world) => {
      const { transactionId, sequence, job } = inventedJob(world);
      const jobHash = jobHashOf(job);
      return [
        { kind: "REQUESTED", transactionId, sequence, jobHash, job, signature: "00".repeat(64) },
        approved(transactionId, attacker, ninety, "policy"),
        intent(transactionId, attacker, ninety),
      ];
    },
    // The gateway knows of no such job, and does not complete the handshake with an agent with one
    // more job than it gave out.
    ...{ signed: 0, quarantined: [] },
  },
  {
    name: "an approval alone, for the courier to have signed",
    forged: ({ held }) => [approved(held, attacker, (3n * ether) / 2n)],
    ...{ signed: 0, quarantined: [] },
  },
  {
    name: "a refusal, so that a payment never happens",
    forged: ({ held }) => [
      {
        kind: "REFUSED",
        transactionId: held,
        by: "operator",
        approver: "ann",
        code: "OPERATOR_REFUSED",
      },
    ],
    ...{ signed: 0, quarantined: [] },
  },
  {
    name: "a lock",
    forged: () => [{ kind: "LOCKED", code: "LEDGER_FORKED", detail: "" }],
    signed: 0,
    quarantined: [],
  },
];

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const signedIn = (records: readonly LedgerRecord[]): number =>
  records.filter(({ kind }) => kind === "SIGNED").length;

describe.each(shapes)("$name", ({ forged, signed, quarantined }) => {
  it.each(closings)(
    "a forged ledger is refused with %s, naming the first forged line",
    (closing) => {
      const world = paidBefore();
      const { disk } = world.kit;
      const line = linesIn(disk).length + 1;
      const fault = faultOf(() => started(world, forge(disk, forged(world), closing)));
      expect(fault).toMatchObject({ code: "LEDGER_FORGED", context: { file: firstSegment, line } });
      // Everybody may check the chain, and the chain is complete, but its author stays unknown.
      expect(codeOf(() => verifyLedger(forge(disk, forged(world), closing), null))).toBe("");
      expect(codeOf(() => verifyLedger(forge(disk, forged(world), closing), testSeal))).toBe(
        "LEDGER_FORGED",
      );
    },
  );

  it.each(closings)(
    "a forged write of several lines is refused with %s, naming the line with the MAC",
    (closing) => {
      const world = paidBefore();
      const { disk } = world.kit;
      const one = forge(disk, forged(world), closing, { isOne: true });
      const line = linesIn(one).length;
      expect(faultOf(() => started(world, one))).toMatchObject({
        code: "LEDGER_FORGED",
        context: { file: firstSegment, line },
      });
      expect(codeOf(() => verifyLedger(one, testSeal))).toBe("LEDGER_FORGED");
      const twin = forge(disk, forged(world), "the wallet's own key", { isOne: true });
      expect(verifyLedger(twin, testSeal).records).toBe(line);
    },
  );

  it("forged lines without any MAC count for nothing: they are cut off and kept aside like a torn write", () => {
    const world = paidBefore();
    const { disk } = world.kit;
    const lines = linesIn(forge(disk, forged(world), "the wallet's own key", { isOne: true }));
    const open = withLines(disk, [
      ...lines.slice(0, -1),
      (lines.at(-1) ?? "").replace(/","mac":"[0-9a-f]{64}"}$/, '"}'),
    ]);
    for (const seal of [null, testSeal])
      expect(verifyLedger(open, seal)).toMatchObject({ records: linesIn(disk).length });
    const again = started(world, open);
    expect(again.records().slice(0, world.kit.records().length)).toEqual(world.kit.records());
    expect(signedIn(again.records())).toBe(signedIn(world.kit.records()));
    expect([...again.disk.files.keys()].filter((name) => name.startsWith("torn-"))).toHaveLength(1);
  });

  it("a forged ledger opens when the wallet's own key closed it, and is judged again all the same", () => {
    const world = paidBefore();
    const again = started(world, forge(world.kit.disk, forged(world), "the wallet's own key"));
    const records = again.records();
    expect(signedIn(records) - signedIn(world.kit.records())).toBe(signed);
    const heldOnSlot = records.slice(world.kit.records().length + forged(world).length);
    expect(heldOnSlot.flatMap((record) => (record.kind === "HELD" ? [record.code] : []))).toEqual(
      quarantined,
    );
    for (const withdrawal of again.core.book.open()) {
      if (quarantined.length > 0 && withdrawal.slot === "6")
        expect(withdrawal.state).toBe("quarantined");
    }
  });
});

describe("a record of the wallet's own key that policy would not have written", () => {
  const half = (3n * ether) / 2n;

  it("is no approval to sign by: the courier asks in vain", () => {
    const world = paidBefore();
    const { held } = world;
    for (const [address, units, code] of [
      [attacker, half, "POLICY_NOT_AS_APPROVED"],
      [shop, ninety, "POLICY_NOT_AS_APPROVED"],
    ] as const) {
      const again = started(
        world,
        forge(world.kit.disk, [approved(held, address, units)], "the wallet's own key"),
      );
      expect(again.ask("sign", { transactionId: held, txParams })).toMatchObject({
        ok: false,
        code,
      });
    }
    const again = started(
      world,
      forge(world.kit.disk, [approved(held, shop, half)], "the wallet's own key"),
    );
    expect(again.ask("sign", { transactionId: held, txParams })).toMatchObject({ ok: true });
  });

  it("stands quarantined on its slot, an operator's yes to it is refused, and nothing above it is signed", () => {
    const world = paidBefore();
    const forged = [approved(world.held, attacker, half), intent(world.held, attacker, half)];
    const again = started(world, forge(world.kit.disk, forged, "the wallet's own key"));
    const view = again.show(world.held);
    expect(view).toMatchObject({ state: "quarantined", code: "POLICY_NOT_AS_APPROVED", slot: "6" });
    const yes = { transactionId: world.held, digest: view.approvalDigest, address: "" };
    expect(again.operate("approve", yes)).toMatchObject({
      ok: false,
      code: "POLICY_NOT_AS_APPROVED",
    });
    const { transactionId } = again.request({ orderId: "after" });
    expect(again.ask("sign", { transactionId, txParams })).toMatchObject({
      ok: false,
      code: "ACCOUNT_WAITS",
    });
    expect(again.pushes).toContainEqual(
      expect.objectContaining({
        push: "changed",
        withdrawal: expect.objectContaining({ state: "quarantined" }),
      }),
    );
    expect(signedIn(again.records())).toBe(signedIn(world.kit.records()));
  });

  it.each([
    [
      "a limit of one payment that fell",
      { eth: { ...settings.policy.eth!, maxPerWithdrawal: "1" } },
      "POLICY_ABOVE_WITHDRAWAL",
    ],
    [
      "a ceiling of fees that fell",
      { eth: { ...settings.policy.eth!, maxFee: "0.00001" } },
      "POLICY_FEE_ABOVE_WITHDRAWAL",
    ],
    [
      "a list that has its address now",
      { eth: { ...settings.policy.eth!, deny: [shop] } },
      "POLICY_DENIED",
    ],
    ["a currency without a policy", {}, "POLICY_NONE"],
  ])("is judged by the rules of today: %s", (_, policy, code) => {
    const world = paidBefore();
    const bound = [approved(world.held, shop, half), intent(world.held, shop, half)];
    const disk = forge(world.kit.disk, bound, "the wallet's own key");
    const again = started(world, disk, {
      ...settings,
      policy: { usdt: settings.policy.usdt!, ...policy },
    });
    expect(again.show(world.held)).toMatchObject({ state: "quarantined", code });
    expect(started(world, disk).show(world.held).state).toBe("signed");
  });
});

describe("a line that was there", () => {
  it.each(closings)(
    "a changed line, with all behind it chained again and %s, is refused where it stands",
    (closing) => {
      const world = paidBefore();
      const { disk } = world.kit;
      const records = world.kit.records();
      const at = records.findIndex(({ kind }) => kind === "SIGNED");
      const bodies = records.slice(at).map((record): RecordBody => {
        const { seq: _seq, prev: _prev, at: _at, hash: _hash, ...body } = record;
        return body.kind === "SIGNED"
          ? { ...body, raw: `0x02${"00".repeat(100)}` }
          : (body as RecordBody);
      });
      const changed = forge(disk, bodies, closing, { kept: at });
      expect(codeOf(() => verifyLedger(changed, null))).toBe("");
      expect(faultOf(() => started(world, changed))).toMatchObject({
        ...{ code: "LEDGER_FORGED", context: { file: firstSegment, line: at + 1 } },
      });
      expect(
        codeOf(() => started(world, forge(disk, bodies, "the wallet's own key", { kept: at }))),
      ).toBe("");
    },
  );

  it("a line resealed by another key is refused from the first one on", () => {
    const world = paidBefore();
    const lines = linesIn(world.kit.disk).map((line) => {
      const { hash, mac } = JSON.parse(line) as { readonly hash: string; readonly mac?: string };
      return mac === undefined ? line : line.replace(mac, outsidersSeal.macOf(hash));
    });
    const fault = faultOf(() => started(world, withLines(world.kit.disk, lines)));
    expect(fault).toMatchObject({
      code: "LEDGER_FORGED",
      context: { file: firstSegment, line: 1 },
    });
    expect(codeOf(() => started(world, withLines(world.kit.disk, linesIn(world.kit.disk))))).toBe(
      "",
    );
  });

  it("a line of another place brings its MAC in vain", () => {
    const world = paidBefore();
    const lines = linesIn(world.kit.disk);
    const doubled = withLines(world.kit.disk, [...lines, lines[3] as string]);
    expect(faultOf(() => started(world, doubled)).code).toBe("LEDGER_DAMAGED");
  });

  it("and is replaced by others is refused at the first of them", () => {
    const world = paidBefore();
    const { disk } = world.kit;
    const kept = linesIn(disk).length - 4;
    const bodies = [approved(world.held, attacker, ninety), intent(world.held, attacker, ninety)];
    for (const closing of closings) {
      const fault = faultOf(() => started(world, forge(disk, bodies, closing, { kept })));
      expect(fault).toMatchObject({ code: "LEDGER_FORGED", context: { line: kept + 1 } });
    }
  });
});

describe("signed bytes", () => {
  it("stand in no file before they are released, and not after", () => {
    const { kit, paid } = paidBefore();
    const [attempt] = kit.show(paid).attempts;
    const raw = attempt?.raw ?? "";
    expect(raw).toMatch(/^0x02/);
    const isOnDisk = (text: string): boolean =>
      [...kit.disk.files.values()].some((bytes) => Buffer.from(bytes).includes(text));
    expect(isOnDisk(attempt?.txHash ?? "")).toBe(true);
    expect(isOnDisk(raw.slice(2))).toBe(false);
    expect(isOnDisk(raw.slice(-120))).toBe(false); // r and s; the rest stands in INTENT.
  });

  it("open in their own place only", () => {
    const bytes = Buffer.from("signed");
    const box = testSeal.box("record 7", bytes);
    expect(Buffer.from(testSeal.open("record 7", box) ?? []).equals(bytes)).toBe(true);
    expect(testSeal.open("record 8", box)).toBeNull();
    expect(outsidersSeal.open("record 7", box)).toBeNull();
    for (let at = 0; at < box.length; at++) {
      const changed = Uint8Array.from(box);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(testSeal.open("record 7", changed)).toBeNull();
      expect(testSeal.open("record 7", box.subarray(0, at))).toBeNull();
    }
    // Two contents at one place, as a restored ledger may write them, never share a nonce.
    const nonceOf = (sealed: Uint8Array): string =>
      Buffer.from(sealed.subarray(0, 12)).toString("hex");
    expect(nonceOf(testSeal.box("record 7", Buffer.from("other!")))).not.toBe(nonceOf(box));
  });
});

describe("a checkpoint", () => {
  /** A ledger of two segments, the second begun by the signer itself. */
  function rotated(): World & { readonly file: string; readonly segment: string } {
    const world = paidBefore({ segmentBytesMax: 2_000 });
    world.kit.signer.tick();
    world.kit.settle();
    const names = world.kit.disk.list();
    const file = names.filter((name) => name.startsWith("checkpoint-")).at(-1) ?? "";
    const segment = names.filter((name) => name.endsWith(".jsonl")).at(-1) ?? "";
    return { ...world, file, segment };
  }

  it("hides what is in it, and opens", () => {
    const world = rotated();
    const bytes = Buffer.from(world.kit.disk.files.get(world.file) ?? []);
    expect(bytes.length).toBeGreaterThan(1_000);
    expect(bytes.includes(shop)).toBe(false);
    expect(started(world, world.kit.disk).show(world.held).state).toBe("held");
  });

  const beginnings = [
    { kind: "CHECKPOINT" as const },
    {
      ...{
        kind: "RECOVERED" as const,
        order: "ab".repeat(32),
        ledgerEpoch: 2,
        bothRestored: true,
        held: { seq: 0, hash: "0".repeat(64) },
      },
      ...{ sequence: 0, jobHash: "0".repeat(64) },
    },
  ];
  const replacing = beginnings.flatMap((beginning) =>
    closings.map((closing) => [beginning.kind, closing, beginning] as const),
  );

  it.each(replacing)(
    "a replaced checkpoint, with a %s of its own and %s, is refused",
    (_kind, closing, beginning) => {
      const world = rotated();
      const { disk } = world.kit;
      const box =
        closing === "a MAC of another key"
          ? outsidersSeal.box("anywhere", Buffer.from("{}"))
          : Buffer.from("{}");
      const sha256 = sha256Of(box);
      const [first = ""] = linesIn(disk, world.segment);
      const { seq, prev, at } = JSON.parse(first) as LedgerRecord;
      const before = withLines(disk, [...linesIn(disk)], firstSegment);
      const chained = forge(
        before,
        [{ ...beginning, file: world.file, sha256, closed: [], paid: [] }],
        closing,
      );
      const line = linesIn(chained).at(-1) ?? "";
      expect(JSON.parse(line)).toMatchObject({ seq, prev, at });
      const replaced = MemoryDisk.of([
        ...disk.files,
        [world.file, box] as const,
        [world.segment, Buffer.from(`${line}\n`)] as const,
      ]);
      expect(faultOf(() => started(world, replaced))).toMatchObject({
        ...{ code: "LEDGER_FORGED", context: { file: world.segment, line: 1 } },
      });
    },
  );

  it("sealed by the same key for another place does not open", () => {
    const world = rotated();
    const { disk } = world.kit;
    const box = testSeal.box("anywhere", Buffer.from("{}"));
    const chained = forge(
      disk,
      [{ kind: "CHECKPOINT", file: world.file, sha256: sha256Of(box), closed: [], paid: [] }],
      "the wallet's own key",
    );
    const line = linesIn(chained).at(-1) ?? "";
    const moved = MemoryDisk.of([
      ...disk.files,
      [world.file, box] as const,
      [world.segment, Buffer.from(`${line}\n`)] as const,
    ]);
    expect(faultOf(() => started(world, moved))).toMatchObject({
      code: "LEDGER_FORGED",
      context: { file: world.file },
    });
  });

  it("a change of only the checkpoint is damage, as before", () => {
    const world = rotated();
    const bytes = Uint8Array.from(world.kit.disk.files.get(world.file) ?? []);
    bytes[200] = (bytes[200] ?? 0) ^ 1;
    const changed = MemoryDisk.of([...world.kit.disk.files, [world.file, bytes] as const]);
    expect(faultOf(() => started(world, changed)).code).toBe("LEDGER_DAMAGED");
  });
});

describe("pairing.json", () => {
  const agreed = {
    version: 1,
    step: "registered",
    wallet: { wallet: "aa" },
    granted: { gatewayKey: "22".repeat(32) },
  };
  const bytesOf = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));
  const word = testSeal.wordOf(pairingMacText(agreed));
  const check = (value: object): string =>
    codeOf(() => assertPairingMac(testSeal, bytesOf(value), "pairing.json"));

  it("is taken with its own word, however far pairing came", () => {
    expect(check({ ...agreed, word })).toBe("");
    expect(check({ ...agreed, step: "scrubbed", word })).toBe("");
  });

  it.each([
    ["another gateway's key", { ...agreed, granted: { gatewayKey: "33".repeat(32) }, word }],
    ["another wallet", { ...agreed, wallet: { wallet: "bb" }, word }],
    ["one member more", { ...agreed, more: 1, word }],
    ["no word", agreed],
    ["an empty word", { ...agreed, word: "" }],
    ["the word of another key", { ...agreed, word: outsidersSeal.wordOf(pairingMacText(agreed)) }],
  ])("is refused with %s", (_, changed) => {
    expect(check(changed)).toBe("PAIRING_FORGED");
  });

  it("is refused when it is none", () => {
    expect(codeOf(() => assertPairingMac(testSeal, Buffer.from("{"), "pairing.json"))).toBe(
      "PAIRING_FORGED",
    );
  });
});
