/**
 * Raw lines to the signer's two sockets. A line begins with the socket's letter, c or o. Each input
 * meets the same live signer, with withdrawals in every state; whatever it says, one token stays
 * with one withdrawal and nothing leaves before its time.
 */
import { courierVerbs } from "../../../agent/signer/sockets/courier.ts";
import { readRequest } from "../../../agent/signer/sockets/line-server.ts";
import { operatorVerbs } from "../../../agent/signer/sockets/operator.ts";
import { LineReader } from "../../../agent/socket/line.ts";
import type { Answer } from "../../../agent/socket/verbs.ts";
import { codes } from "../../../base/codes.ts";
import { sealEnvelope } from "../../../protocol/envelope.ts";
import { recoveryNameOf } from "../../../protocol/recovery.ts";
import { gatewayKey, tellStory } from "../../images/story.ts";
import { bijection, monotone, writeAhead } from "../../rig/invariants.ts";
import { MemoryDisk } from "../../rig/ledger-disk.ts";
import type { Seeded } from "../../rig/seeded.ts";
import { agentId, facts, hot, Rig, wallet } from "../../rig/signer-rig.ts";
import { bentText } from "../bend.ts";
import { bytes, codeOr, must, type Target } from "../target.ts";
import { at } from "./honest.ts";

const story = tellStory({ seed: 3, records: 50, segmentBytesMax: 3_000 });
// The ledger with the most under way: not the last moments, which are locked.
const moment = story.moments.filter(({ head }) => head.seq < 30).at(-1) as (typeof story.moments)[number];
const linesMax = 24;

/** Greeted, with two fresh jobs at the gateway; the same at every call. */
function liveSigner(): Rig {
  const rig = new Rig({ found: MemoryDisk.over(moment.files), gatewayKey });
  rig.now = moment.nowMs;
  rig.gateway.stored = moment.stored;
  rig.gateway.last = moment.last;
  rig.gateway.texts.push(...moment.texts);
  rig.greet();
  rig.gateway.job({ orderId: "next-1" }, rig.now);
  rig.gateway.job({ orderId: "next-2", mode: "manual" }, rig.now);
  return rig;
}

const base64 = (frame: Uint8Array): string => Buffer.from(frame).toString("base64");
const sample = liveSigner();
const fresh = sample.gateway.texts.slice(sample.core.chain.sequence);
const ids = [...sample.core.book.open(), ...sample.core.book.recent()].map(({ transactionId }) => transactionId);
const txHash = sample.show(ids[0] ?? "")?.versions[0]?.txHash ?? "";
const idOf = (random: Seeded): string => random.pick(ids);
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
  ...{ agent: agentId, wallet, epoch: 2, answers: sample.nonce, part: 1, parts: 1, held: null, jobs: sample.gateway.last },
  ...{ accounts: [{ network: "eip155:31337", account: hot, next: "9" }], spent: [], withdrawals: [], ended: [] },
};
const order = { ...contents, order: recoveryNameOf("", contents), at: sample.now };

/** Honest requests by socket; `transactionId` is filled in. */
const requests: readonly (readonly ["c" | "o", object])[] = [
  ["c", { verb: "hello" }],
  ["c", { verb: "admit", frame: base64(sample.gateway.welcome(sample.nonce)) }],
  ["c", { verb: "admit", frame: base64(sample.gateway.jobs(fresh)) }],
  ["c", { verb: "sign", transactionId: "", facts }],
  ["c", { verb: "replace", transactionId: "", above: 1, facts }],
  ["c", { verb: "release", frame: base64(sample.gateway.ack(sample.core.heads.head)) }],
  ["c", { verb: "decline", transactionId: "", code: "CHAIN_WOULD_REVERT" }],
  ["c", { verb: "observed", transactionId: "", stage: "included", outcome: "", txHash, block: 7 }],
  ["c", { verb: "observed", transactionId: "", stage: "final", outcome: "paid", txHash, block: 9 }],
  ["c", { verb: "adopt", chain: "local", slot: "5", witnesses: 2 }],
  ["c", { verb: "adopt", chain: "mainnet", slot: "0", witnesses: 2 }],
  ["c", { verb: "account", chain: "local", slot: "6", witnesses: 2 }],
  ["c", { verb: "report", after: 0 }],
  ["c", { verb: "tell", courier }],
  ["o", { verb: "status" }],
  ["o", { verb: "list", openOnly: false, limit: 10 }],
  ["o", { verb: "show", transactionId: "" }],
  ["o", { verb: "approve", transactionId: "", digest: "00".repeat(32), address: "", approver: "ann" }],
  ["o", { verb: "refuse", transactionId: "", approver: "bob" }],
  ["o", { verb: "verify" }],
  ["c", { verb: "admit", frame: base64(sealEnvelope("recovery", order, gatewayKey)) }],
  ["o", { verb: "recover", digest: "" }],
  ["o", { verb: "recover", digest: "00".repeat(32) }],
  ["o", { verb: "finish" }],
];

