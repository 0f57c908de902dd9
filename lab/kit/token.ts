/**
 * The test token (token.sol): compiled by solc and put on a local chain, for the demo, the bench
 * and the tests; other contracts of the scripts are compiled here too. All act on a chain whose
 * accounts are unlocked, so nothing here ever holds a key.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AbiCoder, getAddress, id } from "ethers";
import { rpc, sendUnlocked } from "./rpc.ts";

interface CompiledContract {
  readonly abi: readonly unknown[];
  readonly bytecode: string; // 0x hex, without constructor arguments
}

export interface TokenOptions {
  readonly name?: string; // default "Test Dollar"
  readonly symbol?: string; // default "TUSD"
  readonly decimals?: number; // default 6
}

const compiled = new Map<string, CompiledContract>();

/** Compiles a contract of a file, once per process. @throws with the compiler's words. */
export function compileFile(file: URL, contract: string): CompiledContract {
  const name = `${file} ${contract}`;
  const known = compiled.get(name) ?? compile(file, contract);
  compiled.set(name, known);
  return known;
}

/** Deploys the token from the chain's first unlocked account; resolves when it is in a block. */
export async function deployToken(
  url: string,
  { name = "Test Dollar", symbol = "TUSD", decimals = 6 }: TokenOptions = {},
): Promise<{ readonly address: string; readonly txHash: string }> {
  const { bytecode } = compileFile(new URL("token.sol", import.meta.url), "Token");
  const args = AbiCoder.defaultAbiCoder().encode(
    ["string", "string", "uint8"],
    [name, symbol, decimals],
  );
  const txHash = await sendUnlocked(url, { data: bytecode + args.slice(2), gas: "0x1e8480" });
  const receipt = (await rpc(url, "eth_getTransactionReceipt", [txHash])) as {
    readonly contractAddress: string;
  };
  return { address: getAddress(receipt.contractAddress), txHash };
}

/** Deploys the token that takes a fee on each transfer (fee-token.sol), which is none at first. */
export async function deployFeeToken(url: string): Promise<string> {
  const { bytecode } = compileFile(new URL("fee-token.sol", import.meta.url), "FeeToken");
  const txHash = await sendUnlocked(url, { data: bytecode, gas: "0x1e8480" });
  const receipt = (await rpc(url, "eth_getTransactionReceipt", [txHash])) as {
    readonly contractAddress: string;
  };
  return getAddress(receipt.contractAddress);
}

/** Sets the fee of that token, in thousandths of what is moved. */
export async function setTokenFee(url: string, contract: string, permille: number): Promise<void> {
  const data = `${id("setFee(uint256)").slice(0, 10)}${permille.toString(16).padStart(64, "0")}`;
  await sendUnlocked(url, { to: contract, data, gas: "0x30d40" });
}

/**
 * The result of an earlier compilation of the same source, settings and compiler is kept in
 * .cache/: the compiler takes seconds, and each process of a run would compile the same token.
 */
function compile(file: URL, contract: string): CompiledContract {
  const input = JSON.stringify(inputFor(file, contract));
  const require = createRequire(import.meta.url);
  const { version } = require("solc/package.json") as { readonly version: string };
  const name = createHash("sha256").update(`${version}\0${contract}\0${input}`).digest("hex");
  const kept = join(cacheFolder(), `${name}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, "utf8")) as CompiledContract;
  // Loaded here and not above: the compiler is nine megabytes that most runs of a script do not
  // need at once.
  const solc = require("solc") as { compile(input: string): string };
  const made = readOutput(solc.compile(input), contract);
  // A name of this process' own first: a process beside it never reads half of a file.
  writeFileSync(`${kept}.${process.pid}`, JSON.stringify(made));
  renameSync(`${kept}.${process.pid}`, kept);
  return made;
}

/** .cache/contracts of the root, which is three folders up from dist/lab/kit/, else two. */
function cacheFolder(): string {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const root = /[/\\]dist[/\\]lab[/\\]kit[/\\]?$/.test(here)
    ? join(here, "..", "..", "..")
    : join(here, "..", "..");
  const folder = join(root, ".cache", "contracts");
  mkdirSync(folder, { recursive: true });
  return folder;
}

function inputFor(file: URL, contract: string): object {
  return {
    language: "Solidity",
    sources: { file: { content: readFileSync(file, "utf8") } },
    settings: {
      evmVersion: "paris",
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { file: { [contract]: ["abi", "evm.bytecode.object"] } },
    },
  };
}

/** @throws with the compiler's words */
function readOutput(text: string, contract: string): CompiledContract {
  const output = JSON.parse(text) as CompilerOutput;
  const errors = (output.errors ?? []).filter((error) => error.severity === "error");
  const found = output.contracts?.file?.[contract];
  if (errors.length > 0 || found === undefined) {
    throw new Error(
      `${contract} does not compile: ${errors.map((error) => error.formattedMessage).join("\n")}`,
    );
  }
  return { abi: found.abi, bytecode: `0x${found.evm.bytecode.object}` };
}

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          | {
              readonly abi: readonly unknown[];
              readonly evm: { readonly bytecode: { readonly object: string } };
            }
          | undefined
        >
      >
    >
  >;
}
