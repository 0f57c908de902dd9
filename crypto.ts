/**
 * Runs the paired agent, as crypto.js does: the interface's own name for it. Node runs it as it
 * stands from 22.18 on; older versions know no file of this kind, and take crypto.js.
 */
// Node would open its inspector at this signal. The programs listen too; this is before the first
// of them is loaded.
process.on("SIGUSR1", () => {});
const launch = await import("./scripts/launch.js");
await launch.launch("agent/crypto.js");
