/**
 * Runs the paired agent, as crypto.js does, under the interface's own name. Node runs this file
 * directly from 22.18 on. Older versions cannot run a file of this kind, and use crypto.js.
 */
// Node would open its inspector at this signal. The programs install a listener too, but this one
// comes before the first of them is loaded.
process.on("SIGUSR1", () => {});
const launch = await import("./cli/launch/launch.js");
await launch.launch("agent/crypto.js");
