/**
 * The way out of a company's network: a certificate authority of its own and a proxy, for
 * exchanges, for the link and for pairing. Real TLS, a real proxy, names that only the proxy knows.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type WebSocket from "ws";
import { WebSocketServer } from "ws";
import { egressOf, readNetworkSettings } from "../../agent/config/network.ts";
import { createLink, type LinkDown, type LinkOptions } from "../../agent/courier/link/link.ts";
import { linkRemedy } from "../../agent/problems/reasons.ts";
import { addLikelyCause, connectionAdvice } from "../../base/connection-words.ts";
import type { Egress } from "../../base/egress.ts";
import {
  codeEnvironmentWarnings,
  networkEnvironmentWarnings,
} from "../../base/ignored-environment.ts";
import { isByProxy, useEgress } from "../../base/outgoing/egress.ts";
import { createOutgoingClient, type OutgoingOutcome } from "../../base/outgoing/exchange.ts";
import { privateKeyFromSeed } from "../../protocol/envelope.ts";
import { startsTheBuild } from "../support/built.ts";
import { type ConnectProxy, startConnectProxy } from "../support/connect-proxy.ts";
import { until } from "../support/until.ts";

startsTheBuild();

const name = "gateway.company.test";
const none: Egress = { ca: "", proxy: "", direct: [] };
let dir = "";
let ca = "";
let port = 0;
let server: Server;
let sockets: WebSocketServer;
let upgraded = 0;
let noUpgrade = false;
const proxies: ConnectProxy[] = [];

const openssl = (...args: readonly string[]): void =>
  void execFileSync("openssl", args, { cwd: dir, stdio: "ignore" });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "egress-"));
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...ec,
    "-days",
    "2",
    "-subj",
    "/CN=Company CA",
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
  );
  openssl("req", ...ec, "-subj", `/CN=${name}`, "-keyout", "server.key", "-out", "server.csr");
  writeFileSync(join(dir, "names"), `subjectAltName=DNS:${name},IP:127.0.0.1\n`);
  openssl(
    "x509",
    "-req",
    "-in",
    "server.csr",
    "-CA",
    "ca.pem",
    "-CAkey",
    "ca.key",
    "-CAcreateserial",
    "-days",
    "2",
    "-extfile",
    "names",
    "-out",
    "server.pem",
  );
  ca = readFileSync(join(dir, "ca.pem"), "utf8");
  const pair = {
    cert: readFileSync(join(dir, "server.pem")),
    key: readFileSync(join(dir, "server.key")),
  };
  server = createServer(pair, (request, response) => {
    if (request.url === "/agent/v1/pair")
      response
        .writeHead(403, { "content-type": "application/json" })
        .end('{"code":"key_revoked","message":"The key was revoked."}');
    else response.writeHead(200).end(`for ${request.headers.host}`);
  });
  sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    if (noUpgrade) {
      socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      return;
    }
    sockets.handleUpgrade(request, socket, head, (open: WebSocket) => {
      upgraded += 1;
      open.close(4000, "seen");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  sockets.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true });
});
afterEach(async () => {
  useEgress(none);
  for (const proxy of proxies.splice(0)) await proxy.close();
  noUpgrade = false;
});

async function proxyWith(...given: Parameters<typeof startConnectProxy>): Promise<ConnectProxy> {
  const proxy = await startConnectProxy(...given);
  proxies.push(proxy);
  return proxy;
}

function get(origin: string): Promise<OutgoingOutcome> {
  const outgoing = createOutgoingClient({ origin, connectionsMax: 1, idleMs: 0 });
  return new Promise((resolve) => {
    outgoing.send({ method: "GET", path: "/", bytesMax: 1_000, timeoutMs: 5_000 }, (outcome) => {
      outgoing.close();
      resolve(outcome);
    });
  });
}
const said = (outcome: OutgoingOutcome): string =>
  outcome.ok ? `${outcome.status} ${outcome.body.toString()}` : outcome.why;

describe("an exchange out of a company's network", () => {
  it("trusts the authority that is named, beside the machine's own", async () => {
    const origin = `https://127.0.0.1:${port}`;
    expect(said(await get(origin))).toMatch(
      /^UNABLE_TO_VERIFY_LEAF_SIGNATURE|^UNABLE_TO_GET_ISSUER_CERT_LOCALLY/,
    );
    useEgress({ ...none, ca });
    expect(said(await get(origin))).toBe(`200 for 127.0.0.1:${port}`);
  });

  it("goes by the proxy to names that it alone knows, with TLS to the host itself", async () => {
    const proxy = await proxyWith("shop:p@ss:word");
    const address = `http://shop:p%40ss%3Aword@127.0.0.1:${proxy.port}`;
    useEgress({ ca, proxy: address, direct: [] });
    expect(said(await get(`https://${name}:${port}`))).toBe(`200 for ${name}:${port}`);
    expect(proxy.asked).toEqual([`${name}:${port}`]);
    useEgress({ ca: "", proxy: address, direct: [] });
    expect(said(await get(`https://${name}:${port}`))).toMatch(/UNABLE_TO/);
    useEgress({ ca, proxy: address, direct: [] });
    expect(said(await get(`https://other.company.test:${port}`))).toContain(
      "ERR_TLS_CERT_ALTNAME_INVALID",
    );
    expect(said(await get(`https://127.0.0.1:${port}`))).toBe(`200 for 127.0.0.1:${port}`); // loopback: directly
    expect(proxy.asked).toHaveLength(3);
  });

  it("names a proxy that refuses, wants a name, or is none", async () => {
    const closed = await proxyWith("", [name]);
    useEgress({ ca, proxy: `http://127.0.0.1:${closed.port}`, direct: [] });
    expect(await get(`https://${name}:${port}`)).toMatchObject({
      ok: false,
      code: "PROXY_REFUSED",
      isUnsent: true,
    });
    const named = await proxyWith("a:b");
    useEgress({ ca, proxy: `http://127.0.0.1:${named.port}`, direct: [] });
    expect(await get(`https://${name}:${port}`)).toMatchObject({ ok: false, code: "PROXY_LOGIN" });
    expect(connectionAdvice("PROXY_LOGIN")?.hint).toContain("USER:PASSWORD@");
    useEgress({ ca, proxy: `http://127.0.0.1:${port}`, direct: [] }); // speaks TLS at once
    expect(await get(`https://${name}:${port}`)).toMatchObject({ ok: false });
    useEgress({ ca, proxy: "http://127.0.0.1:1", direct: [] });
    expect(said(await get(`https://${name}:${port}`))).toContain("ECONNREFUSED");
  });

  it("leaves hosts and domains that are named to the direct way", () => {
    useEgress({
      ca: "",
      proxy: "http://proxy.test:3128",
      direct: ["node.example", ".inside.example", "10.0.0.5"],
    });
    const hosts = [
      "node.example",
      "a.inside.example",
      "10.0.0.5",
      "127.0.0.1",
      "[::1]",
      "localhost",
    ];
    expect(hosts.map(isByProxy)).toEqual(hosts.map(() => false));
    expect(["inside.example", "xnode.example", "10.0.0.50", "pay.example"].map(isByProxy)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    useEgress(none);
    expect(isByProxy("pay.example")).toBe(false);
  });
});

describe("a link out of a company's network", () => {
  const linkKey = privateKeyFromSeed(new Uint8Array(32).fill(7));
  /** The first end of a link to the server. */
  function firstEnd(): Promise<LinkDown> {
    return new Promise((resolve) => {
      const link = createLink({
        ...({
          linkKey,
          gatewayKey: linkKey,
          self: { agent: "a", ledgerEpoch: 1 },
        } as unknown as LinkOptions),
        ...{
          address: `wss://${name}:${port}/agent/v1/link`,
          software: "test",
          clock: Date.now,
          random: () => 1,
        },
        ...{
          head: () => null,
          open: () => [],
          onUp: () => {},
          onRecovery: () => {},
          onFrame: () => {},
        },
        onDown: (down) => {
          link.close();
          resolve(down);
        },
      });
    });
  }

  it("goes by the proxy, with the authority that is named", async () => {
    const proxy = await proxyWith();
    useEgress({ ca, proxy: `http://127.0.0.1:${proxy.port}`, direct: [] });
    const before = upgraded;
    await firstEnd();
    await until(() => upgraded === before + 1);
    expect(proxy.asked).toEqual([`${name}:${port}`]);
  });

  it("says what was seen, its cause, and the line to type", async () => {
    const proxy = await proxyWith();
    const address = `http://127.0.0.1:${proxy.port}`;
    useEgress({ ca: "", proxy: address, direct: [] });
    const untrusted = await firstEnd();
    expect(untrusted.detail).toMatch(
      /^UNABLE_TO_\w+: its certificate is of an authority that this machine does not know/,
    );
    expect(linkRemedy(`${untrusted.code}: ${untrusted.detail}`)).toContain(
      "network.ca of config.json",
    );
    useEgress({ ca, proxy: address, direct: [] });
    noUpgrade = true;
    const plain = await firstEnd();
    expect(plain.detail).toBe(
      "Unexpected server response: 404: the server before the gateway does not pass WebSocket on",
    );
    expect(linkRemedy(`${plain.code}: ${plain.detail}`)).toContain("nginx, Caddy and haproxy");
    useEgress(none);
    expect((await firstEnd()).detail).toMatch(/^(?:ENOTFOUND|EAI_AGAIN): its name is not found$/);
  });
});

