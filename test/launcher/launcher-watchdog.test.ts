/**
 * The watchdog kills a process that hangs, and spares one that reports: its arithmetic on a clock
 * of the test's, and the supervisor on real children.
 */
import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import {
  childCheckPauseMs,
  type SupervisorOptions,
  superviseChildren,
  Watchdog,
} from "../../agent/launcher/supervisor.ts";

const limits = { beforeFirstMs: 60_000, afterMs: 20_000 };

/**
 * Looks every `childCheckPauseMs` for `seconds`; gives the first overdue moment in seconds from
 * now, or 0.
 */
function looks(watchdog: Watchdog, clock: { now: number }, seconds: number): number {
  for (let second = 1; second <= seconds; second += 1) {
    clock.now += childCheckPauseMs;
    if (watchdog.overdueSeconds() > 0) return second;
  }
  return 0;
}

describe("the watchdog", () => {
  it("gives a child its limit of silence after each sign of life, and not a second more", () => {
    const clock = { now: 5 };
    const watchdog = new Watchdog(() => clock.now, limits);
    watchdog.received();
    for (let round = 0; round < 10; round += 1) {
      expect(looks(watchdog, clock, 20)).toBe(0);
      watchdog.received();
    }
    expect(looks(watchdog, clock, 30)).toBe(21);
  });

  it("waits longer for the first sign, for a long ledger is read back before it", () => {
    const clock = { now: 0 };
    const watchdog = new Watchdog(() => clock.now, limits);
    expect(looks(watchdog, clock, 60)).toBe(0);
    expect(looks(watchdog, clock, 1)).toBe(1);
  });

  it("blames nobody for time in which it did not run itself, however often the machine sleeps", () => {
    const clock = { now: 0 };
    const watchdog = new Watchdog(() => clock.now, limits);
    watchdog.received();
    for (let night = 0; night < 5; night += 1) {
      clock.now += 8 * 3_600_000;
      expect(watchdog.overdueSeconds()).toBe(0);
    }
    // The twin: the same length of time, looked at all along.
    expect(looks(watchdog, clock, 21)).toBeGreaterThan(0);
  });
});

describe("the supervisor", () => {
  const script = (text: string) => () =>
    spawn(process.execPath, ["-e", text], { stdio: ["pipe", "pipe", "pipe"] });
  const up =
    'console.log("{\\"ready\\":true}"); process.stdin.resume(); process.stdin.on("end", () => process.exit(0));';
  const speaks = `${up} setInterval(() => console.log("{\\"alive\\":true}"), 100);`;
  const watched = (
    startSigner: () => ReturnType<typeof spawn>,
    stop: AbortSignal,
    starts: (times: number) => void,
  ) => {
    const said: string[] = [];
    let times = 0;
    const options: SupervisorOptions = {
      startSigner,
      startCourier: null,
      clock: () => performance.now(),
      say: (_event, line) => said.push(line),
      relay: () => {},
      relayLine: () => {},
      verdict: () => {},
      failing: () => {},
      up: () => {
        times += 1;
        starts(times);
      },
      ready: () => {},
      renewal: {
        next: () => new Promise(() => {}),
        keep: () => {},
        goBack: () => false,
        renew: () => false,
      },
      patience: { beforeFirstMs: 60_000, afterMs: 1_500 },
      stop,
      backoffMs: { first: 10, most: 20 },
    };
    return { options, said };
  };

  it("kills a child that was ready and then silent, says so, and starts it again", async () => {
    const stopping = new AbortController();
    const { options, said } = watched(script(up), stopping.signal, (times) => {
      if (times === 2) stopping.abort();
    });
    expect(await superviseChildren(options)).toBe(0);
    expect(said[0]).toMatch(/^the signer has given no sign of life for \d s and is killed$/);
    expect(said[1]).toBe("the signer was ended by SIGKILL and is started again");
  });

  it("leaves a child alone that speaks, for several times the limit", async () => {
    const stopping = new AbortController();
    const { options, said } = watched(script(speaks), stopping.signal, () =>
      setTimeout(() => stopping.abort(), 6_000),
    );
    expect(await superviseChildren(options)).toBe(0);
    expect(said).toEqual([]);
  });
});
