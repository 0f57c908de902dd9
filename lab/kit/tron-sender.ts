/**
 * People on Tron for scripts and tests: each with a key of their own, the same in every run, and
 * payments made and signed by tronweb alone.
 */
import { createHash } from "node:crypto";
import { TronWeb, utils } from "tronweb";

export interface Inhabitant {
  readonly address: string; // as people write it
  readonly hex: string; // 41…
  readonly key: string;
}

/** The same key for the same name, in every run. */
export function inhabitant(name: string): Inhabitant {
  const key = createHash("sha256").update(`inhabitant ${name}`).digest("hex");
  const address = TronWeb.address.fromPrivateKey(key) as string;
  return { address, hex: TronWeb.address.toHex(address).toLowerCase(), key };
}

export interface SignedTronTransaction {
  readonly txID: string;
  readonly raw_data_hex: string;
  readonly signature: readonly string[];
}

/** When a payment was made and how long it may wait, behind which block. */
interface Times {
  readonly reference: { readonly refBytes: string; readonly refHash: string };
  readonly timestampMs: number;
  readonly expirationMs: number;
  readonly feeLimitSun?: number;
}

/** Made and signed by tronweb. */
export function signedBy(
  from: Inhabitant,
  type: string,
  value: Record<string, unknown>,
  times: Times,
): SignedTronTransaction {
  const parameter = {
    value: { owner_address: from.hex, ...value },
    type_url: `type.googleapis.com/protocol.${type}`,
  };
  const {
    reference,
    expirationMs: expiration,
    timestampMs: timestamp,
    feeLimitSun = 100_000_000,
  } = times;
  const rawData = {
    contract: [{ parameter, type }],
    ...{
      ref_block_bytes: reference.refBytes,
      ref_block_hash: reference.refHash,
      expiration,
      timestamp,
    },
    ...(type === "TriggerSmartContract" ? { fee_limit: feeLimitSun } : {}),
  };
  const unsigned = { visible: false, txID: "", raw_data: rawData };
  const message: unknown = utils.transaction.txJsonToPb(unsigned);
  const txID = utils.transaction.txPbToTxID(message).replace(/^0x/, "");
  const raw_data_hex = utils.transaction.txPbToRawDataHex(message).toLowerCase();
  return utils.crypto.signTransaction(from.key, {
    ...unsigned,
    txID,
    raw_data_hex,
  } as never) as unknown as SignedTronTransaction;
}
