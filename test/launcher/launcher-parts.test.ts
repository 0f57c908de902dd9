/**
 * The launcher's parts alone: handing secrets over, the supervisor's patience, the lock, and the
 * words it has for every end.
 */
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { makeSocketPaths, socketPaths, stateFolder } from "../../agent/files/state-folder.ts";
import { findEncKey } from "../../agent/launcher/enc-key.ts";
import {
  exitVerdictOfCode,
  exitVerdictOfError,
  formatExitVerdict,
} from "../../agent/launcher/exit-status.ts";
import { writeFramesAndWipe } from "../../agent/launcher/frames.ts";
import { takeLock } from "../../agent/launcher/lock.ts";
import { type SupervisorOptions, superviseChildren } from "../../agent/launcher/supervisor.ts";
import { messagesOfStatus } from "../../agent/launcher/terminal-messages.ts";
import type { SignerStatus } from "../../agent/socket/verbs.ts";
import { AgentError, Bug } from "../../base/fault.ts";
import { AgentFolder } from "../support/agent-folder.ts";

const agent = new AgentFolder();
afterAll(() => agent.remove());

describe("a secret that is handed over", () => {
  const secret = Buffer.from("a key");

  it("arrives complete, and the copy made for the way is wiped", async () => {
    const chunks: Buffer[] = [];
    const seen: string[] = [];
    const pipe = new Writable({
      write: (chunk: Buffer, _, done) => {
        chunks.push(chunk);
        seen.push(chunk.toString("latin1"));
        setImmediate(done);
      },
    });
    writeFramesAndWipe(pipe, Buffer.from("{}"), secret);
    await new Promise<void>((resolve) => pipe.end(resolve));
    expect(seen).toEqual(["\0\0\0\x02{}", "\0\0\0\x05a key"]);
    for (const chunk of chunks) expect(chunk.every((byte) => byte === 0)).toBe(true);
    expect(secret.toString()).toBe("a key");
  });

  it("a secret that nobody takes is wiped as well", async () => {
    const chunks: Buffer[] = [];
    const pipe = new Writable({
      write: (chunk: Buffer, _, done) => done(new Error(`${chunks.push(chunk)} went nowhere`)),
    });
    await new Promise((resolve) => {
      pipe.on("error", resolve);
      writeFramesAndWipe(pipe, secret);
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(chunks.map((chunk) => chunk.every((byte) => byte === 0))).toEqual([true]);
  });
});

describe("the supervisor", () => {
  /** A child that a shell plays, which starts in a tenth of the time of ours. */
  const script = (text: string) => () =>
    spawn("/bin/sh", ["-c", text], { stdio: ["pipe", "pipe", "pipe"] });
  const untilEnd = "exec cat >/dev/null";
  const ready = `printf '%s\\n' '{"ready":true}'`;
  const up = `${ready}; ${untilEnd}`;
  const courier = (text: string) => () => ({ child: script(text)(), handSettings: () => {} });
  const options = (
    changes: Partial<SupervisorOptions>,
  ): SupervisorOptions & { readonly said: string[] } => {
    const said: string[] = [];
    return {
      startSigner: script(up),
      startCourier: courier(up),
      clock: () => performance.now(),
      say: (_event, line) => said.push(line),
      relay: (text) => said.push(text.trim()),
      relayLine: (line) => said.push(line),
      verdict: ({ code, hint }) => said.push(code, hint),
      failing: ({ code, message }) => said.push(`failing ${code} ${message}`),
      up: () => {},
      ready: () => said.push("ready"),
      renewal: {
        next: () => new Promise(() => {}),
        keep: () => {},
        goBack: () => false,
        renew: () => false,
      },
      stop: new AbortController().signal,
      backoffMs: { first: 10, most: 40 },
      ...changes,
      said,
    };
  };

  it("the courier starts beside the signer, and gets its settings only when the signer is ready", async () => {
    const stopping = new AbortController();
    const signer = script(`head -c 2 >/dev/null; ${up}`)();
    const child = script(`printf 'waits\\n'; head -c 8; printf '\\n'; ${up}`)();
    const run: ReturnType<typeof options> = options({
      startSigner: () => signer,
      startCourier: () => ({ child, handSettings: () => child.stdin.write("settings") }),
      relay: (line) => {
        run.said.push(line.trim());
        if (line.trim() !== "waits") return;
        run.said.push("the signer may be ready");
        signer.stdin.write("go");
      },
      ready: () => {
        run.said.push("ready");
        stopping.abort();
      },
      stop: stopping.signal,
    });
    expect(await superviseChildren(run)).toBe(0);
    expect(run.said).toEqual(["waits", "the signer may be ready", "settings", "ready"]);
  });

  it("a courier that waits ends with a signer that never gets ready, and never gets its settings", async () => {
    const child = script(untilEnd)();
    let handed = 0;
    const run = options({
      startSigner: script("exit 2"),
      startCourier: () => ({ child, handSettings: () => (handed += 1) }),
    });
    expect(await superviseChildren(run)).toBe(2);
    expect(child.exitCode ?? child.signalCode).not.toBeNull();
    expect(handed).toBe(0);
  });

  it.each([
    ["ends where only a new start of it reads the file", false, 1],
    ["goes on where it has read the file again", true, 2],
  ])("a supervisor whose child gives way to a newer config.json %s", async (_, renews, starts) => {
    const outdated = `printf '%s\\n' '{"outdated":true}'`;
    for (const of of ["startSigner", "startCourier"] as const) {
      let [started, renewed] = [0, 0];
      const act = (text: string) => () => {
        started += 1;
        return started === 1 ? script(text)() : script("exit 4")();
      };
      const run = options({
        ...(of === "startSigner"
          ? { startSigner: act(outdated), startCourier: courier(untilEnd) }
          : { startCourier: () => ({ child: act(outdated)(), handSettings: () => {} }) }),
        renewal: {
          ...{ next: () => new Promise(() => {}), keep: () => {}, goBack: () => false },
          renew: () => {
            renewed += 1;
            return renews;
          },
        },
      });
      expect(await superviseChildren(run)).toBe(renews ? 4 : 1);
      expect([started, renewed]).toEqual([starts, 1]);
    }
  });

  it("passes on no character that would move a terminal's cursor", async () => {
    const stopping = new AbortController();
    // U+001B, U+009B and U+202E, as bytes of UTF-8.
    const shows = String.raw`printf 'a\033[2Jb\n'; printf 'c\302\233d\342\200\256e\n' >&2; exit 1`;
    const run = options({ startCourier: courier(shows), stop: stopping.signal });
    const waiting = setInterval(() => {
      if (
        run.said.some((line) => line.startsWith("a")) &&
        run.said.some((line) => line.startsWith("c"))
      )
        stopping.abort();
    }, 5);
    expect(await superviseChildren(run)).toBe(0);
    clearInterval(waiting);
    expect(run.said).toContain("a\ufffd[2Jb");
    expect(run.said).toContain("c\ufffdd\ufffde");
  });

  it("tells the reason of a child that ends by a fault and is started again, each time", async () => {
    const stopping = new AbortController();
    let starts = 0;
    const fault = JSON.stringify({
      level: "error",
      code: "LEDGER_POISONED",
      message: "the disk failed",
    });
    const run = options({
      startSigner: () => {
        starts += 1;
        if (starts === 3) stopping.abort();
        return script(`printf '%s\\n' '${fault}' >&2; exit 70`)();
      },
      stop: stopping.signal,
    });
    expect(await superviseChildren(run)).toBe(0);
    expect(
      run.said.filter((line) => line === "failing LEDGER_POISONED the disk failed"),
    ).toHaveLength(2);
  });

  it("waits longer after every unexpected end, and stops when told", async () => {
    const stopping = new AbortController();
    const starts: number[] = [];
    const run = options({
      startSigner: () => {
        starts.push(performance.now());
        if (starts.length === 6) stopping.abort();
        return script("exit 9")();
      },
      stop: stopping.signal,
      backoffMs: { first: 50, most: 200 },
    });
    expect(await superviseChildren(run)).toBe(0);
    expect(
      run.said.filter((line) => line.includes("ended with status 9")).length,
    ).toBeGreaterThanOrEqual(4);
    const gap = (index: number): number => (starts[index] ?? 0) - (starts[index - 1] ?? 0);
    expect(gap(1)).toBeGreaterThanOrEqual(50);
    expect(gap(3)).toBeGreaterThanOrEqual(200);
  });

  it.each([2, 4])("ends with status %i of the signer, and says its exit reason", async (code) => {
    const fault = JSON.stringify({
      level: "error",
      code: "LEDGER_DAMAGED",
      message: "line 7",
      hint: "look there",
    });
    const run = options({ startSigner: script(`printf '%s\\n' '${fault}' >&2; exit ${code}`) });
    expect(await superviseChildren(run)).toBe(code);
    expect(run.said).toContain(`the signer ended with status ${code} and is not started again`);
    expect(run.said).toContain("LEDGER_DAMAGED");
    expect(run.said).toContain("look there");
  });

  it("ends with a courier that is misconfigured, not with one that is locked out for a while", async () => {
    expect(await superviseChildren(options({ startCourier: courier("exit 2") }))).toBe(2);
    const stopping = new AbortController();
    let couriers = 0;
    const startCourier = () => {
      couriers += 1;
      if (couriers === 3) stopping.abort();
      return courier("exit 3")();
    };
    expect(await superviseChildren(options({ startCourier, stop: stopping.signal }))).toBe(0);
    expect(couriers).toBe(3);
  });

  it("kills what does not end by itself", async () => {
    const stopping = new AbortController();
    const child = script(`trap '' TERM; ${ready}; exec sleep 1000`)();
    const run = options({
      startCourier: () => ({ child, handSettings: () => {} }),
      stop: stopping.signal,
      ready: () => stopping.abort(),
    });
    expect(await superviseChildren(run)).toBe(0);
    expect(child.signalCode).toBe("SIGKILL");
  });

  it("survives a program that cannot be started", async () => {
    const stopping = new AbortController();
    let tries = 0;
    const startSigner = () => {
      tries += 1;
      if (tries === 2) stopping.abort();
      return spawn("/nowhere/at/all");
    };
    expect(await superviseChildren(options({ startSigner, stop: stopping.signal }))).toBe(0);
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
    const text = (key: { readonly bytes: Uint8Array; readonly from: string }): string =>
      `${key.from} ${Buffer.from(key.bytes)}`;
    await expect(findEncKey(sources)).rejects.toMatchObject({ code: "ENCKEY_MISSING" });
    const config = Buffer.from("from config");
    expect(text(await findEncKey({ ...sources, config }))).toBe("config from config");
    writeFileSync(file, "from file\r\n", { mode: 0o600 });
    expect(text(await findEncKey({ ...sources, config, file }))).toBe("file from file");
    writeFileSync(file, "\n", { mode: 0o600 });
    await expect(findEncKey({ ...sources, config, file })).rejects.toMatchObject({
      code: "ENCKEY_MISSING",
    });
    await expect(
      findEncKey({ ...sources, config, file: join(agent.dir, "gone") }),
    ).rejects.toMatchObject({
      code: "CONFIG_MISSING",
    });
    await expect(findEncKey({ ...sources, fd: 999 })).rejects.toMatchObject({
      code: "ENCKEY_MISSING",
    });
    mkdirSync(credentials);
    writeFileSync(join(credentials, "encKey"), "from credential", { mode: 0o440 });
    expect(text(await findEncKey({ ...sources, config, file, credentials }))).toBe(
      "credential from credential",
    );
  });

  it("every error ends in one line, a hint and an exit code", () => {
    expect(
      formatExitVerdict(exitVerdictOfError(new AgentError("CONFIG_JSON", "none", "x, line 3"))),
    ).toBe("crypto: x, line 3\nhint: correct the line named; most often a comma or a quote\n");
    expect(
      exitVerdictOfError(new AgentError("CONFIG_JSON", "none", "x", { hint: "do y" })).hint,
    ).toBe("do y");
    expect(exitVerdictOfError(new Bug("broken")).exitCode).toBe(70);
    const exits = [
      "CONFIG_JSON",
      "STATE_NOT_PAIRED",
      "PAIRING_AWAY",
      "PAIRING_USED",
      "SOCKET_TIMEOUT",
      "LEDGER_DAMAGED",
      "NEW_CODE",
    ];
    expect(exits.map((code) => exitVerdictOfCode(code, "").exitCode)).toEqual([
      2, 2, 3, 1, 3, 4, 1,
    ]);
  });

  it("the terminal is told of each problem and its end, once each", () => {
    const status = {
      locked: "",
      lockedDetail: "",
      recovery: "",
      counts: { held: 0, quarantined: 0 },
      courier: null,
    } as unknown as SignerStatus;
    expect([...messagesOfStatus(status).values()].every(({ bad }) => bad === "")).toBe(true);
    const courier = {
      link: "down",
      linkDetail: "ECONNREFUSED",
      chains: [{ chain: "local", ok: false, detail: "" }],
    };
    const bad = messagesOfStatus({
      ...status,
      locked: "X",
      counts: { held: 1, quarantined: 1 },
      recovery: "RECOVERY_HOLD",
      courier,
    } as unknown as SignerStatus);
    expect([...bad.values()].filter((words) => words.bad !== "").length).toBe(5);
    const asking = {
      link: "up",
      linkDetail: "",
      chains: [{ chain: "local", ok: false, isAsking: true, detail: "asking" }],
    };
    const calm = messagesOfStatus({ ...status, courier: asking } as unknown as SignerStatus);
    expect([...calm.values()].filter((words) => words.bad !== "")).toEqual([]);
  });
});
