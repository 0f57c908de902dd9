/**
 * Reports to systemd that a daemon is ready and alive, through `systemd-notify`, because Node
 * cannot open unix datagram sockets. Does nothing if no service manager listens. Source:
 * sd_notify(3), systemd-notify(1).
 */
import { spawn } from "node:child_process";
import { systemPath } from "../system-path.ts";

export interface ServiceManager {
  /**
   * Reports that the daemon is ready; `words` are for `systemctl status`, cut at 200 characters.
   * May be repeated without harm.
   */
  ready(words: string): void;
  /**
   * Sends signs of life from now on, from this event loop, so a loop that hangs sends none. May be
   * repeated without harm.
   */
  beginAlive(): void;
}

/** A third of the shortest WatchdogSec= of the shipped units. */
const aliveMs = 20_000;
const wordsCharactersMax = 200;

/**
 * `env` is the process's own. `say` gets only one line, when `systemd-notify` cannot be started or
 * fails.
 */
export function createServiceManager(
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): ServiceManager {
  const { NOTIFY_SOCKET: socket = "", WATCHDOG_USEC: watchdog = "" } = env;
  if (socket === "") return { ready: () => {}, beginAlive: () => {} };
  let isTold = false;
  let timer: NodeJS.Timeout | null = null;
  const tell = (problem: string): void => {
    if (isTold) return;
    isTold = true;
    say(`systemd cannot be told that this runs: ${problem}`);
  };
  const send = (...words: string[]): void => {
    const child = spawn("systemd-notify", words, {
      stdio: "ignore",
      env: { NOTIFY_SOCKET: socket, PATH: systemPath },
    });
    child.once("error", (error) => tell(error.message));
    child.once("exit", (code) => {
      if (code !== 0) tell(`systemd-notify ended with ${code ?? "a signal"}`);
    });
  };
  return {
    ready: (words) =>
      send("--ready", `--status=${words.replace(/\p{C}/gu, " ").slice(0, wordsCharactersMax)}`),
    beginAlive: () => {
      if (watchdog === "" || timer !== null) return;
      send("WATCHDOG=1");
      timer = setInterval(() => send("WATCHDOG=1"), Math.min(aliveMs, Number(watchdog) / 3_000));
      timer.unref();
    },
  };
}
