/**
 * RLP and the description of an unsigned transaction: canonical bytes only, and ethers reads the
 * same fields.
 */
import { Interface, Transaction } from "ethers";
import { codes } from "../../../base/codes.ts";
import { decodeRlp, encodeRlp, type RlpItem } from "../../../chains/evm/rlp.ts";
import {
  buildTransfer,
  type Description,
  describeTransfer,
} from "../../../chains/evm/transaction.ts";
import type { SeededRandom } from "../../kit/seeded.ts";
import { must, type Target } from "../target.ts";
import { hotWallet, receiver } from "./honest.ts";

const transfer = {
  chainId: 1n,
  nonce: 5n,
  contract: "",
  destination: receiver,
  amountUnits: 10n ** 18n,
  gasLimit: 21_000n,
};
const fees = { maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const native = buildTransfer({ ...transfer, ...fees });
const token = buildTransfer({
  ...transfer,
  ...fees,
  contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
  gasLimit: 65_000n,
  nonce: 0n,
});
const samples: readonly RlpItem[] = [
  new Uint8Array(0),
  Uint8Array.of(0),
  Uint8Array.of(0x80),
  new Uint8Array(55).fill(1),
  new Uint8Array(300).fill(2),
];

function item(random: SeededRandom, depth = 0): RlpItem {
  if (depth > 5 || random.chance(2))
    return random.pick([
      ...samples,
      Uint8Array.of(random.below(256)),
      new Uint8Array(random.below(70)).fill(random.below(256)),
    ]);
  return Array.from({ length: random.below(6) }, () => item(random, depth + 1));
}

/** Now and then with one byte in another form. */
function roughly(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const copy = Uint8Array.from(bytes);
  if (random.chance(2))
    copy[random.below(copy.length)] = random.pick([
      0x00, 0x01, 0x7f, 0x80, 0x81, 0xb7, 0xb8, 0xbb, 0xbc, 0xbf, 0xc0, 0xc1, 0xf7, 0xf8, 0xff,
    ]);
  return random.chance(8) ? copy.subarray(0, random.below(copy.length)) : copy;
}

export const rlp: Target = {
  name: "rlp",
  words: [],
  seeds: [native.subarray(1), token.subarray(1), ...samples.map((each) => encodeRlp([each, each]))],
  make: (random) => roughly(encodeRlp(item(random)), random),
  run(input) {
    const given = decodeRlp(input);
    if (!given.ok) {
      must(given.code === "TRANSACTION_RLP", `refused with ${given.code}`);
      return;
    }
    must(Buffer.from(encodeRlp(given.item)).equals(input), "encoded again it is other bytes");
  },
  shapes: {
    items: {
      from: 500,
      of: (size) =>
        encodeRlp(Array.from({ length: size }, (_, each) => Uint8Array.of(each & 0xff))),
    },
    lists: { from: 500, of: (size) => encodeRlp(Array.from({ length: size }, () => [])) },
    string: { from: 4_000, of: (size) => encodeRlp(new Uint8Array(size).fill(7)) },
    depth: { from: 2, of: (size) => nested(size) },
    cut: {
      from: 500,
      of: (size) =>
        encodeRlp(Array.from({ length: size }, () => [new Uint8Array(60)])).subarray(0, -1),
    },
  },
};

/** Lists in lists, far deeper than any transaction. */
function nested(depth: number): Uint8Array {
  let bytes = encodeRlp([]);
  for (let each = 0; each < depth; each++)
    bytes = Buffer.concat([Uint8Array.of(0xc0 + Math.min(55, bytes.length)), bytes]);
  return bytes;
}

const call = new Interface(["function transfer(address to, uint256 amount)"]);

function assertEthersAgrees(input: Uint8Array, ours: Description): void {
  const theirs = Transaction.from(`0x${Buffer.from(input).toString("hex")}`);
  const {
    chainId,
    nonce,
    gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas,
    to,
    value,
    data,
    accessList,
  } = theirs;
  const { contract, destination, amountUnits } = ours;
  must(
    chainId === ours.chainId && BigInt(nonce) === ours.nonce && gasLimit === ours.gasLimit,
    "ethers reads other numbers",
  );
  must(
    maxFeePerGas === ours.maxFeePerGas && maxPriorityFeePerGas === ours.maxPriorityFeePerGas,
    "ethers reads other fees",
  );
  must(accessList?.length === 0 && theirs.type === 2, "ethers reads another kind of transaction");
  if (contract === "")
    must(
      to === destination && value === amountUnits && data === "0x",
      "ethers reads another payment",
    );
  else {
    const [receiverOfCall, units] = call.decodeFunctionData("transfer", data);
    must(
      to === contract && value === 0n && receiverOfCall === destination && units === amountUnits,
      "ethers reads another call",
    );
  }
}

export const description: Target = {
  name: "description",
  words: [],
  seeds: [native, token],
  make(random) {
    const number = (edge: readonly bigint[]): bigint =>
      random.pick([...edge, BigInt(random.below(2 ** 31))]);
    const made = {
      chainId: 1n + number([0n, 2n ** 53n - 2n]),
      nonce: number([0n, 127n, 128n, 2n ** 53n, 2n ** 64n - 2n]),
      contract: random.pick(["", receiver, hotWallet]),
      destination: random.pick([receiver, hotWallet]),
      amountUnits: 1n + number([0n, 2n ** 255n, 2n ** 256n - 2n]),
      gasLimit: 21_000n + number([0n, 2n ** 63n]),
      maxFeePerGas: 2n ** 31n + number([0n, 2n ** 200n]),
      maxPriorityFeePerGas: number([0n, 1n]),
    };
    return roughly(buildTransfer(made), random);
  },
  run(input) {
    const given = describeTransfer(input);
    if (!given.ok) {
      must(Object.hasOwn(codes, given.code), `${given.code} is not in the table of codes`);
      return;
    }
    // ethers keeps a nonce as a number, and so cannot read the largest ones.
    if (given.description.nonce <= BigInt(Number.MAX_SAFE_INTEGER))
      assertEthersAgrees(input, given.description);
    must(
      Buffer.from(buildTransfer(given.description)).equals(input),
      "built again it is other bytes",
    );
  },
  shapes: {
    long: { from: 400, of: (size) => Buffer.concat([native, new Uint8Array(size)]) },
    fields: {
      from: 60,
      of: (size) =>
        Buffer.concat([
          Uint8Array.of(2),
          encodeRlp(Array.from({ length: size }, () => Uint8Array.of(1))),
        ]),
    },
  },
};
