/**
 * Shows the steps of pairing to the operator: one line for each step, its name first, then its
 * outcome.
 */
import type { Terminal } from "../terminal.ts";

const nameWidth = 13;

/** Lines go to stdout, or to stderr when stdout is for JSON. */
export class Steps {
  readonly #write: (text: string) => void;
  readonly #isLive: boolean;
  #begun = "";

  constructor(terminal: Terminal, isJson: boolean) {
    this.#write = isJson ? terminal.err : terminal.out;
    this.#isLive = terminal.isInteractive && !isJson;
  }

  /** On a terminal the name is shown while the step runs. */
  begin(name: string): void {
    this.#begun = name;
    if (this.#isLive) this.#write(`  ${name.padEnd(nameWidth)}`);
  }

  end(outcome: string): void {
    this.#write(this.#isLive ? `${outcome}\n` : `  ${this.#begun.padEnd(nameWidth)}${outcome}\n`);
    this.#begun = "";
  }

  /** A failed step leaves its name on the line, so the line is ended before the error. */
  abandon(): void {
    if (this.#begun !== "" && this.#isLive) this.#write("\n");
    this.#begun = "";
  }

  say(name: string, outcome: string): void {
    this.begin(name);
    this.end(outcome);
  }
}
