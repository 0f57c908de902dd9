/**
 * Every field of every statement of an agent: who reads it before the gateway uses it, and a word
 * of it that is refused. A field that is added to a message does not compile without a row here.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { tron } from "../../chains/tron/family.ts";
import { type EntryContext, entryEffectOf } from "../../gateway/hub/effect.ts";
import { receiver } from "../../lab/kit/gateway-database.ts";
import { zeroHash } from "../../protocol/identity.ts";
import type { Entry, Heartbeat, Hello, OpenSlots, Statement } from "../../protocol/messages.ts";
import { parseHeartbeat, parseHello, parseStatement } from "../../protocol/payloads.ts";
import {
  parseSightingsQuestion,
  type SightedCoin,
  type SightingsQuestion,
} from "../../protocol/sightings.ts";

/** The part that refuses the word: the reader of the message, or the effect on the tables. */
type Reader = "message" | "effect";
/**
 * `odd`: words that are refused. Without any: the gateway compares or keeps it, and `why` says for
 * what.
 */
type Row =
  | { readonly by: Reader; readonly odd: readonly unknown[] }
  | { readonly by: "nobody"; readonly why: string };
type Words<T> = { readonly [F in Exclude<keyof T, "kind" | "entries">]-?: Row };

const message = (...odd: readonly unknown[]): Row => ({ by: "message", odd });
const effect = (...odd: readonly unknown[]): Row => ({ by: "effect", odd });
const nobody = (why: string): Row => ({ by: "nobody", why });
const seq = message(0, "1");
const at = message(-1, "1");
const id = message("x", "A".repeat(32), "../x");

const entryRows: { readonly [K in Entry["kind"]]: Words<Extract<Entry, { kind: K }>> } = {
  decision: {
    ...{ seq, at, transactionId: id, decision: message("paid", "") },
    code: message("no such", "a", "Ğ"),
    address: effect("zz", "../../admin?x", receiver.toLowerCase(), `${receiver}0`),
  },
  signed: {
    ...{ seq, at, transactionId: id, attempt: effect(21, 9_007_199_254_740_991) },
    network: effect("eip155:2", "madeup:1"),
    account: effect("0x", receiver),
    slot: effect("07", "x", "-1"),
    txHash: effect("zz", "0x1", "AB".repeat(32)),
    feeMax: message("-1", "01", "1e9", "9".repeat(300)),
    validUntilMs: effect(1, 9_007_199_254_740_991),
    pin: effect(
      "zz:0:1",
      "../../admin/x?y=:0",
      `${"a".repeat(64)}:0`,
      `${"A".repeat(64)}:0:1`,
      `${"a".repeat(64)}:00:1`,
    ),
    cancel: message(false, "true"),
  },
  observed: {
    ...{ seq, at, transactionId: id, stage: message("paid"), outcome: message("moved") },
    txHash: nobody("an observation names no attempt here: only the stage counts"),
  },
  adopted: {
    ...{ seq, at },
    network: nobody("the gateway's own nodes count the slots"),
    account: nobody("the gateway's own nodes count the slots"),
    slot: nobody("the gateway's own nodes count the slots"),
  },
  alarm: {
    seq,
    at,
    code: nobody("an unknown code has one name, ALARM_UNKNOWN"),
    locked: message(1, "yes"),
  },
  paused: {
    ...{ seq, at, paused: message(0, "no") },
    network: nobody("the agent's own stop, kept under its name"),
    currency: nobody("the agent's own stop, kept under its name"),
    txHashes: nobody("the agent knows of these: they are not named to it again"),
  },
  ceiling: { seq, at, ceiling: effect(0x7fffffff) },
  recovered: {
    ...{
      seq,
      at,
      order: message("x"),
      sequence: message(-1),
      jobHash: message("x"),
      held: message("x", { seq: 0, hash: zeroHash }),
    },
  },
  asked: {
    ...{
      seq,
      at,
      transactionId: id,
      sequence: message(-1),
      jobHash: message("x"),
      job: message(1),
      signature: message("x"),
    },
  },
};

const sighted: SightedCoin = {
  network: "bip122:0f9188f13cb7b2c71f2a335e3a4fc328",
  account: "bcrt1qx",
  id: "ab:0",
  units: "1",
};

const statementRows: Words<Statement> = {
  agent: nobody("the key of the link names the agent"),
  ledgerEpoch: message(0, 2 ** 32),
  handshake: message("x"),
  after: message(-1),
  previous: message("x"),
  head: message({ seq: 0, hash: zeroHash }, { seq: 1, hash: "x" }),
  at,
  policy: message("x"),
  recovered: message("x"),
};

const helloRows: Words<Hello> & Words<OpenSlots> = {
  agent: message("x"),
  ledgerEpoch: message(0),
  answers: message("x"),
  nonce: message("x"),
  software: message("", "a\nb"),
  kinds: message(0, 256, "10"),
  open: message({}, [{}]),
  at,
  network: message("", "a b", "../x:1"),
  account: message("", "a b"),
  first: message("-1", "01", "1e9"),
  last: message("-1", "x", "0"),
};

