/** `crypto` as a process: one per state folder, children started again, what they inherit, how everything ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { findEncKey } from "../agent/launcher/enc-key.ts";
import { handOver } from "../agent/launcher/frames.ts";
import { inheritedSockets } from "../agent/launcher/inherited.ts";
import { takeLock } from "../agent/launcher/lock.ts";
import { newsOf } from "../agent/launcher/news.ts";
import { type SupervisorOptions, supervise } from "../agent/launcher/supervisor.ts";
import { verdictFor, verdictLines, verdictOn } from "../agent/launcher/verdict.ts";
import { createSocketClient } from "../agent/socket/client.ts";
import type { OperatorAnswers, OperatorRequests, SignerStatus } from "../agent/socket/verbs.ts";
import { makeSocketPaths, socketPaths, stateFolder } from "../agent/state-folder.ts";
import { AgentError, Bug } from "../protocol/fault.ts";
import { childrenOf, type Started, stop, until } from "../scripts/processes.ts";
import { projectRoot } from "../scripts/rig.ts";
import { AgentFolder, knownMnemonic } from "./support/agent-folder.ts";
import { countInMemory } from "./support/memory.ts";
import { PairingGateway } from "./support/pairing-gateway.ts";

const gateway = new PairingGateway();
const agent = new AgentFolder();
const running: Started[] = [];
const spawned: ChildProcess[] = [];

beforeAll(async () => {
  await gateway.open();
  agent.writeConfig(gateway.url, { mnemonic: knownMnemonic, apiKey: gateway.apiKey, encKey: agent.encKey });
  const done = await agent.pair();
  if (done.code !== 0) throw new Error(done.output);
  // From here on nobody answers: the agent must run all the same.
  await gateway.close();
});
afterEach(async () => {
  for (const started of running.splice(0)) await stop(started);
  for (const child of spawned.splice(0)) child.kill("SIGTERM");
});
afterAll(() => agent.remove());

function begin(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Started {
  const started = agent.crypto(args, env);
  running.push(started);
  return started;
}

const ready = (started: Started, times = 1): Promise<true> =>
  until(
    "crypto ready",
    20_000,
    async () => (started.output().split("crypto: ready").length > times ? true : undefined),
    started.output,
  );
const childOf = (started: Started, room: "signer" | "courier"): number =>
  childrenOf(started.pid, join("agent", room, "main.js"))[0] ?? 0;
const isGone = (pid: number): boolean => {
  try {
    return / \(.*\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
};

describe("crypto", () => {
  it("runs once per state folder, however many start at once", async () => {
    const all = Array.from({ length: 10 }, () => begin());
    await until("nine refusals", 30_000, async () => {
      const ended = all.filter(({ child }) => child.exitCode !== null);
      return ended.length === 9 ? true : undefined;
    });
    const losers = all.filter(({ child }) => child.exitCode !== null);
    const [winner] = all.filter(({ child }) => child.exitCode === null);
    if (winner === undefined) throw new Error("nobody runs");
    await ready(winner);
    for (const loser of losers) {
      expect(loser.child.exitCode).toBe(1);
      expect(loser.output()).toContain(`another crypto (process ${winner.pid}) runs on ${agent.state}\nhint: stop it first`);
    }
  }, 60_000);

  it("takes over as soon as the one before it is gone, even by kill -9", async () => {
    const first = begin();
    await ready(first);
    const children = [childOf(first, "signer"), childOf(first, "courier")];
    expect(children.every((pid) => pid > 0)).toBe(true);
    first.child.kill("SIGKILL");
    const second = begin();
    await ready(second);
    expect(children.every(isGone)).toBe(true);
  });

  it("starts the signer and the courier again after kill -9, each as it must", async () => {
    const started = begin();
    await ready(started);
    const [signer, courier] = [childOf(started, "signer"), childOf(started, "courier")];
    process.kill(courier, "SIGKILL");
    await ready(started, 2);
    expect(started.output()).toContain("crypto: the courier was ended by SIGKILL and is started again");
    expect(childOf(started, "signer")).toBe(signer);
    const courierNow = childOf(started, "courier");
    process.kill(signer, "SIGKILL");
    await ready(started, 3);
    expect(started.output()).toContain("crypto: the signer was ended by SIGKILL and is started again");
    expect([signer, courier, courierNow].every(isGone)).toBe(true);
    expect((await agent.cli("verify")).output).toContain("the ledger is whole");
  });

  it("ends cleanly within five seconds on SIGTERM and SIGINT", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const started = begin();
      await ready(started);
      const children = [childOf(started, "signer"), childOf(started, "courier")];
      const at = performance.now();
      started.child.kill(signal);
      expect(await started.ended).toBe(0);
      expect(performance.now() - at).toBeLessThan(5_000);
      expect(children.every(isGone)).toBe(true);
    }
  });

  it("hands down no foreign code, no core dump, no descriptor but the lock", async () => {
    const planted = {
      NODE_OPTIONS: "--max-old-space-size=300",
      NODE_PATH: "/nowhere",
      NODE_EXTRA_CA_CERTS: "/dev/null",
      PLANTED: "x",
    };
    const started = begin([], planted);
    await ready(started);
    expect(started.output()).toContain("crypto: NODE_OPTIONS is set; it is not passed on");
    for (const room of ["signer", "courier"] as const) {
      const pid = childOf(started, room);
      const names = readFileSync(`/proc/${pid}/environ`, "utf8")
        .split("\0")
        .map((entry) => entry.split("=")[0] ?? "");
      for (const name of names) expect(["PATH", "HOME", "TZ", "LANG", "LC_ALL", "PWD", ""]).toContain(name);
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      expect(command).toContain("--disable-proto=throw\0--disallow-code-generation-from-strings");
      expect(command).not.toContain(agent.encKey);
      expect(readFileSync(`/proc/${pid}/limits`, "utf8")).toMatch(/Max core file size\s+0\s+0/);
      expect(Number.parseInt(readFileSync(`/proc/${pid}/coredump_filter`, "utf8"), 16)).toBe(0);
      const files = readdirSync(`/proc/${pid}/fd`).map((fd) => {
        try {
          return statSync(`/proc/${pid}/fd/${fd}`).ino;
        } catch {
          return 0;
        }
      });
      expect(files.includes(statSync(join(agent.state, "signer", "lock")).ino), room).toBe(room === "signer");
    }
  });

  it("keeps one copy of encKey, to start the signer again with, and none of what it came and went in", async () => {
    const started = begin();
    await ready(started);
    expect(countInMemory(started.pid, { encKey: Buffer.from(agent.encKey) })).toEqual({ encKey: 1 });
  });

  it("says in plain words that the gateway is away, and goes on", async () => {
    const started = begin();
    await ready(started);
    await until("the news", 10_000, async () =>
      started.output().includes("the link to the gateway is down") ? true : undefined,
    );
    const status = await agent.cli("status");
    expect(status.code).toBe(1);
    expect(status.output).toContain("LINK DOWN");
    expect(status.output).toContain("no node of local can be used");
  });

  it("takes encKey from a file or a descriptor before config.json", async () => {
    const file = join(agent.dir, "enc.key");
    writeFileSync(file, `${agent.encKey}\n`, { mode: 0o600 });
    const wrong = join(agent.dir, "wrong.key");
    writeFileSync(wrong, "3b1f0a6c9d2e4f58a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4", { mode: 0o600 });
    const good = begin(["--enc-key-file", file]);
    await ready(good);
    expect((await agent.cli("status", "--json")).output).toContain('"encKeyFrom":"file"');
    await stop(good);
    const bad = begin(["--enc-key-file", wrong]);
    expect(await bad.ended).toBe(2);
    expect(bad.output()).toContain(
      "crypto: the keystore does not open: wrong encKey, or it was changed\nhint: give the encKey it was sealed with",
    );
    const fd = openSync(file, "r");
    const args = [join(projectRoot, "crypto.js"), "--config", agent.config, "--state", agent.state, "--enc-key-fd", "3"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore", fd] });
    spawned.push(child);
    const [line] = (await new Promise<Buffer>((resolve) => child.stdout?.once("data", resolve))).toString("utf8").split("\n");
    expect(line).toContain("crypto: ready");
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("close", resolve));
  });

  it("does not start again what would fail the same way: locked 4, misconfigured 2", async () => {
    const ledger = join(agent.state, "signer", "ledger", "00000001.jsonl");
    const kept = readFileSync(ledger);
    try {
      writeFileSync(ledger, Buffer.from(kept.toString("utf8").replace('"epoch":1', '"epoch":2')));
      const edited = begin();
      expect(await edited.ended).toBe(4);
      expect(edited.output()).toMatch(/crypto: the signer ended with status 4 and is not started again\ncrypto: .*\nhint: /);
      rmSync(ledger);
      const missing = begin();
      expect(await missing.ended).toBe(4);
      expect(missing.output()).toContain("the ledger is missing or empty");
    } finally {
      writeFileSync(ledger, kept, { mode: 0o600 });
    }
    const none = await agent.launcher("crypto.js", "--config", agent.config, "--state", join(agent.dir, "elsewhere"));
    expect(none.code).toBe(2);
    expect(none.output).toContain("holds no paired agent\nhint: run node pair.js first");
  });

  it("refuses a command line it does not know", async () => {
    for (const args of [["--rol", "signer"], ["--role", "gateway"], ["now"], ["--enc-key-fd", "x"]]) {
      const done = await agent.launcher("crypto.js", ...args);
      expect(done.code, args.join(" ")).toBe(2);
      expect(done.output).toMatch(/^crypto: .+\nhint: see --help\n$/);
    }
    const help = await agent.launcher("crypto.js", "--help");
    expect(help.code).toBe(0);
    expect(help.output).toContain("--enc-key-file");
  });
});

describe("under systemd", () => {
  it("runs signer and courier apart, the signer on sockets it inherits", async () => {
    const sockets = await Promise.all(
      ["operator", "courier"].map(async (name) => {
        const server = createServer();
        await new Promise<void>((resolve) => server.listen(join(agent.dir, `${name}.sock`), resolve));
        return server;
      }),
    );
    const descriptors = sockets.map((server) => (server as unknown as { _handle: { fd: number } })._handle.fd);
    // The shell puts its own process id, which exec keeps, where systemd would put it.
    const script = 'LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=operator:courier exec "$@"';
    const words = [
      process.execPath,
      join(projectRoot, "crypto.js"),
      "--config",
      agent.config,
      "--state",
      agent.state,
      "--role",
      "signer",
    ];
    const child = spawn("sh", ["-c", script, "sh", ...words], { stdio: ["ignore", "pipe", "inherit", ...descriptors] });
    spawned.push(child);
    const line = (await new Promise<Buffer>((resolve) => child.stdout?.once("data", resolve))).toString("utf8");
    expect(line).toContain("crypto: ready, the signer runs");
    // This process stops listening; under its new name closing does not unlink the socket's file.
    const moved = join(agent.dir, "moved.sock");
    renameSync(join(agent.dir, "operator.sock"), moved);
    for (const server of sockets) server.close();
    const client = createSocketClient<OperatorRequests, OperatorAnswers>(moved, { timeoutMs: 5_000 });
    const answer = await client.request("status", {});
    client.close();
    expect(answer).toMatchObject({ ok: true, status: { encKeyFrom: "config" } });
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("close", resolve));
  });

  it("gives the courier's own process no config.json with a secret in it", async () => {
    const refused = await agent.launcher("crypto.js", "--config", agent.config, "--state", agent.state, "--role", "courier");
    expect(refused.code).toBe(2);
    expect(refused.output).toContain("holds encKey");
    const clean = join(agent.dir, "clean.json");
    writeFileSync(clean, readFileSync(agent.config, "utf8").replace(/ {2}"encKey".*\n/, ""), { mode: 0o600 });
    const args = [join(projectRoot, "crypto.js"), "--config", clean, "--state", agent.state, "--role", "courier"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    spawned.push(child);
    let output = "";
    child.stderr.on("data", (chunk) => {
      output += String(chunk);
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(child.exitCode, output).toBeNull();
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("close", resolve));
  });

  it("reads which inherited socket is which by name", () => {
    const env = { LISTEN_PID: "7", LISTEN_FDS: "2", LISTEN_FDNAMES: "operator:courier" };
    expect(inheritedSockets(env, 7)).toEqual({ operator: 3, courier: 4 });
    expect(inheritedSockets({ ...env, LISTEN_FDNAMES: "courier:operator" }, 7)).toEqual({ courier: 3, operator: 4 });
    expect(inheritedSockets(env, 8)).toBeNull();
    expect(inheritedSockets({}, 7)).toBeNull();
    for (const LISTEN_FDNAMES of ["courier", "courier:courier", "a:b", "courier:operator:x"]) {
      expect(() => inheritedSockets({ ...env, LISTEN_FDNAMES }, 7)).toThrow("inherited sockets");
    }
  });
});

describe("what is handed over", () => {
  const secret = Buffer.from("a key");

  it("arrives whole, and the copy made for the way is wiped", async () => {
    const chunks: Buffer[] = [];
    const seen: string[] = [];
    const pipe = new Writable({
      write: (chunk: Buffer, _, done) => {
        chunks.push(chunk);
        seen.push(chunk.toString("latin1"));
        setImmediate(done);
      },
    });
    handOver(pipe, Buffer.from("{}"), secret);
    await new Promise<void>((resolve) => pipe.end(resolve));
    expect(seen).toEqual(["\0\0\0\x02{}", "\0\0\0\x05a key"]);
    for (const chunk of chunks) expect(chunk.every((byte) => byte === 0)).toBe(true);
    expect(secret.toString()).toBe("a key");
  });

  it("is wiped as well when nobody takes it", async () => {
    const chunks: Buffer[] = [];
    const pipe = new Writable({ write: (chunk: Buffer, _, done) => done(new Error(`${chunks.push(chunk)} went nowhere`)) });
    await new Promise((resolve) => {
      pipe.on("error", resolve);
      handOver(pipe, secret);
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(chunks.map((chunk) => chunk.every((byte) => byte === 0))).toEqual([true]);
  });
});

describe("the supervisor", () => {
  const script = (text: string) => () => spawn(process.execPath, ["-e", text], { stdio: ["pipe", "pipe", "pipe"] });
  const up =
    'console.log(JSON.stringify({ ready: true })); process.stdin.resume(); process.stdin.on("end", () => process.exit(0));';
  const options = (changes: Partial<SupervisorOptions>): SupervisorOptions & { readonly said: string[] } => {
    const said: string[] = [];
    return {
      startSigner: script(up),
      startCourier: script(up),
      clock: () => performance.now(),
      say: (line) => said.push(line),
      relay: (text) => said.push(text.trim()),
      verdict: (verdict) => said.push(verdict.code),
      ready: () => said.push("ready"),
      stop: new AbortController().signal,
      backoffMs: { first: 10, most: 40 },
      ...changes,
      said,
    };
  };

  it("waits longer after every unexpected end, and stops when told", async () => {
    const stopping = new AbortController();
    const starts: number[] = [];
    const run = options({
      startSigner: () => {
        starts.push(performance.now());
        if (starts.length === 6) stopping.abort();
        return script("process.exit(9)")();
      },
      stop: stopping.signal,
      backoffMs: { first: 50, most: 200 },
    });
    expect(await supervise(run)).toBe(0);
    expect(run.said.filter((line) => line.includes("ended with status 9")).length).toBeGreaterThanOrEqual(4);
    const gap = (index: number): number => (starts[index] ?? 0) - (starts[index - 1] ?? 0);
    expect(gap(1)).toBeGreaterThanOrEqual(50);
    expect(gap(3)).toBeGreaterThanOrEqual(200);
  });

  it.each([2, 4])("ends with status %i of the signer, and says its last words", async (code) => {
    const fault = 'process.stderr.write(JSON.stringify({ level: "error", code: "LEDGER_DAMAGED", message: "line 7" }) + "\\n");';
    const run = options({ startSigner: script(`${fault} process.exit(${code})`) });
    expect(await supervise(run)).toBe(code);
    expect(run.said).toContain(`the signer ended with status ${code} and is not started again`);
    expect(run.said).toContain("LEDGER_DAMAGED");
  });

  it("ends with a courier that is misconfigured, not with one that is locked out for a while", async () => {
    expect(await supervise(options({ startCourier: script("process.exit(2)") }))).toBe(2);
    const stopping = new AbortController();
    let couriers = 0;
    const startCourier = () => {
      couriers += 1;
      if (couriers === 3) stopping.abort();
      return script("process.exit(3)")();
    };
    expect(await supervise(options({ startCourier, stop: stopping.signal }))).toBe(0);
    expect(couriers).toBe(3);
  });

  it("kills what does not end by itself", async () => {
    const stopping = new AbortController();
    const deaf = `${up.replace("process.exit(0)", "0")} process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`;
    const run = options({
      startCourier: script(deaf),
      stop: stopping.signal,
      ready: () => stopping.abort(),
    });
    const at = performance.now();
    expect(await supervise(run)).toBe(0);
    expect(performance.now() - at).toBeLessThan(5_000);
  });

  it("survives a program that cannot be started", async () => {
    const stopping = new AbortController();
    let tries = 0;
    const startSigner = () => {
      tries += 1;
      if (tries === 2) stopping.abort();
      return spawn("/nowhere/at/all");
    };
    expect(await supervise(options({ startSigner, stop: stopping.signal }))).toBe(0);
  });
});

describe("small parts", () => {
  it("a lock is free again after release, and taken while held", async () => {
    const folder = join(agent.dir, "locked");
    const lock = await takeLock(folder, 0);
    await expect(takeLock(folder, 200)).rejects.toMatchObject({ code: "STATE_IN_USE" });
    lock.release();
    const again = await takeLock(folder, 0);
    again.release();
  });

  it("socket paths move to a short folder when the kernel could not take them", () => {
    const short = stateFolder(join(agent.dir, "short"));
    expect(makeSocketPaths(short)).toEqual({
      courier: join(short.run, "courier.sock"),
      operator: join(short.run, "operator.sock"),
    });
    const long = stateFolder(join(agent.dir, "l".repeat(100)));
    const made = makeSocketPaths(long);
    expect(Buffer.byteLength(made.operator)).toBeLessThanOrEqual(100);
    expect(makeSocketPaths(long)).toEqual(made);
    expect(socketPaths(long)).toEqual(made);
    rmSync(join(made.operator, ".."), { recursive: true });
    expect(makeSocketPaths(long)).not.toEqual(made);
    rmSync(join(socketPaths(long).operator, ".."), { recursive: true });
  });

  it("encKey comes from the most guarded place that has it", async () => {
    const credentials = join(agent.dir, "credentials-folder");
    const file = join(agent.dir, "by-option.key");
    const sources = {
      credentials: undefined,
      file: undefined,
      fd: undefined,
      config: undefined,
      terminal: undefined,
      show: () => {},
    };
    const text = (key: { readonly bytes: Uint8Array; readonly from: string }): string => `${key.from} ${Buffer.from(key.bytes)}`;
    await expect(findEncKey(sources)).rejects.toMatchObject({ code: "ENCKEY_MISSING" });
    const config = Buffer.from("from config");
    expect(text(await findEncKey({ ...sources, config }))).toBe("config from config");
    writeFileSync(file, "from file\r\n", { mode: 0o600 });
    expect(text(await findEncKey({ ...sources, config, file }))).toBe("file from file");
    writeFileSync(file, "\n", { mode: 0o600 });
    await expect(findEncKey({ ...sources, config, file })).rejects.toMatchObject({ code: "ENCKEY_MISSING" });
    await expect(findEncKey({ ...sources, config, file: join(agent.dir, "gone") })).rejects.toMatchObject({
      code: "CONFIG_MISSING",
    });
    await expect(findEncKey({ ...sources, fd: 999 })).rejects.toMatchObject({ code: "ENCKEY_MISSING" });
    mkdirSync(credentials);
    writeFileSync(join(credentials, "encKey"), "from credential", { mode: 0o440 });
    expect(text(await findEncKey({ ...sources, config, file, credentials }))).toBe("credential from credential");
  });

  it("every error ends in one line, a hint and an exit code", () => {
    expect(verdictLines(verdictOn(new AgentError("CONFIG_JSON", "none", "x, line 3")))).toBe(
      "crypto: x, line 3\nhint: correct the line named; most often a comma or a quote\n",
    );
    expect(verdictOn(new AgentError("CONFIG_JSON", "none", "x", { hint: "do y" })).hint).toBe("do y");
    expect(verdictOn(new Bug("broken")).exitCode).toBe(70);
    const exits = [
      "CONFIG_JSON",
      "STATE_NOT_PAIRED",
      "PAIRING_AWAY",
      "PAIRING_USED",
      "SOCKET_TIMEOUT",
      "LEDGER_DAMAGED",
      "NEW_CODE",
    ];
    expect(exits.map((code) => verdictFor(code, "").exitCode)).toEqual([2, 2, 3, 1, 3, 4, 1]);
  });

  it("news tells troubles and their ends, once each", () => {
    const status = { locked: "", lockedDetail: "", counts: { held: 0 }, courier: null } as unknown as SignerStatus;
    expect([...newsOf(status).values()].every(({ bad }) => bad === "")).toBe(true);
    const courier = { link: "down", linkDetail: "ECONNREFUSED", chains: [{ chain: "local", ok: false, detail: "" }] };
    const bad = newsOf({ ...status, locked: "X", counts: { held: 2 }, courier } as unknown as SignerStatus);
    expect([...bad.values()].filter((words) => words.bad !== "").length).toBe(4);
    const asking = { link: "up", linkDetail: "", chains: [{ chain: "local", ok: false, isAsking: true, detail: "asking" }] };
    const calm = newsOf({ ...status, courier: asking } as unknown as SignerStatus);
    expect([...calm.values()].filter((words) => words.bad !== "")).toEqual([]);
  });
});
