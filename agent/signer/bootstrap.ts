/**
 * Reads the launcher's frames from the signer's stdin: u32be length ‖ JSON settings, then u32be
 * length ‖ encKey bytes, then nothing until the pipe ends. The key never becomes text, and every
 * buffer that held it is wiped. Pure; the stream belongs to main.ts.
 */

import { AgentError } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import {
  boolean,
  hex,
  integer,
  list,
  object,
  oneOf,
  type Reader,
  record,
  shapeFault,
  string,
} from "../../base/shape.ts";
import { addressSpaceNames, families } from "../../chains/families.ts";
import type { ChainId } from "../../chains/family.ts";
import { decimalMax } from "../../protocol/amount.ts";
import type { CurrencySettings, PolicySettings, SignerSettings } from "../config/settings.ts";
import { copyToFixedBytes, joinFixedBytes } from "../files/fixed-bytes.ts";

const settingsBytesMax = 1_048_576;
const encKeyBytesMax = 4_096;

export interface Bootstrap {
  readonly settings: SignerSettings;
  readonly encKey: Uint8Array; // the caller wipes it
}

const text = string({ min: 1, max: 4096 });
const name = string({ min: 1, max: 64 });
const amount = string({ min: 1, max: 80 });
const addresses = list(name, 10_000);

const currency: Reader<CurrencySettings> = object(
  { chain: name, decimal: integer({ max: decimalMax }) },
  { contract: name },
);
const newDestination = object({}, { holdAbove: amount, delayMinutes: integer({ min: 1 }) });
const sweeps = object(
  {},
  {
    allowed: boolean(),
    maxFee: amount,
    maxFeePerDay: amount,
    maxTopUp: amount,
    maxTopUpPerDay: amount,
  },
);
const policy: Reader<PolicySettings> = object(
  { maxPerWithdrawal: amount, maxPerDay: amount, maxFee: amount, maxFeePerDay: amount },
  {
    maxPerHour: amount,
    holdAbove: amount,
    maxTip: amount,
    twoApproversAbove: amount,
    manualReplaceAbove: amount,
    newDestination,
    allow: addresses,
    deny: addresses,
    sweeps,
  },
);
/**
 * Reads a chain's id as the reader of config.json writes it: the canonical spelling of some family.
 */
const chainId: Reader<ChainId> = (value, path) => {
  const isOne = Object.values(families).some(({ readChainId }) => readChainId(value) === value);
  if (!isOne) throw shapeFault(path, "must be a chain's id");
  return value as ChainId;
};
const named = { keysMax: 256, keyPattern: /^[A-Za-z0-9_-]{1,64}$/ };

const settings: Reader<SignerSettings> = object({
  chains: record(
    object(
      { family: oneOf(...addressSpaceNames), chainId },
      {
        feeModel: oneOf(...Object.values(families).flatMap((one) => one.feeModels)),
        nodesFrom: oneOf("gateway", "own"),
      },
    ),
    named,
  ),
  currencies: record(currency, named),
  policy: record(policy, named),
  stuckAfterMinutes: integer({ min: 1 }),
  stateDir: text,
  courierSocket: text,
  operatorSocket: text,
  encKeyFrom: oneOf("credential", "file", "terminal", "config"),
  config: object({ path: text, digest: hex(32), readAt: integer(), readMs: integer() }),
});

/**
 * Gathers the two frames. `push` takes ownership of each chunk and wipes it. Returns the bootstrap
 * when both frames are complete, null before.
 * @throws AgentError SIGNER_BOOTSTRAP, JSON_*
 */
export class BootstrapReader {
  #held: Uint8Array = new Uint8Array(0);

  push(chunk: Uint8Array): Bootstrap | null {
    const held = joinFixedBytes(this.#held, chunk);
    chunk.fill(0);
    this.#held = held;
    const first = frameAt(held, 0, settingsBytesMax);
    const second = first === null ? null : frameAt(held, first.end, encKeyBytesMax);
    if (first === null || second === null) return null;
    try {
      const value = parseJson(first.bytes, {
        bytesMax: settingsBytesMax,
        keysMax: 256,
        itemsMax: 10_000,
      });
      return { settings: settings(value, "settings"), encKey: copyToFixedBytes(second.bytes) };
    } finally {
      held.fill(0);
      this.#held = new Uint8Array(0);
    }
  }
}

function frameAt(
  held: Uint8Array,
  start: number,
  bytesMax: number,
): { readonly bytes: Uint8Array; readonly end: number } | null {
  if (held.length < start + 4) return null;
  const length = new DataView(held.buffer, held.byteOffset).getUint32(start);
  if (length === 0 || length > bytesMax) {
    held.fill(0);
    throw new AgentError("SIGNER_BOOTSTRAP", "none", "stdin does not carry what crypto sends", {
      bytes: length,
    });
  }
  const end = start + 4 + length;
  return held.length < end ? null : { bytes: held.subarray(start + 4, end), end };
}
