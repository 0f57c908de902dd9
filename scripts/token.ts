/**
 * The test token (token.sol): compiled by solc and put on a local chain, for the demo, the bench
 * and the tests. Both act on a chain whose accounts are unlocked, so nothing here ever holds a key.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { AbiCoder, getAddress } from "ethers";
import { rpc, sendUnlocked } from "./rpc.ts";

interface CompiledToken {
  readonly abi: readonly unknown[];
  readonly bytecode: string; // 0x hex, without constructor arguments
}

/** @public */
export interface TokenOptions {
  readonly name?: string; // default "Test Dollar"
  readonly symbol?: string; // default "TUSD"
  readonly decimals?: number; // default 6
}

let compiled: CompiledToken | null = null;

/** Compiles token.sol, once per process. @throws with the compiler's words @public */
function compileToken(): CompiledToken {
  compiled ??= compile();
  return compiled;
}

/**
 * Deploys the token from the chain's first unlocked account; resolves when it is in a block.
 * @public
 */
export async function deployToken(
  url: string,
  { name = "Test Dollar", symbol = "TUSD", decimals = 6 }: TokenOptions = {},
): Promise<{ readonly address: string; readonly txHash: string }> {
  const { bytecode } = compileToken();
  const args = AbiCoder.defaultAbiCoder().encode(["string", "string", "uint8"], [name, symbol, decimals]);
  const txHash = await sendUnlocked(url, { data: bytecode + args.slice(2), gas: "0x1e8480" });
  const receipt = (await rpc(url, "eth_getTransactionReceipt", [txHash])) as { readonly contractAddress: string };
  return { address: getAddress(receipt.contractAddress), txHash };
}

function compile(): CompiledToken {
  // Loaded here and not above: the compiler is nine megabytes that most runs of a script do not
  // need at once.
  const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };
  const input = {
    language: "Solidity",
    sources: { "token.sol": { content: readFileSync(new URL("token.sol", import.meta.url), "utf8") } },
    settings: {
      evmVersion: "paris",
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { "token.sol": { Token: ["abi", "evm.bytecode.object"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput;
  const errors = (output.errors ?? []).filter((error) => error.severity === "error");
  const token = output.contracts?.["token.sol"]?.Token;
  if (errors.length > 0 || token === undefined) {
    throw new Error(`token.sol does not compile: ${errors.map((error) => error.formattedMessage).join("\n")}`);
  }
  return { abi: token.abi, bytecode: `0x${token.evm.bytecode.object}` };
}

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { readonly abi: readonly unknown[]; readonly evm: { readonly bytecode: { readonly object: string } } } | undefined
        >
      >
    >
  >;
}
