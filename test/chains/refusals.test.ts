/**
 * Words of nodes about signed bytes, for every family: recorded ones with their meaning, and
 * made-up ones, of which none is an acceptance. Each reader's twin is the answer that is one.
 */
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { broadcastRefusals as evm, isRevert } from "../../chains/evm/node.ts";
import type { NodeAnswer } from "../../chains/nodes.ts";
import {
  type BroadcastReply,
  broadcastTo,
  nodeAnswerOf,
  otherIdReply,
  type RefusalRow,
  takenReply,
} from "../../chains/providers/broadcasts.ts";
import { bestAnswer, mayHigherFeeHelp } from "../../chains/standing.ts";
import {
  RememberedReplies,
  readReply as readTron,
  broadcastRefusals as tron,
} from "../../chains/tron/node-sender.ts";
import { readReply as readUtxo, broadcastRefusals as utxo } from "../../chains/utxo/node-sender.ts";
import { readReply as readXrp, broadcastRefusals as xrp } from "../../chains/xrp/node-sender.ts";
import { vectors } from "../support/evm-values.ts";

const id = "ab".repeat(32);
const xrpId = id.toUpperCase();
const submitted = (result: string, more: object = {}) =>
  readXrp(
    {
      ok: true,
      result: {
        engine_result: result,
        engine_result_message: "words",
        tx_json: { hash: xrpId },
        ...more,
      },
    },
    xrpId,
  );
const dropped = { applied: false, kept: false, queued: false };
const posted = (status: number, words: string) =>
  readUtxo({ ok: false, status, isAbsent: false, words }, id);

interface Family {
  readonly refusals: readonly RefusalRow[];
  /** A refusal with these words, as a node of the family gives it. */
  readonly refuse: (words: string) => BroadcastReply;
  readonly accept: () => BroadcastReply;
}

const families: Readonly<Record<string, Family>> = {
  EVM: { refusals: evm, refuse: (words) => ({ kind: "refused", words }), accept: () => takenReply },
  Tron: {
    refusals: tron,
    refuse: (words) => {
      const [code = "", ...message] = words.split(" ");
      return readTron({ code, message: Buffer.from(message.join(" ")).toString("hex") }, id);
    },
    accept: () => readTron({ result: true, txid: id }, id),
  },
  "Bitcoin and Litecoin": {
    refusals: utxo,
    refuse: (words) => posted(400, words),
    accept: () => readUtxo({ ok: true, bytes: Buffer.from(id) }, id),
  },
  XRP: {
    refusals: xrp,
    refuse: (words) =>
      /^te[a-z][A-Z_]/.test(words)
        ? submitted(words.split(" ")[0] ?? "", dropped)
        : readXrp({ ok: false, error: words.split(" ")[0] ?? "", words, result: {} }, xrpId),
    accept: () => submitted("tesSUCCESS", { applied: true, kept: true, queued: false }),
  },
};

