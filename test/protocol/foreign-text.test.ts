/**
 * Each reader of foreign text takes time in proportion to the length, for every text: a megabyte of
 * each hostile shape, in the quick tier a quarter of one. Measured by the ratio of two sizes, four
 * times apart, so that a slow machine changes nothing; a square would be sixteen times as slow. The
 * measure is CPU time: the engine counts no step inside of a regular expression.
 */
import { expect, describe as group, it } from "vitest";
import { readRequest } from "../../agent/signer/sockets/line-server.ts";
import { parseForeign, quoteNumbers } from "../../base/foreign-json.ts";
import { parseJson } from "../../base/json.ts";
import { retryAfterOf } from "../../base/outgoing/exchange.ts";
import { shellWord, visibleAll, visibleText } from "../../base/visible.ts";
import { parseAddress as parseEvmAddress } from "../../chains/evm/address.ts";
import { readData } from "../../chains/evm/answers.ts";
import { readEnvelopes } from "../../chains/evm/rpc-envelope.ts";
import { families } from "../../chains/families.ts";
import { quotaFault, quotaPauseMsOf } from "../../chains/providers/node-quota.ts";
import { wordsInBody } from "../../chains/providers/node-words.ts";
import { parseAddress as parseTronAddress } from "../../chains/tron/address.ts";
import { nodeTextOf } from "../../chains/tron/answers.ts";
import { parseJson as parseTron } from "../../chains/tron/rpc.ts";
import {
  readHash,
  readHead,
  readHexAnswer,
  readOutspend,
  readRates,
  readText,
  readTransactionCount,
  readTransactionPlace,
  readUnspent,
} from "../../chains/utxo/answers.ts";
import {
  readAccount,
  readFee,
  readHistoryPage,
  readLedger,
  readNetworkId,
  readServerState,
  readSubmitted,
  readTransaction,
} from "../../chains/xrp/node-answers.ts";
import { parseRpcReply } from "../../chains/xrp/rpc.ts";
import { csvCell } from "../../gateway/answer/csv-cell.ts";
import { languageOf } from "../../gateway/answer/language.ts";
import { keyIdOfToken } from "../../gateway/auth/authenticate.ts";
import { retryAfterOf as retryAfterOfShop } from "../../gateway/callbacks/callbacks.ts";
import { receiverAnswerOf } from "../../gateway/callbacks/send.ts";
import { createClientAddressReader } from "../../gateway/config/client-address.ts";
import { csvTableOf } from "../../gateway/operations/csv.ts";
import { depositBody } from "../../gateway/operations/deposits.ts";
import { cancelBody, manyBody, withdrawalBodies } from "../../gateway/operations/withdrawals.ts";
import { readPrice } from "../../gateway/prices/decimal.ts";
import { parseExact } from "../../gateway/prices/exact-json.ts";
import { share } from "../../lab/kit/share.ts";
import { parseAmount } from "../../protocol/amount.ts";
import { parseSealedGrant } from "../../protocol/grant.ts";
import { parseApiKey, parseSealedTranscript, parseTranscript } from "../../protocol/pairing.ts";
import {
  parseAck,
  parseChallenge,
  parseHeartbeat,
  parseHello,
  parseJob,
  parseJobs,
  parseStatement,
  parseWelcome,
} from "../../protocol/payloads.ts";
import { parseRecoveryPart } from "../../protocol/recovery.ts";
import { parseSightings, parseSightingsQuestion } from "../../protocol/sightings.ts";

const limits = {
  bytesMax: 4 * 1024 * 1024,
  keysMax: 2 ** 24,
  itemsMax: 2 ** 24,
  stringBytesMax: 4 * 1024 * 1024,
};

const behindProxy = createClientAddressReader(["127.0.0.1"]);
const forwarded = (text: string): unknown =>
  behindProxy({
    socket: { remoteAddress: "127.0.0.1" },
    headers: { "x-forwarded-for": text },
  } as never);
