/**
 * The scripts' own eyes on a chain: a few JSON-RPC calls by fetch, sharing no code with agent or
 * gateway, so that what a script says about balances was read independently of what it checks.
 */

/** One JSON-RPC call; throws with the node's own words when it answers an error. */
export async function rpc(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<unknown> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.timeout(10_000),
  });
  const body = (await answer.json()) as { result?: unknown; error?: { message: string } };
  if (body.error !== undefined) throw new Error(`${method}: ${body.error.message}`);
  return body.result;
}

/** Balance in wei at the newest block. */
export async function balanceWei(url: string, address: string): Promise<bigint> {
  return BigInt((await rpc(url, "eth_getBalance", [address, "latest"])) as string);
}

/** ERC-20 balance in base units at the newest block (balanceOf, EIP-20). */
export async function tokenUnits(url: string, contract: string, address: string): Promise<bigint> {
  const data = `0x70a08231${address.slice(2).toLowerCase().padStart(64, "0")}`;
  return BigInt((await rpc(url, "eth_call", [{ to: contract, data }, "latest"])) as string);
}

/** Transaction count of an account at the newest block. */
export async function transactionCount(url: string, address: string): Promise<number> {
  return Number(BigInt((await rpc(url, "eth_getTransactionCount", [address, "latest"])) as string));
}

/**
 * The send before this one. The node chooses the count of its unlocked account when it takes a
 * transaction: two at the same moment get the same count, and it refuses the second.
 */
let lastSend: Promise<unknown> = Promise.resolve();

function sendInTurn(
  url: string,
  transaction: Readonly<Record<string, string | undefined>>,
): Promise<unknown> {
  const send = lastSend.then(() => rpc(url, "eth_sendTransaction", [transaction]));
  lastSend = send.catch(() => null);
  return send;
}

/**
 * A transaction of one of the local chain's own unlocked accounts; resolves when it is in a block
 * with success. Several may be asked for at once: they leave one after the other.
 */
export async function sendUnlocked(
  url: string,
  transaction: Readonly<Record<string, string>>,
): Promise<string> {
  const from = ((await rpc(url, "eth_accounts")) as string[])[0];
  const hash = (await sendInTurn(url, { from, ...transaction })) as string;
  for (let tries = 0; tries < 200; tries += 1) {
    const receipt = (await rpc(url, "eth_getTransactionReceipt", [hash])) as {
      status: string;
    } | null;
    if (receipt !== null) {
      if (receipt.status !== "0x1")
        throw new Error(`transaction ${hash} of the local chain's own account failed`);
      return hash;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`transaction ${hash} did not get into a block`);
}

/**
 * Call data of `name(address,uint256)` for the test token: 4-byte selector ‖ address(32) ‖
 * units(32).
 */
export function tokenCall(name: "transfer" | "mint", address: string, units: bigint): string {
  const selector = name === "transfer" ? "a9059cbb" : "40c10f19";
  return `0x${selector}${address.slice(2).toLowerCase().padStart(64, "0")}${units.toString(16).padStart(64, "0")}`;
}