function line(index: number, [socket, body]: readonly ["c" | "o", object], transactionId: string, random: Seeded | null): string {
  const filled = "transactionId" in body ? { ...body, transactionId } : body;
  const request = { id: index + 1, ...filled };
  return socket + (random === null ? JSON.stringify(request) : bentText(request, random).replaceAll("\n", " "));
}

function talk(random: Seeded): Uint8Array {
  const lines = Array.from({ length: 1 + random.below(8) }, (_, index) =>
    line(index, random.pick(requests), idOf(random), random.chance(2) ? random : null),
  );
  return bytes(`${lines.join("\n")}\n`);
}

function check(rig: Rig, answers: readonly Answer[], asked: number): void {
  must(rig.poisoned === null, "the ledger is poisoned");
  must(answers.length === asked, `${asked} requests have ${answers.length} answers`);
  for (const answer of answers) must(answer.ok || Object.hasOwn(codes, answer.code), `an answer with ${JSON.stringify(answer)}`);
  const world = { records: rig.records(), left: rig.left, genuine: new Set<string>(), limits: {} };
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
    ...requests.map((request, index) => bytes(`${line(index, request, ids[0] ?? "", null)}\n`)),
    ...ids.map((id) => bytes(`${requests.map((request, index) => line(index, request, id, null)).join("\n")}\n`)),
  ],
  make: talk,
  run(input) {
    const rig = liveSigner();
    const sockets = {
      c: courierVerbs(rig.signer, {
        configDigest: "c0".repeat(32),
        residentBytes: () => 0,
        syncs: () => ({ counts: [], sumUs: 0 }),
      }),
      o: operatorVerbs(rig.signer, {
        ...{ isolation: "L0 one user", encKeyFrom: "config", isCourierConnected: () => true },
        config: { path: "/config.json", digest: "c0".repeat(32), readAt: 1 },
        stuckAfterMinutes: 60,
        later: (act: () => void) => act(),
      }),
    };
    const answers: Answer[] = [];
    let asked = 0;
    new LineReader(65_536).push(input, (each) => {
      const socket = sockets[String.fromCharCode(each[0] ?? 0) as "c" | "o"];
      if (socket === undefined || asked >= linesMax) return;
      const request = codeOr(() => readRequest(each.subarray(1)));
      if ("code" in request) {
        must(request.code === "SOCKET_FORMAT", `a line is refused with ${request.code}`);
        return;
      }
      asked += 1;
      socket(request.value, (answer) => answers.push(answer));
      // Some meet the one before while its records are still on their way.
      if (asked % 2 === 0) rig.settle();
    });
    rig.settle();
    check(rig, answers, asked);
  },
  shapes: {
    frame: { from: 2_000, of: (size) => bytes(`c${JSON.stringify({ id: 1, verb: "admit", frame: "AAAA".repeat(size) })}\n`) },
    lines: { from: 1_000, of: (size) => bytes("x\n".repeat(size)) },
    long: { from: 8_000, of: (size) => bytes(`c${" ".repeat(size)}\n`) },
    waiting: {
      from: 20,
      of: (size) => {
        const waiting = Array.from({ length: size }, () => ({ transactionId: ids[0], why: "funds" }));
        return bytes(`c${JSON.stringify({ id: 1, verb: "tell", courier: { ...courier, waiting } })}\n`);
      },
    },
  },
};
