#!/usr/bin/env node
/**
 * The commands for operators (cli/main.ts). This file is JavaScript for old versions, so even a
 * Node that is too old can read it and print the reason.
 */
// Node would open its inspector at this signal. The programs install a listener too, but this one
// comes before the first of them is loaded.
process.on("SIGUSR1", () => {});
var version = process.versions.node.split(".").map(Number);
if (version[0] * 1e6 + version[1] * 1e3 + version[2] < 18019001) {
  process.stderr.write(
    "autowithdraw: Node 18.19.1 or later is needed, this is " +
      process.versions.node +
      "\nhint: install Node 22 or 24 and run it again with that\n",
  );
  process.exit(2);
}
void import("./cli/launch/launch.js").then((launch) => launch.launch("cli/main.js"));
