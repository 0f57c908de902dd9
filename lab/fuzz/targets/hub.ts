/**
 * An agent's link to the gateway: each line of an input is one frame, `hello`, `statement` or
 * `heartbeat` with its payload, signed here with the right key, or `raw` with its bytes as hex.
 * `ordered` makes the epoch one that a recovery began. The real session and intake over a database
 * in memory.
 */
import { EventEmitter } from "node:events";
import { DatabaseSync } from "@photostructure/sqlite";
import type { WebSocket } from "ws";
import { Intake } from "../../../gateway/hub/hub.ts";
import { closeCodes, linkLimits } from "../../../gateway/hub/link-limits.ts";
import { Session } from "../../../gateway/hub/session.ts";
import { schema } from "../../../gateway/store/schema.ts";
import { createSignals } from "../../../gateway/store/signals.ts";
import { type Store, storeOver } from "../../../gateway/store/store.ts";
import {
  openEnvelope,
  privateKeyFromSeed,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../../protocol/envelope.ts";
import { frameFormNumber } from "../../../protocol/messages.ts";
import { parseChallenge } from "../../../protocol/payloads.ts";
import { memoryMarks } from "../../kit/address-marks.ts";
import { type AgentKeys, askWithdrawal, pairAgent, silentLog } from "../../kit/gateway-database.ts";
import type { SeededRandom } from "../../kit/seeded.ts";
import { malformedText } from "../malform.ts";
import { bytes, must, type Target, textOf } from "../target.ts";
import { at, entries, hotWallet, opened, receiver } from "./honest.ts";

const gatewayKey = privateKeyFromSeed(new Uint8Array(32).fill(5));
const publicKey = publicKeyFromHex(publicKeyHex(gatewayKey));
const framesMax = 12;
const withdrawals = 4;
const id = (number: number): string => number.toString(16).padStart(32, "0");
const agentId = "a".repeat(16);

/** The gateway's end of a socket, in memory. */
class Wire extends EventEmitter {
  readonly OPEN = 1;
  readonly bufferedAmount = 0;
  readonly sent: Uint8Array[] = [];
  readyState = 1;
  closedWith: number | null = null;

  send(frame: Uint8Array): void {
    this.sent.push(frame);
  }

  close(code: number): void {
    this.closedWith ??= code;
    this.readyState = 3;
  }

  terminate(): void {
    this.close(1006);
  }
}

interface World {
  readonly store: Store;
  readonly keys: AgentKeys;
  readonly wire: Wire;
  readonly session: Session;
  readonly intake: Intake;
}

function open(): World {
  const raw = new DatabaseSync(":memory:", { enableForeignKeyConstraints: true });
  raw.exec(`BEGIN; ${schema}`);
  raw.exec("COMMIT; INSERT INTO merchants (id, name, createdAt) VALUES ('m1', 'Shop', 0)");
  const store = storeOver(raw, ":memory:", silentLog);
  const keys = pairAgent(store, "a", hotWallet);
  for (let number = 1; number <= withdrawals; number++) askWithdrawal(store, keys.id, number);
  const clock = (): number => at;
  const intake = new Intake({
    store,
    signals: createSignals(),
    log: silentLog,
    clock,
    run: "this run",
    gatewayKey,
    marks: memoryMarks(),
  });
  const wire = new Wire();
  const session = new Session(wire as unknown as WebSocket, {
    ...{ store, gatewayKey, log: silentLog, clock, limits: linkLimits, run: "this run" },
    onHello: () => {},
    onLive: () => {},
    onStatement: (from, statement) => intake.add(from, from.agentId ?? "", statement),
    onHeartbeat: (from, head) => intake.receive(from.agentId ?? "", head),
    clear: (_agent, ids) => ids,
    onQuestion: (from, { coins, orders }) => from.sight({ coins, next: [], orders }),
    onHalt: () => {},
    onClosed: () => {},
  });
  session.start(true);
  return { store, keys, wire, session, intake };
}

/** The gateway's operator gave an order to recover: the agent's ledger goes on from record 8. */
function order({ store }: World): void {
  store.database.run(
    "INSERT OR IGNORE INTO recoveries (agent, ledgerEpoch, at, heldSeq, heldHash, mark) VALUES (?, 2, ?, 8, ?, ?)",
    agentId,
    at,
    "e".repeat(64),
    "9".repeat(32),
  );
}

/** The frame a line stands for; null when it stands for none. */
function frameOf(line: string, { keys, wire }: World): Uint8Array | null {
  const space = line.indexOf(" ");
  const kind = line.slice(0, space);
  const text = line.slice(space + 1);
  if (kind === "raw") return Buffer.from(text, "hex");
  if (kind !== "hello" && kind !== "statement" && kind !== "heartbeat" && kind !== "question")
    return null;
  const challenge = openEnvelope(wire.sent[0] as Uint8Array, {
    kind: "challenge",
    publicKey,
    bytesMax: 4_096,
  });
  const said = text.replaceAll("@nonce", parseChallenge(challenge.payload).nonce);
  // Inputs that were kept before a hello named its kinds still reach what is behind it.
  const filled =
    kind === "hello" && !said.includes('"kinds"')
      ? said.replace('"software"', `"kinds":${frameFormNumber},"software"`)
      : said;
  return sealEnvelope(kind, bytes(filled), kind === "statement" ? keys.signerKey : keys.linkKey);
}

interface AgentColumns {
  readonly headSeq: number;
  readonly caughtUp: string;
}

function check(
  { store, wire, session }: World,
  headBefore: number,
  isHandshakeDone: boolean,
): number {
  const { database } = store;
  const agent = database.get<AgentColumns>(
    "SELECT headSeq, caughtUp FROM agents WHERE id = ?",
    agentId,
  );
  must(agent !== undefined && agent.headSeq >= headBefore, "the head rolled back");
  const split = database.get(
    "SELECT 1 FROM signatures GROUP BY transactionId HAVING count(DISTINCT network || ' ' || account || ' ' || slot) > 1",
  );
  must(split === undefined, "one withdrawal has two tokens");
  const shared = database.get(
    "SELECT 1 FROM signatures GROUP BY network, account, slot HAVING count(DISTINCT transactionId) > 1",
  );
  must(shared === undefined, "one token has two withdrawals");
  must(
    database.get("SELECT 1 FROM transfers WHERE status = 1") === undefined,
    "an agent's word made a withdrawal Completed",
  );
  must(
    agent.caughtUp !== "this run" || isHandshakeDone,
    "an agent counts as caught up that did not state that it took this handshake",
  );
  must(session.agentId !== null || agent.headSeq === 0, "something was stored before the hello");
  const known: readonly number[] = [...Object.values(closeCodes), 1006];
  must(
    wire.closedWith === null || known.includes(wire.closedWith),
    `closed with ${wire.closedWith}`,
  );
  return agent.headSeq;
}

const hello = {
  agent: agentId,
  ledgerEpoch: 2,
  answers: "@nonce",
  nonce: "2".repeat(64),
  software: "autowithdraw 0.1.0",
  open,
  at,
};
const own = (number: number): readonly object[] =>
  entries.map((entry) =>
    "transactionId" in entry ? { ...entry, transactionId: id(number) } : entry,
  );
const location = { after: 0, previous: "0".repeat(64), head: { seq: 8, hash: "e".repeat(64) } };
const statement = {
  agent: agentId,
  ledgerEpoch: 2,
  handshake: "@nonce",
  ...location,
  at,
  entries: own(1),
};
const behind = { after: 8, previous: "e".repeat(64) };
const next = {
  ...statement,
  ...behind,
  head: { seq: 20, hash: "d".repeat(64) },
  entries: own(2).map((entry, index) => ({
    ...entry,
    seq: 9 + index,
    ...("slot" in entry ? { slot: "6" } : {}),
    ...("txHash" in entry ? { txHash: `0x${"b".repeat(64)}` } : {}),
  })),
};
const refused = {
  ...statement,
  ...behind,
  head: { seq: 9, hash: "f".repeat(64) },
  entries: [{ ...own(3)[0], seq: 9, decision: "refused", code: "POLICY_DENIED", address: "" }],
};
const heartbeat = { agent: agentId, head: { seq: 8, hash: "e".repeat(64) }, at };
const helloLine = `hello ${JSON.stringify(hello)}`;
const again = {
  ...{ ...statement, ...behind, head: { seq: 12, hash: "c".repeat(64) } },
  opened: "9".repeat(64),
  entries: opened.map((entry) =>
    "transactionId" in entry ? { ...entry, transactionId: id(4) } : entry,
  ),
};
const said = [statement, next, refused, again];

export const hub: Target = {
  name: "hub",
  words: [
    id(1),
    id(2),
    '"kind":"signed"',
    '"slot":"5"',
    '"decision":"refused"',
    '"seq":9',
    '"after":8',
    "@nonce",
    "\nstatement {",
    receiver,
  ],
  seeds: [
    ...said.map((each) => bytes(`${helloLine}\nstatement ${JSON.stringify(each)}`)),
    bytes(
      [
        helloLine,
        ...[statement, statement, next].map((each) => `statement ${JSON.stringify(each)}`),
        `heartbeat ${JSON.stringify(heartbeat)}`,
      ].join("\n"),
    ),
    bytes(
      `ordered\n${helloLine}\nstatement ${JSON.stringify({ ...again, after: 0, previous: "0".repeat(64) })}`,
    ),
    bytes(`statement ${JSON.stringify(statement)}`),
    bytes(`raw 01ff${"00".repeat(80)}`),
  ],
  make(random: SeededRandom) {
    const lines = Array.from({ length: 1 + random.below(4) }, () =>
      random.chance(6)
        ? `heartbeat ${malformedText(heartbeat, random)}`
        : `statement ${malformedText(random.pick(said), random)}`,
    );
    const first = random.chance(12) ? `hello ${malformedText(hello, random)}` : helloLine;
    const begin = random.chance(4) ? ["ordered"] : [];
    return bytes([...begin, first, ...lines].map((line) => line.replaceAll("\n", " ")).join("\n"));
  },
  run(input) {
    const world = open();
    let head = 0;
    let isHandshakeDone = false;
    try {
      for (const line of textOf(input).split("\n").slice(0, framesMax)) {
        if (line === "ordered") order(world);
        const frame = frameOf(line, world);
        if (frame === null) continue;
        world.wire.emit("message", Buffer.from(frame), true);
        world.intake.flush();
        isHandshakeDone ||= line.startsWith("statement ") && line.includes("@nonce");
        head = check(world, head, isHandshakeDone);
      }
    } finally {
      world.session.cut();
      world.store.close();
    }
  },
  shapes: {
    entries: {
      from: 30,
      of: (size) => {
        const many = Array.from({ length: size }, (_, index) => ({ ...own(1)[0], seq: index + 1 }));
        return bytes(
          `${helloLine}\nstatement ${JSON.stringify({ ...statement, head: { seq: size, hash: "e".repeat(64) }, entries: many })}`,
        );
      },
    },
    raw: { from: 2_000, of: (size) => bytes(`raw ${"7b22".repeat(size)}`) },
  },
};
