/**
 * Questions to a gateway whose database is the fixture, and their answers as texts: every list with
 * every filter and page, every record, balances, events, pages of customers, and what the
 * operator's commands print. Nothing here knows a table: what is asked next comes out of earlier
 * answers.
 */
import { createHash } from "node:crypto";
import { AgentError } from "../../base/fault.ts";
import { closeBooks } from "../../gateway/books/closing.ts";
import { readConfig } from "../../gateway/config/config.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { sayCommand } from "./commands.ts";
import { keptReader, startKeptNode } from "./kept-node.ts";
import { type Fixture, type FixtureShop, openFixture } from "./opened.ts";
import { configText, goneCurrency, networks, prepareFolder, storyEnds } from "./setting.ts";
import { shopToken } from "./world.ts";

/** Each question with the lines of its answer, in the order in which they were asked. */
export type Answers = Map<string, readonly string[]>;

export interface PageAnswer {
  readonly status: number;
  readonly link: string;
  readonly text: string;
}

/** A record as its shop reads it. */
interface ShopRecord {
  readonly transactionId: string;
  readonly transactionType: 1 | 2;
  readonly orderId: string;
  readonly depositAddress: string;
  readonly receiverAddress: string;
  readonly tag: string;
  readonly currency: string;
  readonly amount: string;
  readonly txHash: string;
  readonly paymentUrl?: string;
}

export const currencyIds = [
  "eth",
  "usdt-erc20",
  "trx",
  "usdt-trc20",
  "xrp",
  "btc",
  goneCurrency,
  "unknown",
] as const;

class Shop {
  readonly shop: FixtureShop;
  readonly #gateway: Gateway;
  #asked = 0;

  constructor(gateway: Gateway, shop: FixtureShop) {
    this.#gateway = gateway;
    this.shop = shop;
  }