/** Each reader in turn, also after a refusal of one before. */
const each =
  (...all: readonly ((text: string) => unknown)[]) =>
  (text: string): void => {
    for (const read of all) {
      try {
        read(text);
      } catch {
        // A refusal: the next one reads the same.
      }
    }
  };

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  // nodes
  "an answer of a Tron node": parseTron,
  "an answer of an Esplora server": each(
    ...[
      readText,
      readHash,
      readHexAnswer,
      readHead,
      readTransactionPlace,
      readUnspent,
      readOutspend,
      readTransactionCount,
      readRates,
    ].map((read) => (text: string) => read(Buffer.from(text))),
  ),
  "an answer of a rippled or Clio server": (text) => {
    const told = parseRpcReply(text);
    if (told === null || !told.ok) return told;
    const { result } = told;
    return each(
      ...[
        readNetworkId,
        readServerState,
        readLedger,
        readAccount,
        readFee,
        readTransaction,
        readHistoryPage,
        readSubmitted,
      ].map((read) => () => read(result)),
    )(text);
  },
  "an address of XRP": (text) => [
    families.xrp.parseAddress(text, "xrpl:0"),
    families.xrp.accounts.payeeOf(text),
  ],
  "an address of Bitcoin or Litecoin": (text) =>
    families.bitcoin.parseAddress(text, families.bitcoin.addressSpace.networks),
  "an answer of an EVM node": (text) => readEnvelopes(200, text),
  "words of an EVM node": (text) =>
    readEnvelopes(200, JSON.stringify({ id: 1, error: { code: 1, message: text } })),
  "words of a Tron node": nodeTextOf,
  "data of an EVM node": (text) => readData(`0x${text}`, "data"),
  "a page or an error of a node": wordsInBody,
  "a refusal of a provider": each(
    (text) => quotaPauseMsOf({ status: 429, retryAfter: "", words: text }),
    (text) => quotaFault(-32005, text, "a node"),
  ),
  // markets, receivers of callbacks, headers of any server
  "an answer of a market": each(parseExact, readPrice),
  // lukevella/rallly 3297, kubernetes-sigs/external-dns 6484: an answer to a webhook without end.
  "an answer of a shop to a callback": each(
    (text) =>
      receiverAnswerOf({
        ok: true,
        status: 500,
        retryAfter: text,
        date: text,
        body: Buffer.from(text),
      }),
    (text) => retryAfterOfShop(text, 0),
  ),
  "Retry-After of any server": (text) => retryAfterOf(text, text),
  // shops and their proxies
  "an order of a shop": each(
    (text) => depositBody.read(Buffer.from(text)),
    (text) => withdrawalBodies.manual.read(Buffer.from(text)),
    (text) => cancelBody.read(Buffer.from(text)),
    (text) => manyBody.read(Buffer.from(text)),
  ),
  "an amount of a shop": (text) => parseAmount(text, 18),
  "headers of a shop": each((text) => languageOf(text, "en"), csvTableOf, keyIdOfToken),
  "an address that a proxy wrote": forwarded,
  "a text of a shop in a list for a spreadsheet": csvCell,
  // agents, gateways, couriers
  "a message of an agent": each(parseHello, parseStatement, parseHeartbeat),
  "a message of a gateway": each(
    parseChallenge,
    parseWelcome,
    parseJobs,
    parseJob,
    parseAck,
    parseRecoveryPart,
  ),
  "a question of an agent, and a gateway's answer": each(parseSightingsQuestion, parseSightings),
  "a server that pairs, and the answer to it": each(
    parseSealedTranscript,
    parseTranscript,
    parseApiKey,
    parseSealedGrant,
  ),
  "a message of a courier": (text) => readRequest(Buffer.from(text)),
  "foreign words on a screen": each(visibleText, (text) => visibleAll({ [text]: text }), shellWord),
  "a frame, a file or a configuration": (text) => parseJson(text, limits),
  "an address of an EVM chain": parseEvmAddress,
  "an address of Tron": parseTronAddress,
};

const many = (part: string, size: number): string =>
  part.repeat(Math.ceil(size / part.length)).slice(0, size);
