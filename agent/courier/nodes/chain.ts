/**
 * One chain as the desk needs it: facts per block, gas for one payment, places and verdicts of transactions. Turns what the nodes
 * say into the desk's words and decides nothing. Reaches the network only through chains/evm/node.ts.
 */
import { encodeTransferCall, readTransferLog } from "../../../chains/evm/erc20.ts";
import type { EvmNodes } from "../../../chains/evm/node.ts";
import { AgentError } from "../../../protocol/fault.ts";
import type { WithdrawalView } from "../../socket/verbs.ts";
import type { BlockFacts, DeskEvent, Place, Verdict, Wanted } from "../desk/desk.ts";

type Receipt = NonNullable<Awaited<ReturnType<EvmNodes["finalReceipt"]>>>;
type Head = Awaited<ReturnType<EvmNodes["head"]>>;
type GasAnswer = Extract<DeskEvent, { kind: "gas" }>["answer"];

/** Gas of a transfer to an address without code (Yellow Paper, appendix G). */
const gasPlain = 21_000n;
/** A destination seen without code stays so for this long; contracts appear at used addresses almost never. */
const plainMs = 60_000;
const plainMax = 4096;
/** How long the account's own code is taken to be as last read (EIP-7702 changes it by a transaction). */
const accountCodeMs = 60_000;

/** What an estimate depends on. */
type Payment = Pick<WithdrawalView, "contract" | "address" | "amountUnits">;

/** How long an answer asked for ahead of time may be used, and how many are kept. */
const expectedMs = 5000;
const expectedMax = 256;

/** @public */
export interface ChainDoor {
  readonly nodes: EvmNodes;
  facts(account: string): Promise<BlockFacts>;
  gas(from: string, payment: Payment): Promise<GasAnswer>;
  /** Asks ahead for what `gas` will be asked for; rejects for bugs alone. */
  expect(from: string, payment: Payment): Promise<unknown>;
  /** Look-ups that failed are left out. */
  look(wanted: readonly Wanted[]): Promise<readonly { readonly transactionId: string; readonly place: Place | null }[]>;
  confirm(wanted: readonly Wanted[]): Promise<readonly { readonly transactionId: string; readonly verdict: Verdict | null }[]>;
}

/**
 * `contracts`: the tokens whose balances count among the facts.
 * @public
 */
export function createChainDoor(nodes: EvmNodes, contracts: readonly string[], clock: () => number): ChainDoor {
  const plainUntil = new Map<string, number>();
  let accountCode: { readonly atMs: number; readonly has: boolean } | null = null;
  let balances: { readonly key: string; readonly units: ReadonlyMap<string, bigint> } | null = null;

  const expected = new Map<string, { readonly atMs: number; readonly answer: Promise<GasAnswer> }>();

  const isPlain = async (address: string): Promise<boolean> => {
    if ((plainUntil.get(address) ?? 0) > clock()) return true;
    if ((await nodes.code(address, "latest")) !== "0x") return false;
    if (plainUntil.size >= plainMax) plainUntil.clear();
    plainUntil.set(address, clock() + plainMs);
    return true;
  };
  const hasCode = async (account: string): Promise<boolean> => {
    if (accountCode === null || clock() - accountCode.atMs >= accountCodeMs) {
      accountCode = { atMs: clock(), has: (await nodes.code(account, "latest")) !== "0x" };
    }
    return accountCode.has;
  };
  const fundsAt = async (account: string, block: { readonly number: number; readonly hash: string }) => {
    const key = `${block.number} ${block.hash}`;
    if (balances?.key === key) return balances.units;
    const units = new Map<string, bigint>();
    const read = async (contract: string): Promise<void> => {
      units.set(contract, await nodes.balance(account, contract, block.number));
    };
    const tokens = contracts.map((contract) =>
      read(contract).catch((error: unknown) => {
        // A contract that is none, or answers nonsense, stops its own currency and no other: its balance stays unknown.
        if (!(error instanceof AgentError)) throw error;
      }),
    );
    await Promise.all([read(""), ...tokens]);
    if (units.size === contracts.length + 1) balances = { key, units };
    return units;
  };

  return {
    nodes,
    async facts(account) {
      const [head, final, fees, accountHasCode] = await Promise.all([
        nodes.head(),
        nodes.finalBlock(),
        nodes.fees(),
        hasCode(account),
      ]);
      const funds = await fundsAt(account, final);
      return { number: head.number, finalNumber: final.number, ...fees, balances: funds, accountHasCode };
    },
    async gas(from, payment) {
      const early = expected.get(keyOf(payment));
      expected.delete(keyOf(payment));
      const answer = early !== undefined && clock() - early.atMs < expectedMs ? await early.answer : null;
      // A no may have been early as well: it is asked for again.
      return answer?.ok ? answer : answerGas(nodes, isPlain, from, payment);
    },
    expect(from, payment) {
      if (expected.size >= expectedMax) expected.clear();
      const answer = answerGas(nodes, isPlain, from, payment);
      expected.set(keyOf(payment), { atMs: clock(), answer });
      return answer;
    },
    look: (wanted) =>
      each(wanted, async (one) => ({ transactionId: one.withdrawal.transactionId, place: await placeOf(nodes, one) })),
    confirm: (wanted) =>
      each(wanted, async (one) => ({ transactionId: one.withdrawal.transactionId, verdict: await verdictOf(nodes, one) })),
  };
}

