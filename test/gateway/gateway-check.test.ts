/**
 * `gateway check` on real folders, ports, certificates and nodes: a healthy gateway has no finding,
 * a broken one exactly its own code.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { checkGateway } from "../../gateway/operator/check.ts";
import { initFolder } from "../../gateway/operator/folder.ts";
import { ownStore } from "../../gateway/store/owner.ts";
import { type FakeNode, startFakeNode } from "../../lab/kit/fake-node.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { closedPort } from "../support/evm-nodes.ts";

const disk = vi.hoisted(() => ({ freeBytes: 2 ** 40 }));
vi.mock("../../gateway/store/disk.ts", async (real) => ({
  ...(await real<typeof import("../../gateway/store/disk.ts")>()),
  freeBytesOf: () => disk.freeBytes,
}));

const usdt = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
const nowMs = Date.parse("2026-11-20T12:00:00Z");
let dir: string;
let path: string;
let node: FakeNode;
let chain: { id: string; decimals: number; code: string };
let config: Record<string, unknown>;
const closers: (() => unknown)[] = [];

const figures: Readonly<Record<string, string>> = {
  ...{ eth_getBalance: "0x0", eth_getTransactionCount: "0x0" },
  ...{ eth_estimateGas: "0x5208", eth_maxPriorityFeePerGas: "0x1" },
};
const block = {
  number: "0x9",
  hash: `0x${"ab".repeat(32)}`,
  parentHash: `0x${"cd".repeat(32)}`,
  baseFeePerGas: "0x1",
  /** Always new: a starved machine takes minutes, and a block of then is a stale one. */
  get timestamp() {
    return `0x${Math.floor(Date.now() / 1000).toString(16)}`;
  },
};

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "aw-gateway-check-"));
  path = initFolder(dir, silentLog).config;
  chain = { id: "0x7a69", decimals: 6, code: "0x60" };
  node = await startFakeNode({
    answer: ({ method }) => {
      if (method === "eth_chainId") return { result: chain.id };
      if (method === "eth_getCode") return { result: chain.code };
      if (method === "eth_getLogs") return { result: [] };
      if (Object.hasOwn(figures, method)) return { result: figures[method] };
      return {
        result:
          method === "eth_call" ? `0x${chain.decimals.toString(16).padStart(64, "0")}` : block,
      };
    },
  });
  closers.push(() => node.close());
  const named = { chain: "local", name: "Tether", symbol: "USDT", minPaymentAmount: "1" };
  config = {
    listen: { host: "127.0.0.1", port: await closedPort() },
    publicUrl: "http://127.0.0.1:8080",
    database: "sqlite:gateway.db",
    chains: { local: { family: "evm", chainId: 31337, nodes: [node.url], confirmations: 1 } },
    currencies: { usdt: { ...named, decimal: 6, contract: usdt } },
  };
  write();
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  rmSync(dir, { recursive: true, force: true });
});

function write(change: Record<string, unknown> = {}): void {
  config = { ...config, ...change };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
}

/** A certificate as the system's own tool makes it. */
function certificate(name: string, days: number): object {
  const [key, made] = [join(dir, "tls.key"), join(dir, "tls.crt")];
  const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
  const done = spawnSync("openssl", [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-keyout",
    key,
    "-out",
    made,
    "-days",
    `${days}`,
    ...subject,
  ]);
  expect(done.status, String(done.stderr)).toBe(0);
  return { certificate: made, key };
}

async function listening(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  return server;
}

const portOf = (): number => (config.listen as { port: number }).port;
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

const cases: readonly (readonly [string, string, () => void | Promise<void>])[] = [
  ["no configuration", "GATEWAY_CONFIG_MISSING", () => rmSync(path)],
  ["a key that nothing reads", "GATEWAY_CONFIG_INVALID", () => write({ listn: 1 })],
  ["no key file", "GATEWAY_KEY_MISSING", () => rmSync(join(dir, "gateway.key"))],
  [
    "a key file that others can read",
    "GATEWAY_KEY_OPEN",
    () => chmodSync(join(dir, "gateway.key"), 0o644),
  ],
  [
    "the key of another gateway",
    "GATEWAY_KEY_OTHER",
    () => {
      const other = mkdtempSync(join(tmpdir(), "aw-gateway-other-"));
      closers.push(() => rmSync(other, { recursive: true }));
      writeFileSync(join(dir, "gateway.key"), readFileSync(initFolder(other, silentLog).key));
    },
  ],
  ["no database", "GATEWAY_STORE_MISSING", () => rmSync(join(dir, "gateway.db"))],
  ["an empty database", "GATEWAY_STORE_INVALID", () => writeFileSync(join(dir, "gateway.db"), "")],
  [
    "a database that is none",
    "GATEWAY_STORE_INVALID",
    () => {
      for (const end of ["-wal", "-shm"]) rmSync(join(dir, `gateway.db${end}`), { force: true });
      writeFileSync(join(dir, "gateway.db"), "x".repeat(8192));
    },
  ],
  [
    "a port that another process has",
    "GATEWAY_LISTEN_TAKEN",
    async () => void (await listening(portOf())),
  ],
  [
    "a publicUrl of this machine for others",
    "GATEWAY_PUBLIC_URL",
    () => write({ listen: { host: "0.0.0.0", port: portOf() }, trustProxy: ["10.0.0.1"] }),
  ],
  [
    "a certificate that is not there",
    "GATEWAY_TLS",
    () =>
      write({
        listen: {
          host: "127.0.0.1",
          port: portOf(),
          tls: { certificate: "no.crt", key: "no.key" },
        },
        publicUrl: "https://localhost:8080",
      }),
  ],
  ["a node of another chain", "NODE_WRONG_CHAIN", () => void Object.assign(chain, { id: "0x1" })],
  ["a node that is away", "NODE_UNREACHABLE", () => node.close()],
  [
    "a token with other decimals",
    "WATCHER_DECIMALS",
    () => void Object.assign(chain, { decimals: 18 }),
  ],
  ["a contract that is none", "WATCHER_DECIMALS", () => void Object.assign(chain, { code: "0x" })],
];

