/**
 * A ledger whose newest records were cut off before the gateway held them: the mark in the state
 * folder keeps a pause and a lock of these records. The mark goes with `resume`.
 */
import { describe, expect, it } from "vitest";
import { stopMarkName } from "../../agent/signer/rim/stop-mark.ts";
import { MemoryDisk } from "../../lab/rig/ledger-disk.ts";
import { facts, Rig } from "../../lab/rig/signer-rig.ts";

/** The ledger as it was when `kept` was taken, in a state folder of now. */
function startsFrom(rig: Rig, kept: MemoryDisk): void {
  rig.settle();
  rig.disk = MemoryDisk.of(kept.files);
  rig.forget();
  rig.start();
  rig.settle();
  rig.greet();
}

/** Approved and unsigned, all of it acknowledged, with a copy of the ledger. */
function beforeTheStop(): { readonly rig: Rig; readonly kept: MemoryDisk; readonly transactionId: string } {
  const rig = new Rig().ready();
  const { transactionId } = rig.request();
  rig.acknowledge();
  return { rig, kept: MemoryDisk.of(rig.disk.files), transactionId };
}

const signs = ({ rig, transactionId }: { readonly rig: Rig; readonly transactionId: string }): string =>
  rig.ask("sign", { transactionId, facts }).code ?? "signed";

describe("a pause whose record was cut off", () => {
  it("a pause whose record was cut off holds after a start, under the same name, until a person lets signing go on", () => {
    const world = beforeTheStop();
    const { rig, kept } = world;
    rig.operate("pause", { paused: true });
    startsFrom(rig, kept);
    expect(signs(world)).toBe("SIGNER_PAUSED");
    expect(rig.records().at(-1)).toMatchObject({ kind: "PAUSED", paused: true, approver: "ann" });
    expect(rig.operate("pause", { paused: false }).ok).toBe(true);
    expect(signs(world)).toBe("signed");
  });

  it("a pause whose record was cut off is not there after `resume`, whose record the ledger holds", () => {
    const world = beforeTheStop();
    const { rig, kept } = world;
    rig.operate("pause", { paused: true });
    expect(rig.beside.list()).toEqual([stopMarkName]);
    rig.operate("pause", { paused: false });
    rig.settle();
    expect(rig.beside.list()).toEqual([]);
    startsFrom(rig, kept);
    expect(signs(world)).toBe("signed");
  });

  it("a pause whose record was cut off is marked before its record is on disk, and the mark outlives a `resume` that is not", () => {
    const { rig } = beforeTheStop();
    rig.signer.pause(true, "ann");
    rig.crash();
    rig.settle();
    expect(rig.core.paused?.approver).toBe("ann");
    rig.greet();
    rig.signer.pause(false, "ann");
    expect(rig.beside.list()).toEqual([stopMarkName]);
    rig.crash();
    expect(rig.core.paused?.approver).toBe("ann");
  });

  it.each(["", "not json", '{"paused":7}', '{"paused":"","isLocked":"no"}'])(
    "a pause whose record was cut off holds by a mark that says %j",
    (text) => {
      const world = beforeTheStop();
      const { rig, kept } = world;
      rig.beside.create(stopMarkName, Buffer.from(text));
      startsFrom(rig, kept);
      expect(signs(world)).toBe("SIGNER_PAUSED");
    },
  );
});

describe("a lock whose record was cut off", () => {
  it("a lock whose record was cut off holds after a start, and without the mark the ledger knows nothing of it", () => {
    const world = beforeTheStop();
    const { rig, kept } = world;
    rig.beside.create(stopMarkName, Buffer.from('{"paused":"","isLocked":true}\n'));
    startsFrom(rig, kept);
    expect(signs(world)).toBe("SIGNER_LOCKED");
    expect(rig.core.locked?.code).toBe("CHAIN_SLOT_FOREIGN");
    const other = beforeTheStop();
    startsFrom(other.rig, other.kept);
    expect(signs(other)).toBe("signed");
  });

  it("a lock whose record was cut off is in the mark when the signer finds a foreign spend", () => {
    const { rig } = beforeTheStop();
    const counts = () => rig.ask("account", { chain: "local", slot: "9", witnesses: 2 });
    counts();
    rig.now += 61_000;
    expect(counts().code).toBe("SIGNER_LOCKED");
    expect(Buffer.from(rig.beside.read(stopMarkName, 0, 1_024)).toString()).toContain('"isLocked":true');
  });
});