describe("pairing out of a company's network", () => {
  // As it is built, because it starts the built program of the registering process.
  const built = import(new URL("../../dist/cli/pair/children.js", import.meta.url).href) as Promise<
    typeof import("../../cli/pair/children.ts")
  >;
  const register = async (egress: Egress | undefined, host = name) =>
    (await built).registerAgent(
      {},
      {
        gatewayUrl: `https://${host}:${port}`,
        transcript: '{"x":1}',
        proven: { signerSignature: "", accounts: [] } as never,
        egress,
      },
      {
        apiKey: Buffer.from(`k_${"0".repeat(16)}.${"A".repeat(43)}.${"0".repeat(32)}`),
        linkSeed: Buffer.alloc(32, 7),
      },
    );

  it("reaches the gateway by the proxy and the authority of config.json", async () => {
    const proxy = await proxyWith();
    const egress = { ca, proxy: `http://127.0.0.1:${proxy.port}`, direct: [] };
    await expect(register(egress)).rejects.toMatchObject({ code: "PAIRING_REVOKED" });
    expect(proxy.asked).toEqual([`${name}:${port}`]);
    await expect(register({ ...egress, ca: "" })).rejects.toMatchObject({
      code: "PAIRING_AWAY",
      message: expect.stringMatching(/cannot be reached \(UNABLE_TO.*does not know/),
      context: { hint: expect.stringContaining("network.ca") },
    });
    await expect(register(undefined)).rejects.toMatchObject({
      code: "PAIRING_AWAY",
      context: { hint: expect.stringContaining("network.proxy") },
    });
  });
});

describe("network of config.json", () => {
  it("takes a file, a proxy and hosts, and refuses what none of them is", () => {
    const good = {
      ca: "/etc/ca.pem",
      proxy: "http://u:p@proxy.example:3128",
      direct: ["Node.Example", ".inside"],
    };
    expect(readNetworkSettings(good, "network")).toEqual({
      ca: "/etc/ca.pem",
      proxy: "http://u:p@proxy.example:3128/",
      direct: ["node.example", ".inside"],
    });
    expect(readNetworkSettings({}, "network")).toEqual({ direct: [] });
    const bad = [
      { ca: "ca.pem" },
      { proxy: "https://proxy.example" },
      { proxy: "proxy.example:3128" },
      { proxy: "http://proxy.example/path" },
      { direct: ["*.example"] },
      { direct: "node.example" },
      { certificate: "/x" },
    ];
    for (const one of bad)
      expect(() => readNetworkSettings(one, "network"), JSON.stringify(one)).toThrow();
    expect(() => readNetworkSettings({ proxy: "socks5://u:secret@p" }, "network")).toThrow(
      /^(?!.*secret)/,
    );
  });

  it("reads certificates that only root or this user can change", () => {
    const path = join(dir, "company.pem");
    writeFileSync(path, `two of them\n${ca}\n${ca}`);
    expect(egressOf({ ca: path, direct: [] })?.ca.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(egressOf(undefined)).toBeNull();
    chmodSync(path, 0o666);
    expect(() => egressOf({ ca: path, direct: [] })).toThrow(/company\.pem/);
    chmodSync(path, 0o600);
    for (const text of [
      "",
      "no certificate",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
    ]) {
      writeFileSync(path, text);
      expect(() => egressOf({ ca: path, direct: [] }), text).toThrow(/network\.ca/);
    }
    expect(() => egressOf({ ca: join(dir, "nowhere.pem"), direct: [] })).toThrow(
      /network\.ca cannot be read: ENOENT/,
    );
  });
});

describe("words for a connection", () => {
  it("come from what was seen, and a line of config.json takes a variable's place", () => {
    for (const seen of [
      "CERT_HAS_EXPIRED",
      "ENOTFOUND",
      "Unexpected server response: 502",
      "ECONNREFUSED (127.0.0.1 port 1)",
      "ETIMEDOUT",
    ])
      expect(connectionAdvice(seen)?.hint, seen).toBeTruthy();
    expect([connectionAdvice("SOMETHING_ELSE"), addLikelyCause("SOMETHING_ELSE")]).toEqual([
      null,
      "SOMETHING_ELSE",
    ]);
    const env = {
      https_proxy: "http://p",
      NODE_EXTRA_CA_CERTS: "/x",
      NODE_OPTIONS: "-r x",
      HOME: "/root",
      NO_PROXY: "",
    };
    expect(codeEnvironmentWarnings(env)).toEqual([
      expect.stringMatching(/^NODE_OPTIONS is set; it is not passed on/),
    ]);
    expect(networkEnvironmentWarnings(env)).toEqual([
      expect.stringMatching(/^https_proxy is set and not used: network\.proxy/),
      expect.stringMatching(/^NODE_EXTRA_CA_CERTS is set and not used: network\.ca/),
    ]);
    expect([codeEnvironmentWarnings({}), networkEnvironmentWarnings({})]).toEqual([[], []]);
  });
});
