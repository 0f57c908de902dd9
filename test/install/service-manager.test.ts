/**
 * A daemon's messages to the service manager, sent by the real `systemd-notify`. Without that
 * program the daemon names it once as missing.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createServiceManager } from "../../base/service-manager/service-manager.ts";
import { until } from "../../lab/kit/processes.ts";

const dir = mkdtempSync(join(tmpdir(), "autowithdraw-notify-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const hasBoth = ["systemd-notify", "python3"].every(
  (name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0,
);
if (!hasBoth)
  process.stderr.write(
    "\n*** SKIPPED for want of systemd-notify or python3: apt-get install systemd python3\n\n",
  );

/**
 * Node opens no datagram socket in the file system, so Python stands in for systemd; a message's
 * descriptors are closed at once.
 */
const listener = `
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print("bound", flush=True)
while True:
    text, fds, _, _ = socket.recv_fds(s, 4096, 4)
    for fd in fds: os.close(fd)
    print(text.decode(), flush=True)
`;

describe("the service manager", () => {
  it.runIf(hasBoth)(
    "is told that a daemon is ready, in one line, and that it is alive",
    async () => {
      const socket = join(dir, "notify.sock");
      const python = spawn("python3", ["-c", listener, socket], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let received = "";
      python.stdout.on("data", (chunk) => {
        received += String(chunk);
      });
      try {
        await once(python.stdout, "data");
        const said: string[] = [];
        const env = { PATH: "/nowhere", NOTIFY_SOCKET: socket, WATCHDOG_USEC: "600000" };
        const manager = createServiceManager(env, (line) => said.push(line));
        manager.ready("listens\nWATCHDOG=trigger");
        manager.beginAlive();
        const alive = async (): Promise<true | undefined> =>
          received.split("WATCHDOG=1\n").length > 3 ? true : undefined;
        await until("ready and three signs of life", 20_000, alive, () => received);
        expect(received).toContain("READY=1\nSTATUS=listens WATCHDOG=trigger\n");
        expect(said).toEqual([]);
      } finally {
        python.kill("SIGTERM");
      }
    },
  );

  it("that is not there is told nothing, and one that cannot be told is spoken of once", async () => {
    const said: string[] = [];
    const say = (line: string): void => void said.push(line);
    const none = createServiceManager({ PATH: "/nowhere", WATCHDOG_USEC: "600000" }, say);
    none.ready("x");
    none.beginAlive();
    const mute = createServiceManager(
      { PATH: "/nowhere", NOTIFY_SOCKET: join(dir, "gone.sock") },
      say,
    );
    mute.ready("x");
    mute.ready("y");
    await until("the complaint", 10_000, async () => (said.length > 0 ? true : undefined));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(said).toEqual([
      expect.stringMatching(
        /^systemd cannot be told that this runs: (?:.*ENOENT|systemd-notify ended with 1)/,
      ),
    ]);
  });
});
