/**
 * Two gateways on one PostgreSQL database, as processes: one is active, the other a standby that
 * answers GET and takes over. A machine without the server skips these tests, and says so.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTokenMaker } from "../../clients/typescript/signature-token.ts";
import { runGatewayCommand } from "../../lab/kit/commands.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import {
  askDatabase,
  type PostgresServer,
  postgresInstallLine,
  postgresPrograms,
  startPostgres,
} from "../../lab/kit/postgres.ts";
import { freePort, until } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";

const isHere = postgresPrograms() !== null;
if (!isHere) process.stderr.write(`no PostgreSQL on this machine: ${postgresInstallLine}\n`);
const launcher = fileURLToPath(new URL("../../gateway/gateway.js", import.meta.url));
const waitMs = 60_000;

interface StartedGateway {
  readonly child: ChildProcess;
  readonly url: string;
  readonly config: string;
}

interface ClusterAnswer {
  readonly leaseNumber: number;
  readonly gateways: readonly { readonly name: string; readonly state: string }[];
}

describe.skipIf(!isHere)("gateways on one database", () => {
  startsTheBuild();
  const dir = mkdtempSync(join(tmpdir(), "shared-database-"));
  let server: PostgresServer;
  let shopKey = "";
  const children: ChildProcess[] = [];

  beforeAll(() => {
    server = startPostgres();
  });
  afterAll(() => {
    for (const child of children) child.kill("SIGKILL");
    server.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** A role of its own that owns the database. */
  function makeDatabase(name: string): string {
    const admin = server.urlOf("postgres");
    askDatabase(admin, `CREATE ROLE ${name} LOGIN`);
    askDatabase(admin, `CREATE DATABASE ${name} OWNER ${name}`);
    return server.urlOf(name).replace("user=gateway", `user=${name}`);
  }

  async function configFor(folder: string, database: string): Promise<string> {
    const path = join(folder, "gateway.config.json");
    const listen = { host: "127.0.0.1", port: await freePort() };
    writeFileSync(path, JSON.stringify({ ...testConfig, logLevel: "info", listen, database }));
    return path;
  }

  async function start(config: string): Promise<StartedGateway> {
    const child = spawn(process.execPath, [launcher, "start", "--config", config], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    child.stderr?.resume();
    const [line] = await once(child.stdout as NonNullable<ChildProcess["stdout"]>, "data");
    const url = /^gateway: listens at (http\S+)\n/.exec(String(line))?.[1] ?? "";
    return { child, url, config };
  }

  const ask = (url: string, method: "GET" | "POST", path: string): Promise<Response> =>
    fetch(`${url}/api/v1/${path}`, {
      method,
      headers: {
        signatureToken: createTokenMaker({ apiKey: shopKey })(),
        "Content-Type": "application/json",
      },
      ...(method === "POST" ? { body: "{}" } : {}),
    });

  async function clusterOf({ config }: StartedGateway): Promise<ClusterAnswer> {
    const { output } = await runGatewayCommand(["cluster", "--config", config, "--json"]);
    return JSON.parse(output) as ClusterAnswer;
  }

  const statesOf = async (gateway: StartedGateway): Promise<readonly string[]> =>
    (await clusterOf(gateway)).gateways.map(({ state }) => state).sort();

  const isActive = (gateway: StartedGateway): Promise<true> =>
    until("the gateway takes what writes", waitMs, async () =>
      [400, 403].includes(
        (await ask(gateway.url, "POST", "autoWithdraw").catch(() => null))?.status ?? 0,
      )
        ? true
        : undefined,
    );

  it("lets a standby answer GET, refuse what writes, and take over from a killed and a frozen one", async () => {
    const database = makeDatabase("pay");
    const [first, second] = ["one", "two"].map((name) => mkdtempSync(join(dir, `${name}-`)));
    const made = await runGatewayCommand(["init", "--dir", first ?? "", "--database", database]);
    expect(made.code, made.output).toBe(0);
    const key = readFileSync(join(first ?? "", "gateway.key"));
    writeFileSync(join(second ?? "", "gateway.key"), key, { mode: 0o600 });
    const [one, two] = await Promise.all(
      [first, second].map((folder) => configFor(folder ?? "", database)),
    );
    const shop = await runGatewayCommand([
      ...["merchant", "create", "Shop", "--config", one ?? "", "--json"],
      ...["--config-out", join(dir, "agent.json")],
    ]);
    shopKey = (JSON.parse(shop.output) as { shopKey: string }).shopKey;

    const active = await start(one ?? "");
    await isActive(active);
    const standby = await start(two ?? "");
    expect((await ask(standby.url, "GET", "supportedCurrency")).status).toBe(200);
    expect((await fetch(`${standby.url}/docs`)).status).toBe(200);
    const refused = await ask(standby.url, "POST", "autoWithdraw");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await refused.json()).toMatchObject({ code: "unavailable" });
    const ready = await fetch(`${standby.url}/ready`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { status: "not ready", checks: [expect.objectContaining({ name: "active", ok: false })] },
    ]);
    expect((await fetch(`${standby.url}/health`)).status).toBe(200);
    expect(await statesOf(standby)).toEqual(["active", "standby"]);

    const { output: screen } = await runGatewayCommand(["status", "--config", two ?? ""]);
    expect(screen).toContain("a standby, which answers GET alone");

    active.child.kill("SIGKILL");
    await isActive(standby);
    expect(await statesOf(standby)).toEqual(["active", "was active"]);

    // The one that was killed comes again as a standby, and takes over from one that is frozen.
    const again = await start(one ?? "");
    expect(await statesOf(again)).toEqual(["active", "standby"]);
    const numberBefore = (await clusterOf(again)).leaseNumber;
    standby.child.kill("SIGSTOP");
    await isActive(again);
    const ended = once(standby.child, "exit");
    standby.child.kill("SIGCONT");
    expect(await ended).toEqual([1, null]); // nothing more is written under an old number
    expect((await clusterOf(again)).leaseNumber).toBe(numberBefore + 1);

    // A clean stop gives the lease back: the next start needs no wait.
    again.child.kill("SIGTERM");
    await once(again.child, "exit");
    const last = await start(two ?? "");
    await isActive(last);
    expect((await clusterOf(last)).leaseNumber).toBe(numberBefore + 2);
    last.child.kill("SIGTERM");
    await once(last.child, "exit");
  });

  it("finds the promoted standby of its database, and holds deposits until all is read again", async () => {
    const primary = startPostgres();
    const replica = primary.makeReplica();
    try {
      const folder = mkdtempSync(join(dir, "failover-"));
      const first = primary.urlOf("postgres");
      const both = first.replace(primary.folder, `${primary.folder},${replica.folder}`);
      expect((await runGatewayCommand(["init", "--dir", folder, "--database", both])).code).toBe(0);
      const config = await configFor(folder, both);
      const before = await start(config);
      await until("it is active", waitMs, async () =>
        (await statesOf(before))[0] === "active" ? true : undefined,
      );
      await until("the standby has all", waitMs, async () => {
        const { output } = await runGatewayCommand(["cluster", "--config", config, "--json"]);
        const { replicas } = JSON.parse(output) as { replicas: readonly { lagBytes: number }[] };
        return replicas[0]?.lagBytes === 0 ? true : undefined;
      });
      const ended = once(before.child, "exit");
      primary.kill();
      expect(await ended).toEqual([1, null]);
      const checked = await runGatewayCommand(["check", "--config", config, "--json"]);
      expect([checked.code, checked.output]).toEqual([1, expect.stringContaining("is a standby")]);
      replica.promote();
      const after = await start(config);
      await until("it is active again", waitMs, async () =>
        (await statesOf(after))[0] === "active" ? true : undefined,
      );
      const { output } = await runGatewayCommand(["status", "--config", config, "--json"]);
      expect(JSON.parse(output)).toMatchObject({
        restored: expect.stringMatching(
          /^its server was (\d+)\/00000001\/(\d+), and is \1\/00000002\/\2$/,
        ),
      });
      after.child.kill("SIGTERM");
      await once(after.child, "exit");
    } finally {
      replica.stop();
      primary.stop();
    }
  });

  it("holds deposits too behind a dump that was restored on the same server", async () => {
    const database = makeDatabase("dumped");
    const folder = mkdtempSync(join(dir, "dumped-"));
    expect((await runGatewayCommand(["init", "--dir", folder, "--database", database])).code).toBe(
      0,
    );
    const config = await configFor(folder, database);
    const restoredOf = async (): Promise<unknown> => {
      const gateway = await start(config);
      await until("it is active", waitMs, async () =>
        (await statesOf(gateway))[0] === "active" ? true : undefined,
      );
      const { output } = await runGatewayCommand(["status", "--config", config, "--json"]);
      gateway.child.kill("SIGTERM");
      await once(gateway.child, "exit");
      return (JSON.parse(output) as { restored: unknown }).restored;
    };
    expect([await restoredOf(), await restoredOf()]).toEqual(["", ""]);
    const words = ["-h", server.folder, "-U", "dumped"];
    const dump = join(dir, "dump");
    execFileSync("pg_dump", [...words, "-Fc", "-f", dump, "dumped"]);
    execFileSync("pg_restore", [...words, "--clean", "-d", "dumped", dump]);
    expect(await restoredOf()).toMatch(/^its server was (\S+)\/\d+, and is \1\/\d+$/);
  });

  it.each([
    [
      "a database that is not there",
      "postgres:///absent?host=HOST&user=gateway",
      "GATEWAY_STORE_MISSING",
    ],
    [
      "a database without tables",
      "postgres:///postgres?host=HOST&user=gateway",
      "GATEWAY_STORE_MISSING",
    ],
    [
      "a role that is not there",
      "postgres:///postgres?host=HOST&user=nobody1",
      "GATEWAY_STORE_ACCESS",
    ],
    ["a server that is not there", "postgres://x@127.0.0.1:1/pay", "GATEWAY_STORE_AWAY"],
  ])("refuses %s with one line", async (_, url, code) => {
    const folder = mkdtempSync(join(dir, "refused-"));
    await runGatewayCommand(["init", "--dir", folder]);
    const host = new URLSearchParams(server.urlOf("x").split("?")[1]).get("host") ?? "";
    const config = await configFor(folder, url.replace("HOST", host));
    const { output } = await runGatewayCommand(["status", "--config", config, "--json"]);
    expect(JSON.parse(output)).toMatchObject({ databaseFault: code });
    const checked = await runGatewayCommand(["check", "--config", config, "--json"]);
    const { findings } = JSON.parse(checked.output) as { findings: readonly { code: string }[] };
    expect(findings.map((one) => one.code)).toContain(code);
  });

  it("refuses the database of another gateway, and one whose tables its role may not write", async () => {
    const database = makeDatabase("other");
    const [own, foreign] = ["own", "foreign"].map((name) => mkdtempSync(join(dir, `${name}-`)));
    await runGatewayCommand(["init", "--dir", own ?? "", "--database", database]);
    await runGatewayCommand(["init", "--dir", foreign ?? ""]);
    const faultOf = async (folder: string, url: string): Promise<unknown> => {
      const config = await configFor(folder, url);
      const { output } = await runGatewayCommand(["status", "--config", config, "--json"]);
      return (JSON.parse(output) as { databaseFault: unknown }).databaseFault;
    };
    expect(await faultOf(own ?? "", database)).toBe("");
    expect(await faultOf(foreign ?? "", database)).toBe("GATEWAY_KEY_OTHER");
    askDatabase(server.urlOf("postgres"), "CREATE ROLE reader LOGIN");
    askDatabase(server.urlOf("other"), "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
    const reader = server.urlOf("other").replace("user=gateway", "user=reader");
    expect(await faultOf(own ?? "", reader)).toBe("GATEWAY_STORE_ACCESS");
    const again = await runGatewayCommand([
      ...["init", "--dir", mkdtempSync(join(dir, "again-")), "--database", database, "--json"],
    ]);
    expect(JSON.parse(again.output.split("\n")[0] ?? "")).toMatchObject({
      code: "GATEWAY_STORE_EXISTS",
    });
  });

  it("copies a stopped gateway from a file to a server and back, and no running one", async () => {
    const [file, shared] = ["file", "shared"].map((name) => mkdtempSync(join(dir, `${name}-`)));
    const database = makeDatabase("moved");
    expect((await runGatewayCommand(["init", "--dir", file ?? ""])).code).toBe(0);
    const config = await configFor(file ?? "", "sqlite:gateway.db");
    const names = async (path: string): Promise<readonly string[]> => {
      const { output } = await runGatewayCommand(["merchant", "list", "--config", path, "--json"]);
      return (JSON.parse(output) as readonly { name: string }[]).map(({ name }) => name);
    };
    await runGatewayCommand([
      ...["merchant", "create", "Shop", "--config", config],
      ...["--config-out", join(dir, "moved-agent.json")],
    ]);
    const running = await start(config);
    const copy = (from: string, to: string): ReturnType<typeof runGatewayCommand> =>
      runGatewayCommand(["copy", "--config", from, "--to", to, "--json"]);
    const refused = await copy(config, database);
    expect(JSON.parse(refused.output.split("\n")[0] ?? "")).toMatchObject({
      code: "GATEWAY_STORE_OWNED",
    });
    running.child.kill("SIGTERM");
    await once(running.child, "exit");
    expect((await copy(config, database)).code).toBe(0);
    const key = readFileSync(join(file ?? "", "gateway.key"));
    writeFileSync(join(shared ?? "", "gateway.key"), key, { mode: 0o600 });
    const moved = await configFor(shared ?? "", database);
    expect(await names(moved)).toEqual(["Shop"]);
    const onServer = await start(moved);
    await until("it is active", waitMs, async () =>
      (await statesOf(onServer))[0] === "active" ? true : undefined,
    );
    onServer.child.kill("SIGTERM");
    await once(onServer.child, "exit");
    const back = join(file ?? "", "back.db");
    expect((await copy(moved, `sqlite:${back}`)).code).toBe(0);
    expect((await copy(moved, `sqlite:${back}`)).code).toBe(2); // it has rows now
    writeFileSync(config, readFileSync(config, "utf8").replace("gateway.db", "back.db"));
    expect(await names(config)).toEqual(["Shop"]);
  });

  it("takes the role's password from a file that nobody else can read, and shows it nowhere", async () => {
    const database = makeDatabase("guarded");
    askDatabase(server.urlOf("postgres"), "ALTER ROLE guarded PASSWORD 'correct horse'");
    const rules = join(server.folder, "data", "pg_hba.conf");
    writeFileSync(rules, `local all guarded scram-sha-256\n${readFileSync(rules, "utf8")}`);
    askDatabase(server.urlOf("postgres"), "SELECT pg_reload_conf()");
    const folder = mkdtempSync(join(dir, "guarded-"));
    const file = join(folder, "password");
    const init = (password: string, mode: number): ReturnType<typeof runGatewayCommand> => {
      rmSync(file, { force: true });
      writeFileSync(file, password, { mode });
      const words = ["--database", database, "--database-password-file", "password", "--json"];
      return runGatewayCommand(["init", "--dir", folder, ...words]);
    };
    for (const [password, mode] of [
      ["wrong battery", 0o600],
      ["correct horse", 0o644],
    ] as const) {
      const { output } = await init(password, mode);
      expect(JSON.parse(output.split("\n")[0] ?? "")).toMatchObject({
        code: "GATEWAY_STORE_ACCESS",
      });
      expect(output).not.toContain(password);
    }
    const made = await init("correct horse\n", 0o600);
    expect(made.code, made.output).toBe(0);
    const config = join(folder, "gateway.config.json");
    const { output } = await runGatewayCommand(["status", "--config", config, "--json"]);
    expect(JSON.parse(output)).toMatchObject({ databaseFault: "" });
  });

  it("refuses a server that would lose commits, by the setting's name", async () => {
    const unsafe = startPostgres({ fsync: "off" });
    try {
      const folder = mkdtempSync(join(dir, "unsafe-"));
      const made = await runGatewayCommand([
        ...["init", "--dir", folder, "--database", unsafe.urlOf("postgres"), "--json"],
      ]);
      expect(JSON.parse(made.output.split("\n")[0] ?? "")).toMatchObject({
        code: "GATEWAY_STORE_UNSAFE",
        message: expect.stringContaining("has fsync off"),
      });
    } finally {
      unsafe.stop();
    }
  });
});
