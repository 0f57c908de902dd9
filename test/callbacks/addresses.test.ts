/**
 * One try of a callback goes through every address of the receiver's name: a dead, silent or
 * unroutable address costs time, and no try. The guard judges each address. Real name server, real
 * TLS receivers on several loopback addresses.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer, type Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { AddressOrder, addressesMax } from "../../gateway/callbacks/address-order.ts";
import {
  type CallbackSender,
  createCallbackSender,
  whyNoAddress,
} from "../../gateway/callbacks/send.ts";
import { type CallbackSettings, callbackSettings } from "../../gateway/config/callback-settings.ts";
import { type NameServer, startNameServer } from "../support/name-server.ts";

const name = "shop.example";
const local = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"];
/** Enough time on a busy machine for each address in turn, so that only the order decides. */
const settings: CallbackSettings = {
  ...callbackSettings(undefined, false),
  allowNetworks: local,
  timeoutMs: 12_000,
};

const short = { ...settings, timeoutMs: 1_000 };

/** Each address that this process tried to connect to, in order. */
const connected: string[] = [];
const connect = Socket.prototype.connect;
let dir = "";
let key: Buffer;
let ca = "";
const open: Server[] = [];
const names: NameServer[] = [];

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "callback-addresses-"));
  const [keyFile, certificate] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  const kind = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
  ];
  const subject = [
    "-subj",
    `/CN=${name}`,
    "-addext",
    `subjectAltName=DNS:${name}`,
    "-keyout",
    keyFile,
    "-out",
    certificate,
  ];
  execFileSync("openssl", [...kind, ...subject], { stdio: "ignore" });
  [key, ca] = [readFileSync(keyFile), readFileSync(certificate, "utf8")];
  vi.spyOn(Socket.prototype, "connect").mockImplementation(function (
    this: Socket,
    ...given: unknown[]
  ) {
    const [options] = given.flat() as { host?: string }[];
    connected.push(`${options?.host}`);
    return Reflect.apply(connect, this, given) as Socket;
  });
});
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});
afterEach(async () => {
  connected.length = 0;
  for (const server of names.splice(0)) server.close();
  await Promise.all(
    open.splice(0).map((server) => new Promise((resolve) => server.close(resolve))),
  );
});

async function listen(server: Server, address: string, port: number): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  const close = server.close.bind(server);
  server.close = (done) => {
    for (const socket of sockets) socket.destroy();
    return close(done);
  };
  open.push(server);
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  return (server.address() as AddressInfo).port;
}

/** A receiver with the name's certificate; `answer` gives the status, 0 cuts the connection. */
const receiver = (address: string, port = 0, answer = (): number => 204): Promise<number> =>
  listen(
    createSecureServer({ key, cert: ca }, (request, response) => {
      const status = answer();
      if (status === 0) request.socket.destroy();
      else response.writeHead(status).end();
    }) as unknown as Server,
    address,
    port,
  );

/** A host that accepts connections and never says a word. */
const silent = (address: string, port: number): Promise<number> =>
  listen(createServer(), address, port);

async function callbackSenderTo(
  four: readonly string[] | null,
  six: readonly string[] | null = [],
  own = settings,
): Promise<CallbackSender> {
  const server = await startNameServer({ four: () => four, six: () => six });
  names.push(server);
  return createCallbackSender({
    settings: own,
    monotonic: () => performance.now(),
    nameServers: [server.at],
    ca,
  });
}

const letter = (port: number) => ({
  url: `https://${name}:${port}/hook`,
  headers: { "webhook-id": "msg_1" },
  body: "{}",
});

