/**
 * A shop: orders withdrawals and deposits, waits for their end, shows the payment page to its
 * customers, and receives callbacks. README.md has the commands, the settings and the exit codes.
 * Requests and signatures are the work of the client; a shop outside of this project imports them
 * from "autowithdraw-client". Amounts are text from end to end: a number would round money.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Callback, verifyCallback } from "../../clients/typescript/callbacks.ts";
import { createClient, type Result } from "../../clients/typescript/client.ts";

const { env, stdout, stderr } = process;
const pauseMs = Number(env.PAUSE_SECONDS ?? "1") * 1000;
const records = env.RECORDS ?? "records";
const triesMax = 6;
const retryAfterMsMax = 60_000;
const bytesMax = 1_048_576;

const shopClient = () =>
  createClient({
    baseUrl: env.BASE_URL ?? "",
    key: { apiKey: env.SHOP_KEY ?? "" },
    timeoutMs: Number(env.TIMEOUT_SECONDS ?? "30") * 1000, // a withdrawal may wait 10 s for the agent
  });

/** A proxy's own error page, of whatever status, says as little as no answer: same order again. */
const isKnown = <T>(result: Result<T>): boolean => result.ok || result.retry !== "same-order";

/**
 * Sends the very same request until its answer is known. A repeated order never pays twice.
 */
async function untilKnown<T>(ask: () => Promise<Result<T>>): Promise<Result<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await ask();
    if (result.ok || isKnown(result) || attempt === triesMax) return result;
    await sleep(Math.min(result.retryAfterMs ?? pauseMs * attempt, retryAfterMsMax));
  }
}

/** 3 stands for "not known": a 401, for instance, says nothing of an earlier try. */
function exitCode<T>(result: Result<T>): number {
  if (result.ok) return 0;
  return isKnown(result) && [400, 404, 409, 422].includes(result.status) ? 1 : 3;
}

function print<T>(result: Result<T>): void {
  stdout.write(
    `${JSON.stringify(result.ok ? [200, result.value] : [isKnown(result) ? result.status : 0, result])}\n`,
  );
}

async function orderAndPrint<T>(ask: () => Promise<Result<T>>): Promise<number> {
  // A shop stores the order and its orderId in its database before this line, and the answer
  // after it.
  const result = await untilKnown(ask);
  print(result);
  return exitCode(result);
}

/** Asks until the record is Completed (0) or Failed (1). Pending is never an end. */
async function waitForEnd(kind: string, transactionId: string): Promise<number> {
  const client = shopClient();
  for (;;) {
    const result = await untilKnown(() =>
      client.transaction(transactionId, kind === "withdrawal" ? 2 : 1),
    );
    if (!result.ok || result.value.status !== 0) {
      print(result);
      return result.ok && result.value.status === 2 ? 1 : exitCode(result);
    }
    await sleep(pauseMs);
  }
}

/** Writes a file of RECORDS durably and completely, or not at all. */
function store(name: string, content: object): void {
  const path = join(records, `${name}.json`);
  writeFileSync(`${path}.new`, JSON.stringify(content), { flush: true });
  renameSync(`${path}.new`, path);
  const folder = openSync(records, "r");
  fsyncSync(folder);
  closeSync(folder);
}

