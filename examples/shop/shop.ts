/**
 * A shop: orders withdrawals and deposits, waits for their end, and receives callbacks. README.md
 * has the commands, the settings and the exit codes. Requests and signatures are the work of the
 * client; a shop outside of this project imports them from "autowithdraw-client". Amounts are text
 * from end to end: a number would round money.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Callback, verifyCallback } from "../../client/callbacks.ts";
import { createClient, type Result } from "../../client/client.ts";

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
  stdout.write(`${JSON.stringify(result.ok ? [200, result.value] : [isKnown(result) ? result.status : 0, result])}\n`);
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
    const result = await untilKnown(() => client.transaction(transactionId, kind === "withdrawal" ? 2 : 1));
    if (!result.ok || result.value.status !== 0) {
      print(result);
      return result.ok && result.value.status === 2 ? 1 : exitCode(result);
    }
    await sleep(pauseMs);
  }
}

type RecordEvent = Exclude<Callback, { readonly type: "webhook.test" }>;

/**
 * Stores the event durably, one file a record. False for a repeated event and for one that a newer
 * one overtook. A shop with a database does this and the work that follows from the event in one
 * transaction.
 */
function keep(event: RecordEvent): boolean {
  const { transactionId } = event.data;
  if (typeof transactionId !== "string" || !/^[A-Za-z0-9_-]{1,64}$/.test(transactionId)) throw new TypeError("transactionId");
  const path = join(records, `${transactionId}.json`);
  if (existsSync(path)) {
    const kept = JSON.parse(readFileSync(path, "utf8")) as Callback;
    if (kept.sequence >= event.sequence) return false;
  }
  writeFileSync(`${path}.new`, JSON.stringify(event), { flush: true });
  renameSync(`${path}.new`, path);
  const folder = openSync(records, "r");
  fsyncSync(folder);
  closeSync(folder);
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

async function statusFor(request: IncomingMessage): Promise<number> {
  try {
    const body = await bodyOf(request);
    return body === null ? 413 : receive(request.headers, body);
  } catch (error) {
    stderr.write(`a callback was not stored: ${error instanceof Error ? error.message : ""}\n`);
    return 500;
  }
}

function listen(): void {
  mkdirSync(records, { recursive: true });
  const server = createServer({ requestTimeout: 15_000 }, (request, response) => {
    void statusFor(request).then((status) => response.writeHead(status, { connection: "close" }).end());
  });
  server.listen(Number(env.PORT), "127.0.0.1");
}

const usage = `usage: shop withdraw ORDERID CURRENCY AMOUNT ADDRESS
       shop deposit ORDERID CURRENCY AMOUNT
       shop wait withdrawal|deposit TRANSACTIONID
       shop listen
`;

async function main([name = "", ...words]: readonly string[]): Promise<number> {
  const isOrder = (name === "withdraw" && words.length === 4) || (name === "deposit" && words.length === 3);
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
  if (name === "wait" && words.length === 2 && ["withdrawal", "deposit"].includes(orderId)) return waitForEnd(orderId, currency);
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
