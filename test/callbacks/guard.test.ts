/**
 * The guard of callbacks: 200 hostile addresses, a name server that changes its answer and a
 * redirect reach no private address. A public server is reached by the address that was checked,
 * under the name on its certificate.
 */
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { mayReachAddress, urlProblem } from "../../gateway/callbacks/guard.ts";
import {
  type CallbackSender,
  type CallbackSenderOptions,
  createCallbackSender,
} from "../../gateway/callbacks/send.ts";
import { type CallbackSettings, callbackSettings } from "../../gateway/config/callback-settings.ts";
import { startNameServer } from "../support/name-server.ts";

const strict: CallbackSettings = { ...callbackSettings(undefined, false), timeoutMs: 30_000 };
const callbackSender = (change: Partial<CallbackSenderOptions> = {}): CallbackSender =>
  createCallbackSender({ settings: strict, monotonic: () => performance.now(), ...change });
const letter = (url: string) => ({ url, headers: { "webhook-id": "msg_1" }, body: "{}" });

/** Every address that this process tried to connect to. */
const connected: string[] = [];
const connect = Socket.prototype.connect;
beforeAll(() => {
  vi.spyOn(Socket.prototype, "connect").mockImplementation(function (
    this: Socket,
    ...given: unknown[]
  ) {
    const [options] = given.flat() as { host?: string; port?: number }[];
    connected.push(`${options?.host}:${options?.port}`);
    return Reflect.apply(connect, this, given) as Socket;
  });
});
afterAll(() => vi.restoreAllMocks());
afterEach(() => {
  connected.length = 0;
});

/** Listens on loopback and counts the connections. */
async function listener(): Promise<{
  readonly port: number;
  readonly hits: () => number;
  close(): Promise<unknown>;
}> {
  let hits = 0;
  const server: Server = createServer((_request, response) => void response.writeHead(204).end());
  server.on("connection", () => {
    hits += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): Promise<unknown> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, hits: () => hits, close };
}

/**
 * A name server on loopback: `answers` names the IPv4 addresses of its next answers, and the last
 * address stays.
 */
async function nameServer(
  answers: readonly string[],
  v6 = "",
): Promise<{ readonly at: string; asked: number; close(): void }> {
  const given = (address: string): readonly string[] => (address === "" ? [] : [address]);
  const four = (): readonly string[] => {
    made.asked += 1;
    return given(answers[Math.min(made.asked, answers.length) - 1] ?? "");
  };
  const server = await startNameServer({ four, six: () => given(v6) });
  const made = { at: server.at, asked: 0, close: server.close };
  return made;
}

/** Addresses of every kind that is not a public host's. */
const closedAddresses = [
  ...[
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.1.2.3",
  ],
  ...[
    "127.255.255.254",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
  ],
  ...[
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.19.255.255",
  ],
  ...[
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
  ],
  ...[
    "::",
    "::1",
    "::2",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
  ],
  ...[
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:db8::1",
    "2001:20::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
  ],
  ...[
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2620:4f:8000::1",
  ],
];
const openAddresses = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.1",
  "100.63.255.255",
  "100.128.0.1",
  "172.15.0.1",
];
const openAddresses6 = [
  "172.32.0.1",
  "192.167.1.1",
  "2606:4700::1111",
  "2a00:1450:4001::1",
  "2003::1",
];

/** Spellings of loopback that some parser somewhere takes for something else. */
const spellings = [
  ...[
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "0177.1",
    "127.0.0.1.",
  ],
  ...[
    "%31%32%37.0.0.1",
    "１２７.0.0.1",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "0",
    "0.0",
    "0x0",
    "00",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
  ],
  ...[
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "[::127.0.0.1]",
    "[::]",
    "[::ffff:0:0]",
  ],
  ...[
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "3232235521",
    "0xa9fea9fe",
    "2852039166",
    "0251.0376.0251.0376",
    "[fe80::1]",
  ],
  ...[
    "localhost",
    "LOCALHOST",
    "localhost.",
    "foo.localhost",
    "localhost.localdomain.localhost",
    "ip6-localhost",
    "router",
  ],
  ...[
    "metadata",
    "metadata.google.internal",
    "printer.local",
    "nas.home.arpa",
    "db.internal.",
    "x.onion",
  ],
];
const tails = ["", ":443", ":8443", ":65535"];
const odd = (port: number): readonly string[] => [
  ...[
    `http://shop.example:${port}/`,
    `ftp://127.0.0.1:${port}/`,
    `file:///etc/passwd`,
    `gopher://127.0.0.1:${port}/_x`,
  ],
  ...[
    `https://shop.example@127.0.0.1:${port}/`,
    `https://127.0.0.1:${port}@shop.example/`,
    "https://u:p@shop.example/",
  ],
  ...[
    `https://127.0.0.1:${port}\\@shop.example/`,
    `https:127.0.0.1:${port}`,
    `//127.0.0.1:${port}/`,
    `https:///127.0.0.1`,
  ],
  ...[
    `https://shop.example#@127.0.0.1:${port}/`,
    `https://127.0.0.1%00.shop.example/`,
    "https://shop.example\r\nX: y/",
    "",
  ],
  ...[
    "javascript:alert(1)",
    "data:text/plain,x",
    "https://",
    "https://[::1",
    "https://[fe80::1%25eth0]/",
    "https://shop.example:22/",
  ],
  ...[
    "https://shop.example:25/",
    "https://shop.example:0/",
    "https://shop.example:99999/",
    `https://${"a".repeat(2_100)}.example/`,
  ],
  ...[
    `HTTP://127.0.0.1:${port}/`,
    `http://[::1]:${port}/`,
    `wss://shop.example/`,
    "https://shop example/",
    "https://şop.example/",
  ],
];

