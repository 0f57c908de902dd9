/**
 * `crypto` as a process: one per state folder, children that are started again, their inheritance,
 * and the end of each process.
 */
import { type ChildProcess, spawn } from "node:child_process";
import {
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { inheritedSockets } from "../../agent/launcher/inherited.ts";
import { createSocketClient } from "../../agent/socket/client.ts";
import type { OperatorAnswers, OperatorRequests } from "../../agent/socket/verbs.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { childrenOf, type StartedProcess, stop, until } from "../../lab/kit/processes.ts";
import { share } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";
import { countInMemory } from "../support/memory.ts";
import { childOf, pairsOnce, says } from "../support/paired-crypto.ts";

startsTheBuild();

const { agent, begin } = pairsOnce();
const spawned: ChildProcess[] = [];
afterEach(() => {
  for (const child of spawned.splice(0)) child.kill("SIGTERM");
});

/**
 * A process that one test leaves to the next ones, which look at it or end it; it is gone before a
 * test that starts its own on the folder.
 */
let standing: StartedProcess | null = null;
const onStanding = [
  "takes over",
  "hands down",
  "keeps one copy",
  "says in plain words",
  "ends with 0",
];
const planted = {
  NODE_OPTIONS: "--max-old-space-size=300",
  NODE_PATH: "/nowhere",
  NODE_EXTRA_CA_CERTS: "/dev/null",
  PLANTED: "x",
};
async function stand(): Promise<StartedProcess> {
  if (standing === null || standing.child.exitCode !== null || standing.child.signalCode !== null)
    standing = agent.crypto([], planted);
  await ready(standing);
  return standing;
}
/** Of the processes that a test started at once, those that it did not see to their end. */
const leftOver: StartedProcess[] = [];
async function endStanding(): Promise<void> {
  for (const started of [...leftOver.splice(0), ...(standing === null ? [] : [standing])])
    await stop(started);
  standing = null;
}
beforeEach(async ({ task }) => {
  if (!onStanding.some((beginning) => task.name.startsWith(beginning))) await endStanding();
});
afterAll(endStanding);

const ready = (started: StartedProcess, times = 1): Promise<true> =>
  says(started, "crypto: ready", times);
const isGone = (pid: number): boolean => {
  try {
    return / \(.*\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
};

describe("crypto", () => {
  it("runs once per state folder, however many start at once", async () => {
    const all = Array.from({ length: share(10, 3) }, () => agent.crypto());
    leftOver.push(...all);
    await until("all refusals but one", 60_000, async () => {
      const ended = all.filter(({ child }) => child.exitCode !== null);
      return ended.length === all.length - 1 ? true : undefined;
    });
    const losers = all.filter(({ child }) => child.exitCode !== null);
    const [winner] = all.filter(({ child }) => child.exitCode === null);
    if (winner === undefined) throw new Error("nobody runs");
    await ready(winner);
    standing = winner;
    for (const loser of losers) {
      expect(loser.child.exitCode).toBe(1);
      expect(loser.output()).toContain(
        `another crypto (process ${winner.pid}) runs on ${agent.state}\nhint: stop it first`,
      );
    }
  });

  it("takes over as soon as the one before it is gone, even by kill -9", async () => {
    const first = await stand();
    const children = [childOf(first, "signer"), childOf(first, "courier")];
    expect(children.every((pid) => pid > 0)).toBe(true);
    first.child.kill("SIGKILL");
    standing = agent.crypto([], planted);
    await ready(standing);
    expect(children.every(isGone)).toBe(true);
  });

  it("hands down no foreign code, no core dump, no descriptor but the lock", async () => {
    const started = await stand();
    expect(started.output()).toContain("NODE_OPTIONS is set; it is not passed on");
    for (const room of ["signer", "courier"] as const) {
      const pid = childOf(started, room);
      const names = readFileSync(`/proc/${pid}/environ`, "utf8")
        .split("\0")
        .map((entry) => entry.split("=")[0] ?? "");
      for (const name of names)
        expect(["PATH", "HOME", "TZ", "LANG", "LC_ALL", "PWD", ""]).toContain(name);
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
      expect(files.includes(statSync(join(agent.state, "signer", "lock")).ino), room).toBe(
        room === "signer",
      );
    }
  });

  it("keeps one copy of encKey, to start the signer again with, and none of what it came and went in", async () => {
    const started = await stand();
    expect(countInMemory(started.pid, { encKey: Buffer.from(agent.encKey) })).toEqual({
      encKey: 1,
    });
  });

  it("says in plain words that the gateway is away, and goes on", async () => {
    const started = await stand();
    await until("the news", 60_000, async () =>
      started.output().includes("the link to the gateway is down") ? true : undefined,
    );
    // Until the courier has judged its node, the status has other words for the chain.
    const status = await until("both troubles in the status", 60_000, async () => {
      const shown = await agent.cli("status");
      return /LINK DOWN/.test(shown.output) &&
        /too few nodes of local|no node of chain local/.test(shown.output)
        ? shown
        : undefined;
    });
    expect(status.code).toBe(1);
  });

  it("ends with 0 on SIGTERM and SIGINT, and leaves no child", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const started = await stand();
      const children = [childOf(started, "signer"), childOf(started, "courier")];
      started.child.kill(signal);
      expect(await started.ended).toBe(0);
      expect(children.every(isGone)).toBe(true);
    }
  });

  it("starts the signer and the courier again after kill -9, each as it must", async () => {
    const started = begin();
    await ready(started);
    const [signer, courier] = [childOf(started, "signer"), childOf(started, "courier")];
    process.kill(courier, "SIGKILL");
    await ready(started, 2);
    expect(started.output()).toContain("the courier was ended by SIGKILL and is started again");
    expect(childOf(started, "signer")).toBe(signer);
    const courierNow = childOf(started, "courier");
    process.kill(signer, "SIGKILL");
    await ready(started, 3);
    expect(started.output()).toContain("the signer was ended by SIGKILL and is started again");
    expect([signer, courier, courierNow].every(isGone)).toBe(true);
    expect((await agent.cli("verify")).output).toContain("the ledger is whole");
  });

  it("goes on when the reader of its output has gone, and still ends cleanly", async () => {
    const args = [join(projectRoot, "crypto.js"), "--config", agent.config, "--state", agent.state];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    spawned.push(child);
    await new Promise<void>((resolve) =>
      child.stdout.on("data", (text) => String(text).includes("crypto: ready") && resolve()),
    );
    child.stdout.destroy();
    child.stderr.destroy();
    const courier = (): number =>
      childrenOf(child.pid ?? 0, join("agent", "courier", "main.js"))[0] ?? 0;
    const first = courier();
    // Its end and its new start are lines on both streams.
    process.kill(first, "SIGKILL");
    await until("another courier", 120_000, async () =>
      courier() !== first && courier() > 0 ? true : undefined,
    );
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  });

  it("takes encKey from a file or a descriptor before config.json", async () => {
    const file = join(agent.dir, "enc.key");
    writeFileSync(file, `${agent.encKey}\n`, { mode: 0o600 });
    const wrong = join(agent.dir, "wrong.key");
    writeFileSync(wrong, "3b1f0a6c9d2e4f58a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4", {
      mode: 0o600,
    });
    const good = begin(["--enc-key-file", file]);
    await ready(good);
    expect((await agent.cli("status", "--json")).output).toContain('"encKeyFrom":"file"');
    await stop(good);
    const bad = begin(["--enc-key-file", wrong]);
    expect(await bad.ended).toBe(2);
    expect(bad.output()).toContain(
      `crypto: ${join(agent.state, "signer", "keystore.json")}: the keystore does not open: wrong encKey, or it was changed\nhint: give the encKey it was sealed with`,
    );
    const fd = openSync(file, "r");
    const args = [
      join(projectRoot, "crypto.js"),
      "--config",
      agent.config,
      "--state",
      agent.state,
      "--enc-key-fd",
      "3",
    ];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore", fd] });
    spawned.push(child);
    const [line] = (await new Promise<Buffer>((resolve) => child.stdout?.once("data", resolve)))
      .toString("utf8")
      .split("\n");
    expect(line).toContain("crypto: ready");
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("close", resolve));
  });

  it("does not start again what would fail the same way: locked 4, misconfigured 2", async () => {
    const ledger = join(agent.state, "signer", "ledger", "00000001.jsonl");
    const kept = readFileSync(ledger);
    try {
      writeFileSync(
        ledger,
        Buffer.from(kept.toString("utf8").replace('"ledgerEpoch":1', '"ledgerEpoch":2')),
      );
      const edited = begin();
      expect(await edited.ended).toBe(4);
      expect(edited.output()).toMatch(
        /the signer ended with status 4 and is not started again"\}\ncrypto: .*\nhint: /,
      );
      rmSync(ledger);
      const missing = begin();
      expect(await missing.ended).toBe(4);
      expect(missing.output()).toContain("the ledger is missing or empty");
    } finally {
      writeFileSync(ledger, kept, { mode: 0o600 });
    }
    const none = await agent.launcher(
      "crypto.js",
      "--config",
      agent.config,
      "--state",
      join(agent.dir, "elsewhere"),
    );
    expect(none.code).toBe(2);
    expect(none.output).toContain(
      "holds no paired agent\nhint: name the agent's folder with --state",
    );
  });

  it("refuses a command line it does not know", async () => {
    for (const args of [
      ["--rol", "signer"],
      ["--role", "gateway"],
      ["now"],
      ["--enc-key-fd", "x"],
    ]) {
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
  it("crypto under systemd runs signer and courier apart, the signer on sockets it inherits", async () => {
    const sockets = await Promise.all(
      ["operator", "courier"].map(async (name) => {
        const server = createServer();
        await new Promise<void>((resolve) =>
          server.listen(join(agent.dir, `${name}.sock`), resolve),
        );
        return server;
      }),
    );
    const descriptors = sockets.map(
      (server) => (server as unknown as { _handle: { fd: number } })._handle.fd,
    );
    // The shell puts its own process id, which exec keeps, in the place of systemd's.
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
    const child = spawn("sh", ["-c", script, "sh", ...words], {
      stdio: ["ignore", "pipe", "inherit", ...descriptors],
    });
    spawned.push(child);
    const line = (
      await new Promise<Buffer>((resolve) => child.stdout?.once("data", resolve))
    ).toString("utf8");
    expect(line).toContain("crypto: ready, the signer runs");
    // This process stops listening; under its new name closing does not unlink the socket's file.
    const moved = join(agent.dir, "moved.sock");
    renameSync(join(agent.dir, "operator.sock"), moved);
    for (const server of sockets) server.close();
    const client = createSocketClient<OperatorRequests, OperatorAnswers>(moved, {
      timeoutMs: 5_000,
    });
    const answer = await client.request("status", {});
    client.close();
    expect(answer).toMatchObject({ ok: true, status: { encKeyFrom: "config" } });
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("close", resolve));
  });

  it("crypto under systemd gives the courier's own process no config.json with a secret in it", async () => {
    const refused = await agent.launcher(
      "crypto.js",
      "--config",
      agent.config,
      "--state",
      agent.state,
      "--role",
      "courier",
    );
    expect(refused.code).toBe(2);
    expect(refused.output).toContain("holds encKey");
    const clean = join(agent.dir, "clean.json");
    writeFileSync(clean, readFileSync(agent.config, "utf8").replace(/ {2}"encKey".*\n/, ""), {
      mode: 0o600,
    });
    const args = [
      join(projectRoot, "crypto.js"),
      "--config",
      clean,
      "--state",
      agent.state,
      "--role",
      "courier",
    ];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    spawned.push(child);
    let output = "";
    child.stderr.on("data", (chunk) => {
      output += String(chunk);
    });
    // A refused configuration ends it before the courier's own process is there.
    await until(
      "the courier's process",
      60_000,
      async () =>
        childrenOf(child.pid ?? 0, join("agent", "courier", "main.js")).length > 0
          ? true
          : undefined,
      () => output,
    );
    expect(child.exitCode, output).toBeNull();
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("close", resolve));
  });

  it("crypto under systemd reads which inherited socket is which by name", () => {
    const env = { LISTEN_PID: "7", LISTEN_FDS: "2", LISTEN_FDNAMES: "operator:courier" };
    expect(inheritedSockets(env, 7)).toEqual({ operator: 3, courier: 4 });
    expect(inheritedSockets({ ...env, LISTEN_FDNAMES: "courier:operator" }, 7)).toEqual({
      courier: 3,
      operator: 4,
    });
    expect(inheritedSockets(env, 8)).toBeNull();
    expect(inheritedSockets({}, 7)).toBeNull();
    for (const LISTEN_FDNAMES of ["courier", "courier:courier", "a:b", "courier:operator:x"]) {
      expect(() => inheritedSockets({ ...env, LISTEN_FDNAMES }, 7)).toThrow("inherited sockets");
    }
  });
});
