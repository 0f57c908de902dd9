/** Readers of one chain for tests, closed after each, and a signed transfer for them to send. */
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { HDNodeWallet } from "ethers";
import { afterEach } from "vitest";
import { signDigest as sign } from "../../agent/signer/vault/curve.ts";
import { AgentError } from "../../base/fault.ts";
import { createEvmNodes, type EvmNodes, type EvmNodesOptions } from "../../chains/evm/node.ts";
import {
  attachSignature,
  buildTransfer,
  digestOf,
  type Transfer,
} from "../../chains/evm/transaction.ts";
import { type FakeNode, type FakeNodeOptions, startFakeNode } from "../../lab/kit/fake-node.ts";

export const receiver = "0x52908400098527886E0F7030069857D2E4169EE7";
/** The second account that every local chain knows and funds. */
export const hotWallet = HDNodeWallet.fromPhrase(
  "test test test test test test test test test test test junk",
  "",
  "m/44'/60'/0'/0/1",
);
const hotWalletKey = Uint8Array.from(Buffer.from(hotWallet.privateKey.slice(2), "hex"));
export const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;

const closers: (() => unknown)[] = [];
/** To be called once at the head of a test file. */
export function closesItsNodes(): void {
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });
}

export function nodesOf(urls: readonly string[], options: Partial<EvmNodesOptions> = {}): EvmNodes {
  const nodes = createEvmNodes({
    urls,
    chainId: 31337,
    confirmations: 3,
    timeoutMs: 20_000,
    ...options,
  });
  closers.push(nodes.close);
  return nodes;
}

export async function fakeNode(options: FakeNodeOptions): Promise<FakeNode> {
  const node = await startFakeNode(options);
  closers.push(node.close);
  return node;
}

/** The code an act is rejected with, "" when it is not. */
export async function codeOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
    return "";
  } catch (error) {
    return error instanceof AgentError ? error.code : `${error}`;
  }
}

export function signed(change: Partial<Transfer> & { readonly nonce: bigint }): {
  raw: string;
  txHash: string;
} {
  const unsigned = buildTransfer({
    chainId: 31337n,
    contract: "",
    destination: receiver,
    amountUnits: 12345n,
    gasLimit: change.contract === undefined ? 21_000n : 100_000n,
    maxFeePerGas: 20n * 10n ** 9n,
    maxPriorityFeePerGas: 10n ** 9n,
    ...change,
  });
  const { raw, txHash } = attachSignature(
    unsigned,
    sign(digestOf(unsigned), hotWalletKey),
    hotWallet.address,
  );
  return { raw: hex(raw), txHash };
}

export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