describe("an address", () => {
  it("of a receiver that no public host has is closed, one beside it open", () => {
    for (const address of closedAddresses)
      expect(mayReachAddress(address, strict), address).toBe(false);
    for (const address of [...openAddresses, ...openAddresses6])
      expect(mayReachAddress(address, strict), address).toBe(true);
    for (const none of ["", "shop.example", "1.1.1", "1.1.1.1.1", "fe80::1%eth0", "[::1]"])
      expect(mayReachAddress(none, strict)).toBe(false);
  });

  it("of a receiver opens by the operator's list alone, which opens no other", () => {
    const some = { ...strict, allowNetworks: ["10.1.2.0/24", "fd00:1::/32", "127.0.0.2"] };
    expect(
      ["10.1.2.9", "fd00:1::5", "127.0.0.2"].map((address) => mayReachAddress(address, some)),
    ).toEqual([true, true, true]);
    expect(
      ["10.1.3.1", "fd00:2::1", "127.0.0.1", "::ffff:10.1.2.9"].map((one) =>
        mayReachAddress(one, some),
      ),
    ).toEqual([...[false, false, false, false]]);
    expect(
      ["127.9.9.9", "::1", "10.0.0.1"].map((one) =>
        mayReachAddress(one, { ...strict, allowLoopback: true }),
      ),
    ).toEqual([...[true, true, false]]);
  });
});

describe("hostile targets", () => {
  it("200 and more of them reach no private address, neither when added nor when sent to", async () => {
    const trap = await listener();
    const urls = [
      ...spellings.flatMap((host) =>
        [...tails, `:${trap.port}`].map((tail) => `https://${host}${tail}/hook`),
      ),
      ...closedAddresses.map(
        (address) => `https://${address.includes(":") ? `[${address}]` : address}:${trap.port}/`,
      ),
      ...odd(trap.port),
    ];
    expect(urls.length).toBeGreaterThan(200);
    for (const url of urls) expect(urlProblem(url, strict), url).not.toBe("");
    const sent = await Promise.all(urls.map((url) => callbackSender().send(letter(url))));
    expect(sent.every(({ status, answer }) => status === 0 && answer.startsWith("the URL "))).toBe(
      true,
    );
    expect([connected, trap.hits()]).toEqual([[], 0]);
    expect(urlProblem("https://shop.example/hook?x=1", strict)).toBe("");
    expect(urlProblem("https://shop.example:8443/hook", strict)).toBe("");
    await trap.close();
  });

  it("hosts whose names lead to every kind of private address are not connected to", async () => {
    const trap = await listener();
    const four = closedAddresses.filter((address) => !address.includes(":"));
    for (const address of four) {
      const names = await nameServer([address], "::1");
      const sent = await callbackSender({ nameServers: [names.at] }).send(
        letter(`https://shop.example:${trap.port}/`),
      );
      expect([address, sent.answer]).toEqual([
        address,
        "the name leads to an address that is not public",
      ]);
      names.close();
    }
    expect([connected, trap.hits()]).toEqual([[], 0]);
    await trap.close();
  });

  it("a name server that changes its answer reaches only addresses that were judged", async () => {
    const trap = await listener();
    const open = { ...strict, allowLoopback: false, allowNetworks: ["127.0.0.2"] };
    const names = await nameServer(["127.0.0.2", "127.0.0.1"]);
    const asker = callbackSender({ settings: open, nameServers: [names.at] });
    const url = `https://shop.example:${trap.port}/`;
    expect((await asker.send(letter(url))).answer).toMatch(/^could not be reached/);
    expect([connected, names.asked, trap.hits()]).toEqual([[`127.0.0.2:${trap.port}`], 1, 0]);
    for (let tries = 1; tries < 5; tries++)
      expect((await asker.send(letter(url))).answer).toBe(
        "the name leads to an address that is not public",
      );
    expect([connected.length, names.asked, trap.hits()]).toEqual([1, 5, 0]);
    names.close();
    await trap.close();
  });

  it("a name without an address, and a name server that is silent, end in time", async () => {
    const names = await nameServer([""]);
    expect(
      (await callbackSender({ nameServers: [names.at] }).send(letter("https://shop.example/")))
        .answer,
    ).toBe("the name has no address");
    names.close();
    const silent = createSocket("udp4");
    await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
    const soon = { ...strict, timeoutMs: 1_000 };
    const asked = callbackSender({
      settings: soon,
      nameServers: [`127.0.0.1:${silent.address().port}`],
    });
    const sent = await asked.send(letter("https://shop.example/"));
    expect([sent.status, sent.answer]).toEqual([0, "the name servers do not answer"]);
    // The resolver's own patience would be 75 s.
    expect(sent.durationMs).toBeLessThan(60_000);
    silent.close();
  });
});

