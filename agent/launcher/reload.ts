/**
 * Takes a changed config.json while `crypto` runs: checks the file, then restarts the children. If
 * the check fails, or a child refuses the file at its start, the old settings stay in force.
 * Changes no file.
 */
import { AgentError } from "../../base/fault.ts";
import { type ExitVerdict, exitVerdictOfError } from "./exit-status.ts";
import type { SettingsRenewal } from "./supervisor.ts";

/** `T` is the settings that the children are started with; equal digests mean equal settings. */
export interface ReloadOptions<T extends { readonly digest: string }> {
  readonly first: T;
  /** Reads and checks the file. @throws AgentError */
  readonly read: () => T;
  readonly say: (
    event: "config-unchanged" | "config-taken" | "config-refused" | "config-outdated",
    line: string,
  ) => void;
  /**
   * Text after "nothing was changed", or "". A service manager passes on a copy made at the start,
   * never a new file.
   */
  readonly unchangedHint: string;
  /** True if the file is a copy that a service manager made for this start. */
  readonly isCopy: boolean;
}

export class SettingsReload<T extends { readonly digest: string }> implements SettingsRenewal {
  readonly #options: ReloadOptions<T>;
  #current: T;
  #before: T | null = null;
  #take: () => void = () => {};

  constructor(options: ReloadOptions<T>) {
    this.#options = options;
    this.#current = options.first;
  }

  /** The settings for the next start of a child. */
  get current(): T {
    return this.#current;
  }

  /**
   * Reads the file again, and restarts the children if its settings differ. May be repeated without
   * harm.
   */
  request(): void {
    const { read, say, unchangedHint } = this.#options;
    try {
      const next = read();
      if (next.digest === this.#current.digest) {
        say("config-unchanged", `config.json has not changed; nothing was done${unchangedHint}`);
        return;
      }
      // A second change may come before the first is running. The way back leads to the settings
      // that last ran.
      this.#before ??= this.#current;
      this.#current = next;
      say("config-taken", "config.json was changed and is in order; starting again with it");
      this.#take();
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      this.#sayNotTaken(exitVerdictOfError(error));
    }
  }

  renew(): boolean {
    const { isCopy, say } = this.#options;
    if (isCopy)
      say(
        "config-outdated",
        "a newer config.json is in force; ending, so that the next start is by that one",
      );
    else this.request();
    return !isCopy;
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#take = resolve;
    });
  }

  keep(): void {
    this.#before = null;
  }

  goBack(verdict: ExitVerdict): boolean {
    if (this.#before === null) return false;
    this.#current = this.#before;
    this.#before = null;
    this.#sayNotTaken(verdict);
    return true;
  }

  #sayNotTaken({ message, hint }: ExitVerdict): void {
    this.#options.say(
      "config-refused",
      `config.json was not taken: ${message}; the old settings stay in force. hint: ${hint}`,
    );
  }
}
