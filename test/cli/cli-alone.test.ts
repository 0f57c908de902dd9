/**
 * The commands where something else is missing: a running signer, a service manager, a reader at
 * the other end of the pipe.
 */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { createLedger } from "../../agent/ledger/ledger.ts";
import { unitsIn } from "../../cli/machine.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { startsTheBuild } from "../support/built.ts";
import { kit, nowMs, run, Screen, usesTheKit } from "../support/command-kit.ts";
import { well } from "../support/operator-socket.ts";

usesTheKit();

const body = {
  kind: "PAIRED",
  agent: well.agent,
  merchant: "m_1",
  wallet: well.wallet,
  ledgerEpoch: 1,
  gatewayKey: "22".repeat(32),
} as const;

describe("verify without an answer of the signer", () => {
  it("a signer that takes the question and is silent costs ten seconds, and the command reads the folder itself", async () => {
    createLedger(ledgerDisk(join(kit.state, "signer", "ledger")), body, () => nowMs, testSeal);
    let asked: () => void = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    kit.signer.answers = {
      status: () => {
        asked();
        return new Promise(() => {}) as unknown as object;
      },
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const running = run("verify --state STATE");
      await isAsked;
      await vi.advanceTimersByTimeAsync(10_000);
      const read = await running;
      expect(read.code, read.text).toBe(0);
      expect(read.text).toContain("this command, hashes alone: no signer answers");
    } finally {
      vi.useRealTimers();
    }
    expect(kit.signer.asked.map(({ verb }) => verb)).toEqual(["status"]);
  });
});

describe("status right after a start", () => {
  const startedAt = nowMs - 2_000;
  const silent = { ...well, startedAt, courier: null };

  it("waits for the courier's first word, and then everything works", async () => {
    let asked = 0;
    kit.signer.answers = {
      status: () => ({ status: ++asked < 4 ? silent : { ...well, startedAt } }),
    };
    const screen = new Screen();
    screen.rounds = 100;
    const { code, text } = await run("status --state STATE", screen);
    expect([code, asked], text).toEqual([0, 4]);
    expect(text).toContain("everything works");
  });

  it("waits no longer than a start takes, nor when the terminal ends the wait", async () => {
    for (const [at, rounds] of [
      [nowMs - 15_000, 100],
      [startedAt, 0],
    ] as const) {
      kit.signer.answers = { status: () => ({ status: { ...silent, startedAt: at } }) };
      const screen = new Screen();
      screen.rounds = rounds;
      expect((await run("status --state STATE", screen)).code).toBe(1);
    }
  });
});

describe("verify without a running signer", () => {
  it("reads the folder itself, and names what is damaged", async () => {
    await kit.signer.close();
    const missing = await run("verify --state STATE");
    expect(missing.code).toBe(4);
    createLedger(ledgerDisk(join(kit.state, "signer", "ledger")), body, () => nowMs, testSeal);
    const whole = await run("verify --state STATE");
    expect(whole.code, whole.text).toBe(0);
    expect(whole.text).toContain("this command, hashes alone: no signer answers");
    const path = join(kit.state, "signer", "ledger", "00000001.jsonl");
    writeFileSync(path, readFileSync(path, "utf8").replace('"ledgerEpoch":1', '"ledgerEpoch":2'));
    const edited = await run("verify --state STATE");
    expect(edited.code).toBe(4);
    expect(edited.text).toMatch(/^autowithdraw: .+\nhint: .+\n$/);
  });
});

describe("the service manager's output", () => {
  it("is read by unit, and a block without a name is passed over", () => {
    const text =
      "Id=autowithdraw-courier.service\nActiveState=active\nStatusText=a=b\n\nId=autowithdraw-signer.service\nActiveState=failed\n\nno unit\n";
    expect([...unitsIn(text)]).toEqual([
      [
        "autowithdraw-courier.service",
        { Id: "autowithdraw-courier.service", ActiveState: "active", StatusText: "a=b" },
      ],
      ["autowithdraw-signer.service", { Id: "autowithdraw-signer.service", ActiveState: "failed" }],
    ]);
    expect(unitsIn("").size).toBe(0);
  });
});

describe("a reader that is gone", () => {
  startsTheBuild();
  it("ends the command quietly", async () => {
    const program = join(projectRoot, "dist", "cli", "main.js");
    const look = `import { main } from ${JSON.stringify(program)}; process.exitCode = await main(["--help"]);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", look], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let said = "";
    child.stderr.on("data", (text) => {
      said += String(text);
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect([code, said]).toEqual([0, ""]);
  });
});
