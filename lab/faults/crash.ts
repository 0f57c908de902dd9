/**
 * `npm run crash -- --kills 200 [--seed S] [--json]`: a stream of withdrawals while signer, courier
 * and gateway are killed with SIGKILL and the way to the chain node is cut, at random moments; each
 * is started again. In the end every withdrawal was paid exactly once or is Failed with no payment,
 * the ledger verifies and the account has no nonce gap, all by the script's own reads of the chain.
 * Seeded: the same seed makes the same choices, though not the same timing.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../rig/processes.ts";
import { type Rig, startPairedRig } from "../rig/rig.ts";
import { balanceWei, rpc, tokenUnits, transactionCount } from "../rig/rpc.ts";
import { createShop, type Shop } from "../rig/shop.ts";

/** One payment the stream asked for. */
export interface Asked {
  readonly orderId: string;
  readonly currency: "eth" | "usdt";
  readonly amount: string;
  readonly units: bigint;
  readonly receiver: string;
  transactionId: string;
  status: number;
}

/** The result of a crash run. `violations` is empty if all held. */
export interface CrashReport {
  readonly ok: boolean;
  readonly seed: string;
  readonly kills: Readonly<Record<string, number>>;
  readonly withdrawals: number;
  readonly paid: number;
  readonly failed: number;
  readonly ledgerRecords: number;
  readonly violations: readonly string[];
  readonly elapsedMs: number;
}

/** A seeded stream of numbers in [0, 1): SHA-256 in counter mode. */
function seeded(seed: string): () => number {
  let counter = 0;
  return () => {
    counter += 1;
    return createHash("sha256").update(`${seed}/${counter}`).digest().readUIntBE(0, 6) / 2 ** 48;
  };
}

/** The `number`-th order of a seed: its own amount and its own receiver. */
export function ask(seed: string, number: number, chance: number): Asked {
  const receiver = `0x${createHash("sha256").update(`${seed}/receiver/${number}`).digest("hex").slice(0, 40)}`;
  const token = chance < 0.4;
  // Every amount is different, so that a payment cannot be mistaken for another.
  const units = token ? 10_000n + BigInt(number) : 10n ** 12n + BigInt(number) * 10n ** 6n;
  const amount = token ? `0.${units.toString().padStart(6, "0")}` : `0.${units.toString().padStart(18, "0").replace(/0+$/, "")}`;
  return {
    orderId: `crash-${number}`,
    currency: token ? "usdt" : "eth",
    amount: amount.replace(/0+$/, ""),
    units,
    receiver,
    transactionId: "",
    status: 0,
  };
}

/**
 * Posts until there is an answer: the shop's own duty after a lost one, harmless because of the
 * orderId.
 */
export async function post(shop: Shop, asked: Asked): Promise<void> {
  let last = "";
  const look = async (): Promise<true | undefined> => {
    const answer = await shop.autoWithdraw(asked);
    last = `${answer.status} ${answer.code} ${answer.message}`;
    if (answer.transactionId === "") return undefined;
    asked.transactionId = answer.transactionId;
    return true;
  };
  await until(`an answer for ${asked.orderId}`, 180_000, look, () => `last answer: ${last}`);
}

async function strike(rig: Rig, victim: string, random: () => number): Promise<void> {
  if (victim === "gateway") {
    const gateway = rig.gateway;
    if (gateway === null) return;
    gateway.child.kill("SIGKILL");
    await gateway.ended;
    await sleep(random() * 500);
    await rig.startGateway();
    return;
  }
  if (victim === "proxy") {
    const kind = random();
    if (kind < 0.5) rig.proxy?.cut();
    else {
      rig.proxy?.mode(kind < 0.75 ? "stalled" : "refusing");
      await sleep(200 + random() * 800);
      rig.proxy?.mode("open");
    }
    return;
  }
  // Struck again and again, it may be waiting to be started: the strike is for a running process.
  const running = async (): Promise<number | undefined> => (victim === "signer" ? rig.signerPid() : rig.courierPid());
  process.kill(await until(`a running ${victim}`, 30_000, running, () => rig.crypto?.output().slice(-2000) ?? ""), "SIGKILL");
}

