/**
 * Reads and checks gateway.config.json again on SIGHUP. Applies the log's level and a renewed
 * certificate at once, and names the other changes, which need a restart. An invalid configuration
 * or certificate changes nothing. Touches only what is passed in.
 */
import type { Logger } from "pino";
import { AgentError } from "../../base/fault.ts";
import { momentOf } from "../../base/timestamp.ts";
import type { GatewayConfig } from "../config/config.ts";

export interface ReloadOptions {
  /** @throws AgentError */
  readonly read: () => GatewayConfig;
  readonly log: Pick<Logger, "level">;
  /**
   * Serves the certificate on disk. Returns its end in Unix milliseconds, null if it is served
   * already. @throws AgentError
   */
  readonly renewCertificate: () => number | null;
  readonly say: (event: "config-reload" | "config-refused", line: string) => void;
}

/** There is one for the whole process. */
export class Reload {
  readonly #options: ReloadOptions;
  readonly #started: GatewayConfig;
  #logLevel: GatewayConfig["logLevel"];

  /** `started` is the configuration that the running gateway began with. */
  constructor(started: GatewayConfig, options: ReloadOptions) {
    this.#options = options;
    this.#started = started;
    this.#logLevel = started.logLevel;
  }

  /**
   * Reads the file and reports the result. Never throws for an invalid file. Harmless to call
   * twice.
   */
  request(): void {
    const { read, log, say } = this.#options;
    const hasRenewed = this.#renewCertificate();
    let next: GatewayConfig;
    try {
      next = read();
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      say("config-refused", `the configuration was not taken: ${error.message}; the old configuration stays in force`);
      return;
    }
    const taken = next.logLevel !== this.#logLevel;
    if (taken) {
      this.#logLevel = next.logLevel;
      log.level = next.logLevel;
      say("config-reload", `logLevel is ${next.logLevel} from now on`);
    }
    const waiting = changedKeys(this.#started, next);
    if (waiting.length > 0)
      say("config-reload", `the configuration is in order; restart the gateway to take: ${waiting.join(", ")}`);
    else if (!taken && hasRenewed === "no") say("config-reload", "the configuration has not changed; nothing was done");
  }

  #renewCertificate(): "renewed" | "no" | "refused" {
    const { renewCertificate, say } = this.#options;
    try {
      const endsAtMs = renewCertificate();
      if (endsAtMs === null) return "no";
      say("config-reload", `the renewed certificate is served from now on; it ends at ${momentOf(endsAtMs)}`);
      return "renewed";
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      say("config-refused", `the certificate was not taken: ${error.message}; the old one is served on`);
      return "refused";
    }
  }
}

/** The changed keys, which need a restart. The time of a price is the file's own and no setting. */
function changedKeys(started: GatewayConfig, next: GatewayConfig): readonly string[] {
  const settings = ({ prices, logLevel: _taken, ...rest }: GatewayConfig): Readonly<Record<string, unknown>> => ({
    ...rest,
    prices: { ...prices, changedAtMs: 0 },
  });
  const [before, now] = [settings(started), settings(next)];
  return Object.keys(now).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(now[key]));
}
