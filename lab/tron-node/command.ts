/**
 * The fake for java-tron as a process of its own: prints one line of JSON with its addresses
 * and the chain's id when it answers, and lives until its standard input ends. Options are one JSON
 * text as its only argument.
 */
import { startTronNode, type TronNodeOptions } from "./tron-node.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as TronNodeOptions;
const node = await startTronNode(options);
process.stdout.write(`${JSON.stringify({ urls: node.urls, chainId: node.chainId })}\n`);
process.stdin.on("end", () => {
  node.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
process.stdin.resume();
