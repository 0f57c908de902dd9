/**
 * The order of the signer's acts: the answers that precede a sync, the records that wait for
 * company, the content of one statement, and the number of signatures in one turn. Time and turns
 * are the test's; nothing put off happens by itself.
 */
import { describe, expect, it } from "vitest";
import { type AnyAnswer, facts, Rig } from "../../lab/rig/signer-rig.ts";

type Act = () => void;

/**
 * A rig whose put-off acts are kept. `run` does what was put off so far, and gives how much that
 * was.
 */
function held(...names: readonly ("soon" | "later" | "next")[]) {
  const acts: Act[] = [];
  const turns = Object.fromEntries(names.map((name) => [name, (act: Act) => void acts.push(act)]));
  const rig = new Rig({ turns });
  const run = (): number => {
    const due = acts.splice(0);
    for (const act of due) act();
    return due.length;
  };
  const calm = (): void => {
    let rounds = 0;
    for (rig.settle(); run() > 0; rounds += 1) {
      if (rounds === 100) throw new Error("what is put off puts itself off for ever");
      rig.settle();
    }
  };
  rig.greet();
  rig.begin("5");
  calm();
  rig.pushes.length = 0;
  return { rig, run, calm };
}

function jobsOf(
  rig: Rig,
  count: number,
  change: object = { amount: "0.1" },
): { readonly frames: readonly Uint8Array[]; readonly ids: string[] } {
  const jobs = Array.from({ length: count }, () => rig.gateway.job(change, rig.now));
  const texts = rig.gateway.texts.slice(-count);
  const frames = [rig.gateway.jobs(texts, { at: rig.now })];
  return { frames, ids: jobs.map((job) => job.transactionId) };
}

describe("a decision on a fresh job", () => {
  it("a decision on a fresh job is told to the courier before the disk has it, and to nobody else", () => {
    const { rig } = held();
    const { frames } = jobsOf(rig, 1);
    const durable = rig.signer.ledger.durableHead.seq;
    const states: string[] = [];
    rig.send("admit", { frames }, (answer) => states.push(...answer.withdrawals.map((view) => view.state)));
    expect(states).toEqual(["approved"]);
    expect([rig.signer.ledger.durableHead.seq, rig.stated()]).toEqual([durable, []]);
    expect(rig.disk.appending).toBe(true);
    rig.settle();
    expect([rig.signer.ledger.durableHead.seq, rig.stated()]).toEqual([durable + 3, ["approved"]]);
  });

  it("a decision on a fresh job is forgotten with the power, and made again when the job comes again", () => {
    const { rig } = held();
    const { frames, ids } = jobsOf(rig, 1);
    rig.send("admit", { frames });
    rig.crash();
    rig.greet();
    expect(rig.ask("sign", { transactionId: ids[0]!, facts }).code).toBe("WITHDRAWAL_UNKNOWN");
    expect(rig.ask("admit", { frames }).withdrawals).toMatchObject([{ transactionId: ids[0], state: "approved" }]);
    expect(rig.ask("sign", { transactionId: ids[0]!, facts }).withdrawal.slot).toBe("5");
  });

  it("a decision on a fresh job leaves before its records go to the disk", () => {
    const { rig, run } = held("soon");
    let isAppending: boolean | null = null;
    rig.send("admit", { frames: jobsOf(rig, 1).frames }, () => {
      isAppending = rig.disk.appending;
    });
    expect([isAppending, rig.disk.appending]).toEqual([false, false]);
    run();
    expect(rig.disk.appending).toBe(true);
  });
});

describe("a statement", () => {
  it("a statement waits a little after an approval, and says the signature with it", () => {
    const { rig, calm } = held("later");
    const { transactionId } = rig.request();
    expect(rig.stated()).toEqual([]);
    rig.ask("sign", { transactionId, facts });
    expect(rig.stated()).toEqual(["approved signed"]);
    calm();
    expect(rig.stated()).toEqual(["approved signed"]);
  });

  it("a statement of an approval that nothing follows goes out when the time is over", () => {
    const { rig, run } = held("later");
    rig.request();
    rig.request();
    expect(rig.stated()).toEqual([]);
    run();
    expect(rig.stated()).toEqual(["approved approved"]);
    expect(run()).toBe(0);
  });

  it("a statement of anything else goes out at once", () => {
    const { rig } = held("later");
    rig.request({ currency: "eth", amount: "2" });
    rig.request({ currency: "none" });
    expect(rig.stated()).toEqual(["held", "refused"]);
    rig.request();
    rig.request({ currency: "eth", amount: "2" });
    expect(rig.stated()).toEqual(["held", "refused", "approved held"]);
  });

  it("a statement is made when the answers of its turn are given", () => {
    const { rig, run } = held("soon");
    const { frames, ids } = jobsOf(rig, 1);
    rig.send("admit", { frames });
    run();
    rig.settle();
    run();
    rig.pushes.length = 0;
    let isAnswered = false;
    rig.send("sign", { transactionId: ids[0]!, facts }, () => {
      isAnswered = true;
    });
    rig.settle();
    expect([isAnswered, rig.stated()]).toEqual([true, []]);
    run();
    expect(rig.stated()).toEqual(["signed"]);
  });
});

