/**
 * Raw lines to the signer's two sockets. A line begins with the socket's letter, c or o. Each input
 * meets the same live signer, with withdrawals in every state; whatever it says, one slot stays
 * with one withdrawal and nothing leaves before its time.
 */
import { createCourierRequestHandler } from "../../../agent/signer/sockets/courier.ts";
import { readRequest } from "../../../agent/signer/sockets/line-server.ts";
import { createOperatorRequestHandler } from "../../../agent/signer/sockets/operator.ts";
import { encodeMessage, LineReader, withFrames } from "../../../agent/socket/line.ts";
import type { Answer } from "../../../agent/socket/verbs.ts";
import { codes } from "../../../base/codes.ts";
import { sealEnvelope } from "../../../protocol/envelope.ts";
import { recoveryNameOf } from "../../../protocol/recovery.ts";
import { gatewayKey, tellStory } from "../../images/story.ts";
import { bijection, monotone, writeAhead } from "../../kit/invariants.ts";
import { MemoryDisk } from "../../kit/ledger-disk.ts";
import type { SeededRandom } from "../../kit/seeded.ts";
import { agentId, hotWallet, Kit, txParams, wallet } from "../../kit/signer-kit.ts";
import { malformedText } from "../malform.ts";
import { bytes, codeOr, must, type Target } from "../target.ts";
import { at } from "./honest.ts";

const story = tellStory({ seed: 3, records: 50, segmentBytesMax: 3_000 });
// The ledger with the most under way: not the last moments, which are locked.
const moment = story.moments
  .filter(({ head }) => head.seq < 30)
  .at(-1) as (typeof story.moments)[number];
const linesMax = 24;

/** After the handshake, with two fresh jobs at the gateway; the same at every call. */
function liveSigner(): Kit {
  const kit = new Kit({ found: MemoryDisk.over(moment.files), gatewayKey });
  kit.now = moment.nowMs;
  kit.gateway.stored = moment.stored;
  kit.gateway.last = moment.last;
  kit.gateway.texts.push(...moment.texts);
  kit.handshake();
  kit.gateway.job({ orderId: "next-1" }, kit.now);
  kit.gateway.job({ orderId: "next-2", mode: "manual" }, kit.now);
  return kit;
}

const sample = liveSigner();
const fresh = sample.gateway.texts.slice(sample.core.chain.sequence);
const ids = [...sample.core.book.open(), ...sample.core.book.recent()].map(
  ({ transactionId }) => transactionId,
);
const txHash = sample.show(ids[0] ?? "")?.attempts[0]?.txHash ?? "";
const idOf = (random: SeededRandom): string => random.pick(ids);
const courier = {
  at,
  link: "up",
  linkDetail: "",
  chains: [],
  waiting: [],
  durableMedianUs: 0,
  configDigest: "c0".repeat(32),
  notify: null,
  outOfService: [],
  lowFunds: [],
};

/** The gateway's order to recover in epoch 2, with nothing open. */
const contents = {
  ...{
    agent: agentId,
    wallet,
    ledgerEpoch: 2,
    answers: sample.nonce,
    part: 1,
    parts: 1,
    held: null,
    jobs: sample.gateway.last,
  },
  ...{
    accounts: [{ network: "eip155:31337", account: hotWallet, next: "9" }],
    spent: [],
    withdrawals: [],
    ended: [],
  },
};
const order = { ...contents, order: recoveryNameOf("", contents), at: sample.now };

/** Honest requests by socket; `transactionId` is filled in. */
const requests: readonly (readonly ["c" | "o", object])[] = [
  ["c", { verb: "hello" }],
  ["c", { verb: "admit", frames: [sample.gateway.welcome(sample.nonce)] }],
  ["c", { verb: "admit", frames: [sample.gateway.jobs(fresh)] }],
  ["c", { verb: "sign", transactionId: "", txParams }],
  ["c", { verb: "replace", transactionId: "", above: 1, txParams }],
  ["c", { verb: "release", frames: [sample.gateway.ack(sample.core.heads.head)] }],
  ["c", { verb: "decline", transactionId: "", code: "CHAIN_WOULD_REVERT" }],
  ["c", { verb: "observed", transactionId: "", stage: "included", outcome: "", txHash, block: 7 }],
  ["c", { verb: "observed", transactionId: "", stage: "final", outcome: "paid", txHash, block: 9 }],
  ["c", { verb: "adopt", chain: "local", slot: "5", quorum: 2 }],
  ["c", { verb: "adopt", chain: "mainnet", slot: "0", quorum: 2 }],
  ["c", { verb: "account", chain: "local", slot: "6", quorum: 2 }],
  ["c", { verb: "report", after: 0 }],
  ["c", { verb: "tell", courier }],
  ["o", { verb: "status" }],
  ["o", { verb: "list", openOnly: false, limit: 10 }],
  ["o", { verb: "show", transactionId: "" }],
  [
    "o",
    { verb: "approve", transactionId: "", digest: "00".repeat(32), address: "", approver: "ann" },
  ],
  ["o", { verb: "refuse", transactionId: "", approver: "bob" }],
  ["o", { verb: "verify" }],
  ["o", { verb: "freeCoin", chain: "local", coin: `${"ab".repeat(32)}:0`, approver: "ann" }],
  ["c", { verb: "admit", frames: [sealEnvelope("recovery", order, gatewayKey)] }],
  ["o", { verb: "recover", digest: "" }],
  ["o", { verb: "recover", digest: "00".repeat(32) }],
  ["o", { verb: "finish" }],
];