function stored<T>(name: string): T | null {
  const path = join(records, `${name}.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as T) : null;
}

type RecordEvent = Exclude<Callback, { readonly type: "webhook.test" }>;

/**
 * Stores the event durably, one file a record. False for a repeated event and for one that a newer
 * one overtook. A shop with a database does this and the work that follows from the event in one
 * transaction.
 */
function keep(event: RecordEvent): boolean {
  const { transactionId } = event.data;
  if (typeof transactionId !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(transactionId))
    throw new TypeError("transactionId");
  if ((stored<RecordEvent>(transactionId)?.sequence ?? -1) >= event.sequence) return false;
  store(transactionId, event);
  return true;
}

/**
 * The status to answer: 204 only once the event is stored, since every other one brings it again.
 */
function receive(headers: IncomingMessage["headers"], body: Buffer): number {
  const checked = verifyCallback(env.CALLBACK_SECRET ?? "", { headers, body });
  if (!checked.ok) return 400;
  const event = checked.callback;
  if (event.type === "webhook.test")
    stdout.write("webhook.test\n"); // it has no record
  else if (keep(event)) stdout.write(`${event.type} of ${event.data.orderId}\n`);
  return 204;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > bytesMax) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

interface Page {
  readonly status: number;
  readonly location?: string;
  readonly html?: string;
}

/** The price of the one thing that this shop sells. */
const price = { currency: env.CURRENCY ?? "usdt-erc20", amount: env.PRICE ?? "25" };
const shopUrl = (): string => (env.SHOP_URL ?? `http://127.0.0.1:${env.PORT}`).replace(/\/+$/, "");
const plain = (text: string): string =>
  text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
const html = (title: string, more = ""): string =>
  `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shop</title><h1>${title}</h1>${more}`;

interface Order {
  readonly orderId: string;
  readonly currency: string;
  readonly amount: string;
  readonly transactionId?: string;
  readonly paymentUrl?: string;
}

/** Stores the order, and only the customer's next page sends it: so it is never lost. */
function buy(): Page {
  const orderId = `in-${randomBytes(16).toString("hex")}`; // also the customer's right to see it
  store(orderId, { orderId, ...price });
  return { status: 303, location: `/order/${orderId}` };
}

/** The order with its payment page; without an answer the next call sends the very same order. */
async function ordered(order: Order): Promise<Order | Page> {
  if (order.paymentUrl !== undefined) return order;
  const { orderId, currency, amount } = order;
  const returnUrl = `${shopUrl()}/order/${orderId}`;
  const result = await shopClient().createTransactionRequest({
    orderId,
    currency,
    amount,
    returnUrl,
  });
  if (result.ok) {
    const { transactionId, paymentUrl } = result.value;
    store(orderId, { ...order, transactionId, paymentUrl });
    return { ...order, transactionId, paymentUrl };
  }
  if (!isKnown(result))
    return {
      status: 200,
      html: html(
        "One moment, please / Bir dakika lütfen",
        '<meta http-equiv="refresh" content="5">',
      ),
    };
  stderr.write(`${orderId} was refused: ${result.code} ${result.message}\n`);
  return { status: 503, html: html("Not for sale right now / Şu anda satışta değil") };
}

/** The record's status: the newest callback's, else the service's own answer. */
async function statusOf(transactionId: string): Promise<number> {
  const event = stored<RecordEvent>(transactionId);
  if (event !== null) return event.data.status;
  const result = await shopClient().transaction(transactionId, 1);
  return result.ok ? result.value.status : 0;
}

async function orderPage(orderId: string): Promise<Page> {
  const order = /^in-[0-9a-f]{32}$/.test(orderId) ? stored<Order>(orderId) : null;
  if (order === null)
    return { status: 404, html: html("There is no such order / Böyle bir sipariş yok") };
  const done = await ordered(order);
  if (!("orderId" in done)) return done;
  const status = await statusOf(done.transactionId ?? "");
  if (status === 1) return { status: 200, html: html("Paid, thank you / Ödendi, teşekkürler") };
  const url = plain(done.paymentUrl ?? "");
  const link = `<p><a href="${url}">Payment page / Ödeme sayfası</a></p>`;
  if (status === 2)
    return { status: 200, html: html("This order has ended / Bu sipariş sona erdi", link) };
  const frame = `<iframe src="${url}" title="Payment" width="100%" height="900" allow="clipboard-write"></iframe>`;
  return { status: 200, html: html("Please pay / Lütfen ödeyin", `${link}${frame}`) };
}

async function pageFor(request: IncomingMessage): Promise<Page> {
  const path = request.url?.split("?")[0] ?? "";
  try {
    if (request.method === "POST" && path === "/hook") {
      const body = await bodyOf(request);
      return { status: body === null ? 413 : receive(request.headers, body) };
    }
    if (request.method === "POST" && path === "/buy") return buy();
    const button = '<form method="post" action="/buy"><button>Buy / Satın al</button></form>';
    if (path === "/")
      return {
        status: 200,
        html: html(plain(`One cup: ${price.amount} ${price.currency}`), button),
      };
    return await orderPage(path.replace(/^\/order\//, ""));
  } catch (error) {
    stderr.write(`${path}: nothing was stored: ${error instanceof Error ? error.message : ""}\n`);
    return { status: 500 };
  }
}

function listen(): void {
  mkdirSync(records, { recursive: true });
  const server = createServer({ requestTimeout: 15_000 }, (request, response) => {
    void pageFor(request).then(({ status, location, html: body }) => {
      const type = body === undefined ? {} : { "content-type": "text/html; charset=utf-8" };
      response
        .writeHead(status, {
          connection: "close",
          ...type,
          ...(location === undefined ? {} : { location }),
        })
        .end(body);
    });
  });
  server.listen(Number(env.PORT), "127.0.0.1");
}

const usage = `usage: shop withdraw ORDERID CURRENCY AMOUNT ADDRESS
       shop deposit ORDERID CURRENCY AMOUNT
       shop wait withdrawal|deposit TRANSACTIONID
       shop listen
`;

async function main([name = "", ...words]: readonly string[]): Promise<number> {
  const isOrder =
    (name === "withdraw" && words.length === 4) || (name === "deposit" && words.length === 3);
  const [orderId = "", currency = "", amount = "", address = ""] = words;
  if (isOrder && !/^[0-9]+(\.[0-9]+)?$/.test(amount)) {
    stderr.write("shop: AMOUNT must be plain digits such as 0.5\n");
    return 2;
  }
  if (isOrder) {
    const client = shopClient();
    const order = { orderId, currency, amount };
    return name === "withdraw"
      ? orderAndPrint(() => client.autoWithdraw({ ...order, address }))
      : orderAndPrint(() => client.createTransactionRequest(order));
  }
  if (name === "wait" && words.length === 2 && ["withdrawal", "deposit"].includes(orderId))
    return waitForEnd(orderId, currency);
  stderr.write(usage);
  return 2;
}

if (process.argv[2] === "listen") listen();
else {
  main(process.argv.slice(2)).then(
    (code) => {
      process.exitCode = code;
    },
    (error: unknown) => {
      stderr.write(`shop: ${error instanceof Error ? error.message : ""}\n`); // settings that are none
      process.exitCode = 2;
    },
  );
}
