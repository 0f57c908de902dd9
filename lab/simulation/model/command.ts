/** The command around `check.ts`: arguments, progress, traces, exit code. */
import { readCommandLine } from "../../rig/command-line.ts";
import { checkModel } from "./check.ts";

const { values } = readCommandLine({
  name: "model",
  does: "Searches every state of the protocol reduced to what can pay twice, and again without each of its rules.",
  options: {
    trace: { says: "how each missing rule was caught, step by step" },
    json: { says: "ends with one line of JSON" },
  },
});
const { report, searched, tried } = checkModel(
  () => performance.now(),
  (line) => process.stderr.write(`model: ${line}\n`),
);
// With --json the line stays alone on its stream.
const say = (line: string): boolean => (values.json ? process.stderr : process.stdout).write(`${line}\n`);
const sayTrace = (trace: readonly string[]): void => {
  for (const [index, step] of trace.entries()) say(`  ${index + 1}. ${step}`);
};
for (const { name, states, depth, isComplete, broken, trace } of searched) {
  const verdict = broken ?? (isComplete ? "every state seen, no sentence broken" : "given up");
  say(`${name}: ${states} states, depth ${depth}: ${verdict}`);
  sayTrace(trace);
}
for (const { name, without, broken, states, trace } of tried) {
  say(`${name} (${without}): ${broken ?? "SURVIVED"} after ${states} states`);
  if (values.trace) sayTrace(trace);
}
if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(report.violations === 0 && report.caught === report.mutants ? 0 : 1);