describe("a try of a callback", () => {
  it("reaches the one address that works, wherever it stands among the name's", async () => {
    const port = await receiver("127.0.0.1");
    for (const four of [
      local.slice(0, 3),
      ["127.0.0.2", "127.0.0.1", "127.0.0.3"],
      ["127.0.0.3", "127.0.0.2", "127.0.0.1"],
    ])
      expect(await (await callbackSenderTo(four)).send(letter(port)), `${four}`).toMatchObject({
        status: 204,
      });
    const sixes = await callbackSenderTo(
      ["127.0.0.2", "127.0.0.1"],
      ["2001:db8::1", "2001:db8::2"],
      {
        ...settings,
        allowNetworks: [...local, "2001:db8::/32"],
      },
    );
    expect(await sixes.send(letter(port))).toMatchObject({ status: 204 });
    const none = await (await callbackSenderTo(["127.0.0.2", "127.0.0.3"])).send(letter(port));
    expect(none).toMatchObject({ status: 0, answer: "could not be reached (ECONNREFUSED)" });
  });

  it("never connects to an address that the guard refuses, though others fail", async () => {
    const port = await receiver("127.0.0.4");
    const four = ["127.0.0.2", "169.254.169.254", "10.0.0.1", "127.0.0.3", "127.0.0.4"];
    const closed = { ...settings, allowNetworks: ["127.0.0.2", "127.0.0.3"] };
    const refused = await (await callbackSenderTo(four, ["::1", "fe80::1"], closed)).send(
      letter(port),
    );
    expect(refused).toMatchObject({ status: 0, answer: "could not be reached (ECONNREFUSED)" });
    expect(new Set(connected)).toEqual(new Set(["127.0.0.2", "127.0.0.3"]));
    expect(
      await (await callbackSenderTo(four, ["::1", "fe80::1"])).send(letter(port)),
    ).toMatchObject({ status: 204 });
    expect(connected).not.toContain("169.254.169.254");
  });

  it("has time left for the address after a silent one", async () => {
    const port = await receiver("127.0.0.1");
    await silent("127.0.0.2", port);
    await silent("127.0.0.3", port);
    const sent = await (await callbackSenderTo(["127.0.0.2", "127.0.0.3", "127.0.0.1"])).send(
      letter(port),
    );
    expect([sent.status, sent.durationMs < settings.timeoutMs]).toEqual([204, true]);
  });

  it("ends in time where every address is silent", async () => {
    const port = await silent("127.0.0.2", 0);
    await silent("127.0.0.3", port);
    const none = await (await callbackSenderTo(["127.0.0.2", "127.0.0.3"], [], short)).send(
      letter(port),
    );
    // Far below the time of a system that waits for a silent peer by itself, far above a busy
    // machine's.
    expect([none.status, none.durationMs < 20_000]).toEqual([0, true]);
  });

  it("does not wait for a name server that leaves one family's question unanswered", async () => {
    const port = await receiver("127.0.0.1");
    const sent = await (await callbackSenderTo(["127.0.0.1"], null)).send(letter(port));
    expect(sent.status).toBe(204);
    // Enough time on a busy machine to ask, to wait for the other family, and to be refused.
    const late = await callbackSenderTo(["127.0.0.2"], null);
    expect(await late.send(letter(port))).toMatchObject({
      status: 0,
      answer: "could not be reached (ECONNREFUSED)",
    });
    expect((await (await callbackSenderTo(null, null, short)).send(letter(port))).answer).toBe(
      "the name servers do not answer",
    );
  });

  it("tells a name that is not there from name servers that fail", async () => {
    const port = await receiver("127.0.0.1");
    const answerFor = async (code: number): Promise<string> => {
      const server = await startNameServer({ four: () => [], six: () => [], code });
      names.push(server);
      const asker = createCallbackSender({
        settings,
        monotonic: () => performance.now(),
        nameServers: [server.at],
        ca,
      });
      return (await asker.send(letter(port))).answer;
    };
    expect(await answerFor(0)).toBe("the name has no address");
    expect(await answerFor(3)).toBe("there is no such name");
    expect(await answerFor(2)).toBe("the name servers cannot say (ESERVFAIL, ESERVFAIL)");
    expect([whyNoAddress(["ENOTFOUND", "ENODATA"]), whyNoAddress([])]).toEqual([
      "the name has no address",
      "the name has no address",
    ]);
    expect(whyNoAddress(["ENOTFOUND", "ETIMEOUT"])).toBe("the name servers do not answer");
  });

  it("begins at the address that took the last one", async () => {
    const port = await receiver("127.0.0.3");
    const callbackSender = await callbackSenderTo(["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    expect(await callbackSender.send(letter(port))).toMatchObject({ status: 204 });
    expect(connected).toEqual(["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    connected.length = 0;
    expect(await callbackSender.send(letter(port))).toMatchObject({ status: 204 });
    expect(connected).toEqual(["127.0.0.3"]);
  });

  it("stays at the address that got its first byte; the next try begins at another", async () => {
    const port = await receiver("127.0.0.1", 0, () => 0);
    await receiver("127.0.0.2", port);
    const callbackSender = await callbackSenderTo(["127.0.0.1", "127.0.0.2"]);
    expect(await callbackSender.send(letter(port))).toMatchObject({ status: 0 });
    expect(connected).toEqual(["127.0.0.1"]);
    expect(await callbackSender.send(letter(port))).toMatchObject({ status: 204 });
    expect(connected).toEqual(["127.0.0.1", "127.0.0.2"]);
  });
});

describe("the order of addresses", () => {
  let nowMs = 0;
  const order = (): AddressOrder => new AddressOrder(() => nowMs);

  it("alternates the families, and ends after eight", () => {
    const many = Array.from({ length: 20 }, (_, index) => `192.0.2.${index}`);
    expect(order().of(name, ["1.1.1.1", "1.0.0.1", "2606::1", "2606::2", "1.1.1.1"])).toEqual([
      ...["1.1.1.1", "2606::1", "1.0.0.1", "2606::2"],
    ]);
    expect(order().of(name, many)).toEqual(many.slice(0, addressesMax));
    const failing = order();
    for (const address of failing.of(name, many))
      failing.keep(name, address, "failed", "ECONNREFUSED");
    expect(failing.of(name, many)).toEqual(many.slice(addressesMax, 2 * addressesMax));
  });

  it("puts a family without a route last for a minute, for every name", () => {
    const known = order();
    known.keep("other.example", "2606::1", "failed", "ENETUNREACH");
    expect(known.of(name, ["2606::1", "1.1.1.1", "2606::2", "1.0.0.1"])).toEqual([
      "1.1.1.1",
      "1.0.0.1",
      "2606::1",
      "2606::2",
    ]);
    nowMs += 61_000;
    expect(known.of(name, ["2606::1", "1.1.1.1", "1.0.0.1"])).toEqual([
      "1.1.1.1",
      "2606::1",
      "1.0.0.1",
    ]);
    known.keep("other.example", "2606::1", "failed", "ECONNREFUSED");
    expect(known.of(name, ["2606::1", "1.1.1.1", "1.0.0.1"])).toEqual([
      "1.1.1.1",
      "2606::1",
      "1.0.0.1",
    ]);
  });

  it("prefers an answer to none: a receiver that says no is reached before one that is gone", () => {
    const known = order();
    known.keep(name, "1.1.1.1", "answered", "");
    known.keep(name, "1.0.0.1", "failed", "ETIMEDOUT");
    known.keep(name, "1.1.1.2", "took", "");
    expect(known.of(name, ["1.0.0.1", "1.1.1.1", "1.1.1.2", "1.1.1.3"])).toEqual([
      "1.1.1.2",
      "1.1.1.3",
      "1.1.1.1",
      "1.0.0.1",
    ]);
  });
});
