/**
 * The order of the signer's acts: the answers that precede a sync, the records that wait for
 * company, the content of one statement, and the number of signatures in one turn. Time and turns
 * are the test's; nothing put off happens by itself.
 */
import { describe, expect, it } from "vitest";
import { type AnyAnswer, Kit, txParams } from "../../lab/kit/signer-kit.ts";

type Act = () => void;

/**
 * A kit whose put-off acts are kept. `run` does what was put off so far, and gives how much that
 * was.
 */
function held(...names: readonly ("soon" | "later" | "next")[]) {
  const acts: Act[] = [];
  const turns = Object.fromEntries(names.map((name) => [name, (act: Act) => void acts.push(act)]));
  const kit = new Kit({ turns });
  const run = (): number => {
    const due = acts.splice(0);
    for (const act of due) act();
    return due.length;
  };
  const calm = (): void => {
    let rounds = 0;
    for (kit.settle(); run() > 0; rounds += 1) {
      if (rounds === 100) throw new Error("what is put off puts itself off permanently");
      kit.settle();
    }
  };
  kit.handshake();
  kit.begin("5");
  calm();
  kit.pushes.length = 0;
  return { kit, run, calm };
}

function jobsOf(
  kit: Kit,
  count: number,
  change: object = { amount: "0.1" },
): { readonly frames: readonly Uint8Array[]; readonly ids: string[] } {
  const jobs = Array.from({ length: count }, () => kit.gateway.job(change, kit.now));
  const texts = kit.gateway.texts.slice(-count);
  const frames = [kit.gateway.jobs(texts, { at: kit.now })];
  return { frames, ids: jobs.map((job) => job.transactionId) };
}

describe("a decision on a fresh job", () => {
  it("is told to the courier before the disk has it, and to nobody else", () => {
    const { kit } = held();
    const { frames } = jobsOf(kit, 1);
    const durable = kit.signer.ledger.durableHead.seq;
    const states: string[] = [];
    kit.send("admit", { frames }, (answer) =>
      states.push(...answer.withdrawals.map((view) => view.state)),
    );
    expect(states).toEqual(["approved"]);
    expect([kit.signer.ledger.durableHead.seq, kit.stated()]).toEqual([durable, []]);
    expect(kit.disk.appending).toBe(true);
    kit.settle();
    expect([kit.signer.ledger.durableHead.seq, kit.stated()]).toEqual([durable + 3, ["approved"]]);
  });

  it("is forgotten with the power, and made again when the job comes again", () => {
    const { kit } = held();
    const { frames, ids } = jobsOf(kit, 1);
    kit.send("admit", { frames });
    kit.crash();
    kit.handshake();
    expect(kit.ask("sign", { transactionId: ids[0]!, txParams }).code).toBe("WITHDRAWAL_UNKNOWN");
    expect(kit.ask("admit", { frames }).withdrawals).toMatchObject([
      { transactionId: ids[0], state: "approved" },
    ]);
    expect(kit.ask("sign", { transactionId: ids[0]!, txParams }).withdrawal.slot).toBe("5");
  });

  it("leaves before its records go to the disk", () => {
    const { kit, run } = held("later");
    let isAppending: boolean | null = null;
    kit.send("admit", { frames: jobsOf(kit, 1).frames }, () => {
      isAppending = kit.disk.appending;
    });
    expect([isAppending, kit.disk.appending]).toEqual([false, false]);
    run();
    expect(kit.disk.appending).toBe(true);
  });
});

describe("a statement", () => {
  it("waits a little after an approval, and says the signature with it", () => {
    const { kit, calm } = held("later");
    const { transactionId } = kit.request();
    expect(kit.stated()).toEqual([]);
    kit.ask("sign", { transactionId, txParams });
    expect(kit.stated()).toEqual(["approved signed"]);
    calm();
    expect(kit.stated()).toEqual(["approved signed"]);
  });

  it("of an approval that nothing follows goes out when the time is over", () => {
    const { kit, run } = held("later");
    kit.request();
    kit.request();
    expect(kit.stated()).toEqual([]);
    run(); // the records go to the disk, since no intent took them along
    kit.settle();
    run();
    expect(kit.stated()).toEqual(["approved approved"]);
    expect(run()).toBe(0);
  });

  it("of anything else goes out at once", () => {
    const { kit } = held("later");
    kit.request({ currency: "eth", amount: "2" });
    kit.request({ currency: "none" });
    expect(kit.stated()).toEqual(["held", "refused"]);
    kit.request();
    kit.request({ currency: "eth", amount: "2" });
    expect(kit.stated()).toEqual(["held", "refused", "approved held"]);
  });

  it("is made when the answers of its turn are given", () => {
    const { kit, run } = held("soon");
    const { frames, ids } = jobsOf(kit, 1);
    kit.send("admit", { frames });
    run();
    kit.settle();
    run();
    kit.pushes.length = 0;
    let isAnswered = false;
    kit.send("sign", { transactionId: ids[0]!, txParams }, () => {
      isAnswered = true;
    });
    kit.settle();
    expect([isAnswered, kit.stated()]).toEqual([true, []]);
    run();
    expect(kit.stated()).toEqual(["signed"]);
  });
});

