/**
 * Records as a forger would write them into a ledger with a past, and the start on that ledger: one
 * withdrawal paid, two that wait for an operator, all acknowledged.
 */
import type { SignerSettings } from "../../agent/config/settings.ts";
import type { RecordBody } from "../../agent/ledger/records.ts";
import { AgentError } from "../../base/fault.ts";
import { buildTransfer, digestOf } from "../../chains/evm/transaction.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import {
  agentId,
  hotWallet,
  Kit,
  type KitOptions,
  merchant,
  other,
  settings,
  wallet,
} from "../../lab/kit/signer-kit.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";

const network = "eip155:31337";
export const attacker = other;
export const ether = 10n ** 18n;

/**
 * One withdrawal is paid, one of 1.5 ETH is held, one manual without an address is held; all are
 * acknowledged.
 */
export function paidBefore(options: KitOptions = {}) {
  const kit = new Kit(options).ready();
  const paid = kit.pay().transactionId;
  const held = kit.request({ currency: "eth", amount: "1.5" }).transactionId;
  const manual = kit.request({
    currency: "eth",
    amount: "1.5",
    mode: "manual",
    address: "",
  }).transactionId;
  kit.acknowledge();
  kit.settle();
  return { kit, paid, held, manual };
}

export type World = ReturnType<typeof paidBefore>;

const money = (address: string, units: bigint) => ({
  contract: "",
  address,
  amountUnits: units.toString(),
});

export function approved(
  transactionId: string,
  address: string,
  units: bigint,
  by: "policy" | "operator" = "operator",
): RecordBody {
  const approver = by === "policy" ? "" : "ann";
  return {
    kind: "APPROVED",
    transactionId,
    by,
    approver,
    chain: "local",
    network,
    ...money(address, units),
  };
}

export function intent(
  transactionId: string,
  address: string,
  units: bigint,
  nonce = 6n,
): RecordBody {
  const fees = {
    gasLimit: 21_000n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  };
  const fields = {
    chainId: 31_337n,
    nonce,
    contract: "",
    destination: address,
    amountUnits: units,
  };
  const unsigned = buildTransfer({ ...fields, ...fees });
  const text = (units: bigint): string => units.toString();
  return {
    ...{
      kind: "INTENT",
      transactionId,
      attempt: 1,
      network,
      account: hotWallet,
      slot: text(nonce),
      ...money(address, units),
    },
    txParams: Object.fromEntries(
      Object.entries(fees).map(([name, figure]) => [name, text(figure)]),
    ),
    feeMax: text(fees.gasLimit * fees.maxFeePerGas),
    digest: Buffer.from(digestOf(unsigned)).toString("hex"),
    unsigned: `0x${Buffer.from(unsigned).toString("hex")}`,
  };
}

/** A job that no gateway signed. */
export function inventedJob({ kit }: World): {
  readonly transactionId: string;
  readonly sequence: number;
  readonly job: string;
} {
  const transactionId = deriveOrderTransactionId({
    merchant,
    operation: "withdraw",
    orderId: "invented",
  });
  const { sequence, hash } = kit.gateway.last;
  const job = {
    ...{
      agent: agentId,
      wallet,
      network,
      ledgerEpoch: 1,
      sequence: sequence + 1,
      previous: hash,
      issuedAt: kit.now,
    },
    ...{
      expiresAt: kit.now + 86_400_000,
      mode: "auto",
      transactionId,
      orderId: "invented",
      currency: "eth",
      amount: "90",
    },
    ...{ address: attacker, tag: "" },
  };
  return { transactionId, sequence: sequence + 1, job: JSON.stringify(job) };
}

export function faultOf(act: () => unknown): AgentError {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
  throw new Error("it opened");
}

/** The agent starts on a folder, and its gateway completes the handshake with it. */
export function started({ kit }: World, disk: MemoryDisk, rules: SignerSettings = settings): Kit {
  const again = new Kit({
    found: MemoryDisk.of(disk.files),
    gatewayKey: kit.gateway.key,
    settings: rules,
  });
  again.gateway.stored = kit.gateway.stored;
  again.gateway.last = kit.gateway.last;
  again.gateway.texts.push(...kit.gateway.texts);
  again.now = kit.now + 1;
  again.handshake();
  again.settle();
  return again;
}
