/**
 * A ledger whose newest records were cut off before the gateway held them: the mark in the state
 * folder keeps a pause and a lock of these records. The mark goes with `resume`.
 */
import { describe, expect, it } from "vitest";
import { stopMarkName } from "../../agent/signer/runtime/stop-mark.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { Kit, txParams } from "../../lab/kit/signer-kit.ts";

/** The ledger as it was when `kept` was taken, in a state folder of now. */
function startsFrom(kit: Kit, kept: MemoryDisk): void {
  kit.settle();
  kit.disk = MemoryDisk.of(kept.files);
  kit.forget();
  kit.start();
  kit.settle();
  kit.handshake();
}

/** Approved and unsigned, all of it acknowledged, with a copy of the ledger. */
function beforeTheStop(): {
  readonly kit: Kit;
  readonly kept: MemoryDisk;
  readonly transactionId: string;
} {
  const kit = new Kit().ready();
  const { transactionId } = kit.request();
  kit.acknowledge();
  return { kit, kept: MemoryDisk.of(kit.disk.files), transactionId };
}

const signs = ({
  kit,
  transactionId,
}: {
  readonly kit: Kit;
  readonly transactionId: string;
}): string => kit.ask("sign", { transactionId, txParams }).code ?? "signed";

describe("a pause whose record was cut off", () => {
  it("holds after a start, under the same name, until an operator lets signing go on", () => {
    const world = beforeTheStop();
    const { kit, kept } = world;
    kit.operate("pause", { paused: true });
    startsFrom(kit, kept);
    expect(signs(world)).toBe("SIGNER_PAUSED");
    expect(kit.records().at(-1)).toMatchObject({ kind: "PAUSED", paused: true, approver: "ann" });
    expect(kit.operate("pause", { paused: false }).ok).toBe(true);
    expect(signs(world)).toBe("signed");
  });

  it("is not there after `resume`, whose record the ledger holds", () => {
    const world = beforeTheStop();
    const { kit, kept } = world;
    kit.operate("pause", { paused: true });
    expect(kit.beside.list()).toEqual([stopMarkName]);
    kit.operate("pause", { paused: false });
    kit.settle();
    expect(kit.beside.list()).toEqual([]);
    startsFrom(kit, kept);
    expect(signs(world)).toBe("signed");
  });

  it("is marked before its record is on disk, and the mark outlives a `resume` that is not", () => {
    const { kit } = beforeTheStop();
    kit.signer.pause(true, "ann");
    kit.crash();
    kit.settle();
    expect(kit.core.paused?.approver).toBe("ann");
    kit.handshake();
    kit.signer.pause(false, "ann");
    expect(kit.beside.list()).toEqual([stopMarkName]);
    kit.crash();
    expect(kit.core.paused?.approver).toBe("ann");
  });

  it.each(["", "not json", '{"paused":7}', '{"paused":"","isLocked":"no"}'])(
    "holds by a mark that says %j",
    (text) => {
      const world = beforeTheStop();
      const { kit, kept } = world;
      kit.beside.create(stopMarkName, Buffer.from(text));
      startsFrom(kit, kept);
      expect(signs(world)).toBe("SIGNER_PAUSED");
    },
  );
});

describe("a lock whose record was cut off", () => {
  it("holds after a start, and without the mark the ledger knows nothing of it", () => {
    const world = beforeTheStop();
    const { kit, kept } = world;
    kit.beside.create(stopMarkName, Buffer.from('{"paused":"","isLocked":true}\n'));
    startsFrom(kit, kept);
    expect(signs(world)).toBe("SIGNER_LOCKED");
    expect(kit.core.locked?.code).toBe("CHAIN_SLOT_FOREIGN");
    const other = beforeTheStop();
    startsFrom(other.kit, other.kept);
    expect(signs(other)).toBe("signed");
  });

  it("is in the mark when the signer finds a foreign outgoing transaction", () => {
    const { kit } = beforeTheStop();
    const counts = () => kit.ask("account", { chain: "local", slot: "9", quorum: 2 });
    counts();
    kit.now += 61_000;
    expect(counts().code).toBe("SIGNER_LOCKED");
    expect(Buffer.from(kit.beside.read(stopMarkName, 0, 1_024)).toString()).toContain(
      '"isLocked":true',
    );
  });
});
