/**
 * The end of a state: every state in which something waits has one row, and in each a person or a
 * clock that ends it. Only the form and its words; the rows stand in gateway/operator/state-ends.ts
 * and agent/state-ends.ts. Pure.
 */

/**
 * - person: nothing goes on before the command
 * - clock: time, the chain, or the other side ends it; a command, if there is one, ends it sooner
 *
 * `what` is the state in words, `evidence` what shows it, `command` the line to type ("" if only a
 * clock ends it), `effect` what holds afterwards.
 */
export type StateEnd = readonly [
  by: "person" | "clock",
  what: string,
  evidence: string,
  command: string,
  effect: string,
];

/** What stands in the place of the words in capitals of a line, such as `ID`. */
export type PlaceholderValues = Readonly<Record<string, string>>;

function filled(text: string, names: PlaceholderValues): string {
  return text.replace(/\b[A-Z]{2,}\b/g, (word) =>
    Object.hasOwn(names, word) ? (names[word] ?? word) : word,
  );
}

/** The line to type; "" if only a clock ends the state. */
export function commandOfEnd([, , , command]: StateEnd, names: PlaceholderValues = {}): string {
  return filled(command, names);
}

/** What holds once the state has ended. */
export function effectOfEnd([, , , , effect]: StateEnd, names: PlaceholderValues = {}): string {
  return filled(effect, names);
}

/** For every place that says how a state ends: what ends it, with the line to type. */
export function endWords(end: StateEnd, names: PlaceholderValues = {}): string {
  const [line, effect] = [commandOfEnd(end, names), effectOfEnd(end, names)];
  if (end[0] === "person") return `${line}: ${effect}`;
  return line === "" ? `ends by itself: ${effect}` : `ends by itself: ${effect}; or ${line}`;
}

/** Rows of tables, by their groups and names. */
export type StateEnds = Readonly<Record<string, Readonly<Record<string, StateEnd>>>>;
