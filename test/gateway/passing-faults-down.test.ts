/**
 * A disk that fills up beneath the built gateway: somebody is told while it is down, and it comes
 * back when there is room.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tellWhileDown } from "../../gateway/reporting/down.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { freePort, until } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";
import { canMount, database, eachTestItsFolder, log, smallDisk } from "../support/small-disk.ts";

const launcher = join(projectRoot, "gateway/gateway.js");

eachTestItsFolder();

describe("alerts of a gateway that does not run", () => {
  it("come at once, each hour, and at the end of five minutes of answers", async () => {
    const told: string[] = [];
    let nowMs = 0;
    const isUp = async (): Promise<boolean> =>
      nowMs > 2.5 * 3_600_000 && nowMs % 60_000 !== 0 ? true : nowMs > 2.6 * 3_600_000;
    await tellWhileDown({
      isUp,
      reason: () => ({ code: "GATEWAY_DISK_FULL", words: "the disk is full" }),
      deliver: async (body) => {
        const { event, level, context, again } = JSON.parse(body);
        told.push(`${Math.floor(nowMs / 3_600_000)} ${event} ${level} ${context.code} ${again}`);
        return "";
      },
      rest: async (ms) => {
        nowMs += ms;
        await new Promise((resolve) => setImmediate(resolve));
      },
      clock: () => nowMs,
      monotonic: () => nowMs,
      log,
    });
    expect(told).toEqual([
      "0 gateway-down error GATEWAY_DISK_FULL false",
      "1 gateway-down error GATEWAY_DISK_FULL true",
      "2 gateway-down error GATEWAY_DISK_FULL true",
      "2 gateway-down-over info GATEWAY_DISK_FULL false",
    ]);
    expect(nowMs).toBeGreaterThanOrEqual(2.6 * 3_600_000 + 300_000);
  });
});

describe.runIf(canMount)("the built gateway on a disk that fills up", () => {
  startsTheBuild();

  it("the built gateway is up again by itself when there is room, and somebody was told meanwhile", async () => {
    const disk = smallDisk("16m");
    const heard: string[] = [];
    const receiver = createServer((request, response) => {
      let body = "";
      request.on("data", (part) => {
        body += String(part);
      });
      request.on("end", () => {
        heard.push(body);
        response.end();
      });
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    onTestFinished(() => void receiver.close());
    const { config } = database(disk.path);
    const port = await freePort();
    const file = join(disk.path, "gateway.config.json");
    const settings = {
      ...testConfig,
      ...{ logLevel: "error", listen: { host: "127.0.0.1", port }, keyFile: config.keyFile },
      alerts: { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` },
    };
    writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
    const ready = async (): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.status ?? 0;
    /** A service manager's part: what ends with 1 is started again. */
    const statuses: (number | null)[] = [];
    let child = spawn(process.execPath, [launcher, "start", "--config", file], { stdio: "ignore" });
    let isOver = false;
    const manage = (): void => {
      child.once("exit", (status) => {
        statuses.push(status);
        if (isOver || status !== 1) return;
        child = spawn(process.execPath, [launcher, "start", "--config", file], { stdio: "ignore" });
        manage();
      });
    };
    manage();
    onTestFinished(() => {
      isOver = true;
      child.kill("SIGKILL");
    });
    const answers = (): Promise<true> =>
      until(
        "health",
        60_000,
        async () => ((await ready()) === 200 ? true : undefined),
        () => statuses.join(),
      );
    await answers();
    // It lives on a full disk; what brings it down then is a kill.
    disk.fill();
    expect(await ready()).toBe(200);
    child.kill("SIGKILL");
    await once(child, "exit");
    child = spawn(process.execPath, [launcher, "start", "--config", file], { stdio: "ignore" });
    manage();
    const alerts = spawn(process.execPath, [launcher, "alert-down", "--config", file], {
      stdio: "ignore",
    });
    onTestFinished(() => void alerts.kill("SIGKILL"));
    await until(
      "an alert",
      60_000,
      async () => (heard.length > 0 ? true : undefined),
      () => statuses.join(),
    );
    await until(
      "two starts",
      60_000,
      async () => (statuses.filter((one) => one === 1).length >= 2 ? true : undefined),
      () => statuses.join(),
    );
    expect(JSON.parse(heard[0] ?? "{}")).toMatchObject({
      event: "gateway-down",
      context: { code: "GATEWAY_DISK_FULL" },
    });
    const check = spawnSync(process.execPath, [launcher, "check", "--config", file], {
      encoding: "utf8",
    });
    expect([check.status, check.stdout]).toEqual([
      1,
      expect.stringMatching(/would not start now: .*is full/),
    ]);
    disk.room();
    await answers();
    expect(statuses.filter((one) => one !== null && one !== 1)).toEqual([]);
    expect(readFileSync(file, "utf8")).toBe(JSON.stringify(settings));
  });
});