/** Every transaction the hot account has in the chain: [to, value or token units, success]. */
async function chainTransfers(rig: Rig): Promise<{ key: string; nonce: number; ok: boolean }[]> {
  const head = Number(BigInt((await rpc(rig.anvil.url, "eth_blockNumber")) as string));
  const found: { key: string; nonce: number; ok: boolean }[] = [];
  for (let number = 0; number <= head; number += 1) {
    const block = (await rpc(rig.anvil.url, "eth_getBlockByNumber", [`0x${number.toString(16)}`, true])) as {
      transactions: { from: string; to: string | null; value: string; input: string; nonce: string; hash: string }[];
    };
    for (const transaction of block.transactions) {
      if (transaction.from.toLowerCase() !== rig.hotAddress.toLowerCase()) continue;
      const receipt = (await rpc(rig.anvil.url, "eth_getTransactionReceipt", [transaction.hash])) as { status: string };
      const token = transaction.input.startsWith("0xa9059cbb");
      const to = token ? `0x${transaction.input.slice(34, 74)}` : (transaction.to ?? "");
      const units = token ? BigInt(`0x${transaction.input.slice(74, 138)}`) : BigInt(transaction.value);
      const key = `${token ? "usdt" : "eth"} ${to.toLowerCase()} ${units}`;
      found.push({ key, nonce: Number(BigInt(transaction.nonce)), ok: receipt.status === "0x1" });
    }
  }
  return found;
}

/**
 * By the script's own reads of the chain: every order paid as its status says, no nonce gap, a
 * ledger that verifies.
 */
export async function judge(rig: Rig, asked: readonly Asked[]): Promise<{ violations: string[]; records: number }> {
  const violations: string[] = [];
  const transfers = await chainTransfers(rig);
  for (const one of asked) {
    const held =
      one.currency === "eth"
        ? await balanceWei(rig.anvil.url, one.receiver)
        : await tokenUnits(rig.anvil.url, rig.token, one.receiver);
    const expected = one.status === 1 ? one.units : 0n;
    if (held !== expected) violations.push(`${one.orderId}: receiver holds ${held}, status ${one.status} means ${expected}`);
    const times = transfers.filter(
      (transfer) => transfer.ok && transfer.key === `${one.currency} ${one.receiver.toLowerCase()} ${one.units}`,
    ).length;
    if (times !== (one.status === 1 ? 1 : 0)) violations.push(`${one.orderId}: paid ${times} times, status ${one.status}`);
  }
  if (transfers.length > asked.length) violations.push(`${transfers.length} transactions for ${asked.length} withdrawals`);
  const nonces = transfers.map((transfer) => transfer.nonce).sort((a, b) => a - b);
  nonces.forEach((nonce, place) => {
    if (nonce !== place) violations.push(`nonce gap: ${nonce} at place ${place}`);
  });
  if ((await transactionCount(rig.anvil.url, rig.hotAddress)) !== transfers.length)
    violations.push("the account's count differs from its transactions");
  const verified = await rig.cli("verify", "--json");
  if (verified.code !== 0) violations.push(`ledger does not verify: ${verified.output.trim()}`);
  const records = Number(/"records":\s*(\d+)/.exec(verified.output)?.[1] ?? 0);
  return { violations, records };
}

/** Runs `kills` strikes over a stream of withdrawals and judges the end by the chain. */
export async function crashRun(kills: number, seed: string, say: (line: string) => void, node?: string): Promise<CrashReport> {
  const started = Date.now();
  const random = seeded(seed);
  const rig = await startPairedRig(
    { proxied: true, confirmations: 2, ...(node === undefined ? {} : { node }) },
    { wei: 50n * 10n ** 18n, units: 10n ** 10n },
  );
  const struck: Record<string, number> = {};
  try {
    const shop = createShop(rig);
    const asked: Asked[] = [];
    const posts: Promise<void>[] = [];
    for (let strikes = 0; strikes < kills; ) {
      const burst = 1 + Math.floor(random() * 4);
      for (let i = 0; i < burst; i += 1) {
        const one = ask(seed, asked.length + 1, random());
        asked.push(one);
        posts.push(post(shop, one));
      }
      await sleep(random() * 1200);
      const victim = ["signer", "courier", "gateway", "proxy", "signer"][Math.floor(random() * 5)] ?? "signer";
      await strike(rig, victim, random);
      strikes += 1;
      struck[victim] = (struck[victim] ?? 0) + 1;
      if (strikes % 10 === 0) say(`${strikes} of ${kills} strikes, ${asked.length} withdrawals asked`);
    }
    await Promise.all(posts);
    say(`all ${asked.length} asked; waiting until each has ended`);
    for (const one of asked) {
      const ended = async (): Promise<true | undefined> => {
        one.status = (await shop.transaction(one.transactionId)).status;
        return one.status === 0 ? undefined : true;
      };
      await until(`the end of ${one.orderId} ${one.transactionId}`, 180_000, ended, () => `${rig.crypto?.output().slice(-3000)}`);
    }
    const { violations, records } = await judge(rig, asked);
    const paid = asked.filter((one) => one.status === 1).length;
    const failed = asked.length - paid;
    return {
      ok: violations.length === 0,
      seed,
      kills: struck,
      withdrawals: asked.length,
      paid,
      failed,
      ledgerRecords: records,
      violations,
      elapsedMs: Date.now() - started,
    };
  } finally {
    await rig.close();
  }
}
