/**
 * The runner's answers are read between any two tests. A file of some hundred synchronous tests
 * never returns to the event loop by itself, and the run fails with "Timeout calling onTaskUpdate"
 * when an answer waits there for a minute.
 */
import { setImmediate as turn } from "node:timers/promises";
import { afterEach } from "vitest";

afterEach(async () => {
  await turn();
});
