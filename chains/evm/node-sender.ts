/**
 * The questions of payments to EVM nodes: the chain's state per block, gas for one payment,
 * locations and outcomes of transactions. Turns the nodes' answers into the interface's and decides
 * nothing. Reaches the network only through node.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type {
  ChainOutcome,
  Inclusion,
  PaidToken,
  SenderNodes,
  SignedAttempt,
  WantedPayment,
  WantedPaymentFrom,
} from "../nodes.ts";
import { createTokenDecimalsCheck } from "../providers/node-decimals.ts";
import { StatePartReader } from "../state-parts.ts";
import { encodeTransferCall } from "./erc20.ts";
import { evm } from "./family.ts";
import { gasFloorOf, gasOfPlainTransfer } from "./gas.ts";
import type { EvmNodes } from "./node.ts";
import { outcomeOf, type ReceiverFields } from "./outcome.ts";
import { decimalsCall } from "./token-reads.ts";

/**
 * A destination without code is taken to stay so for this long; contracts almost never appear at
 * used addresses.
 */
const plainMs = 60_000;
const plainMax = 4096;
/**
 * Time for which the last reading of the account's own code is used (EIP-7702 changes the code by a
 * transaction).
 */
const accountCodeMs = 60_000;
/** Accounts whose code and funds are remembered. */
const accountsMax = 256;
/** From this number of receipts on, the account's count is asked for first. */
const countedFrom = 4;

/**
 * `tokens`: the tokens whose balances are part of the chain's state. `clock` in milliseconds, never
 * running back.
 */
export function createSender(
  nodes: EvmNodes,
  tokens: readonly PaidToken[],
  clock: () => number,
): SenderNodes {
  const decimals = createTokenDecimalsCheck((contract) => decimalsOf(nodes, contract), clock);
  const computeLimitOf = createComputeLimitReader(nodes, clock);
  const codes = new Map<string, { readonly atMs: number; readonly has: boolean }>();
  const fundsOf = new Map<
    string,
    { readonly key: string; readonly units: ReadonlyMap<string, bigint> }
  >();

  const hasCode = async (account: string): Promise<boolean> => {
    const known = codes.get(account);
    if (known !== undefined && clock() - known.atMs < accountCodeMs) return known.has;
    const has = await nodes.hasCode(account);
    if (codes.size >= accountsMax) codes.clear();
    codes.set(account, { atMs: clock(), has });
    return has;
  };
  const fundsAt = async (
    account: string,
    block: { readonly number: number; readonly hash: string },
    parts: StatePartReader,
  ) => {
    const key = `${block.number} ${block.hash}`;
    const known = fundsOf.get(account);
    if (known?.key === key) return known.units;
    const units = new Map<string, bigint>();
    const read = async (contract: string): Promise<void> => {
      units.set(contract, await nodes.agreedBalance(account, contract, block.number));
    };
    const counted = tokens.map(async (token) => {
      try {
        // A token with other decimals than configured has no funds here, so nothing in it is
        // signed.
        if (await decimals.confirmed(token)) await read(token.contract);
      } catch (error) {
        // A contract that is no token, or gives an invalid answer, stops only its own currency: its
        // balance stays unknown.
        if (!(error instanceof AgentError)) throw error;
      }
    });
    await Promise.all([parts.read("funds", () => read("")), ...counted]);
    if (fundsOf.size >= accountsMax) fundsOf.clear();
    if (units.size === tokens.length + 1) fundsOf.set(account, { key, units });
    return units;
  };
  return {
    status: nodes.status,
    close: nodes.close,
    tip: nodes.head,
    closed: nodes.slotCounts,
    broadcast: nodes.broadcast,
    async chainState(account) {
      const parts = new StatePartReader();
      const marketNow = async () => {
        const [fees, cancelGas] = await Promise.all([nodes.fees(), askCancelGas(nodes, account)]);
        return { ...fees, ...cancelGas };
      };
      const [head, final, feeMarket, hasOwnCode] = await Promise.all([
        nodes.head(),
        nodes.finalBlock(),
        parts.read("market", marketNow),
        parts.read("control", () => hasCode(account)),
      ]);
      const balances = await fundsAt(account, final, parts);
      const [numbers, accountHasCode] = [
        { number: head.number, finalNumber: final.number },
        hasOwnCode ?? false,
      ];
      return {
        ...numbers,
        feeMarket,
        balances,
        unfit: decimals.unfit(),
        accountHasCode,
        ...parts.told(),
      };
    },
    computeLimit: computeLimitOf,
    async locations(account, wanted) {
      const used = await usedNonces(nodes, account, wanted.length);
      return Promise.all(
        wanted.map(async ({ slot, txHashes }) => {
          // Most of these transactions are in no block yet. One count shows this for all of them.
          if (Number(slot) >= used) return nowhere;
          return locationOf(nodes, txHashes).catch(unanswered);
        }),
      );
    },
    chainOutcome: (payment, attempts) => chainOutcomeOf(nodes, payment, attempts),
    async holds(block, blockHash) {
      try {
        return (await nodes.block(block, { full: false })).hash === blockHash;
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "NODE_NO_BLOCK") throw error;
        return false;
      }
    },
  };
}

