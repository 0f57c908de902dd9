/**
 * The signer's sockets: framing, requests and answers, back-pressure, hostile clients, the socket
 * file and inherited sockets.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { build } from "vite";
import { afterEach, describe, expect, it } from "vitest";
import {
  type LineServer,
  type LineServerOptions,
  listenLines,
} from "../../agent/signer/sockets/line-server.ts";
import { createSocketClient, type SocketClient } from "../../agent/socket/client.ts";
import {
  courierLineBytesMax,
  encodeLine,
  encodeMessage,
  LineReader,
  LineWriter,
  lineBytesMax,
  type MessageLimits,
  withFrames,
} from "../../agent/socket/line.ts";
import { evidenceBytesMax, evidenceMax, framedOffer, offerOf } from "../../agent/socket/offered.ts";
import {
  type CourierAnswers,
  type CourierRequests,
  type OperatorAnswers,
  type OperatorRequests,
  type PushMessage,
  type Request,
  requestFramesMax,
} from "../../agent/socket/verbs.ts";
import type { AgentError } from "../../base/fault.ts";
import { until } from "../support/until.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanups.splice(0).reverse()) each();
});

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), "socket-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return join(folder, "s.sock");
}

const gatewayHead: LineServerOptions["onRequest"] = ({ id, verb, ...rest }, answer) =>
  answer({ id, ok: true, verb, ...rest });

async function serve(path: string, options: Partial<LineServerOptions> = {}): Promise<LineServer> {
  let server: LineServer | undefined;
  await new Promise<void>((resolve, reject) => {
    server = listenLines(path, {
      onRequest: gatewayHead,
      onListening: resolve,
      onFault: reject,
      connectionsMax: 4,
      outstandingMax: 16,
      ...options,
    });
  });
  const listening = server as LineServer;
  cleanups.push(() => listening.close());
  return listening;
}

function client(path: string, timeoutMs = 60_000, outstandingMax = 1024) {
  const made = createSocketClient<OperatorRequests, OperatorAnswers>(path, {
    timeoutMs,
    outstandingMax,
  });
  cleanups.push(() => made.close());
  return made;
}

async function raw(path: string): Promise<Socket> {
  const socket = connect(path);
  socket.on("error", () => {});
  cleanups.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Everything that a socket sends until the other end closes it. */
async function allOf(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  await once(socket, "close");
  return Buffer.concat(chunks).toString();
}

const rejection = (act: Promise<unknown>): Promise<AgentError> =>
  act.then(
    () => Promise.reject(new Error("fulfilled")),
    (error) => error,
  );

describe("lines", () => {
  const text = `${encodeLine({ a: "line\nbreak ü" })}${encodeLine({ b: 2 })}\n${encodeLine({ c: "x".repeat(50) })}`;

  it("come out the same however the bytes are cut", () => {
    const bytes = Buffer.from(text);
    const whole: string[] = [];
    new LineReader({ bytesMax: 1000 }).push(bytes, (line) =>
      whole.push(Buffer.from(line).toString()),
    );
    expect(whole.map((line) => (line === "" ? null : JSON.parse(line)))).toEqual([
      { a: "line\nbreak ü" },
      { b: 2 },
      null,
      { c: "x".repeat(50) },
    ]);
    for (let first = 0; first <= bytes.length; first++) {
      for (const second of [first, first + 1, first + 30]) {
        const reader = new LineReader({ bytesMax: 1000 });
        const got: string[] = [];
        for (const part of [
          bytes.subarray(0, first),
          bytes.subarray(first, second),
          bytes.subarray(second),
        ]) {
          reader.push(part, (line) => got.push(Buffer.from(line).toString()));
        }
        if (got.join("\n") !== whole.join("\n"))
          expect(got, `cut at ${first} and ${second}`).toEqual(whole);
      }
    }
  });

  it("are bounded, ended or not", () => {
    const push = (bytes: number, ended: boolean, parts: number): string => {
      const reader = new LineReader({ bytesMax: 100 });
      const line = "x".repeat(bytes) + (ended ? "\n" : "");
      const step = Math.ceil(line.length / parts);
      try {
        for (let at = 0; at < line.length; at += step)
          reader.push(Buffer.from(line.slice(at, at + step)), () => {});
      } catch (error) {
        return (error as AgentError).code;
      }
      return "";
    };
    for (const parts of [1, 3]) {
      expect(push(99, true, parts)).toBe("");
      expect(push(100, true, parts)).toBe("SOCKET_FORMAT");
      expect(push(99, false, parts)).toBe("");
      expect(push(100, false, parts)).toBe("SOCKET_FORMAT");
    }
  });
});