/** Recorded words and their meaning; "" for a refusal whose words no row knows. */
const recorded: Readonly<Record<string, readonly (readonly [words: string, meaning: string])[]>> = {
  EVM: vectors<{ texts: readonly (readonly [string, string, string])[] }>("node-errors").texts.map(
    ([, text, meaning]) => [text, meaning] as const,
  ),
  // java-tron 4.7 and 4.8: Wallet.broadcastTransaction, TransactionCapsule, Manager; tips #674.
  Tron: [
    ["DUP_TRANSACTION_ERROR Dup transaction.", "known"],
    ["TRANSACTION_EXPIRATION_ERROR Transaction expired", "expired"],
    ["BANDWITH_ERROR Account resource insufficient error.", "funds"],
    [
      "CONTRACT_VALIDATE_ERROR Contract validate error : Validate TransferContract error, balance is not sufficient.",
      "funds",
    ],
    ["CONTRACT_VALIDATE_ERROR Contract validate error : account [T] does not exist", "bytes"],
    [
      "SIGERROR Validate signature error: ab is signed by T but it is not contained of permission.",
      "bytes",
    ],
    ["TAPOS_ERROR Tapos check error.", "bytes"],
    ["TOO_BIG_TRANSACTION_ERROR Transaction size is too big.", "bytes"],
    ["SERVER_BUSY Server busy.", "node"],
    ["NO_CONNECTION No connection.", "node"],
    ["NOT_ENOUGH_EFFECTIVE_CONNECTION No enough effective connection.", "node"],
    ["BLOCK_UNSOLIDIFIED Block unsolidified.", "node"],
    ["OTHER_ERROR Other error: ab", ""],
    ["toString", ""],
  ],
  // Bitcoin Core 22 to 29 and Litecoin Core 0.21: validation.cpp, policy.cpp, rpc/mempool.cpp,
  // node/transaction.cpp.
  "Bitcoin and Litecoin": [
    ["txn-already-in-mempool", "known"],
    ["txn-same-nonwitness-data-in-mempool", "known"],
    ["Transaction already in block chain", "known"],
    ["Transaction outputs already in utxo set", "known"],
    ["txn-already-known", "known"],
    ["bad-txns-inputs-missingorspent", "slot-used"],
    ["Missing inputs", "slot-used"],
    [
      "insufficient fee, rejecting replacement ab...; new feerate 0.00001 <= old feerate 0.00002",
      "price",
    ],
    ["min relay fee not met, 100 < 141", "price"],
    ["mempool min fee not met, 172 < 2000", "price"],
    ["bad-txns-in-belowout", "funds"],
    ["txn-mempool-conflict", "bytes"],
    ["too many potential replacements, rejecting replacement", "bytes"],
    ["dust, tx with dust output must be 0-fee", "bytes"],
    ["mandatory-script-verify-flag-failed (Signature must be zero)", "bytes"],
    ["bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 7", "bytes"],
    ["TX decode failed. Make sure the tx has at least one input.", "bytes"],
    ["Loading block index…", "node"],
    // Blockstream/electrs #132: the whole answer of a server that swallows the reason.
    ["RPC error", ""],
    ["the server is on its holidays", ""],
    ["", ""],
  ],
  // rippled 1.9 to 2.4 and Clio 2.3: TER.cpp, TxQ.cpp, ErrorCodes.cpp.
  XRP: [
    ["tefALREADY", "known"],
    ["tefPAST_SEQ", "slot-used"],
    ["tefMAX_LEDGER", "expired"],
    ["telINSUF_FEE_P", "price"],
    ["telCAN_NOT_QUEUE_FEE", "price"],
    ["telCAN_NOT_QUEUE_FULL", "price"],
    ["telCAN_NOT_QUEUE", ""],
    ["telCAN_NOT_QUEUE_BALANCE", "funds"],
    ["terINSUF_FEE_B", "funds"],
    ["terNO_ACCOUNT", "funds"],
    ["telCAN_NOT_QUEUE_BLOCKS", "bytes"],
    ["telWRONG_NETWORK", "bytes"],
    ["telLOCAL_ERROR", ""],
    ["tefBAD_AUTH", "bytes"],
    ["tefMASTER_DISABLED", "bytes"],
    ["tefEXCEPTION", ""],
    ["terPRE_SEQ", "bytes"],
    ["temBAD_FEE", "bytes"],
    ["temREDUNDANT", "bytes"],
    ["tecPATH_DRY", ""],
    ["tezNEW_KIND", ""],
    ["invalidTransaction: fails local checks", "bytes"],
    ["noCurrent: Current ledger is unavailable.", "node"],
    ["amendmentBlocked: Amendment blocked, need upgrade.", "node"],
    ["internal: Internal error.", ""],
  ],
};

const answered = ({ refusals }: Family, reply: BroadcastReply): NodeAnswer =>
  nodeAnswerOf("http://one", refusals, reply);

describe.each(Object.entries(families))("words of %s nodes about signed bytes", (name, family) => {
  it.each(recorded[name] ?? [])("%s: %s", (words, meaning) => {
    expect(answered(family, family.refuse(words))).toMatchObject({
      standing: meaning === "known" ? "taken" : "refused",
      meaning,
    });
  });

  it("are no acceptance where they are made up, and the transaction's own id is one", () => {
    const stems = [
      "no",
      "busy with",
      "tes",
      "tec",
      "accepted not",
      "ok",
      "success?",
      "queued for nobody",
      "kept",
      "in no pool",
    ];
    const made = stems.flatMap((stem) => [
      stem,
      `${stem} 7`,
      `${stem}: holidays`,
      `${stem} ${id}`,
      `${stem.toUpperCase()}_ERROR`,
    ]);
    expect(made).toHaveLength(50);
    for (const words of made)
      expect(answered(family, family.refuse(words)), words).toMatchObject({ standing: "refused" });
    expect(answered(family, family.accept())).toMatchObject({ standing: "taken", meaning: "" });
  });
});