/** The gas that a payment's call needs, with room. `clock` as for `createSender`. */
export function createComputeLimitReader(
  nodes: Pick<EvmNodes, "hasCode" | "estimateGas" | "feeModel">,
  clock: () => number,
): SenderNodes["computeLimit"] {
  const plainUntil = new Map<string, number>();
  const isPlain = async (address: string): Promise<boolean> => {
    if ((plainUntil.get(address) ?? 0) > clock()) return true;
    if (await nodes.hasCode(address)) return false;
    if (plainUntil.size >= plainMax) plainUntil.clear();
    plainUntil.set(address, clock() + plainMs);
    return true;
  };
  return async (account, payment) => {
    const { contract, destination } = payment;
    if (
      !isBilledAsGas(nodes) &&
      contract === "" &&
      !evm.isReserved(destination) &&
      (await isPlain(destination))
    )
      return { ok: true, computeLimit: gasOfPlainTransfer };
    const { to, valueUnits, input } = sentBy(payment);
    const estimate = await estimated(nodes, {
      from: account,
      to,
      valueWei: valueUnits,
      data: input,
    });
    if (!estimate.ok) return estimate;
    const floor = gasFloorOf(payment);
    if (estimate.gas < floor) return { ok: true, computeLimit: floor };
    return { ok: true, computeLimit: estimate.gas };
  };
}

/**
 * Adds a quarter, because the state in a transaction's block differs from the state of the
 * estimate. Doubles the gas on a chain that bills data as gas, whose price follows another chain's.
 * The chain returns unused gas.
 */
function withRoom(gas: bigint, isDataInGas: boolean): bigint {
  return isDataInGas ? gas * 2n : (gas * 5n + 3n) / 4n;
}

/** The estimated gas of a call, with room. */
async function estimated(
  nodes: Pick<EvmNodes, "estimateGas" | "feeModel">,
  call: Parameters<EvmNodes["estimateGas"]>[0],
): ReturnType<EvmNodes["estimateGas"]> {
  const estimate = await nodes.estimateGas(call);
  return estimate.ok ? { ok: true, gas: withRoom(estimate.gas, isBilledAsGas(nodes)) } : estimate;
}

/** The gas of a zero payment to the account itself, on a chain that bills data as gas. */
async function askCancelGas(
  nodes: EvmNodes,
  account: string,
): Promise<{ readonly cancelGas?: bigint }> {
  if (!isBilledAsGas(nodes)) return {};
  const answer = await estimated(nodes, { from: account, to: account, valueWei: 0n, data: "0x" });
  if (answer.ok) return { cancelGas: answer.gas };
  throw new AgentError(
    "NODE_ANSWER",
    "none",
    "the nodes say that a payment of nothing to oneself would fail",
  );
}

function isBilledAsGas({ feeModel }: Pick<EvmNodes, "feeModel">): boolean {
  return feeModel === "arbitrum";
}

const nowhere: Inclusion = { location: null, isDoubtful: false };

/** The decimals on which enough nodes agree; null if the address has no token contract. */
async function decimalsOf(nodes: EvmNodes, contract: string): Promise<bigint | null> {
  const answer = await nodes.agreedCall(contract, decimalsCall);
  if (answer === null || !/^0x[0-9a-f]{64}$/.test(answer)) return null;
  return BigInt(answer);
}

/**
 * The nonce from which on no transaction of the account is in a block. Infinity if only few are
 * looked for, or if no node answers.
 */
async function usedNonces(nodes: EvmNodes, account: string, wanted: number): Promise<number> {
  if (wanted < countedFrom) return Number.POSITIVE_INFINITY;
  try {
    return Number(await nodes.usedNonces(account));
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return Number.POSITIVE_INFINITY;
  }
}

async function locationOf(nodes: EvmNodes, txHashes: readonly string[]): Promise<Inclusion> {
  const shown = await Promise.all(txHashes.map((txHash) => nodes.shownReceipt(txHash)));
  const receipt = shown.find((one) => one.receipt !== null)?.receipt ?? null;
  if (receipt === null) return { location: null, isDoubtful: shown.some(({ isShown }) => isShown) };
  const { txHash, blockNumber: block, blockHash } = receipt;
  return { location: { txHash, block, blockHash }, isDoubtful: false };
}

function unanswered(error: unknown): null {
  if (error instanceof AgentError) return null;
  throw error;
}

/**
 * The hash of an attempt belongs to bytes that were read back, so its call is known without a
 * question.
 */
async function chainOutcomeOf(
  nodes: EvmNodes,
  payment: WantedPaymentFrom,
  attempts: readonly SignedAttempt[],
): Promise<ChainOutcome | null> {
  const receipts = await Promise.all(attempts.map(({ txHash }) => nodes.finalReceipt(txHash)));
  const receipt = receipts.find((one) => one !== null);
  if (receipt === undefined || receipt === null) return null;
  const isCancel = attempts.some(
    (attempt) => attempt.isCancel && attempt.txHash === receipt.txHash,
  );
  const sent = isCancel ? { to: payment.account, valueUnits: 0n, input: "0x" } : sentBy(payment);
  return {
    outcome: outcomeOf(payment, sent, receipt),
    txHash: receipt.txHash,
    block: receipt.blockNumber,
  };
}

function sentBy({
  contract,
  destination,
  amountUnits,
}: WantedPayment): ReceiverFields & { readonly to: string } {
  if (contract === "") return { to: destination, valueUnits: amountUnits, input: "0x" };
  const call = Buffer.from(encodeTransferCall(destination, amountUnits));
  return { to: contract, valueUnits: 0n, input: `0x${call.toString("hex")}` };
}