describe("frames", () => {
  const limits = { bytesMax: 1000, framesMax: 2 };
  const sent = (...messages: object[]): Buffer => {
    const written: Uint8Array[] = [];
    const out = new LineWriter({ write: (bytes) => written.push(bytes) });
    for (const message of messages) out.write(encodeMessage(message));
    out.flush();
    expect(written).toHaveLength(1);
    return Buffer.from(written[0] as Uint8Array);
  };
  /** A reader's result for the parts: each message with its frames in hex, or the code. */
  const got = (parts: readonly Uint8Array[], bounds: Partial<MessageLimits> = limits): unknown => {
    const reader = new LineReader(bounds);
    const messages: object[] = [];
    try {
      for (const part of parts)
        reader.push(part, (line, frames) =>
          messages.push(withFrames(JSON.parse(Buffer.from(line).toString()), frames)),
        );
    } catch (error) {
      return (error as AgentError).code;
    }
    return messages.map((message) =>
      "frames" in message
        ? {
            ...message,
            frames: (message.frames as Uint8Array[]).map((frame) =>
              Buffer.from(frame).toString("hex"),
            ),
          }
        : message,
    );
  };
  const header = (length: number): Buffer =>
    Buffer.from([0, length >>> 24, (length >> 16) & 255, (length >> 8) & 255, length & 255]);
  // Bytes that would end a line or begin a frame if they were not inside one.
  const tricky = Buffer.from("0a000a7b0000000001", "hex");
  const line = (frames: number): Buffer => Buffer.from(encodeLine({ id: 1, frames }));

  it("come out the same however the bytes are cut", () => {
    const bytes = sent(
      { a: 1 },
      { b: 2, frames: [tricky, Buffer.from([0])] },
      { c: 3, frames: [] },
      { d: 4, frames: [tricky] },
    );
    const whole = [
      { a: 1 },
      { b: 2, frames: [tricky.toString("hex"), "00"] },
      { c: 3, frames: [] },
      { d: 4, frames: [tricky.toString("hex")] },
    ];
    expect(got([bytes])).toEqual(whole);
    for (let first = 0; first <= bytes.length; first++)
      for (const second of [first, first + 1, first + 7])
        expect(
          got([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]),
        ).toEqual(whole);
    expect(got(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(whole);
  });

  it("and their line are bounded together, and a length is judged before its bytes come", () => {
    const fits = 1000 - 5 - line(1).length;
    expect(got([header(fits), Buffer.alloc(fits), line(1)])).toMatchObject([{ id: 1 }]);
    expect(got([header(fits + 1), Buffer.alloc(fits + 1), line(1)])).toBe("SOCKET_FORMAT");
    expect(got([header(994)])).toEqual([]);
    for (const length of [0, 995, 0x7fffffff, 0x80000000, 0xffffffff])
      expect(got([header(length)])).toBe("SOCKET_FORMAT");
    const half = Buffer.concat([header(480), Buffer.alloc(480)]);
    expect(got([half, header(480)])).toEqual([]);
    expect(got([half, header(515)])).toBe("SOCKET_FORMAT");
  });

  it("are as many as their line states, and no more than allowed", () => {
    const one = Buffer.concat([header(1), Buffer.from("x")]);
    expect(got([one, one, line(2)])).toEqual([{ id: 1, frames: ["78", "78"] }]);
    expect(got([one, one, header(1)])).toBe("SOCKET_FORMAT");
    for (const stated of ["1", "3", "null", '["78","78"]', '"2"']) {
      expect(got([one, one, Buffer.from(`{"id":1,"frames":${stated}}\n`)])).toBe("SOCKET_FORMAT");
    }
    expect(got([one, Buffer.from('{"id":1}\n')])).toBe("SOCKET_FORMAT");
    expect(got([Buffer.from('{"id":1,"frames":["78"]}\n')])).toBe("SOCKET_FORMAT");
    expect(got([one, line(1)], { bytesMax: 1000 })).toBe("SOCKET_FORMAT");
    // A zero byte inside a line begins no frame.
    expect(got([Buffer.concat([Buffer.from('{"id"'), one])])).toEqual([]);
  });

  it("go to a server that takes them and come back with its answer; another server cuts them off", async () => {
    const frames = [tricky];
    const path = place();
    const server = await serve(path, {
      framesMax: 1,
      onRequest: ({ id, frames: taken }, answer) => answer({ id, ok: true, frames: taken }),
    });
    const asking = client(path) as unknown as SocketClient<CourierRequests, CourierAnswers>;
    const pushed: PushMessage[] = [];
    asking.onPush((push) => pushed.push(push));
    expect(await asking.request("admit", { frames })).toMatchObject({ ok: true, frames });
    server.push({ push: "statement", frames, after: 0, head: { seq: 1, hash: "00".repeat(32) } });
    await asking.request("hello", {});
    expect(pushed).toMatchObject([{ push: "statement", frames }]);
    const none = place();
    await serve(none);
    const refused = client(none) as unknown as SocketClient<CourierRequests, CourierAnswers>;
    expect(await rejection(refused.request("admit", { frames }))).toMatchObject({
      code: "SOCKET_FORMAT",
    });
  });
});

describe("requests", () => {
  it("are answered by id, many at once, in any order", async () => {
    const path = place();
    await serve(path, {
      onRequest: ({ id, ...rest }, answer) =>
        setTimeout(() => answer({ id, ok: true, ...rest }), (id * 7) % 20),
    });
    const asking = client(path);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => asking.request("show", { transactionId: `t${n}` })),
    );
    expect(
      answers.map((answer) => (answer as unknown as { transactionId: string }).transactionId),
    ).toEqual(Array.from({ length: 200 }, (_, n) => `t${n}`));
  });

  it("an offer with as much evidence as is allowed fits into one request of the courier, and of no other", async () => {
    const evidence = Array.from({ length: evidenceMax }, (_, at) =>
      `${at + 10}`.repeat(evidenceBytesMax),
    );
    const body = framedOffer({
      transactionId: "a".repeat(64),
      txParams: { coins: "1".repeat(8192) },
      evidence,
    });
    const [wide, narrow] = [place(), place()];
    const lengths: number[] = [];
    const onRequest: LineServerOptions["onRequest"] = ({ id, ...rest }, answer) => {
      const offer = offerOf(rest as unknown as typeof body);
      expect(offer.evidence).toEqual(evidence);
      lengths.push(...(offer.evidence ?? []).map((text) => text.length));
      answer({ id, ok: true });
    };
    await serve(wide, {
      requestBytesMax: courierLineBytesMax,
      framesMax: requestFramesMax,
      onRequest,
    });
    await serve(narrow, { framesMax: requestFramesMax, onRequest });
    const courier = client(wide) as unknown as SocketClient<CourierRequests, CourierAnswers>;
    expect(await courier.request("sign", body)).toEqual({ ok: true });
    expect(lengths).toEqual(evidence.map((text) => text.length));
    const operator = client(narrow) as unknown as SocketClient<CourierRequests, CourierAnswers>;
    expect(await rejection(operator.request("sign", body))).toMatchObject({
      code: expect.stringMatching(/^SOCKET_/),
    });
    expect(lengths).toHaveLength(evidenceMax);
  });

  it("are refused as answers, not as rejections", async () => {
    const path = place();
    await serve(path, {
      onRequest: ({ id, verb }, answer) =>
        verb === "refuse"
          ? answer({ id, ok: false, code: "X", detail: "no", effect: "none" })
          : answer({ id, ok: true }),
    });
    const asking = client(path);
    expect(await asking.request("refuse", { transactionId: "t", approver: "ann" })).toEqual({
      ok: false,
      code: "X",
      detail: "no",
      effect: "none",
    });
    expect(await asking.request("status", {})).toEqual({ ok: true });
  });

  it("wait their turn beyond the outstanding ones, unread", async () => {
    const path = place();
    const waiting: (() => void)[] = [];
    let most = 0;
    await serve(path, {
      outstandingMax: 3,
      onRequest: ({ id }, answer) => {
        waiting.push(() => answer({ id, ok: true }));
        most = Math.max(most, waiting.length);
      },
    });
    const asking = client(path);
    const all = Promise.all(Array.from({ length: 50 }, () => asking.request("status", {})));
    let answered = 0;
    while (answered < 50) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const next = waiting.shift();
      if (next === undefined) continue;
      next();
      answered += 1;
    }
    expect(await all).toHaveLength(50);
    expect(most).toBe(3);
  });

  it("beyond the client's own bound are rejected, and nothing was sent", async () => {
    const path = place();
    let seen = 0;
    await serve(path, {
      onRequest: () => {
        seen += 1;
      },
    });
    const asking = client(path, 5000, 2);
    const held = [asking.request("status", {}), asking.request("status", {})];
    for (const each of held) each.catch(() => {});
    expect(await rejection(asking.request("status", {}))).toMatchObject({
      code: "SOCKET_BUSY",
      effect: "none",
    });
    await until(() => seen >= 2);
    expect(seen).toBe(2);
    asking.close();
    expect(await rejection(held[0] as Promise<unknown>)).toMatchObject({
      code: "SOCKET_CLOSED",
      effect: "unknown",
    });
  });

  it("without an answer in time are unknown; the late answer hurts nobody", async () => {
    const path = place();
    let late = (): void => {};
    await serve(path, {
      onRequest: ({ id }, answer) => {
        if (id === 1) late = () => answer({ id, ok: true });
        else answer({ id, ok: true });
      },
    });
    const asking = client(path, 1_000);
    expect(await rejection(asking.request("status", {}))).toMatchObject({
      code: "SOCKET_TIMEOUT",
      effect: "unknown",
    });
    late();
    expect(await asking.request("status", {})).toEqual({ ok: true });
  });

  it("to nobody are unreachable; to a server that dies, unknown", async () => {
    const path = place();
    const nobody = client(path);
    const reasons: string[] = [];
    nobody.onClose(({ code }) => reasons.push(code));
    expect(await rejection(nobody.request("status", {}))).toMatchObject({
      code: "SOCKET_UNREACHABLE",
      effect: "none",
    });
    expect(await rejection(nobody.request("status", {}))).toMatchObject({
      code: "SOCKET_UNREACHABLE",
      effect: "none",
    });
    nobody.onClose(({ code }) => reasons.push(code));
    expect(reasons).toEqual(["SOCKET_UNREACHABLE", "SOCKET_UNREACHABLE"]);
    await serve(path, { onRequest: (_, __, connection) => connection.close() });
    const asking = client(path);
    expect(await rejection(asking.request("status", {}))).toMatchObject({
      code: "SOCKET_CLOSED",
      effect: "unknown",
    });
  });
});