describe("a node's flags", () => {
  const standingOf = (result: string, more: object = {}) =>
    answered(families.XRP as Family, submitted(result, more)).standing;

  it("of the XRP Ledger say more than its code, and a node that does not say is in doubt where it may hold the bytes", () => {
    for (const flag of ["applied", "kept", "queued"]) {
      expect(standingOf("terPRE_SEQ", { ...dropped, [flag]: true })).toBe("taken");
      expect(standingOf("tecPATH_DRY", { ...dropped, [flag]: true })).toBe("taken");
      expect(standingOf("temBAD_FEE", { ...dropped, [flag]: true })).toBe("refused");
    }
    expect(
      ["terPRE_SEQ", "tecPATH_DRY", "telINSUF_FEE_P", "tefBAD_AUTH"].map((result) =>
        standingOf(result),
      ),
    ).toEqual([...["doubtful", "doubtful", "refused", "refused"]]);
    expect(standingOf("terQUEUED")).toBe("taken");
    expect(standingOf("tesSUCCESS", { tx_json: { hash: "B".repeat(64) } })).toBe("doubtful");
    expect(() => submitted("ok")).toThrow(/engine_result/);
  });

  it("of Tron call known what the node refused before, which is that refusal again, and what it took is taken", () => {
    const replies = new RememberedReplies();
    const known: BroadcastReply = {
      kind: "refused",
      words: "DUP_TRANSACTION_ERROR Dup transaction.",
    };
    const sigError: BroadcastReply = {
      kind: "refused",
      words: "SIGERROR not contained of permission",
    };
    const busy: BroadcastReply = { kind: "refused", words: "SERVER_BUSY" };
    expect(replies.take("one", id, sigError)).toBe(sigError);
    expect(replies.take("one", id, known)).toBe(sigError);
    expect(replies.take("two", id, known)).toMatchObject({ kind: "doubtful" });
    expect(replies.take("two", id, takenReply)).toBe(takenReply);
    expect(replies.take("two", id, busy)).toBe(busy);
    expect(answered(families.Tron as Family, replies.take("two", id, known))).toMatchObject({
      standing: "taken",
      meaning: "known",
    });
  });

  it("of an Esplora server are its statuses: words that are no node's leave bytes in doubt with 500 and 200", () => {
    const standing = (reply: BroadcastReply) =>
      answered(families["Bitcoin and Litecoin"] as Family, reply).standing;
    expect(standing(posted(500, "Internal Server Error"))).toBe("doubtful");
    expect(standing(posted(500, "sendrawtransaction RPC error: min relay fee not met"))).toBe(
      "refused",
    );
    expect(readUtxo({ ok: true, bytes: Buffer.from("cd".repeat(32)) }, id)).toEqual(otherIdReply);
    expect(
      answered(families["Bitcoin and Litecoin"] as Family, posted(404, "Cannot POST /tx")).meaning,
    ).toBe("node");
  });
});

describe("the answers of several nodes to signed bytes", () => {
  const said = (
    standing: NodeAnswer["standing"],
    meaning: NodeAnswer["meaning"] = "",
    text = "",
  ): NodeAnswer => ({
    ...{ node: text, standing, meaning, text },
  });
  const unsent = said("unsent");

  it("count for what one of them took, then for the doubt that one leaves, then as a refusal", () => {
    const all = [unsent, said("refused", "price"), said("doubtful"), said("taken")];
    expect(all.map((_, at) => bestAnswer(all.slice(0, at + 1)).standing)).toEqual([
      "unsent",
      "refused",
      "doubtful",
      "taken",
    ]);
    expect(bestAnswer([])).toMatchObject({ standing: "unsent" });
  });

  it("are expired only where nobody leaves the attempt open, and show the words that a later attempt can answer", () => {
    const expired = said("refused", "expired");
    expect(bestAnswer([expired, unsent]).meaning).toBe("expired");
    expect(bestAnswer([expired, said("refused", "node")]).meaning).toBe("node");
    expect(
      bestAnswer([said("refused", "bytes", "the cap"), said("refused", "", "the pool is full")])
        .text,
    ).toBe("the pool is full");
  });

  it("are curable by a higher fee unless each refuses for another reason", () => {
    const cap = said("refused", "bytes");
    expect(mayHigherFeeHelp([cap, said("refused", "funds"), said("refused", "node"), unsent])).toBe(
      false,
    );
    for (const other of [
      said("refused", "price"),
      said("refused", "slot-used"),
      said("refused"),
      said("doubtful"),
    ])
      expect(mayHigherFeeHelp([cap, other])).toBe(true);
  });

  const fault = (
    code: "NODE_HTTP" | "NODE_QUOTA" | "NODE_TIMEOUT",
    status?: number,
    effect: "unknown" | "none" = "unknown",
  ) => new AgentError(code, effect, "words", status === undefined ? {} : { status });
  it.each([
    ["a status 4xx", fault("NODE_HTTP", 413), "refused", ""],
    ["a status about the question", fault("NODE_HTTP", 403), "refused", "node"],
    ["a quota", fault("NODE_QUOTA", 429), "refused", "node"],
    [
      "a quota of a server that may have passed the bytes on",
      fault("NODE_QUOTA", 503),
      "doubtful",
      "",
    ],
    ["a status 5xx", fault("NODE_HTTP", 502), "doubtful", ""],
    ["no answer", fault("NODE_TIMEOUT"), "doubtful", ""],
    ["no connection", fault("NODE_TIMEOUT", undefined, "none"), "unsent", ""],
  ] as const)("%s counts as %s", async (_, error, standing, meaning) => {
    const nodes = [{ rpc: { origin: "http://one" } }];
    const hand = () => Promise.reject(error);
    expect(await broadcastTo({ nodes, refusals: evm, hand })).toMatchObject({
      standing,
      meaning,
      byNode: [{ standing }],
    });
  });
});

it("a revert is told from want of funds and from trouble in the node", () => {
  expect(
    [
      "execution reverted",
      "execution reverted: balance too low",
      "VM execution error.",
      "Execution reverted",
    ].every(isRevert),
  ).toBe(true);
  expect(
    [
      "insufficient funds for gas * price + value",
      "header not found",
      "gas required exceeds allowance (0)",
      "",
    ].some(isRevert),
  ).toBe(false);
});