describe("a record without a sync of its own", () => {
  /** One released withdrawal, with the gateway's word received. */
  function released() {
    const { kit, run, calm } = held("later");
    const { transactionId } = kit.request();
    const { attempts } = kit.ask("sign", { transactionId, txParams }).withdrawal;
    kit.acknowledge();
    calm();
    const claim = {
      transactionId,
      stage: "included",
      outcome: "",
      txHash: attempts[0]!.txHash,
      block: 7,
    };
    return { kit, run, claim };
  }

  it("an observation asks for no sync of its own, and is answered with the next", () => {
    const { kit, run, claim } = released();
    let isAnswered = false;
    kit.send("observed", claim, () => {
      isAnswered = true;
    });
    expect([isAnswered, kit.disk.appending]).toEqual([false, false]);
    run();
    expect([isAnswered, kit.disk.appending]).toEqual([false, true]);
    kit.settle();
    expect(isAnswered).toBe(true);
  });

  it("an observation shares the sync that somebody else asks for, and needs none afterwards", () => {
    const { kit, run, claim } = released();
    const answered: string[] = [];
    kit.send("observed", claim, () => answered.push("observed"));
    kit.send("hello", {}, () => answered.push("hello"));
    kit.settle();
    expect(answered).toEqual(["observed", "hello"]);
    const { syncs } = kit.disk;
    run();
    expect([kit.disk.appending, kit.disk.syncs]).toEqual([false, syncs]);
  });

  it("an acknowledgement that releases nothing waits as well; one that does not, does not", () => {
    const { kit, run, claim } = released();
    kit.send("observed", claim);
    run();
    kit.settle();
    kit.receive();
    const release = (): { isAnswered: boolean } => {
      const told = { isAnswered: false };
      const frames = [kit.gateway.ack(kit.gateway.stored!, { at: kit.now })];
      kit.send("release", { frames }, () => {
        told.isAnswered = true;
      });
      return told;
    };
    const empty = release();
    expect([empty.isAnswered, kit.disk.appending]).toEqual([false, false]);
    run();
    kit.settle();
    expect(empty.isAnswered).toBe(true);
    const { transactionId } = kit.request();
    kit.ask("sign", { transactionId, txParams });
    kit.receive();
    release();
    expect(kit.disk.appending).toBe(true);
  });
});

describe("signing many", () => {
  const count = 80;
  const perTurn = 32;

  /** Asked for all at once, every INTENT on disk, as many signed as one turn does. */
  function asked() {
    const { kit, run, calm } = held("next");
    const { frames, ids } = jobsOf(kit, count);
    kit.ask("admit", { frames });
    const answers: AnyAnswer[] = [];
    for (const transactionId of ids)
      kit.send("sign", { transactionId, txParams }, (answer) => answers.push(answer));
    kit.settle();
    const signed = (): number => kit.kinds().filter((kind) => kind === "SIGNED").length;
    return { kit, run, calm, ids, answers, signed };
  }

  it("the signing of many withdrawals goes on turn by turn, and those of one turn are answered before the next are made", () => {
    const { kit, run, answers, signed, ids } = asked();
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(count);
    expect([signed(), answers.length]).toEqual([perTurn, perTurn]);
    run();
    kit.settle();
    expect([signed(), answers.length]).toEqual([2 * perTurn, 2 * perTurn]);
    run();
    kit.settle();
    expect([signed(), answers.length]).toEqual([count, count]);
    expect(answers.every((answer) => answer.ok)).toBe(true);
    const nonces = ids.map((transactionId) => kit.show(transactionId).slot);
    expect(nonces).toEqual(ids.map((_, place) => `${5 + place}`));
    run();
    expect(run()).toBe(0);
  });

  it("the signing of many withdrawals stops with a lock that comes between two turns", () => {
    const { kit, calm, answers, signed } = asked();
    const forked = { seq: kit.signer.ledger.head.seq, hash: "ff".repeat(32) };
    kit.release(kit.gateway.ack(forked, { at: kit.now }));
    calm();
    expect(signed()).toBe(perTurn);
    expect(answers.slice(perTurn).map((answer) => answer.code)).toEqual(
      Array(count - perTurn).fill("SIGNER_LOCKED"),
    );
  });

  it("the signing of many withdrawals after a crash between two turns makes the same signatures with the same nonces", () => {
    const { kit, calm, ids, answers } = asked();
    const first = answers.map(({ withdrawal }) => withdrawal.attempts[0]!.txHash);
    kit.crash();
    kit.handshake();
    const again: AnyAnswer["withdrawal"][] = [];
    for (const transactionId of ids)
      kit.send("sign", { transactionId, txParams }, ({ withdrawal }) => again.push(withdrawal));
    calm();
    expect(again.map(({ slot }) => slot)).toEqual(ids.map((_, place) => `${5 + place}`));
    expect(again.slice(0, perTurn).map(({ attempts }) => attempts[0]!.txHash)).toEqual(first);
    expect(kit.kinds().filter((kind) => kind === "INTENT")).toHaveLength(count);
  });
});