/** A request as it goes over the socket: its frames, malformed as well, and its line. */
function line(
  index: number,
  [socket, body]: readonly ["c" | "o", object],
  transactionId: string,
  random: SeededRandom | null,
): Uint8Array {
  const filled = "transactionId" in body ? { ...body, transactionId } : body;
  const { line: text, frames } = encodeMessage({ id: index + 1, ...filled });
  const sent =
    random === null ? text : `${malformedText(JSON.parse(text), random).replaceAll("\n", " ")}\n`;
  return Buffer.concat([...frames.map((frame) => framed(frame, random)), bytes(socket + sent)]);
}

function framed(frame: Uint8Array, random: SeededRandom | null): Uint8Array {
  const whole = Buffer.concat([Buffer.alloc(5), frame]);
  whole.writeUInt32BE(frame.length, 1);
  if (random?.chance(6) === true) whole[1 + random.below(whole.length - 1)] = random.below(256);
  return whole;
}

function talk(random: SeededRandom): Uint8Array {
  const lines = Array.from({ length: 1 + random.below(8) }, (_, index) =>
    line(index, random.pick(requests), idOf(random), random.chance(2) ? random : null),
  );
  return Buffer.concat(lines);
}

function check(kit: Kit, answers: readonly Answer[], asked: number): void {
  must(kit.poisoned === null, "the ledger is poisoned");
  must(answers.length === asked, `${asked} requests have ${answers.length} answers`);
  for (const answer of answers)
    must(
      answer.ok || Object.hasOwn(codes, answer.code),
      `an answer with ${JSON.stringify(answer)}`,
    );
  const world = { records: kit.records(), left: kit.left, genuine: new Set<string>(), limits: {} };
  monotone(world);
  bijection(world);
  writeAhead(world);
}

export const verbs: Target = {
  name: "verbs",
  words: [
    ...ids.slice(0, 3),
    '"verb":"sign"',
    '"verb":"replace"',
    '"verb":"admit"',
    '"above":1',
    "\nc{",
    "\no{",
    "0".repeat(64),
    '"id":1',
  ],
  seeds: [
    ...requests.map((request, index) => line(index, request, ids[0] ?? "", null)),
    ...ids.map((id) =>
      Buffer.concat(requests.map((request, index) => line(index, request, id, null))),
    ),
  ],
  make: talk,
  run(input) {
    const kit = liveSigner();
    const sockets = {
      c: createCourierRequestHandler(kit.signer, {
        config: { digest: "c0".repeat(32), readMs: 1 },
        giveWay: () => {},
        residentBytes: () => 0,
        syncs: () => ({ counts: [], sumUs: 0 }),
      }),
      o: createOperatorRequestHandler(kit.signer, {
        ...{ isolation: "L0 one user", encKeyFrom: "config", isCourierConnected: () => true },
        config: { path: "/config.json", digest: "c0".repeat(32), readAt: 1 },
        stuckAfterMinutes: 60,
        later: (act: () => void) => act(),
      }),
    };
    const answers: Answer[] = [];
    let asked = 0;
    const lines = new LineReader({ bytesMax: 131_072, framesMax: 1 });
    const take = (each: Uint8Array, frames: readonly Uint8Array[]): void => {
      const socket = sockets[String.fromCharCode(each[0] ?? 0) as "c" | "o"];
      if (socket === undefined || asked >= linesMax) return;
      const request = codeOr(() => withFrames(readRequest(each.subarray(1)), frames));
      if ("code" in request) {
        must(request.code === "SOCKET_FORMAT", `a line is refused with ${request.code}`);
        return;
      }
      asked += 1;
      socket(request.value, (answer) => answers.push(answer));
      // Some meet the one before while its records are still on their way.
      if (asked % 2 === 0) kit.settle();
    };
    const cut = codeOr(() => lines.push(input, take));
    must(!("code" in cut) || cut.code === "SOCKET_FORMAT", "a message is refused as its format");
    kit.settle();
    check(kit, answers, asked);
  },
  shapes: {
    frame: {
      from: 2_000,
      of: (size) =>
        Buffer.concat([
          framed(new Uint8Array(size), null),
          bytes(`c${JSON.stringify({ id: 1, verb: "admit", frames: 1 })}\n`),
        ]),
    },
    lines: { from: 1_000, of: (size) => bytes("x\n".repeat(size)) },
    long: { from: 8_000, of: (size) => bytes(`c${" ".repeat(size)}\n`) },
    waiting: {
      from: 20,
      of: (size) => {
        const waiting = Array.from({ length: size }, () => ({
          transactionId: ids[0],
          why: "funds",
        }));
        return bytes(
          `c${JSON.stringify({ id: 1, verb: "tell", courier: { ...courier, waiting } })}\n`,
        );
      },
    },
  },
};