describe("a receiver", () => {
  let dir = "";
  let server: Server;
  let port = 0;
  let ca = "";
  const open = { ...strict, allowNetworks: ["127.0.0.1"] };
  let answer = (): {
    status: number;
    headers?: Record<string, string>;
    body?: string | Buffer;
  } => ({ status: 204 });
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "callback-tls-"));
    const [key, certificate] = [join(dir, "key.pem"), join(dir, "cert.pem")];
    execFileSync(
      "openssl",
      [
        ...[
          "req",
          "-x509",
          "-newkey",
          "ec",
          "-pkeyopt",
          "ec_paramgen_curve:prime256v1",
          "-nodes",
          "-days",
          "2",
        ],
        ...[
          "-subj",
          "/CN=shop.example",
          "-addext",
          "subjectAltName=DNS:shop.example",
          "-keyout",
          key,
          "-out",
          certificate,
        ],
      ],
      { stdio: "ignore" },
    );
    ca = readFileSync(certificate, "utf8");
    server = createSecureServer({ key: readFileSync(key), cert: ca }, (_request, response) => {
      const { status, headers, body } = answer();
      response.writeHead(status, headers);
      if (body === undefined) response.end();
      else response.write(body);
    }) as unknown as Server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(dir, { recursive: true });
  });

  it("is known by the name on its certificate, though reached by its address", async () => {
    const names = await nameServer(["127.0.0.1"]);
    const known = callbackSender({ settings: open, nameServers: [names.at], ca });
    expect(await known.send(letter(`https://shop.example:${port}/`))).toMatchObject({
      status: 204,
      answer: "",
    });
    expect(await known.send(letter(`https://other.example:${port}/`))).toMatchObject({
      ...{ status: 0, answer: "could not be reached (ERR_TLS_CERT_ALTNAME_INVALID)" },
    });
    const outsider = callbackSender({ settings: open, nameServers: [names.at] });
    expect((await outsider.send(letter(`https://shop.example:${port}/`))).answer).toMatch(
      /^could not be reached \([A-Z_]+\)$/,
    );
    names.close();
  });

  it("redirects nobody, and is read a little and not for long", async () => {
    const names = await nameServer(["127.0.0.1"]);
    const known = callbackSender({ settings: open, nameServers: [names.at], ca });
    const url = `https://shop.example:${port}/`;
    const trap = await listener();
    answer = () => ({
      status: 307,
      headers: { Location: `http://127.0.0.1:${trap.port}/` },
      body: "moved",
    });
    expect(await known.send(letter(url))).toMatchObject({ status: 307, answer: "moved" });
    expect(trap.hits()).toBe(0);
    answer = () => ({ status: 200, body: Buffer.alloc(8 * 1024 * 1024, "x") });
    const long = await known.send(letter(url));
    expect([long.status, long.answer]).toEqual([200, "x".repeat(512)]);
    answer = () => ({ status: 200, body: "half" });
    const half = await known.send(letter(url));
    expect([half.status, half.answer, half.durationMs < open.timeoutMs]).toEqual([
      200,
      "half",
      true,
    ]);
    names.close();
    await trap.close();
  });
});