describe("pushes", () => {
  it("reach every client, between answers", async () => {
    const path = place();
    const server = await serve(path);
    const clients = [client(path), client(path)];
    const got: PushMessage[] = [];
    for (const each of clients) {
      each.onPush((push) => got.push(push));
      await each.request("status", {});
    }
    server.push({ push: "locked", code: "X" });
    for (const each of clients) await each.request("status", {});
    expect(got).toEqual([
      { push: "locked", code: "X" },
      { push: "locked", code: "X" },
    ]);
  });

  it("are not kept permanently for a client that does not read", async () => {
    const path = place();
    let closed = 0;
    const server = await serve(path, {
      unreadBytesMax: 1_000_000,
      onClose: () => {
        closed += 1;
      },
    });
    const deaf = await raw(path);
    deaf.pause();
    const reading = client(path);
    await reading.request("status", {});
    for (let n = 0; n < 60 && closed === 0; n++) {
      server.push({
        push: "statement",
        frames: [new Uint8Array(100_000)],
        after: 0,
        head: { seq: 1, hash: "00".repeat(32) },
      });
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(closed).toBe(1);
    expect(await reading.request("status", {})).toMatchObject({ ok: true });
  });
});

describe("a hostile client", () => {
  it.each([
    ["no JSON", "hello\n"],
    ["an empty line", "\n"],
    ["a list", "[]\n"],
    ["no id", '{"verb":"status"}\n'],
    ["id 0", '{"id":0,"verb":"status"}\n'],
    ["a fraction as id", '{"id":1.5,"verb":"status"}\n'],
    ["no verb", '{"id":1}\n'],
    ["the same key twice", '{"id":1,"id":2,"verb":"status"}\n'],
    ["a forbidden key", '{"id":1,"verb":"status","__proto__":{}}\n'],
    ["bytes that are no UTF-8", Buffer.from([0x22, 0xff, 0x22, 0x0a])],
    ["an endless line", "x".repeat(lineBytesMax + 1)],
    ["a frame where none is taken", Buffer.from([0, 0, 0, 0, 1, 0x78])],
    ["the length of an endless frame", Buffer.from([0, 255, 255, 255, 255])],
    ["frames that never came", '{"id":1,"verb":"status","frames":1}\n'],
  ])("that sends %s is told so and cut off; others go on", async (_, bytes) => {
    const path = place();
    const requests: Request[] = [];
    await serve(path, {
      onRequest: (request, answer, connection) => {
        requests.push(request);
        gatewayHead(request, answer, connection);
      },
    });
    const socket = await raw(path);
    const said = allOf(socket);
    socket.write(bytes);
    expect(JSON.parse(await said)).toMatchObject({
      id: 0,
      ok: false,
      code: "SOCKET_FORMAT",
      effect: "none",
    });
    expect(requests).toEqual([]);
    expect(await client(path).request("status", {})).toMatchObject({ ok: true });
  });

  it("that opens more connections than allowed has them closed", async () => {
    const path = place();
    await serve(path, { connectionsMax: 2 });
    const open = [await raw(path), await raw(path)];
    await once(await raw(path), "close");
    open[0]?.destroy();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await client(path).request("status", {})).toMatchObject({ ok: true });
  });

  it("that never reads the reason is cut off all the same", async () => {
    const path = place();
    let closed: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    await serve(path, { onClose: () => closed() });
    const socket = await raw(path);
    socket.pause();
    socket.write("nonsense\n");
    await gone;
  });
});

