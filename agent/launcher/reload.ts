/**
 * A changed config.json while `crypto` runs: checked first, then taken by starting the children again; what does not check, or what a
 * child refuses at its start, leaves the settings of before in force. Changes no file.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { Renewal } from "./supervisor.ts";
import { type Verdict, verdictOn } from "./verdict.ts";

/**
 * `T` is what the children are started with; `digest` tells two of them apart.
 * @public
 */
export interface ReloadOptions<T extends { readonly digest: string }> {
  readonly first: T;
  /** Reads and checks the file. @throws AgentError */
  readonly read: () => T;
  readonly say: (event: "config-unchanged" | "config-taken" | "config-refused", line: string) => void;
  /** What to type when nothing has changed here, "" for nothing: a service manager hands over a copy made at the start. */
  readonly unchangedHint: string;
}

/** @public */
export class Reload<T extends { readonly digest: string }> implements Renewal {
  readonly #options: ReloadOptions<T>;
  #current: T;
  #before: T | null = null;
  #take: () => void = () => {};

  constructor(options: ReloadOptions<T>) {
    this.#options = options;
    this.#current = options.first;
  }

  /** What the next start goes by. */
  get current(): T {
    return this.#current;
  }

  /** Reads the file again and has the children started again when it says something else. Twice is harmless. */
  request(): void {
    const { read, say, unchangedHint } = this.#options;
    try {
      const next = read();
      if (next.digest === this.#current.digest) {
        say("config-unchanged", `config.json says what it said before; nothing was changed${unchangedHint}`);
        return;
      }
      // A second change before the first has come up: the way back leads to what last ran.
      this.#before ??= this.#current;
      this.#current = next;
      say("config-taken", "config.json was changed and is in order; starting again with it");
      this.#take();
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      this.#sayNotTaken(verdictOn(error));
    }
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#take = resolve;
    });
  }

  keep(): void {
    this.#before = null;
  }

  goBack(verdict: Verdict): boolean {
    if (this.#before === null) return false;
    this.#current = this.#before;
    this.#before = null;
    this.#sayNotTaken(verdict);
    return true;
  }

  #sayNotTaken({ message, hint }: Verdict): void {
    this.#options.say(
      "config-refused",
      `config.json was not taken: ${message}; the settings of before stay in force. hint: ${hint}`,
    );
  }
}
