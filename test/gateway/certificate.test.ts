/**
 * The gateway's certificate: a renewed one is taken by a reload, for new connections, and one that
 * cannot be used changes nothing. Real TLS, and the process that operators reload.
 */
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { certificateState } from "../../gateway/config/certificate-end.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { type Gateway, startGateway } from "../../gateway/gateway.ts";
import { ConfigReload } from "../../gateway/operator/reload.ts";
import { createStore } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { startsTheBuild } from "../support/built.ts";
import { until } from "../support/until.ts";

startsTheBuild();

let dir = "";
let running: Gateway | null = null;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gateway-certificate-"));
});
afterEach(async () => {
  await running?.close();
  running = null;
  rmSync(dir, { recursive: true });
});

/** A certificate of its own, whose name tells it apart. */
function issue(name: string, days: number): void {
  const kind = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    `${days}`,
  ];
  const files = ["-keyout", join(dir, `${name}.key`), "-out", join(dir, `${name}.pem`)];
  execFileSync(
    "openssl",
    [...kind, "-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1", ...files],
    {
      stdio: "ignore",
    },
  );
}

function install(name: string): void {
  for (const end of ["pem", "key"])
    copyFileSync(join(dir, `${name}.${end}`), join(dir, `served.${end}`));
}

function prepared(): ReturnType<typeof parseConfig> {
  const listen = {
    host: "127.0.0.1",
    port: 0,
    tls: { certificate: "served.pem", key: "served.key" },
  };
  const text = JSON.stringify({
    ...testConfig,
    listen,
    database: "sqlite:gateway.db",
    keyFile: "gateway.key",
  });
  writeFileSync(join(dir, "gateway.config.json"), text);
  const config = parseConfig(text, dir, 0);
  createStore(config.database, createGatewayKey(config.keyFile).fingerprint, silentLog).close();
  return config;
}

/** The name in the certificate that a new connection gets. */
const servedName = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.end();
    });
    socket.on("error", reject);
  });

describe("a reload of the gateway", () => {
  it("serves a renewed certificate to new connections, and says when it ends", async () => {
    issue("old", 1);
    issue("new", 90);
    install("old");
    const config = prepared();
    const warned: string[] = [];
    const log = {
      ...silentLog,
      warn: (context: { event: string }) => void warned.push(context.event),
    } as never;
    running = await startGateway(config, { log, clock: () => Date.now(), onPoisoned: () => {} });
    expect(warned).toContain("certificate-ends");
    const { renewCertificate } = running;
    const port = Number(new URL(running.url).port);
    const said: string[] = [];
    const reload = new ConfigReload(config, {
      read: () => config,
      log: { level: "info" },
      say: (event, line) => said.push(`${event}: ${line}`),
      renewCertificate,
      take: async () => {},
      onTaken: () => {},
    });
    await reload.request();
    expect([await servedName(port), said]).toEqual([
      "old",
      ["config-reload: the configuration has not changed; nothing was done"],
    ]);
    install("new");
    await reload.request();
    expect(await servedName(port)).toBe("new");
    expect(said[1]).toMatch(
      /^config-reload: the renewed certificate is served from now on; it ends at \d{4}-/,
    );
    copyFileSync(join(dir, "old.pem"), join(dir, "served.pem"));
    await reload.request();
    expect(await servedName(port)).toBe("new");
    expect(said[2]).toMatch(
      /^config-refused: the certificate was not taken: .*; the old one is served on$/,
    );
    rmSync(join(dir, "served.key"));
    await reload.request();
    expect(said[3]).toMatch(/^config-refused: .*ENOENT.*; the old one is served on$/);
    expect(said).toHaveLength(4);
  });

  it("by SIGHUP takes the renewed certificate in the process that operators run", async () => {
    issue("old", 1);
    issue("new", 90);
    install("old");
    prepared();
    const path = join(dir, "gateway.config.json");
    const child = spawn(process.execPath, ["gateway/gateway.js", "start", "--config", path], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const take = (part: Buffer): void => {
      output += part.toString();
    };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", take);
    const ended = new Promise((resolve) => child.on("exit", resolve));
    try {
      await until(() => /gateway: listens at \S+:\d+\n/.test(output));
      const port = Number(/gateway: listens at \S+:(\d+)\n/.exec(output)?.[1]);
      expect(await servedName(port)).toBe("old");
      install("new");
      child.kill("SIGHUP");
      await until(() => output.includes("the renewed certificate is served"));
      expect(await servedName(port)).toBe("new");
    } finally {
      child.kill();
      await ended;
    }
  });
});

describe("the end of a certificate", () => {
  it("is told from two weeks before it on", () => {
    const day = 86_400_000;
    const left = (endsAtMs: number | null) => certificateState(endsAtMs, 100 * day).left;
    expect([
      left(null),
      left(114 * day),
      left(114 * day - 1),
      left(100 * day + 1),
      left(100 * day),
      left(0),
    ]).toEqual([...["enough", "enough", "little", "little", "none", "none"]]);
    expect(certificateState(0, day).words).toContain(
      "ended at 1970-01-01T00:00:00.000Z: shops and agents refuse it",
    );
  });
});
