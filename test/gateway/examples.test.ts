/**
 * The PHP and Python programs of docs/api.md, as they stand there: each places an order at the
 * gateway and repeats it, and each takes the callbacks that are signed as Standard Webhooks says,
 * and no others.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { receiver, startTestGateway, type TestGateway } from "../../rig/gateway-server.ts";

const page = readFileSync(new URL("../../docs/api.md", import.meta.url), "utf8");
const languages = [
  {
    name: "PHP",
    fence: "php",
    ending: "php",
    program: "php",
    serve: (port: number) => ["-S", `127.0.0.1:${port}`, "callback.php"],
  },
  { name: "Python", fence: "python", ending: "py", program: "python3", serve: () => ["callback.py"] },
] as const;
const secret = `whsec_${randomBytes(24).toString("base64")}`;

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  gateway.clock.nowMs = Date.now();
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n ** 19n);
  folder = mkdtempSync(join(tmpdir(), "examples-"));
  for (const { fence } of languages) {
    for (const [, text = ""] of page.matchAll(new RegExp(`\`\`\`${fence}\\n([\\s\\S]*?)\`\`\``, "g"))) {
      writeFileSync(join(folder, /(\w+\.(?:php|py)):/.exec(text)?.[1] ?? "nameless"), text);
    }
  }
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Message {
  readonly id?: string;
  readonly timestamp?: number;
  readonly body?: string;
  readonly secrets?: readonly string[];
  readonly sent?: string; // in the place of the body that was signed
}

const body = JSON.stringify({ type: "withdrawal.completed", sequence: 1, data: { orderId: "out-77", note: "ş €" } });

/** Posts a message as Standard Webhooks 1.0.0 says; gives the status, 0 while nobody listens. */
function tell(port: number, message: Message = {}): Promise<number> {
  const { id = "msg_1", timestamp = Math.floor(Date.now() / 1000), secrets = [secret], body: signed = body } = message;
  const signatures = secrets.map((one) => {
    const key = Buffer.from(one.slice("whsec_".length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${signed}`).digest("base64")}`;
  });
  const text = message.sent ?? signed;
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
  return new Promise((resolve) => {
    const sending = request({ host: "127.0.0.1", port, method: "POST", path: "/hook", headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sending.on("error", () => resolve(0));
    sending.end(text);
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

describe.each(languages)("in $name", ({ program, ending, serve }) => {
  const isThere = spawnSync(program, ["--version"]).status === 0;
  if (!isThere) process.stderr.write(`\n*** SKIPPED for want of ${program}: apt-get install php-cli python3\n\n`);

  it.skipIf(!isThere)("in $name an order is placed, repeated without harm, and refused in words", async () => {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, SHOP_KEY: gateway.merchant.shopKey, BASE_URL: gateway.url };
    const order = async (amount: string) => {
      const args = [`shop.${ending}`, `out-${ending}`, "eth", amount, receiver];
      return JSON.parse((await promisify(execFile)(program, args, { cwd: folder, env })).stdout);
    };
    const first = await order("0.5");
    expect(first).toMatchObject([200, { status: 0, stage: "queued" }]);
    expect(await order("0.50")).toEqual(first);
    expect(await order("0.6")).toMatchObject([409, { code: "order_id_reused", transactionId: first[1].transactionId }]);
  });

  it.skipIf(!isThere)("in $name a callback is taken when it is signed, fresh and whole, and only then", async () => {
    const port = await freePort();
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, CALLBACK_SECRET: secret, PORT: `${port}` };
    const child = spawn(program, [...serve(port)], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (part) => (said += part));
    try {
      for (let tries = 0; tries < 100 && (await tell(port)) === 0; tries += 1) await new Promise((done) => setTimeout(done, 50));
      const other = `whsec_${randomBytes(24).toString("base64")}`;
      const now = Math.floor(Date.now() / 1000);
      const cases: readonly (readonly [Message, number])[] = [
        [{}, 204],
        [{ secrets: [other, secret] }, 204],
        [{ timestamp: now - 290 }, 204],
        [{ secrets: [other] }, 400],
        [{ secrets: [] }, 400],
        [{ timestamp: now - 310 }, 400],
        [{ timestamp: now + 310 }, 400],
        [{ sent: body.replace("out-77", "out-78") }, 400],
      ];
      for (const [message, status] of cases) expect(await tell(port, message), JSON.stringify(message)).toBe(status);
      expect(said).toContain("withdrawal.completed of out-77");
      expect(said).not.toContain("out-78");
    } finally {
      await stop(child);
    }
  });
});