describe("a record without a sync of its own", () => {
  /** One released withdrawal, with the gateway's word received. */
  function released() {
    const { rig, run, calm } = held("later");
    const { transactionId } = rig.request();
    const { versions } = rig.ask("sign", { transactionId, facts }).withdrawal;
    rig.acknowledge();
    calm();
    const claim = { transactionId, stage: "included", outcome: "", txHash: versions[0]!.txHash, block: 7 };
    return { rig, run, claim };
  }

  it("an observation asks for no sync of its own, and is answered with the next", () => {
    const { rig, run, claim } = released();
    let isAnswered = false;
    rig.send("observed", claim, () => {
      isAnswered = true;
    });
    expect([isAnswered, rig.disk.appending]).toEqual([false, false]);
    run();
    expect([isAnswered, rig.disk.appending]).toEqual([false, true]);
    rig.settle();
    expect(isAnswered).toBe(true);
  });

  it("an observation shares the sync that somebody else asks for, and needs none afterwards", () => {
    const { rig, run, claim } = released();
    const answered: string[] = [];
    rig.send("observed", claim, () => answered.push("observed"));
    rig.send("hello", {}, () => answered.push("hello"));
    rig.settle();
    expect(answered).toEqual(["observed", "hello"]);
    const { syncs } = rig.disk;
    run();
    expect([rig.disk.appending, rig.disk.syncs]).toEqual([false, syncs]);
  });

  it("an acknowledgement that releases nothing waits as well; one that does not, does not", () => {
    const { rig, run, claim } = released();
    rig.send("observed", claim);
    run();
    rig.settle();
    rig.hear();
    const release = (): { isAnswered: boolean } => {
      const told = { isAnswered: false };
      const frames = [rig.gateway.ack(rig.gateway.stored!, { at: rig.now })];
      rig.send("release", { frames }, () => {
        told.isAnswered = true;
      });
      return told;
    };
    const empty = release();
    expect([empty.isAnswered, rig.disk.appending]).toEqual([false, false]);
    run();
    rig.settle();
    expect(empty.isAnswered).toBe(true);
    const { transactionId } = rig.request();
    rig.ask("sign", { transactionId, facts });
    rig.hear();
    release();
    expect(rig.disk.appending).toBe(true);
  });
});

describe("signing many", () => {
  const count = 80;
  const perTurn = 32;

  /** Asked for all at once, every INTENT on disk, as many signed as one turn does. */
  function asked() {
    const { rig, run, calm } = held("next");
    const { frames, ids } = jobsOf(rig, count);
    rig.ask("admit", { frames });
    const answers: AnyAnswer[] = [];
    for (const transactionId of ids) rig.send("sign", { transactionId, facts }, (answer) => answers.push(answer));
    rig.settle();
    const signed = (): number => rig.kinds().filter((kind) => kind === "SIGNED").length;
    return { rig, run, calm, ids, answers, signed };
  }

  it("the signing of many withdrawals goes on turn by turn, and those of one turn are answered before the next are made", () => {
    const { rig, run, answers, signed, ids } = asked();
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(count);
    expect([signed(), answers.length]).toEqual([perTurn, perTurn]);
    run();
    rig.settle();
    expect([signed(), answers.length]).toEqual([2 * perTurn, 2 * perTurn]);
    run();
    rig.settle();
    expect([signed(), answers.length]).toEqual([count, count]);
    expect(answers.every((answer) => answer.ok)).toBe(true);
    const nonces = ids.map((transactionId) => rig.show(transactionId).slot);
    expect(nonces).toEqual(ids.map((_, place) => `${5 + place}`));
    run();
    expect(run()).toBe(0);
  });

  it("the signing of many withdrawals stops with a lock that comes between two turns", () => {
    const { rig, calm, answers, signed } = asked();
    const forked = { seq: rig.signer.ledger.head.seq, hash: "ff".repeat(32) };
    rig.release(rig.gateway.ack(forked, { at: rig.now }));
    calm();
    expect(signed()).toBe(perTurn);
    expect(answers.slice(perTurn).map((answer) => answer.code)).toEqual(Array(count - perTurn).fill("SIGNER_LOCKED"));
  });

  it("the signing of many withdrawals after a crash between two turns makes the same signatures with the same nonces", () => {
    const { rig, calm, ids, answers } = asked();
    const first = answers.map(({ withdrawal }) => withdrawal.versions[0]!.txHash);
    rig.crash();
    rig.greet();
    const again: AnyAnswer["withdrawal"][] = [];
    for (const transactionId of ids) rig.send("sign", { transactionId, facts }, ({ withdrawal }) => again.push(withdrawal));
    calm();
    expect(again.map(({ slot }) => slot)).toEqual(ids.map((_, place) => `${5 + place}`));
    expect(again.slice(0, perTurn).map(({ versions }) => versions[0]!.txHash)).toEqual(first);
    expect(rig.kinds().filter((kind) => kind === "INTENT")).toHaveLength(count);
  });
});
