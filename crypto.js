#!/usr/bin/env node
/**
 * Runs the paired agent (agent/crypto.ts). This file is plain JavaScript of an old kind, so that a
 * Node that is too old can still read it and say so.
 */
// Node would open its inspector at this signal. The programs listen too; this is before the first
// of them is loaded.
process.on("SIGUSR1", () => {});
var version = process.versions.node.split(".").map(Number);
if (version[0] * 1e6 + version[1] * 1e3 + version[2] < 18019001) {
  process.stderr.write(
    "crypto: Node 18.19.1 or later is needed, this is " +
      process.versions.node +
      "\nhint: install Node 22 or 24 and run it again with that\n",
  );
  process.exit(2);
}
void import("./cli/launch/launch.js").then((launch) => launch.launch("agent/crypto.js"));
