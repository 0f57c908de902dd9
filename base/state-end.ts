/**
 * The end of a state: every state in which something waits has one row, and in each a person or a
 * clock that ends it. Only the form and its words; the rows stand in gateway/operator/state-ends.ts
 * and cli/state-ends.ts. Pure.
 */

/**
 * - person: nothing goes on before the command
 * - clock: time, the chain, or the other side ends it; a command, if there is one, ends it sooner
 *
 * `what` is the state in words, `evidence` what shows it, `command` the line to type ("" if only a
 * clock ends it), `effect` what holds afterwards.
 */
export type StateEnd = readonly [by: "person" | "clock", what: string, evidence: string, command: string, effect: string];

/** For `status` and `faults`: what ends the state, with the line to type. */
export function endWords([by, , , command, effect]: StateEnd): string {
  if (by === "person") return `${command}: ${effect}`;
  return command === "" ? `ends by itself: ${effect}` : `ends by itself: ${effect}; or ${command}`;
}

/** Rows of tables, by their groups and names. */
export type StateEnds = Readonly<Record<string, Readonly<Record<string, StateEnd>>>>;

/** The rows as tables of a page, a heading for each group. */
export function endTables(ends: StateEnds): string {
  const cell = (text: string): string => text.replaceAll("|", "\\|");
  return Object.entries(ends)
    .map(([group, rows]) => {
      const lines = Object.entries(rows).map(([name, [by, what, evidence, command, effect]]) => {
        const typed = command === "" ? "–" : `\`${command}\``;
        return `| \`${name}\` | ${cell(what)} | ${by} | ${cell(evidence)} | ${typed} | ${cell(effect)} |`;
      });
      return [
        `### ${group}`,
        "",
        "| state | is | ended by | seen in | command | then |",
        "|---|---|---|---|---|---|",
        ...lines,
      ].join("\n");
    })
    .join("\n\n");
}