const questionRows: Words<SightingsQuestion> & Words<SightedCoin> = {
  ...{ agent: message("x"), ledgerEpoch: message(0), at },
  coins: message(
    {},
    [{}],
    Array.from({ length: 17 }, () => sighted),
  ),
  accounts: message(
    {},
    [{}],
    Array.from({ length: 17 }, () => ({ network: sighted.network, account: sighted.account })),
  ),
  orders: message(
    "x",
    ["x"],
    Array.from({ length: 65 }, () => id),
  ),
  network: message("", "a b", "../x:1"),
  account: message("", "a b"),
  id: message("", "a b", "x".repeat(161)),
  units: message("-1", "01", "1e9", ""),
};

const heartbeatRows: Words<Heartbeat> = { agent: message("x"), head: message("x"), at };

const network = {
  evm: "eip155:31337",
  tron: tron.networkOf({ chainId: "0x2b6653dc" }),
  coin: "bip122:0f9188f13cb7b2c71f2a335e3a4fc328",
};
const transactionId = "5".repeat(32);
const account = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const madeAt = 1_790_000_000_000;
const common = { seq: 1, at: 1, transactionId };
const signedOn = (where: string, txHash: string) => ({
  ...{
    ...common,
    kind: "signed",
    attempt: 1,
    network: where,
    account,
    slot: "1",
    txHash,
    feeMax: "1",
  },
});
const evm = signedOn(network.evm, `0x${"a".repeat(64)}`);
const onTron = { ...signedOn(network.tron, "a".repeat(64)), validUntilMs: madeAt + 300_000 };
const onCoin = { ...signedOn(network.coin, "a".repeat(64)), pin: `${"a".repeat(64)}:0:1000` };

const entries: Readonly<Record<Entry["kind"], object>> = {
  decision: { ...common, kind: "decision", decision: "approved", code: "", address: receiver },
  signed: evm,
  observed: { ...common, kind: "observed", stage: "broadcast", outcome: "", txHash: evm.txHash },
  adopted: { kind: "adopted", seq: 1, at: 1, network: network.evm, account, slot: "1" },
  alarm: { kind: "alarm", seq: 1, at: 1, code: "ODD", locked: false },
  paused: { kind: "paused", seq: 1, at: 1, paused: true },
  ceiling: { kind: "ceiling", seq: 1, at: 1, ceiling: 10 },
  recovered: {
    kind: "recovered",
    seq: 1,
    at: 1,
    order: "a".repeat(64),
    held: null,
    sequence: 1,
    jobHash: "a".repeat(64),
  },
  asked: { ...common, kind: "asked", sequence: 1, jobHash: "a".repeat(64), job: "", signature: "" },
};
/** An entry in which the field stands, where not every chain has it. */
const entryWith = (kind: Entry["kind"], field: string): object =>
  field === "validUntilMs"
    ? onTron
    : field === "pin"
      ? onCoin
      : field === "cancel"
        ? { ...evm, cancel: true }
        : entries[kind];

const statement = {
  ...{
    agent: "a".repeat(16),
    ledgerEpoch: 1,
    handshake: "",
    after: 0,
    previous: zeroHash,
    head: { seq: 1, hash: "b".repeat(64) },
  },
  ...{ at: 1, policy: "c".repeat(64), recovered: "d".repeat(64), entries: [] as readonly object[] },
};

/**
 * The withdrawal that the entry is about: its account pays, and a manual one has no receiver yet.
 */
function aroundOf(
  { network: where = network.evm, kind }: { readonly network?: string; readonly kind?: string },
  createdAt = madeAt,
): EntryContext {
  const known = Object.values(network).includes(where) ? where : network.evm;
  const asked = {
    id: transactionId,
    operation: "sweep",
    network: known,
    payer: account,
    status: 0,
    stage: "queued",
    code: "",
  };
  return {
    agent: { id: "a", accounts: "[]", nextDepositIndex: 0 },
    row: {
      ...asked,
      receiver: kind === "decision" ? "" : receiver,
      createdAt,
    } as EntryContext["row"],
    ...{
      jobAgent: "a",
      isSigned: false,
      slot: null,
      known: null,
      pin: "",
      slotOwner: null,
      hashOwner: null,
      assigned: null,
    },
    ...{ isVoid: false, isCoinGone: false, isHandshakeDone: true, nowMs: madeAt + 60_000 },
  };
}

/** The code by which an entry, or a statement, is refused; "" if it is taken. */
function refusalOf(entry: object | null, change: object = {}, createdAt = madeAt): unknown {
  const text = JSON.stringify({ ...statement, ...change, entries: entry === null ? [] : [entry] });
  return codeOf(() => {
    const [read] = parseStatement(text).entries;
    const found =
      read === undefined ? null : entryEffectOf(read, aroundOf(read as never, createdAt));
    return found?.kind === "contradiction" && read?.kind !== "recovered" ? found.code : "";
  });
}

function codeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
}

/** The code by which a message is refused; "" if it is taken. */
const taken = (read: () => object): unknown =>
  codeOf(() => (typeof read() === "object" ? "" : "nothing"));

const codeBy: Readonly<Record<Reader, string>> = {
  message: "JSON_SHAPE",
  effect: "HUB_CONTRADICTION",
};

describe("words of an agent", () => {
  const fields = Object.entries(entryRows).flatMap(([kind, rows]) =>
    Object.entries(rows).map(
      ([field, row]) => [`${kind}.${field}`, kind as Entry["kind"], field, row as Row] as const,
    ),
  );

  it.each(fields)("are read before use: %s", (_, kind, field, row) => {
    const honest = entryWith(kind, field);
    expect(refusalOf(honest)).toBe("");
    if (row.by === "nobody") return;
    for (const odd of row.odd) {
      expect(refusalOf({ ...honest, [field]: odd }), `${field} ${JSON.stringify(odd)}`).toBe(
        codeBy[row.by],
      );
    }
  });

  it.each(Object.entries(statementRows))("are read before use: statement.%s", (field, row) => {
    expect(refusalOf(null)).toBe("");
    if (row.by === "nobody") return;
    for (const odd of row.odd)
      expect(refusalOf(null, { [field]: odd }), JSON.stringify(odd)).toBe("JSON_SHAPE");
  });

  it.each(Object.entries(helloRows))("are read before use: hello.%s", (field, row) => {
    const slots = { network: network.evm, account, first: "1", last: "2" };
    const hello = {
      agent: "a".repeat(16),
      ledgerEpoch: 1,
      answers: "b".repeat(64),
      nonce: "c".repeat(64),
      software: "x",
      at: 1,
    };
    const refusal = (change: object): unknown =>
      taken(() => parseHello(JSON.stringify({ ...hello, open: [slots], ...change })));
    expect(refusal({})).toBe("");
    for (const odd of row.by === "message" ? row.odd : []) {
      const change = field in slots ? { open: [{ ...slots, [field]: odd }] } : { [field]: odd };
      expect(refusal(change), JSON.stringify(odd)).toBe("JSON_SHAPE");
    }
  });

  it.each(Object.entries(questionRows))("are read before use: question.%s", (field, row) => {
    const question = {
      agent: "a".repeat(16),
      ledgerEpoch: 1,
      coins: [sighted],
      accounts: [],
      orders: [],
      at: 1,
    };
    const refusal = (change: object): unknown =>
      taken(() => parseSightingsQuestion(JSON.stringify({ ...question, ...change })));
    expect(refusal({})).toBe("");
    for (const odd of row.by === "message" ? row.odd : []) {
      const change =
        field in sighted ? { coins: [{ ...sighted, [field]: odd }] } : { [field]: odd };
      expect(refusal(change), JSON.stringify(odd)).toBe("JSON_SHAPE");
    }
  });

  it.each(Object.entries(heartbeatRows))("are read before use: heartbeat.%s", (field, row) => {
    const heartbeat = { agent: "a".repeat(16), head: null, at: 1 };
    const refusal = (change: object): unknown =>
      taken(() => parseHeartbeat(JSON.stringify({ ...heartbeat, ...change })));
    expect(refusal({})).toBe("");
    for (const odd of row.by === "message" ? row.odd : [])
      expect(refusal({ [field]: odd })).toBe("JSON_SHAPE");
  });

  it("about an end of validity are taken as far as clocks and chains are wrong, and no further", () => {
    const [hour, day] = [3_600_000, 86_400_000];
    const at = (validUntilMs: number): unknown => refusalOf({ ...onTron, validUntilMs });
    // A signer ends an attempt at most ten minutes after its block, by the chain's time. The chain
    // may have stood still since before the order, and the gateway's clock may be a day wrong.
    for (const honest of [-day, -hour, 0, 300_000, 660_000, hour, day])
      expect(at(madeAt + honest), `${honest}`).toBe("");
    for (const false_ of [-3 * day, 3 * day])
      expect(at(madeAt + false_), `${false_}`).toBe("HUB_CONTRADICTION");
  });

  it("about an end of validity accuse no signer while the gateway's own clock stands years behind", () => {
    const years = 10 * 365 * 86_400_000;
    const late = (change: object): unknown =>
      refusalOf({ ...onTron, at: madeAt + years, validUntilMs: madeAt + years, ...change });
    expect(late({})).toBe("");
    expect(late({ at: madeAt })).toBe("HUB_CONTRADICTION");
  });

  it("about an end of validity accuse no signer where the order was made by a clock ahead", () => {
    const days = 10 * 86_400_000;
    expect(refusalOf(onTron, {}, madeAt + days)).toBe("");
    expect(refusalOf({ ...onTron, validUntilMs: madeAt - days }, {}, madeAt + days)).toBe(
      "HUB_CONTRADICTION",
    );
  });
});
