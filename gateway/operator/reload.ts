/**
 * Reads and checks gateway.config.json again on SIGHUP. Applies the log's level and a renewed
 * certificate at once, and every other change by `take`. Only another database or key file waits
 * for a restart of the process. An invalid configuration or certificate changes nothing. Touches
 * only what is passed in.
 */
import type { Logger } from "pino";
import { AgentError } from "../../base/fault.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
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
  /**
   * Makes the gateway run by this configuration. Rejects with an AgentError if the gateway cannot;
   * then it runs by the earlier one.
   */
  readonly take: (next: GatewayConfig) => Promise<void>;
  /** Called after each reading that was taken whole, with changes or without. */
  readonly onTaken: () => void;
  readonly say: (event: "config-reload" | "config-refused", line: string) => void;
}

/** Settings that name what the process began with: its database and its key. */
const fixedKeys: ReadonlySet<string> = new Set(["database", "postgres", "keyFile"]);

/** There is one for the whole process. */
export class ConfigReload {
  readonly #options: ReloadOptions;
  #current: GatewayConfig;
  #turn: Promise<void> = Promise.resolve();

  /** `started` is the configuration that the running gateway began with. */
  constructor(started: GatewayConfig, options: ReloadOptions) {
    this.#options = options;
    this.#current = started;
  }

  /**
   * Reads the file, applies the changes and reports the result; resolves afterwards. Requests wait
   * for each other. Never rejects for an invalid file. Harmless to call twice.
   */
  request(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#apply());
    return this.#turn;
  }

  async #apply(): Promise<void> {
    const { read, log, say, take, onTaken } = this.#options;
    const hasRenewed = this.#renewCertificate();
    let next: GatewayConfig;
    try {
      next = read();
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      say(
        "config-refused",
        `the configuration was not taken: ${error.message}; the old configuration stays in force`,
      );
      return;
    }
    const isLevelNew = next.logLevel !== this.#current.logLevel;
    if (isLevelNew) {
      this.#current = { ...this.#current, logLevel: next.logLevel };
      log.level = next.logLevel;
      say("config-reload", `logLevel is ${next.logLevel} from now on`);
    }
    const changed = changedKeys(this.#current, next);
    if (changed.some((key) => fixedKeys.has(key))) {
      say(
        "config-reload",
        `the configuration is in order; restart the gateway to take: ${changed.join(", ")}`,
      );
      return;
    }
    if (changed.length > 0) {
      try {
        await take(next);
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
        say(
          "config-refused",
          `the configuration was not taken: ${error.message}; the old configuration is in force again`,
        );
        return;
      }
      say("config-reload", `taken: ${changed.join(", ")}`);
    } else if (!isLevelNew && hasRenewed === "no")
      say("config-reload", "the configuration has not changed; nothing was done");
    this.#current = next;
    onTaken();
  }

  #renewCertificate(): "renewed" | "no" | "refused" {
    const { renewCertificate, say } = this.#options;
    try {
      const endsAtMs = renewCertificate();
      if (endsAtMs === null) return "no";
      say(
        "config-reload",
        `the renewed certificate is served from now on; it ends at ${formatTimestampUtc(endsAtMs)}`,
      );
      return "renewed";
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      say(
        "config-refused",
        `the certificate was not taken: ${error.message}; the old one is served on`,
      );
      return "refused";
    }
  }
}

/**
 * The changed keys. The time of a typed price is the file's own and no setting, unless the price
 * changed.
 */
function changedKeys(current: GatewayConfig, next: GatewayConfig): readonly string[] {
  const settings = ({
    prices,
    logLevel: _taken,
    ...rest
  }: GatewayConfig): Readonly<Record<string, unknown>> => ({
    ...rest,
    prices: { ...prices, changedAtMs: 0 },
  });
  const [before, now] = [settings(current), settings(next)];
  return Object.keys(now).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(now[key]));
}
