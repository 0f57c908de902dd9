/**
 * The product never starts a system program that somebody put ahead in PATH: each planted program
 * would have seen secrets, or taken the lock in nobody's name. Real processes, from pairing to a
 * running agent.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { start } from "../../lab/kit/processes.ts";
import { says } from "../support/paired-crypto.ts";
import { agent, eachTestItsPairing, fill, gateway } from "../support/pairing.ts";

eachTestItsPairing();

const names = [
  "unshare",
  "flock",
  "systemd-notify",
  "systemd-creds",
  "systemctl",
  "getent",
  "sh",
  "true",
  "node",
];
let env: NodeJS.ProcessEnv = {};
const called = (): string => join(agent.dir, "called");

beforeEach(() => {
  const planted = join(agent.dir, "planted");
  mkdirSync(planted);
  for (const name of names) {
    writeFileSync(join(planted, name), `#!/bin/sh\necho ${name} >> ${called()}\nexit 0\n`);
    chmodSync(join(planted, name), 0o755);
  }
  const notify = join(agent.dir, "notify.sock");
  env = {
    ...process.env,
    PATH: `${planted}${delimiter}${process.env.PATH}`,
    NOTIFY_SOCKET: notify,
    WATCHDOG_USEC: "600000",
  };
});

it("a planted program is what a shell would start", () => {
  for (const name of ["unshare", "flock", "systemd-notify"]) {
    expect(spawnSync(name, ["--version"], { env }).status).toBe(0);
    expect(existsSync(called()), name).toBe(true);
    rmSync(called());
  }
});

it("a planted program gets nothing from pairing, from a running agent or from a command", async () => {
  fill();
  const options = { cwd: agent.dir, logFile: agent.log, env };
  const words = ["--config", agent.config, "--state", agent.state];
  const paired = start(
    process.execPath,
    [join(projectRoot, "pair.js"), ...words, "--yes"],
    options,
  );
  expect(await paired.ended, paired.output()).toBe(0);
  expect(paired.output()).toContain("in a process without a network");
  await gateway.close();
  const crypto = start(process.execPath, [join(projectRoot, "crypto.js"), ...words], options);
  try {
    await says(crypto, "crypto: ready");
    const status = start(
      process.execPath,
      [join(projectRoot, "autowithdraw.js"), "status", "--state", agent.state],
      options,
    );
    await status.ended;
    expect(status.output()).toContain("agent");
  } finally {
    crypto.child.kill("SIGTERM");
    await crypto.ended;
  }
  expect(existsSync(called())).toBe(false);
});