describe("the socket file", () => {
  it("is private, and gone after closing", async () => {
    const path = place();
    const umask = process.umask();
    const server = await serve(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(process.umask()).toBe(umask);
    server.close();
    server.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(() => statSync(path)).toThrow();
  });

  it("of a killed process is replaced; that of a living one is not", async () => {
    const path = place();
    const code = `require("net").createServer().listen(${JSON.stringify(path)}, () => console.log("listening")); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["-e", code]);
    cleanups.push(() => child.kill("SIGKILL"));
    await once(child.stdout, "data");
    expect(await rejection(serve(path))).toMatchObject({ code: "SOCKET_IN_USE" });
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(statSync(path).isSocket()).toBe(true);
    await serve(path);
    expect(await client(path).request("status", {})).toMatchObject({ ok: true });
  });

  it("is never made over another file, nor where it cannot be", async () => {
    const path = place();
    writeFileSync(path, "precious");
    expect(await rejection(serve(path))).toMatchObject({ code: "SOCKET_LISTEN" });
    expect(statSync(path).size).toBe(8);
    expect(await rejection(serve(join(path, "below")))).toMatchObject({ code: "SOCKET_LISTEN" });
    expect(await rejection(serve(`${tmpdir()}/${"x".repeat(120)}`))).toMatchObject({
      code: "SOCKET_LISTEN",
    });
  });

  it("may be inherited as a descriptor, by a process that listens nowhere itself", async () => {
    const built = await build({
      logLevel: "silent",
      configFile: false,
      build: { ssr: "agent/signer/sockets/line-server.ts", write: false },
    });
    const bundle =
      "output" in built && built.output[0].type === "chunk" ? built.output[0].code : "";
    const program = `${bundle}
      listenLines("fd:3", { connectionsMax: 4, outstandingMax: 4, onFault: (fault) => { throw fault; },
        onListening: () => console.log("listening"), onRequest: ({ id, verb }, answer) => answer({ id, ok: true, verb }) });`;
    const path = place();
    const manager = createServer();
    manager.listen(`${path}.made`);
    await once(manager, "listening");
    const { fd } = (manager as unknown as { _handle: { fd: number } })._handle;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit", fd],
    });
    cleanups.push(() => child.kill("SIGKILL"));
    await once(child.stdout as Readable, "data");
    renameSync(`${path}.made`, path); // So that closing here does not remove it.
    manager.close();
    expect(await client(path).request("status", {})).toEqual({ ok: true, verb: "status" });
    expect(await rejection(serve("fd:9999"))).toMatchObject({ code: "SOCKET_LISTEN" });
  });
});
