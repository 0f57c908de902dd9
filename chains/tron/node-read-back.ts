/**
 * Reads a signed transaction back before a byte reaches a node, without any code of the
 * transaction's builder. Has a reader of protobuf of its own, and uses ethers for addresses, calls
 * and hashes, loaded on the first use. The bytes name no network, so the network is not compared.
 * Sources: the protocol buffers' encoding guide; the chain's protobuf files.
 */
import type { Interface } from "ethers";
import type { ExpectedAttempt, IndependentReading } from "../nodes.ts";

interface Ethers {
  readonly hashOf: (bytes: Uint8Array) => string; // SHA-256, 0x hex
  readonly base58Of: (bytes: Uint8Array) => string;
  readonly token: Interface;
}

type Field = readonly [number: number, value: bigint | Uint8Array];

const kinds = {
  coins: { type: 1n, url: "type.googleapis.com/protocol.TransferContract", fields: [1, 2, 3] },
  call: { type: 31n, url: "type.googleapis.com/protocol.TriggerSmartContract", fields: [1, 2, 4] },
} as const;
const signatureBytes = 65;

let loading: Promise<Ethers> | null = null;

/** The expected content, as the interface gives it. */
export const readAttemptBack: IndependentReading = async (raw, said) => {
  loading ??= load();
  return compare(await loading, Buffer.from(raw.replace(/^0x/, ""), "hex"), said);
};

async function load(): Promise<Ethers> {
  const { encodeBase58, Interface, sha256 } = await import("ethers");
  return {
    hashOf: (bytes) => sha256(bytes),
    base58Of: (bytes) => {
      const checksum = Buffer.from(sha256(sha256(bytes)).slice(2, 10), "hex");
      return encodeBase58(Buffer.concat([bytes, checksum]));
    },
    token: new Interface(["function transfer(address to, uint256 amount)"]),
  };
}

function compare(
  ethers: Ethers,
  bytes: Uint8Array,
  { payment, txParams, txHash }: ExpectedAttempt,
): string {
  const { account, contract, destination, tag, amountUnits } = payment;
  const kind = contract === "" ? kinds.coins : kinds.call;
  const [rawData, signature] = parts(bytes, [1, 2]);
  const raw = parts(blob(rawData), contract === "" ? [1, 4, 8, 11, 14] : [1, 4, 8, 11, 14, 18]);
  const [refBytes, refHash, expiration, packed, timestamp, feeLimit] = raw;
  const [type, parameter] = parts(blob(packed), [1, 2]);
  const [url, message] = parts(blob(parameter), [1, 2]);
  const [owner, receiver, last] = parts(blob(message), kind.fields);
  const address = (value: Field[1] | undefined): string => ethers.base58Of(blob(value));
  const checks: readonly (readonly [what: string, said: unknown, expected: unknown])[] = [
    ["type", type, kind.type],
    ["type's name", Buffer.from(blob(url)).toString("latin1"), kind.url],
    ["sender", address(owner), account],
    ["tag", "none", tag || "none"],
    ["receiver", address(receiver), contract === "" ? destination : contract],
    ...(contract === ""
      ? ([["amount", last, amountUnits]] as const)
      : callChecks(ethers, blob(last), destination, amountUnits)),
    ["reference to a block", numberOf(refBytes), figure(txParams, "refBlockBytes")],
    ["reference's hash", numberOf(refHash), figure(txParams, "refBlockHash")],
    ["expiration", expiration, figure(txParams, "expirationMs")],
    ["timestamp", timestamp, figure(txParams, "timestampMs")],
    ["fee limit", feeLimit ?? 0n, figure(txParams, "feeLimitSun")],
    ["signature's length", blob(signature).length, signatureBytes],
    ["id", ethers.hashOf(blob(rawData)), `0x${txHash}`],
  ];
  const wrong = checks.find(([, said, expected]) => said !== expected);
  return wrong === undefined ? "" : `${wrong[0]} reads as ${wrong[1]}, not ${wrong[2]}`;
}

function callChecks(
  { base58Of, token }: Ethers,
  data: Uint8Array,
  destination: string,
  amountUnits: bigint,
) {
  const call = `0x${Buffer.from(data).toString("hex")}`;
  const [to, units] = token.decodeFunctionData("transfer", call);
  const again = token.encodeFunctionData("transfer", [to, units]);
  const receiver = base58Of(Buffer.from(`41${String(to).slice(2)}`, "hex"));
  return [
    ["call", call, again],
    ["receiver of the token", receiver, destination],
    ["amount", units as unknown, amountUnits],
  ] as const;
}

/** The values of exactly these fields, in this order. @throws Error for any other message */
function parts(bytes: Uint8Array, numbers: readonly number[]): readonly (Field[1] | undefined)[] {
  const fields = fieldsOf(bytes);
  const found = fields.map(([number]) => number).join();
  if (found !== numbers.join())
    throw new Error(`fields ${found} in the place of ${numbers.join()}`);
  return fields.map(([, value]) => value);
}

function fieldsOf(bytes: Uint8Array): readonly Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) break;
      at += 1;
      value += BigInt(byte % 128) << shift;
      if (byte < 128) return value;
    }
    throw new Error("a number does not end");
  };
  while (at < bytes.length) {
    const key = varint();
    const kind = key % 8n;
    const number = Number(key / 8n);
    if (kind === 0n) fields.push([number, varint()]);
    else if (kind === 2n) {
      const length = Number(varint());
      if (length > bytes.length - at) throw new Error("bytes do not end");
      fields.push([number, bytes.subarray(at, at + length)]);
      at += length;
    } else throw new Error(`a field of kind ${kind}`);
  }
  return fields;
}

function blob(value: Field[1] | undefined): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new Error("a number in the place of bytes");
}

function numberOf(value: Field[1] | undefined): bigint {
  return BigInt(`0x${Buffer.from(blob(value)).toString("hex")}`);
}

function figure(txParams: ExpectedAttempt["txParams"], name: string): bigint {
  return BigInt(txParams?.[name] ?? "-1");
}