const shapes: Readonly<Record<string, (size: number) => string>> = {
  "a string of escaped quotes that does not end": (size) => `"${many('\\"', size)}`,
  "a string of backslashes that does not end": (size) => `"${many("\\", size)}`,
  "backslashes and a quote, again and again": (size) => `"${many('\\\\\\\\"', size)}`,
  "quotes alone": (size) => many('"', size),
  "open lists": (size) => many("[", size),
  "open objects": (size) => many('{"a":', size),
  "empty lists": (size) => `[${many("[],", size)}[]]`,
  "short strings": (size) => `[${many('"a",', size)}"a"]`,
  "one number": (size) => many("7", size),
  "numbers that break off": (size) => many("1e-", size),
  signs: (size) => many("-", size),
  points: (size) => many("1.", size),
  "long numbers": (size) => `[${many("12345678901234567,", size)}1]`,
  spaces: (size) => many(" ", size),
  "letters of hex": (size) => many("ab", size),
  "escapes of half characters": (size) => `"${many("\\ud800", size)}"`,
};

/** Each is compared with one four times as long. */
const sizes = [16, 64, 256, 1024].slice(0, share(4, 3)).map((kib) => kib * 1024);
const growthMax = 9;
const slackMs = 60;

function cpuMs(read: (text: string) => unknown, text: string): number {
  const before = process.cpuUsage();
  try {
    read(text);
  } catch {
    // A refusal has to be as quick as an answer.
  }
  // The system's time is that of pages of memory, which differs by machine; a square is user time.
  return process.cpuUsage(before).user / 1000;
}

/**
 * Sizes rise, so that a square is seen before it costs a minute. A square is steep at the next size
 * too. The size at which a heap first needs its garbage collected is steep alone, and is no fault.
 */
function steepAt(read: (text: string) => unknown, shape: (size: number) => string): number {
  let before = 0;
  for (const size of sizes) {
    // The largest size is there to judge the one before it.
    if (size === sizes.at(-1) && before === 0) break;
    const [one, four] = [shape(size), shape(size * 4)];
    const isSteep = (): boolean => cpuMs(read, four) > growthMax * cpuMs(read, one) + slackMs;
    const found = isSteep() && isSteep() && isSteep() ? size : 0;
    if (found > 0 && before > 0) return found;
    before = found;
  }
  return 0;
}

group.each(Object.entries(readers))("%s", (_, read) => {
  it.each(Object.entries(shapes))("a long text of %s takes time in proportion", (_name, shape) => {
    expect(steepAt(read, shape)).toBe(0);
  });
});

group("numbers of outsiders", () => {
  it("texts keep their digits and quotes, numbers outside of them become text", () => {
    const text =
      '{"a\\\\":[-1,2.5e3,12345678901234567],"b":"\\"99999999999999999","c":1234567890123456}';
    expect(parseForeign(text, "all")).toEqual({
      ...{
        "a\\": ["-1", "2.5e3", "12345678901234567"],
        b: '"99999999999999999',
        c: "1234567890123456",
      },
    });
    expect(parseForeign(text, "long")).toEqual({
      ...{ "a\\": [-1, 2500, "12345678901234567"], b: '"99999999999999999', c: "1234567890123456" },
    });
  });

  it("an answer of more values than its reader allows is refused before it is built, one of as many is read", () => {
    expect(parseForeign("[[],[],[]]", "long", { valuesMax: 6 })).toEqual([[], [], []]);
    expect(() => parseForeign("[[],[],[]]", "long", { valuesMax: 5 })).toThrow(
      expect.objectContaining({ code: "JSON_ITEMS" }),
    );
    expect(quoteNumbers('["[[[[,,,,"]', "all", { valuesMax: 1 })).toBe('["[[[[,,,,"]');
    expect(() => parseTron(`[${"[],".repeat(2_000_000)}[]]`)).toThrow(
      expect.objectContaining({ code: "JSON_ITEMS" }),
    );
  });
});