  async get(
    path: string,
    accept = "application/json",
    key = this.shop.readKey,
  ): Promise<PageAnswer> {
    this.#asked += 1;
    const token = shopToken(key, storyEnds, `question-${`${this.#asked}`.padStart(12, "0")}`);
    const headers = { signatureToken: token, accept };
    const response = await fetch(`${this.#gateway.url}${path}`, { headers });
    const text = await response.text().catch(() => "the connection ended before the answer");
    return {
      status: response.status,
      link: response.headers.get("link") ?? "",
      text: withoutId(text),
    };
  }
}

/** The id of a request is another one each time. */
const withoutId = (text: string): string =>
  text.replace(/"requestId":"[0-9a-f]+"/, '"requestId":"ID"');

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function recordsIn(text: string): readonly ShopRecord[] {
  try {
    const read = JSON.parse(text) as unknown;
    return Array.isArray(read) ? (read as readonly ShopRecord[]) : [];
  } catch {
    return [];
  }
}

const whole = ({ status, link, text }: PageAnswer): readonly string[] => [
  `${status}`,
  ...(link === "" ? [] : [link]),
  ...text.split("\n"),
];

/**
 * A list whose records stand elsewhere as a whole: their orders, and the digest of every byte.
 */
function short(asked: PageAnswer): readonly string[] {
  const records = recordsIn(asked.text);
  if (records.length === 0) return whole(asked);
  const { status, link, text } = asked;
  const orders = records
    .map(({ orderId, transactionType }) => `${transactionType === 1 ? "in" : "out"} ${orderId}`)
    .join(", ");
  return [
    `${status}, ${records.length} records, sha256 ${sha256(text)}`,
    ...(link === "" ? [] : [link]),
    orders,
  ];
}

const nextOf = ({ link }: PageAnswer): string | null =>
  /^<([^>]+)>; rel="next"$/.exec(link)?.[1] ?? null;

/** A list page by page. */
async function walk(answers: Answers, shop: Shop, path: string): Promise<void> {
  const lines: string[] = [];
  for (let next: string | null = path; next !== null; ) {
    const page: PageAnswer = await shop.get(next);
    lines.push(...short(page));
    next = page.status === 200 ? nextOf(page) : null;
  }
  answers.set(`${shop.shop.name}: pages of ${path}`, lines);
}

/** A shop with few records is asked for fewer currencies. */
async function askLists(answers: Answers, shop: Shop, isMain: boolean): Promise<void> {
  const ask = async (query: string): Promise<void> => {
    const path = `/api/v1/transactions${query === "" ? "" : `?${query}`}`;
    answers.set(`${shop.shop.name}: ${path}`, short(await shop.get(path)));
  };
  const parts = [
    ["", "transactionType=1", "transactionType=2"],
    ["", "status=0", "status=1", "status=2"],
    ["", ...currencyIds.map((id) => `currency=${id}`)],
  ] as const;
  for (const type of parts[0])
    for (const status of parts[1])
      for (const currency of isMain ? parts[2] : parts[2].slice(0, 2))
        await ask([type, status, currency].filter((one) => one !== "").join("&"));
  for (const time of [
    "from=2026-01-31",
    "to=2026-01-31",
    "from=2026-01-31&to=2026-02-01",
    "changedFrom=2026-01-31T12:00:00Z",
  ]) {
    await ask(time);
    await ask(`${time}&transactionType=2&status=1`);
    await ask(`${time}&currency=usdt-erc20`);
  }
  for (const limit of [1, 7, 50]) {
    await walk(answers, shop, `/api/v1/transactions?limit=${limit}`);
    await walk(answers, shop, `/api/v1/transactions?limit=${limit}&changedFrom=2026-01-30`);
    await walk(answers, shop, `/api/v1/transactions?limit=${limit}&transactionType=1`);
    await walk(answers, shop, `/api/v1/transactions?limit=${limit}&status=1&currency=usdt-erc20`);
    await walk(answers, shop, `/api/v1/transactions?limit=${limit}&from=2026-01-31&status=2`);
  }
  for (const form of ["text/csv", "text/csv;for=people", "text/csv;for=people;separator=tab"]) {
    const { status, text } = await shop.get("/api/v1/transactions?transactionType=2", form);
    answers.set(`${shop.shop.name}: withdrawals as ${form}`, [`${status}, sha256 ${sha256(text)}`]);
  }
}

/** Every record that any list shows, as a whole, and the page that its customer sees. */
async function askRecords(
  answers: Answers,
  gateway: Gateway,
  shop: Shop,
): Promise<readonly ShopRecord[]> {
  const shown = new Map<string, ShopRecord>();
  for (const status of [0, 1, 2])
    for (const type of [1, 2])
      for (const currency of ["", ...currencyIds.map((id) => `&currency=${id}`)]) {
        const { text } = await shop.get(
          `/api/v1/transactions?status=${status}&transactionType=${type}${currency}`,
        );
        for (const one of recordsIn(text)) shown.set(one.transactionId, one);
      }
  const records = [...shown.values()].sort((a, b) => (a.transactionId < b.transactionId ? -1 : 1));
  for (const { transactionId, transactionType, orderId, paymentUrl = "" } of records) {
    const path = `/api/v1/transaction/${transactionId}?transactionType=${transactionType}`;
    answers.set(
      `${shop.shop.name}: record ${orderId} ${transactionId}`,
      whole(await shop.get(path)),
    );
    const list = `/api/v1/transactions?orderId=${encodeURIComponent(orderId)}`;
    answers.set(`${shop.shop.name}: ${list}`, short(await shop.get(list)));
    if (orderId === "in-partly" || orderId === "in-exact")
      await askRefunds(answers, shop, transactionId);
    if (paymentUrl === "") continue;
    const response = await fetch(`${gateway.url}${new URL(paymentUrl).pathname}/state`);
    answers.set(`${shop.shop.name}: page of ${orderId} ${transactionId}`, [
      `${response.status}`,
      await response.text(),
    ]);
  }
  return records;
}

/** One of the two was paid back. */
async function askRefunds(answers: Answers, shop: Shop, transactionId: string): Promise<void> {
  const refunds = `/api/v1/transactions?refundOf=${transactionId}`;
  answers.set(`${shop.shop.name}: ${refunds}`, short(await shop.get(refunds)));
}

async function askRest(answers: Answers, shop: Shop): Promise<void> {
  const paths = [
    "balances",
    "callbacks",
    "supportedCurrency",
    ...currencyIds.flatMap((id) => [`balance/${id}`, `estimate/${id}`]),
    "events",
    ...["after=0&limit=500", "after=0&limit=1"].map((query) => `events?${query}`),
  ];
  for (const path of paths)
    answers.set(`${shop.shop.name}: /api/v1/${path}`, whole(await shop.get(`/api/v1/${path}`)));
  const pages: string[] = [];
  for (let after = "0"; ; ) {
    const { status, text } = await shop.get(`/api/v1/events?after=${after}&limit=7`);
    if (status !== 200) break;
    const { events, next } = JSON.parse(text) as {
      readonly events: readonly { readonly id: string }[];
      readonly next: string;
    };
    pages.push(`${events.map(({ id }) => id).join(", ")}; next ${next}, sha256 ${sha256(text)}`);
    if (events.length === 0 || next === after) break;
    after = next;
  }
  if (pages.length > 0) answers.set(`${shop.shop.name}: events by sevens`, pages);
  const { interfaceKey } = shop.shop;
  if (interfaceKey === undefined) return;
  for (const path of ["transactions?status=1&currency=btc", "balance/eth", "supportedCurrency"])
    answers.set(
      `${shop.shop.name}: the interface's /api/v1/${path}`,
      whole(await shop.get(`/api/v1/${path}`, undefined, interfaceKey)),
    );
}

/** The text without the parts that differ from machine to machine, or from version to version. */
function masked(text: string, folder: string): string {
  return text
    .replaceAll(folder, "FOLDER")
    .replace(/\b\d+ [KM]iB\b/g, "SIZE")
    .replace(/("(?:databaseBytes|walBytes|freeBytes)":)\d+/g, "$1SIZE")
    .replace(/(a bug: \w+: [\w ]+)[^\n]*/, "$1") // without the places in the code
    .replaceAll("\r\n", "\n");
}

interface FixtureRecords {
  readonly shops: readonly FixtureShop[];
  readonly records: ReadonlyMap<string, readonly ShopRecord[]>;
}

/** Texts to look for: each way in which `find` finds something, and ones that nothing has. */
function textsToFind({ shops, records }: FixtureRecords): readonly string[] {
  const all = [...records.values()].flat();
  const named = (orderId: string): ShopRecord | undefined =>
    all.find((one) => one.orderId === orderId);
  const of = (orderIds: readonly string[], field: (one: ShopRecord) => string): readonly string[] =>
    orderIds.flatMap((orderId) => {
      const one = named(orderId);
      return one === undefined || field(one) === "" ? [] : [field(one)];
    });
  const ids = [
    "in-exact",
    "in-never",
    "in-gone",
    "in-tag",
    "out-auto",
    "out-void",
    "now-stuck",
    "out-gone",
    "mill-1",
  ];
  const places = [
    "in-exact",
    "in-over",
    "in-trc20",
    "in-btc",
    "in-tag",
    "out-auto",
    "out-tag",
    "out-manual",
    "in-1",
    "mill-2",
  ];
  const hashes = [
    "in-exact",
    "in-over",
    "in-trc20",
    "in-tag",
    "in-btc",
    "out-auto",
    "out-replaced",
    "out-assigned",
    "out-void-again",
  ];
  return [
    ...of(ids, ({ transactionId }) => transactionId),
    ...[
      "in-never",
      "in-over",
      "out-over",
      "in-1",
      "out-open",
      "mill-4",
      "now-recalled",
      "unattributed",
    ],
    ...of(places, ({ transactionType, depositAddress, receiverAddress }) =>
      transactionType === 1 ? depositAddress : receiverAddress,
    ),
    ...of(["in-tag", "in-tag-unpaid"], ({ depositAddress, tag }) => `${depositAddress} ${tag}`),
    ...of(["in-tag"], ({ depositAddress }) => `${depositAddress} tag 12345`),
    ...of(["out-auto"], ({ depositAddress }) => depositAddress),
    ...of(["in-exact"], ({ depositAddress }) => depositAddress.toLowerCase()),
    ...of(hashes, ({ txHash }) => txHash),
    ...[
      "0.5",
      "0.5 eth",
      "12 usdt-erc20",
      "1.5 usdt-erc20",
      "20",
      "66 usdt-trc20",
      "0.25 eth",
      "7777",
    ],
    ...shops.flatMap(({ merchantId, name }) => [merchantId, name]),
    ...["nothing has this name", "0".repeat(32), `0x${"0".repeat(64)}`],
  ];
}

const plainCommands: readonly (readonly string[])[] = [
  ...["status", "balances", "agents", "alarms", "audit", "prices"].map((one) => [one]),
  ...[
    "merchant list",
    "key list",
    "callbacks list",
    "callbacks deliveries",
    "deposits list",
    "deposits unattributed",
  ].map((one) => one.split(" ")),
  ...["withdrawals list", "sweeps list", "reconcile --last"].map((one) => one.split(" ")),
];

const moreCommands: readonly string[] = [
  ...[
    "deposits list --status 1",
    "deposits list --stage expired",
    "deposits list --limit 5",
    "deposits list --csv",
  ],
  ...[
    "withdrawals list --stage stuck",
    "withdrawals list --stage awaiting_approval",
    "withdrawals list --csv people",
  ],
  ...["sweeps list --csv", "reconcile --last --currency eth", "balances --csv"],
  ...["audit", "alarms", "callbacks deliveries"].map((list) => `${list} --limit 10000 --json`),
];

async function askCommands(
  answers: Answers,
  fixture: Fixture,
  known: FixtureRecords,
): Promise<void> {
  const say = async (
    words: readonly string[],
    configFile = fixture.configFile,
  ): Promise<string> => {
    const { text, code } = await sayCommand(configFile, words, storyEnds);
    const lines = [`exit ${code}`, ...masked(text, fixture.folder).trimEnd().split("\n")];
    answers.set(
      `$ gateway ${words.map((word) => (word.includes(" ") ? `"${word}"` : word)).join(" ")}`,
      lines,
    );
    return text;
  };
  for (const words of plainCommands) {
    await say(words);
    await say([...words, "--json"]);
  }
  for (const line of moreCommands) await say(line.split(" "));
  for (const { merchantId } of fixture.shops) {
    await say(["merchant", "show", merchantId]);
    await say(["reconcile", "--last", "--merchant", merchantId]);
    await say(["balances", "--merchant", merchantId]);
  }
  for (const [group, type] of [["deposits", 1] as const, ["withdrawals", 2] as const])
    for (const { transactionId } of [...known.records.values()]
      .flat()
      .filter((one) => one.transactionType === type))
      await say([group, "show", transactionId]);
  const sweeps = JSON.parse(await say(["sweeps", "list", "--limit", "10000", "--json"])) as {
    readonly sweeps: readonly { readonly transactionId: string }[];
  };
  for (const { transactionId } of sweeps.sweeps) await say(["sweeps", "show", transactionId]);
  for (const text of new Set(textsToFind(known))) await say(["find", text]);
  for (const text of ["in-never", "20"]) await say(["find", text, "--json", "--limit", "3"]);
  await askReports(fixture, say);
}

/** Reports, and the books of Ethereum, whose node answers from the file beside the fixture. */
async function askReports(
  fixture: Fixture,
  say: (words: readonly string[], configFile: string) => Promise<string>,
): Promise<void> {
  const node = await startKeptNode(fixture.chain);
  const text = configText({ isStory: false, nodes: { ethereum: [node.url] } });
  const configFile = prepareFolder(fixture.folder, text, "with-node.config.json");
  try {
    for (const month of ["2026-01", "2026-02"]) {
      await say(["report", "--month", month], configFile);
      await say(["report", "--month", month, "--json"], configFile);
    }
    await say(
      ["report", "--since", "2026-01-30", "--until", "2026-02-03T12:00:00Z", "--csv"],
      configFile,
    );
    for (const { merchantId } of fixture.shops.slice(0, 2))
      await say(["report", "--month", "2026-01", "--merchant", merchantId], configFile);
  } finally {
    await node.close();
  }
}

/** A closing of the books of Ethereum now, with the balances that the story's chain had. */
async function askBooks(answers: Answers, gateway: Gateway, fixture: Fixture): Promise<void> {
  const network = networks.ethereum;
  const all = Object.values(readConfig(fixture.configFile).currencies).filter(
    (one) => one.network === network,
  );
  const coin = all.find(({ contract }) => contract === "")?.id ?? null;
  const whole = {
    store: gateway.store,
    network,
    currencies: all,
    coin,
    merchant: null,
    isWhole: true,
  };
  const lines: string[] = [];
  try {
    const reader = keptReader(fixture.chain);
    const closed = await closeBooks({
      ...whole,
      reader,
      clock: () => storyEnds,
      rest: async () => {},
    });
    const { differences, entries, ...rest } = closed;
    lines.push(JSON.stringify({ ...rest, news: closed.news.length }));
    for (const row of [...differences, ...entries]) lines.push(JSON.stringify(row));
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    lines.push(error.code);
  }
  answers.set("books of Ethereum, closed now", lines);
}

/** Asks everything. The fixture's folder is used up: ask each folder once. */
export async function askAll(fixture: Fixture): Promise<Answers> {
  const answers: Answers = new Map();
  const records = new Map<string, readonly ShopRecord[]>();
  const gateway = await openFixture(fixture);
  try {
    for (const [index, each] of fixture.shops.entries()) {
      const shop = new Shop(gateway, each);
      await askRest(answers, shop);
      await askLists(answers, shop, index < 2);
      records.set(each.merchantId, await askRecords(answers, gateway, shop));
    }
  } finally {
    await gateway.close();
  }
  await askCommands(answers, fixture, { shops: fixture.shops, records });
  const again = await openFixture(fixture);
  try {
    await askBooks(answers, again, fixture);
  } finally {
    await again.close();
  }
  return answers;
}
