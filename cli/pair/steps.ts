/**
 * Pairing as a person watches it: one line a step, its name first, its outcome when it is there.
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

  /** On a terminal the name stands there while the work is done. */
  begin(name: string): void {
    this.#begun = name;
    if (this.#isLive) this.#write(`  ${name.padEnd(nameWidth)}`);
  }

  end(outcome: string): void {
    this.#write(this.#isLive ? `${outcome}\n` : `  ${this.#begun.padEnd(nameWidth)}${outcome}\n`);
    this.#begun = "";
  }

  /** A step that failed leaves its name standing: the line is closed before the error. */
  abandon(): void {
    if (this.#begun !== "" && this.#isLive) this.#write("\n");
    this.#begun = "";
  }

  say(name: string, outcome: string): void {
    this.begin(name);
    this.end(outcome);
  }
}
