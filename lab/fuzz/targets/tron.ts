/**
 * Tron's raw_data: refused with a code of the table, or read as tronweb reads it and written again
 * as the same bytes. Transfers that are ours are to tronweb what they are to us: bytes, id, sender.
 */
import { codes } from "../../../base/codes.ts";
import { buildTransfer } from "../../../chains/tron/transaction.ts";
import { plain, sender, token, transferBy } from "../../kit/tron-values.ts";
import { choices, InputRandom } from "../drawn.ts";
import { must, type Target } from "../target.ts";
import { judgeBytes, judgeTransfer } from "../tron-judged.ts";
import { mutateRawData } from "../tron-mutations.ts";

const seeds = [buildTransfer(plain), buildTransfer(token)];

export const tron: Target = {
  name: "tron",
  words: [
    "type.googleapis.com/protocol.TransferContract",
    "type.googleapis.com/protocol.TriggerSmartContract",
  ],
  seeds,
  make: (random) =>
    mutateRawData(buildTransfer(transferBy(random, sender, random.chance(2))), seeds, random),
  run(input) {
    const code = judgeBytes(input);
    must(code === "" || Object.hasOwn(codes, code), `${code} is not in the table of codes`);
  },
  shapes: {
    zeros: { from: 500, of: (size) => new Uint8Array(size) },
    numbers: { from: 100, of: (size) => new Uint8Array(size).fill(0xff) },
    fields: {
      from: 100,
      of: (size) =>
        Uint8Array.from({ length: 2 * size }, (_, at) => (at % 2 === 0 ? 8 * (1 + (at % 15)) : 1)),
    },
  },
};

export const transfers: Target = {
  name: "tron-transfers",
  words: [],
  seeds: [new Uint8Array(4), new Uint8Array(64).fill(1), new Uint8Array(64).fill(0xfe)],
  make: (random) => choices(64, random),
  run: (input) => void judgeTransfer(new InputRandom(input)),
  shapes: { choices: { from: 1_000, of: (size) => new Uint8Array(size) } },
};
