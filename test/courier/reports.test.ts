/**
 * The courier's reports of the ledger, their order, and its reaction when the link or the signer
 * stalls.
 */
import { describe, expect, it } from "vitest";
import { createReporter } from "../../agent/courier/report/report.ts";
import { sealEnvelope } from "../../protocol/envelope.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import { keyPair } from "../support/link-gateway.ts";

const agent = "ab".repeat(8);

describe("reports", () => {
  const signerKey = keyPair();
  const hashOf = (seq: number) => seq.toString(16).padStart(64, "0");
  const statement = (after: number, seq: number) => {
    const entry = { kind: "alarm", seq, at: 1, code: "TEST", locked: false };
    const payload = {
      agent,
      ledgerEpoch: 3,
      handshake: "",
      after,
      previous: hashOf(after),
      head: { seq, hash: hashOf(seq) },
      at: 1,
      entries: seq > after ? [entry] : [],
    };
    return sealEnvelope("statement", payload, signerKey.privateKey);
  };
  const stated = (after: number, seq: number) => ({
    frame: statement(after, seq),
    after,
    head: { seq, hash: hashOf(seq) },
  });

  /** A signer whose ledger ends at `last`, and a link that notes what it is given. */
  function setUp(last = 0) {
    const sent: string[] = [];
    const asked: number[] = [];
    const heads: AgentLedgerHead[] = [];
    const drops: string[] = [];
    const signer = { last, hold: null as (() => void) | null, holds: false };
    const link = {
      bufferedBytes: 0,
      send(frame: Uint8Array, flushed?: () => void) {
        const payload = JSON.parse(Buffer.from(frame).subarray(66).toString("utf8")) as {
          after: number;
          head: AgentLedgerHead;
        };
        sent.push(`${payload.after}-${payload.head.seq}`);
        if (flushed !== undefined) setImmediate(flushed);
        return true;
      },
      drop: (code: string) => drops.push(code),
    };
    const reporter = createReporter({
      link,
      async report(after) {
        asked.push(after);
        const frames: Uint8Array[] = [];
        for (let seq = after + 1; seq <= signer.last && frames.length < 3; seq++)
          frames.push(statement(seq - 1, seq));
        if (signer.holds) await new Promise<void>((resolve) => (signer.hold = resolve));
        return frames;
      },
      onStatement: (head) => heads.push(head),
    });
    return { sent, asked, heads, drops, signer, link, reporter };
  }
  const settle = () => new Promise((resolve) => setTimeout(resolve, 250));

  it("the reporter sends everything after the acknowledged head, then what comes, in order and once", async () => {
    const { reporter, sent, asked, signer } = setUp(8);
    reporter.resume(3);
    await settle();
    expect(sent).toEqual(["3-4", "4-5", "5-6", "6-7", "7-8"]);
    expect(asked).toEqual([3, 6, 8]);
    signer.last = 9;
    reporter.push(stated(8, 9));
    reporter.push(stated(8, 9));
    expect(sent.at(-1)).toBe("8-9");
    expect(sent).toHaveLength(6);
  });

  it("the reporter sends what an answer says of the held head itself, and no push of it", async () => {
    const { reporter, sent, asked, link, heads, drops } = setUp(3);
    const word = statement(3, 3);
    const said = [word];
    const own = createReporter({
      link,
      async report(after) {
        asked.push(after);
        return said.splice(0);
      },
      onStatement: (head) => heads.push(head),
    });
    own.resume(3);
    await settle();
    own.push({ frame: word, after: 3, head: { seq: 3, hash: hashOf(3) } });
    expect([sent, asked, drops]).toEqual([["3-3"], [3], []]);
    reporter.pause();
  });

  it("the reporter sends the word that a handshake was taken each time it asks, and not behind what has said so", async () => {
    const { link, sent } = setUp();
    const answers = [[statement(0, 1)], [statement(1, 1)], [statement(1, 1)], [statement(1, 1)]];
    const reporter = createReporter({
      link,
      report: async () => answers.shift() ?? [],
      onStatement: () => undefined,
    });
    reporter.resume(0);
    await settle();
    expect([sent, answers.length]).toEqual([["0-1"], 2]);
    reporter.ask();
    await settle();
    reporter.ask();
    await settle();
    expect(sent).toEqual(["0-1", "1-1", "1-1"]);
  });

  it("the reporter keeps what is pushed meanwhile behind what is fetched, and drops what the answer held already", async () => {
    const { reporter, sent, signer } = setUp(2);
    signer.holds = true;
    reporter.resume(0);
    await settle();
    reporter.push(stated(1, 2));
    reporter.push(stated(2, 3));
    expect(sent).toEqual([]);
    signer.last = 3;
    signer.holds = false;
    signer.hold?.();
    await settle();
    expect(sent).toEqual(["0-1", "1-2", "2-3"]);
  });

  it("the reporter fetches what is missing before it sends what comes after a gap", async () => {
    const { reporter, sent, signer } = setUp(0);
    reporter.resume(0);
    await settle();
    signer.last = 3;
    reporter.push(stated(2, 3));
    await settle();
    expect(sent).toEqual(["0-1", "1-2", "2-3"]);
  });

  it("the reporter sends nothing without a link, and begins again with the next", async () => {
    const { reporter, sent, signer } = setUp(1);
    reporter.push(stated(0, 1));
    reporter.resume(0);
    await settle();
    reporter.pause();
    signer.last = 2;
    reporter.push(stated(1, 2));
    expect(sent).toEqual(["0-1"]);
    reporter.resume(0);
    await settle();
    expect(sent).toEqual(["0-1", "0-1", "1-2"]);
  });

  it("the reporter waits for the kernel when much is waiting there", async () => {
    const { reporter, sent, link } = setUp(3);
    link.bufferedBytes = 10 ** 6;
    reporter.resume(0);
    await expect.poll(() => sent, { timeout: 20_000 }).toEqual(["0-1", "1-2", "2-3"]);
  });

  it("the reporter drops the link when the signer gives no statements", async () => {
    const drops: string[] = [];
    const reporter = createReporter({
      link: { bufferedBytes: 0, send: () => true, drop: (code) => drops.push(code) },
      report: () => Promise.reject(new Error("gone")),
      onStatement: () => undefined,
    });
    reporter.resume(0);
    await settle();
    expect(drops).toEqual(["LINK_RESUME"]);
  });
});
