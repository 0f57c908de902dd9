/**
 * Answers under way share one bound on memory: many large ones at once wait for each other, and
 * each comes whole. Reported of others: bitcoin/bitcoin 14376 (many large answers at once end the
 * process), tronprotocol/java-tron 6728 (three times the bound of one answer, for each of them).
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import {
  AnswerBytesBudget,
  answersBytesMax,
  createOutgoingClient,
  type OutgoingOutcome,
} from "../../base/outgoing/exchange.ts";
import { until } from "../support/until.ts";

const closers: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Keeps the most that was under way. */
class Watched extends AnswerBytesBudget {
  most = 0;
  override enter(goOn: () => void) {
    const place = super.enter(goOn);
    return {
      take: (bytes: number) => {
        const isFree = place.take(bytes);
        this.most = Math.max(this.most, this.bytes);
        return isFree;
      },
      leave: () => place.leave(),
    };
  }
}

const answerBytes = 2 * 1024 * 1024;
const body = Buffer.alloc(answerBytes, "x");

async function nodeAt(answer: (path: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => answer(request.url ?? "", response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function asking(
  origin: string,
  room: AnswerBytesBudget,
): (path: string) => Promise<OutgoingOutcome> {
  const outgoing = createOutgoingClient({ origin, connectionsMax: 16, idleMs: 4_000, room });
  closers.push(() => outgoing.close());
  return (path) =>
    new Promise((resolve) =>
      outgoing.send(
        { method: "GET", path, bytesMax: 2 * answerBytes, timeoutMs: 120_000 },
        resolve,
      ),
    );
}

describe("answers under way", () => {
  it("twelve large ones at once hold no more than the bound and one answer beside it, and each comes whole", async () => {
    const origin = await nodeAt((_path, response) => response.end(body));
    const room = new Watched(answerBytes);
    const ask = asking(origin, room);
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => ask("/")));
    for (const one of outcomes) expect(one.ok && one.body.equals(body)).toBe(true);
    expect(room.most).toBeLessThan(2 * answerBytes + 12 * 128 * 1024);
    expect(room.bytes).toBe(0);
    // The twin: as much at once as the bound allows, and nobody waits.
    const wide = new Watched(12 * answerBytes);
    const free = asking(origin, wide);
    await Promise.all(Array.from({ length: 12 }, () => free("/")));
    expect(wide.most).toBeGreaterThan(answerBytes);
  });

  it("a small answer passes while large ones wait, and one that stands still gives its place back at its end", async () => {
    const held: ServerResponse[] = [];
    const origin = await nodeAt((path, response) => {
      if (path === "/small") response.end("{}");
      else if (path === "/stuck")
        held.push(response) && response.write(body.subarray(0, answerBytes - 1));
      else response.end(body);
    });
    const room = new Watched(answerBytes / 2);
    const ask = asking(origin, room);
    const stuck = ask("/stuck");
    await until(() => room.bytes >= answerBytes / 2);
    const large = Promise.all([ask("/"), ask("/")]);
    expect(await ask("/small")).toMatchObject({ ok: true, status: 200 });
    expect(room.bytes).toBeGreaterThan(0);
    // The node ends it: a time limit could end it before the room is full, on a slow machine.
    for (const one of held) one.destroy();
    expect(await stuck).toMatchObject({ ok: false, kind: "unreachable" });
    for (const one of await large) expect(one.ok).toBe(true);
    expect(room.bytes).toBe(0);
  });

  it("in one process are at most 64 MiB, and one answer beside them", () => {
    const room = new AnswerBytesBudget();
    const called: number[] = [];
    const places = [0, 1, 2].map((at) => room.enter(() => void called.push(at)));
    expect(places.map((place) => place.take(answersBytesMax / 2))).toEqual([true, true, false]);
    expect(places[0]?.take(1)).toBe(true);
    places[1]?.leave();
    places[1]?.leave();
    expect(called).toEqual([]);
    places[0]?.leave();
    expect(called).toEqual([2]);
    places[2]?.leave();
    expect(room.bytes).toBe(0);
  });
});
