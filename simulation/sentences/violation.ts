/** A sentence of docs/architecture.md section 2 that does not hold, with what shows it. */

export class Violation extends Error {
  override readonly name = "Violation";
  readonly sentence: string;

  constructor(sentence: string, detail: string) {
    super(`${sentence}: ${detail}`);
    this.sentence = sentence;
  }
}

export function must(condition: boolean, sentence: string, detail: () => string): void {
  if (!condition) throw new Violation(sentence, detail());
}