it.each(cases)("gateway check finds %s: %s", async (_, code, broken) => {
  expect(await checkGateway(path, nowMs)).toEqual([]);
  await broken();
  const findings = await checkGateway(path, nowMs);
  expect(findings.map((one) => one.code)).toEqual([code]);
  expect(findings[0]?.severity).toBe(
    ["NODE_UNREACHABLE", "GATEWAY_PUBLIC_URL"].includes(code) ? "warning" : "error",
  );
});

it("a gateway that runs has its own port, which is no trouble", async () => {
  const owned = ownStore(join(dir, "gateway.db"));
  await listening(portOf());
  expect(await checkGateway(path, nowMs)).toEqual([]);
  owned.release();
  expect((await checkGateway(path, nowMs)).map((one) => one.code)).toEqual([
    "GATEWAY_LISTEN_TAKEN",
  ]);
});

it.runIf(hasOpenssl)("a certificate is for publicUrl's name, and not near its end", async () => {
  const tls = certificate("pay.example.com", 90);
  const listen = { host: "127.0.0.1", port: portOf(), tls };
  write({ listen, publicUrl: "https://pay.example.com" });
  const today = Date.now();
  expect(await checkGateway(path, today)).toEqual([]);
  write({ listen, publicUrl: "https://shop.example.com" });
  expect((await checkGateway(path, today)).map(({ code, severity }) => [code, severity])).toEqual([
    ["GATEWAY_CERTIFICATE", "error"],
  ]);
  write({ listen, publicUrl: "https://pay.example.com" });
  const later = await checkGateway(path, today + 80 * 86_400_000);
  // By that clock the chain stands still as well.
  expect(
    later.filter(({ code }) => code !== "NODE_STALE").map(({ code, severity }) => [code, severity]),
  ).toEqual([["GATEWAY_CERTIFICATE", "warning"]]);
  expect((await checkGateway(path, today + 100 * 86_400_000))[0]?.severity).toBe("error");
  write({ listen, publicUrl: "http://localhost:8080" });
  expect((await checkGateway(path, today)).map((one) => one.code)).toContain("GATEWAY_PUBLIC_URL");
});

it.runIf(hasOpenssl)(
  "a certificate and a key that do not fit are an error before a reload takes them",
  async () => {
    const tls = certificate("pay.example.com", 90);
    const otherKey = join(dir, "other.key");
    renameSync(join(dir, "tls.key"), otherKey);
    const renewed = certificate("pay.example.com", 90);
    const listen = { host: "127.0.0.1", port: portOf() };
    write({ listen: { ...listen, tls: renewed }, publicUrl: "https://pay.example.com" });
    expect(await checkGateway(path, Date.now())).toEqual([]);
    write({ listen: { ...listen, tls: { ...tls, ...renewed, key: otherKey } } });
    expect(
      (await checkGateway(path, Date.now())).map(({ code, severity }) => [code, severity]),
    ).toEqual([["GATEWAY_TLS", "error"]]);
  },
);

it("gateway check warns of a disk that is nearly full, and would start all the same", async () => {
  write();
  disk.freeBytes = 256 * 1024 * 1024 - 1;
  try {
    expect(await checkGateway(path, nowMs)).toEqual([
      expect.objectContaining({
        ...{ code: "GATEWAY_DISK_FULL", severity: "warning" },
        what: `255 MiB are free on the disk of ${join(dir, "gateway.db")}`,
      }),
    ]);
    disk.freeBytes += 1;
    expect(await checkGateway(path, nowMs)).toEqual([]);
  } finally {
    disk.freeBytes = 2 ** 40;
  }
});

it("gateway check changes nothing", async () => {
  // A copy, which nobody else has open: the connection that made the original may still be on its
  // way out.
  const copy = mkdtempSync(join(tmpdir(), "aw-gateway-check-"));
  closers.push(() => rmSync(copy, { recursive: true, force: true }));
  cpSync(dir, copy, { recursive: true });
  const database = join(copy, "gateway.db");
  const [before, bytes] = [statSync(database).mtimeMs, readFileSync(database)];
  expect(await checkGateway(join(copy, "gateway.config.json"), nowMs)).toEqual(
    await checkGateway(path, nowMs),
  );
  expect(statSync(database).mtimeMs).toBe(before);
  expect(readFileSync(database).equals(bytes)).toBe(true);
});
