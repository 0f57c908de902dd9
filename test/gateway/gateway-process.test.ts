/**
 * The gateway as one process: what startGateway puts together and takes apart, and the command line
 * over the built output.
 */
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { get as getSecure } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createTokenMaker } from "../../clients/typescript/signature-token.ts";
import { createGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { type GatewayConfig, parseConfig } from "../../gateway/config/config.ts";
import { type Gateway, startGateway } from "../../gateway/gateway.ts";
import { askHealth, failedChecks } from "../../gateway/operator/health.ts";
import { createStore } from "../../gateway/store/store.ts";
import { runGatewayCommand } from "../../lab/kit/commands.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { until } from "../../lab/kit/processes.ts";
import { shareOf } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";

const log = pino({ level: "silent" });
const deps = { log, clock: Date.now, onPoisoned: () => {} };
const root = fileURLToPath(new URL("../..", import.meta.url));

function folder(): string {
  return mkdtempSync(join(tmpdir(), "gateway-process-"));
}

function prepare(dir: string, change: object = {}): GatewayConfig {
  const config = parseConfig(JSON.stringify({ ...testConfig, ...change }), dir, 0);
  const { fingerprint } = createGatewayKey(config.keyFile);
  createStore(config.database, fingerprint, log).close();
  return config;
}

describe("startGateway", () => {
  const dir = folder();
  let running: Gateway | null = null;
  afterEach(async () => {
    await running?.close();
    running = null;
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("stops though connections ask nothing, or half a request", async () => {
    const config = prepare(mkdtempSync(join(dir, "z-")));
    running = await startGateway(config, deps);
    const port = Number(new URL(running.url).port);
    const [silent, half] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
    for (const socket of [silent, half]) socket.on("error", () => {});
    await Promise.all([once(silent, "connect"), once(half, "connect")]);
    half.write("POST /api/v1/autoWithdraw HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
    const over = Promise.all(
      [silent, half].map((socket) => new Promise((done) => socket.once("close", done))),
    );
    // Node itself would end them with an answer: the half request by a 408, the silent one later.
    const told: string[] = [];
    for (const socket of [silent, half]) socket.on("data", (part) => told.push(String(part)));
    await running.close();
    await over;
    expect(told.filter((text) => text.includes(" 408 "))).toEqual([]);
  });

  it("serves REST and the agents' link on one port, is not ready without its chains, and stops whole", async () => {
    const config = prepare(mkdtempSync(join(dir, "a-")));
    running = await startGateway(config, deps);
    const port = Number(new URL(running.url).port);
    const health = await askHealth({ ...config, listen: { ...config.listen, port } });
    expect(health).toMatchObject({ reached: true, ready: false });
    expect(JSON.parse(health.text).checks.map((check: { name: string }) => check.name)).toEqual([
      "database",
      "disk",
      "wal",
      "certificate",
      "clock",
      "chains",
      "chain local",
      "currency usdt",
      "currency off",
      "prices",
      "books local",
    ]);
    expect(failedChecks(health.text)).toMatch(
      /^chains: no chain is read; chain local: not read: .+; [01] of 1 nodes answer(; http:.+ since .+ UTC: [^;]+)?(; prices: no price holds of .+)?$/,
    );
    expect(failedChecks("Bad Gateway")).toBe("Bad Gateway");
    const upgrade = request({
      port,
      path: "/agent/v1/link",
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
      },
    });
    upgrade.on("error", () => {});
    upgrade.end();
    const [response, socket] = await once(upgrade, "upgrade");
    expect(response.statusCode).toBe(101);
    socket.on("error", () => {});
    await running.close();
    await running.close();
    expect(await askHealth({ ...config, listen: { ...config.listen, port } })).toMatchObject({
      reached: false,
    });
    running = await startGateway(config, deps); // the database is free again
  });

  it("leaves nothing running when it cannot listen, and says which file is missing", async () => {
    const config = prepare(mkdtempSync(join(dir, "b-")));
    running = await startGateway(config, deps);
    const { port } = new URL(running.url);
    const other = prepare(mkdtempSync(join(dir, "c-")));
    const taken = { ...other, listen: { ...other.listen, port: Number(port) } };
    await expect(startGateway(taken, deps)).rejects.toMatchObject({
      code: "GATEWAY_LISTEN_TAKEN",
      message: `the gateway cannot listen at 127.0.0.1:${port}: EADDRINUSE`,
    });
    await expect(startGateway(config, deps)).rejects.toMatchObject({ code: "GATEWAY_STORE_OWNED" });
    await expect(startGateway({ ...other, keyFile: config.keyFile }, deps)).rejects.toMatchObject({
      code: "GATEWAY_KEY_OTHER",
    });
    await running.close();
    running = await startGateway(config, deps); // released with the process that held it
    await running.close();
    await expect(
      startGateway({ ...config, keyFile: join(dir, "no.key") }, deps),
    ).rejects.toMatchObject({
      code: "GATEWAY_KEY_MISSING",
    });
    await expect(
      startGateway({ ...config, database: join(dir, "no.db") }, deps),
    ).rejects.toMatchObject({
      code: "GATEWAY_STORE_MISSING",
    });
    const tls = { certificate: join(dir, "no.pem"), key: join(dir, "no.pem") };
    await expect(
      startGateway({ ...config, listen: { ...config.listen, tls } }, deps),
    ).rejects.toMatchObject({
      code: "GATEWAY_TLS",
    });
    // The twin of a taken port: a name without an address, which name servers may know later.
    const nowhere = { ...config, listen: { ...config.listen, host: "nowhere.invalid" } };
    await expect(startGateway(nowhere, deps)).rejects.toMatchObject({
      code: "GATEWAY_LISTEN_NAME",
    });
  });

  it("speaks TLS when it has a certificate, and refuses a broken one", async (context) => {
    if (spawnSync("openssl", ["version"]).status !== 0)
      context.skip("this machine lacks openssl: apt-get install openssl");
    const own = mkdtempSync(join(dir, "tls-"));
    const [key, certificate] = [join(own, "key.pem"), join(own, "cert.pem")];
    const subject = [
      "-subj",
      "/CN=localhost",
      "-addext",
      "subjectAltName=DNS:localhost",
      "-days",
      "1",
    ];
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "ed25519",
        "-nodes",
        "-keyout",
        key,
        "-out",
        certificate,
        ...subject,
      ],
      {
        stdio: "ignore",
      },
    );
    const config = prepare(own, {
      listen: { host: "127.0.0.1", port: 0, tls: { certificate, key } },
      publicUrl: "https://localhost",
    });
    running = await startGateway(config, deps);
    const { port } = new URL(running.url);
    const status = await new Promise((resolve, reject) => {
      const options = {
        host: "127.0.0.1",
        port,
        path: "/health",
        servername: "localhost",
        ca: readFileSync(certificate),
        agent: false,
      };
      getSecure(options, (response) => resolve(response.resume().statusCode)).on("error", reject);
    });
    expect(status).toBe(200);
    // Its operator trusts the certificate that the configuration names, and another one not.
    const asked = { ...config, listen: { ...config.listen, port: Number(port) } };
    expect(await askHealth(asked)).toMatchObject({ reached: true, untrusted: "" });
    const other = join(own, "other.pem");
    const files = ["-keyout", join(own, "other-key.pem"), "-out", other];
    execFileSync(
      "openssl",
      ["req", "-x509", "-newkey", "ed25519", "-nodes", ...files, ...subject],
      { stdio: "ignore" },
    );
    const tls = { certificate: other, key };
    const seen = await askHealth({ ...asked, listen: { ...asked.listen, tls } });
    expect(seen).toMatchObject({ reached: true, ready: false });
    expect(seen.reached && seen.untrusted).toMatch(/SELF_SIGNED|UNABLE_TO|CERT/);
    await running.close();
    writeFileSync(certificate, "no certificate");
    await expect(startGateway(config, deps)).rejects.toMatchObject({ code: "GATEWAY_TLS" });
  });
});

describe("the command line", () => {
  startsTheBuild();
  const launcher = join(root, "gateway", "gateway.js");
  const dir = folder();
  const config = join(dir, "gateway.config.json");
  beforeAll(() => mkdirSync(dir, { recursive: true }));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  interface Ran {
    readonly status: number | null;
    /** Both streams: a refusal begins it, and a command with --json has nothing beside its JSON. */
    readonly output: string;
  }
  /** A command in this process; a start only where its settings or its database are refused. */
  const run = async (...args: string[]): Promise<Ran> => {
    const { code, output } = await runGatewayCommand(args);
    return { status: code, output };
  };
  /** A command as it is typed: one that starts the gateway, and the first of the others. */
  const runProcess = (...args: string[]): Promise<Ran> =>
    new Promise((resolve) => {
      execFile(
        process.execPath,
        [launcher, ...args],
        { cwd: tmpdir() },
        (error, stdout, stderr) => {
          resolve({ status: error === null ? 0 : Number(error.code), output: stdout + stderr });
        },
      );
    });

  it("says in clear words that nothing is built", () => {
    const bare = folder();
    mkdirSync(join(bare, "gateway"));
    writeFileSync(join(bare, "package.json"), '{"type":"module"}');
    copyFileSync(launcher, join(bare, "gateway", "gateway.js"));
    const ran = spawnSync(process.execPath, [join(bare, "gateway", "gateway.js"), "health"], {
      encoding: "utf8",
    });
    rmSync(bare, { recursive: true, force: true });
    expect([ran.status, ran.stderr]).toEqual([
      2,
      expect.stringMatching(/^autowithdraw-gateway: nothing is built yet\nhint: /),
    ]);
  });

  it("goes from init to a first answered request, typed by hand", async () => {
    expect((await runProcess("init", "--dir", dir)).status).toBe(0);
    for (const name of ["gateway.key", "gateway.db", "gateway.config.json"])
      expect(statSync(join(dir, name)).mode & 0o777, name).toBe(0o600);
    const again = await run("init", "--dir", dir);
    expect([again.status, again.output]).toEqual([
      2,
      expect.stringMatching(/^autowithdraw-gateway: .* is there already\nhint: /),
    ]);
    const settings = JSON.parse(readFileSync(config, "utf8"));
    expect(Object.keys(settings.prices.sources)).toHaveLength(6);
    writeFileSync(
      config,
      JSON.stringify({ ...settings, listen: { host: "127.0.0.1", port: 0 }, prices: {} }),
    );
    const out = join(dir, "config.json");
    const nowhere = await run(
      "merchant",
      "create",
      "Shop",
      "--config",
      config,
      "--config-out",
      join(dir, "no", "config.json"),
    );
    expect([nowhere.status, nowhere.output]).toEqual([
      2,
      expect.stringMatching(/^autowithdraw-gateway: /),
    ]);
    expect(
      JSON.parse((await run("merchant", "list", "--config", config, "--json")).output),
    ).toEqual([]);
    const made = await run(
      "merchant",
      "create",
      "Shop",
      "--config",
      config,
      "--json",
      "--config-out",
      out,
    );
    const merchant = JSON.parse(made.output);
    expect(merchant).toMatchObject({
      merchantId: expect.stringMatching(/^m_/),
      apiKey: expect.stringMatching(/^k_/),
      shopKey: expect.stringMatching(/^k_/),
    });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(out, "utf8"))).toMatchObject({
      mnemonic: "<MNEMONIC>",
      apiKey: "<API_KEY>",
      encKey: "<ENCRYPTION_KEY>",
    });
    const strict = await run(
      "key",
      "create",
      "--merchant",
      merchant.merchantId,
      "--profile",
      "strict",
      "--config",
      config,
      "--json",
    );
    expect(JSON.parse(strict.output)).toMatchObject({
      scopes: ["read", "deposit"],
      profile: "strict",
      alg: "HS256",
    });
    const child = spawn(process.execPath, [launcher, "start", "--config", config], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [line] = await once(child.stdout, "data");
    const url = /^gateway: listens at (http\S+)\n/.exec(String(line))?.[1] ?? "";
    const ask = (apiKey: string): Promise<Response> =>
      fetch(`${url}/api/v1/supportedCurrency`, {
        headers: {
          signatureToken: createTokenMaker({ apiKey })(),
          "Content-Type": "application/json",
        },
      });
    expect((await ask(merchant.apiKey)).status).toBe(403); // it pairs, and nothing else
    expect((await ask(merchant.shopKey)).status).toBe(200);
    expect((await run("key", "revoke", merchant.shopKeyId, "--config", config)).status).toBe(0);
    expect((await ask(merchant.shopKey)).status).toBe(403); // at once, without a restart
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("tries to listen where another does: 1, for a service manager to try again; misconfigured: 2", async () => {
    const settings = JSON.parse(readFileSync(config, "utf8"));
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const taken = join(dir, "taken.json");
    writeFileSync(taken, JSON.stringify({ ...settings, listen: { host: "127.0.0.1", port } }));
    const ran = await runProcess("start", "--config", taken);
    expect([ran.status, ran.output]).toEqual([
      1,
      expect.stringMatching(/^autowithdraw-gateway: .* cannot listen at .*EADDRINUSE\nhint: /),
    ]);
    await new Promise((resolve) => other.close(resolve));
    writeFileSync(
      taken,
      JSON.stringify({ ...settings, listen: { host: "127.0.0.1", prot: port } }),
    );
    expect((await run("start", "--config", taken)).status).toBe(2);
  });

  it("reads its configuration again on SIGHUP, takes the log's level and every other change, and never ends of it", async () => {
    const free = createServer().listen(0, "127.0.0.1");
    await once(free, "listening");
    const listen = { host: "127.0.0.1", port: (free.address() as AddressInfo).port };
    free.close();
    const settings = { ...JSON.parse(readFileSync(config, "utf8")), listen };
    const own = join(dir, "hup.json");
    const write = (change: object): void =>
      writeFileSync(own, JSON.stringify({ ...settings, ...change }));
    write({});
    const child = spawn(process.execPath, [launcher, "start", "--config", own], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
    });
    await once(child.stdout, "data");
    const hup = async (words: string): Promise<void> => {
      said = "";
      child.kill("SIGHUP");
      await until(
        words,
        60_000,
        async () => (said.includes(words) ? true : undefined),
        () => said,
      );
    };
    await hup("the configuration has not changed; nothing was done");
    write({ logLevel: "error" });
    await hup("logLevel is error from now on");
    const { "usdt-erc20": _left, ...fewer } = settings.currencies;
    const shown = async (): Promise<readonly string[]> =>
      JSON.parse((await run("currencies", "--json", "--config", own)).output).map(
        ({ id, service }: { id: string; service: string }) => `${id} ${service}`,
      );
    write({ logLevel: "error", currencies: fewer });
    await hup("taken: currencies");
    expect(await shown()).not.toContainEqual(expect.stringMatching(/^usdt-erc20 /));
    write({ logLevel: "error" });
    await hup("taken: currencies");
    expect(await shown()).toContainEqual(expect.stringMatching(/^usdt-erc20 /));
    write({ logLevel: "error", keyFile: "other.key", callbacks: { timeoutSeconds: 3 } });
    await hup("the configuration is in order; restart the gateway to take: keyFile, callbacks");
    // Settings that do not start are not taken, and the gateway runs on by those before.
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const busy = (other.address() as AddressInfo).port;
    write({ logLevel: "error", listen: { ...listen, port: busy } });
    await hup("the old configuration is in force again");
    other.close();
    write({ logLevel: "error" });
    expect((await run("health", "--config", own)).status).toBeLessThan(2);
    writeFileSync(own, "{");
    await hup("the configuration was not taken: ");
    expect(said).toContain("the old configuration stays in force");
    // Commands go by the running gateway's copy, and say so; a new start does not.
    for (const words of shareOf([["merchant", "list"], ["agents"], ["status"]], 3, randomInt(3))) {
      const ran = await runProcess(...words, "--config", own); // a process says it once
      expect([ran.status === 2, ran.output], words.join(" ")).toEqual([
        false,
        expect.stringContaining("goes by the configuration before"),
      ]);
    }
    expect((await run("check", "--config", own)).status).toBe(2);
    expect((await run("start", "--config", own)).status).toBe(2);
    expect(child.exitCode).toBeNull();
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect((await run("agents", "--config", own)).status).toBe(2);
    expect(existsSync(`${own}.in-force`)).toBe(false);
  });

  it("answers a clear no with 1, wrong usage with 2, and no gateway with 3", async () => {
    const revoked = await run("key", "revoke", "k_0000000000000000", "--config", config);
    expect([revoked.status, revoked.output]).toEqual([
      1,
      expect.stringMatching(/^autowithdraw-gateway: there is no such API key.*\nhint: /),
    ]);
    expect((await run("agents", "unpair", "none", "--config", config)).status).toBe(1);
    expect(await run("agents", "--config", config, "--json")).toMatchObject({
      status: 0,
      output: "[]\n",
    });
    const key = ["key", "create", "--merchant", "m_0", "--config", config];
    for (const args of [
      [],
      ["--scopes", "all"],
      ["--alg", "RS256"],
      ["--alg", "EdDSA", "--scopes", "agent:pair"],
      ["--public-key", "00"],
      ["--x"],
    ]) {
      const ran = await run(...key, ...args);
      expect([ran.status, ran.output], args.join(" ")).toEqual([
        args.length === 0 ? 1 : 2,
        expect.stringMatching(/^autowithdraw-gateway: .*\nhint: .*\n$/),
      ]);
    }
    expect((await run("start", "--config", join(dir, "gone.json"))).status).toBe(2);
    writeFileSync(join(dir, "bad.json"), "{");
    expect((await run("health", "--config", join(dir, "bad.json"))).status).toBe(2);
    const closed = JSON.parse(readFileSync(config, "utf8"));
    writeFileSync(
      join(dir, "closed.json"),
      JSON.stringify({ ...closed, listen: { host: "127.0.0.1", port: 9 } }),
    );
    expect((await run("health", "--config", join(dir, "closed.json"))).status).toBe(3);
    for (const [name, bytes, words] of [
      [
        "garbage.db",
        "no database ".repeat(1000),
        /^autowithdraw-gateway: .*garbage\.db cannot be used as a database: .*\nhint: .*\n$/,
      ],
      [
        "empty.db",
        "",
        /^autowithdraw-gateway: .*empty\.db is empty and was not made by init\nhint: .*\n$/,
      ],
    ] as const) {
      writeFileSync(join(dir, name), bytes);
      writeFileSync(
        join(dir, "other.json"),
        JSON.stringify({ ...closed, database: `sqlite:${name}` }),
      );
      const ran = await run("start", "--config", join(dir, "other.json"));
      expect([ran.status, ran.output]).toEqual([2, expect.stringMatching(words)]);
      expect(readFileSync(join(dir, name), "utf8")).toBe(bytes);
    }
    for (const name of [
      "merchant",
      "merchants",
      "key",
      "agents",
      "deposits",
      "withdrawals",
      "sweeps",
      "callbacks",
    ])
      expect((await run(name, "--config", config)).status, name).toBe(0);
    const mistyped = await run("withdrawals", "shw", "--config", config);
    expect(mistyped).toMatchObject({
      status: 2,
      output: expect.stringContaining("unknown command 'withdrawals shw'; there are list, show"),
    });
    const piped = spawnSync("sh", [
      "-c",
      `"$0" "$1" agents --config "$2" | true`,
      process.execPath,
      launcher,
      config,
    ]);
    expect(String(piped.stderr)).toBe("");
    expect((await runProcess("--help")).status).toBe(0);
  });
});
