/**
 * Questions to nodes hold only text that a reader of the family has read: another text is refused
 * before any node is asked. The stand-ins refuse such a text too, as the servers do.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { receiptQuestion } from "../../chains/evm/node-block-receipts.ts";
import { canonicalPathOf, requireCanonicalText } from "../../chains/providers/canonical-text.ts";
import * as tronQuestions from "../../chains/tron/node-questions.ts";
import type { Question as TronQuestion } from "../../chains/tron/node-wire.ts";
import type { EsploraQuestion } from "../../chains/utxo/esplora.ts";
import * as utxoQuestions from "../../chains/utxo/node-questions.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import type { Question as UtxoQuestion } from "../../chains/utxo/node-wire.ts";
import * as xrpQuestions from "../../chains/xrp/node-questions.ts";
import type { Question as XrpQuestion } from "../../chains/xrp/node-wire.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { answerOf, type Server } from "../../lab/utxo-node/api.ts";
import type { Sight } from "../../lab/utxo-node/chain-index.ts";
import { rootsOf } from "../../scripts/roots.ts";
import { type FakeEsplora, fakeEsplora, fakeNetwork } from "./utxo-fake.ts";

const hash = "ab".repeat(32);
const bitcoinAddress = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
const tronAddress = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const xrpAddress = "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh";
const span = { from: 1, to: 2 };

const rows: readonly (readonly [name: string, make: (text: string) => unknown, good: string])[] = [
  ["the head of a block, by Esplora", utxoQuestions.headQuestion, hash],
  ["the bytes of a block, by Esplora", utxoQuestions.rawBlockQuestion, hash],
  ["the reward of a block, by Esplora", utxoQuestions.rewardQuestions.usual, hash],
  ["the place of a transaction, by Esplora", utxoQuestions.transactionPlaceQuestion, hash],
  ["the bytes of a transaction, by Esplora", utxoQuestions.transactionQuestion, hash],
  ["the spend of a coin, by Esplora", utxoQuestions.outspendQuestions.usual, `${hash}:0`],
  ["the coins of an address, by Esplora", utxoQuestions.unspentQuestion, bitcoinAddress],
  [
    "the newest transactions of an address, by Esplora",
    utxoQuestions.newestTransactionsQuestion,
    bitcoinAddress,
  ],
  ["the transactions of an address, by Esplora", utxoQuestions.historyQuestion, bitcoinAddress],
  [
    "the transactions of an address after one, by Esplora",
    (text) => utxoQuestions.historyQuestion(bitcoinAddress, text),
    hash,
  ],
  [
    "the waiting transactions of an address, by Esplora",
    utxoQuestions.mempoolTransactionsQuestion,
    bitcoinAddress,
  ],
  ["the sums of an address, by Esplora", utxoQuestions.addressSumsQuestion, bitcoinAddress],
  ["the use of an address, by Esplora", utxoQuestions.transactionCountQuestion, bitcoinAddress],
  ["an account of XRP", (text) => xrpQuestions.accountQuestion(text, 1), xrpAddress],
  [
    "the transactions of an account of XRP",
    (text) => xrpQuestions.historyQuestion(text, span, "oldest first"),
    xrpAddress,
  ],
  ["a transaction of XRP", xrpQuestions.transactionQuestion, hash.toUpperCase()],
  ["an account of Tron", (text) => tronQuestions.accountQuestion("/wallet", text), tronAddress],
  [
    "a call of Tron",
    (text) => tronQuestions.trialQuestion("/wallet", "", tronAddress, text),
    "70a08231",
  ],
  [
    "a token's balance on Tron",
    (text) => tronQuestions.tokenBalanceQuestion("/wallet", tronAddress, text),
    tronAddress,
  ],
  ["a receipt of an EVM chain", receiptQuestion, `0x${hash}`],
];
const odd = [
  "zz",
  "zz:0",
  "../../admin/x?y=",
  `${hash}/../x`,
  `${hash}?a`,
  `${hash}#`,
  ` ${hash}`,
  `${hash}\n`,
  "%2e%2e",
  "0x",
  "rĞ",
];

let server: FakeEsplora | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

describe("a question to a node", () => {
  it.each(rows)("holds no text that its family has not read: %s", (_, make, good) => {
    expect(() => make(good)).not.toThrow();
    for (const text of odd) {
      const refused = {
        code: expect.stringMatching(/^(?:NODE_QUESTION|ADDRESS_\w+)$/),
        effect: "none",
      };
      expect(() => make(text), text).toThrow(expect.objectContaining(refused));
    }
  });

  it("is refused by the compiler where a plain string stands in a path or a field", () => {
    const read = (): string => "";
    const path: string = `/tx/${hash}/status`;
    // @ts-expect-error: a path is made by canonicalPathOf alone
    const asks: readonly (EsploraQuestion | UtxoQuestion<string>)[] = [{ path, answerBytesMax: 1 }];
    // @ts-expect-error: as above
    const question: UtxoQuestion<string> = { path, read };
    // @ts-expect-error: a text of a field is made by a reader
    const onXrp: XrpQuestion<string> = { method: "tx", params: { transaction: path }, read };
    // @ts-expect-error: as above
    const onTron: TronQuestion<string> = { path: "/wallet/x", fields: { value: path }, read };
    // @ts-expect-error: a part of a path is a number or was read
    const part = canonicalPathOf`/tx/${path}`;
    expect([asks, question, onXrp, onTron, part]).toHaveLength(5);
    const twin: UtxoQuestion<string> = {
      path: canonicalPathOf`/tx/${requireCanonicalText(hash, /^[0-9a-f]{64}$/, "hash")}/status`,
      read,
    };
    expect(twin.path).toBe(path);
  });

  it("about a pin that is no coin is never sent", async () => {
    server = await fakeEsplora();
    const limits = { confirmations: 1, timeoutMs: 20_000, patienceMs: 20_000 };
    const watcher = createUtxoWatcher({
      urls: [server.url],
      network: fakeNetwork,
      log: () => undefined,
      ...limits,
    });
    const payment = {
      network: "",
      account: bitcoinAddress,
      slot: "1",
      contract: "",
      destination: bitcoinAddress,
      tag: "",
      amountUnits: 1n,
    };
    const judged = watcher.pass({ number: 1, hash }).judge(payment, [], "../../admin/x?y=:0");
    await expect(judged).rejects.toMatchObject({ code: "NODE_QUESTION" });
    expect(server.asked.filter((path) => path.includes("admin"))).toEqual([]);
    watcher.close();
  });
});

describe("text of a question", () => {
  it("is made in the one file that reads it, and no file of the product claims to have made it", () => {
    const files = rootsOf(projectRoot, "product").flatMap((room) =>
      readdirSync(join(projectRoot, room), { recursive: true, encoding: "utf8" }).map((name) =>
        join(room, name),
      ),
    );
    const claims = files
      .filter((file) => /\.tsx?$/.test(file))
      .filter((file) =>
        /\b(?:as|is) (?:unknown as )?(?:CanonicalText|QuestionScalar)\b/.test(
          readFileSync(join(projectRoot, file), "utf8"),
        ),
      );
    expect(claims).toEqual(["chains/providers/canonical-text.ts"]);
  });
});

describe("the stand-in for electrs", () => {
  const block = { hash, height: 0, parent: "", time: 1, transactions: [] };
  const sight = { blocks: [block], mempool: [] } as unknown as Sight;
  const ask = (path: string) => answerOf({ program: "electrs" } as unknown as Server, sight, path);

  it("answers 400 to an id or a number of another form, and looks for no such thing", async () => {
    for (const path of [
      "/tx/zz/outspend/0",
      "/tx/zz/status",
      "/block/zz",
      "/block/..",
      `/tx/${hash}/outspend/x`,
      "/block-height/x",
    ]) {
      expect(await ask(path), path).toMatchObject({ status: 400 });
    }
    expect(await ask(`/tx/${hash}/outspend/0`)).toMatchObject({ status: 200 });
    expect(await ask("/block-height/0")).toMatchObject({ status: 200, body: hash });
  });
});