/**
 * The newest head, for noticing that there is one.
 * @public
 */
export function headKey(head: Head): string {
  return `${head.number} ${head.hash}`;
}

async function answerGas(
  nodes: EvmNodes,
  isPlain: (address: string) => Promise<boolean>,
  from: string,
  { contract, address, amountUnits }: Payment,
): Promise<GasAnswer> {
  try {
    if (contract === "" && (await isPlain(address))) return { ok: true, gasLimit: gasPlain };
    const units = BigInt(amountUnits);
    const data = contract === "" ? "0x" : `0x${Buffer.from(encodeTransferCall(address, units)).toString("hex")}`;
    const to = contract === "" ? address : contract;
    const estimate = await nodes.estimateGas({ from, to, valueWei: contract === "" ? units : 0n, data });
    if (!estimate.ok) return { ok: false, code: estimate.code, effect: "none", wouldRevert: true };
    // A quarter more: the state a transaction meets in its block is not the one it was estimated on.
    return { ok: true, gasLimit: (estimate.gas * 5n + 3n) / 4n };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { ok: false, code: error.code, effect: error.effect, wouldRevert: false };
  }
}

function keyOf({ contract, address, amountUnits }: Payment): string {
  return `${contract} ${address} ${amountUnits}`.toLowerCase();
}

async function placeOf(nodes: EvmNodes, { txHashes }: Wanted): Promise<Place | null> {
  const receipts = await Promise.all(txHashes.map((txHash) => nodes.receipt(txHash)));
  const receipt = receipts.find((one) => one !== null);
  if (receipt === undefined || receipt === null) return null;
  return { txHash: receipt.txHash, block: receipt.blockNumber, blockHash: receipt.blockHash };
}

async function verdictOf(nodes: EvmNodes, { withdrawal, txHashes }: Wanted): Promise<Verdict | null> {
  const receipts = await Promise.all(txHashes.map((txHash) => nodes.finalReceipt(txHash)));
  const receipt = receipts.find((one) => one !== null);
  if (receipt === undefined || receipt === null) return null;
  return { outcome: outcomeOf(withdrawal, receipt), txHash: receipt.txHash, block: receipt.blockNumber };
}

/** Success is status 1 and, for a token, exactly one Transfer out of the account: to the destination, of the exact amount. */
function outcomeOf(withdrawal: WithdrawalView, receipt: Receipt): Verdict["outcome"] {
  if (receipt.status !== 1) return "reverted";
  if (withdrawal.contract === "") return "paid";
  const fromUs = receipt.logs
    .filter((log) => log.address.toLowerCase() === withdrawal.contract.toLowerCase())
    .map(readTransferLog)
    .filter((transfer) => transfer?.from.toLowerCase() === withdrawal.account.toLowerCase());
  const [only] = fromUs;
  const isExact =
    fromUs.length === 1 &&
    only?.to.toLowerCase() === withdrawal.address.toLowerCase() &&
    only.amountUnits === BigInt(withdrawal.amountUnits);
  return isExact ? "paid" : "moved";
}

/** All at once, so that they share a batch; what the nodes could not answer is left out. */
async function each<T>(wanted: readonly Wanted[], run: (one: Wanted) => Promise<T>): Promise<readonly T[]> {
  const settled = await Promise.allSettled(wanted.map(run));
  const found: T[] = [];
  for (const one of settled) {
    if (one.status === "fulfilled") found.push(one.value);
    else if (!(one.reason instanceof AgentError)) throw one.reason;
  }
  return found;
}
