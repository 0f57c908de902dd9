/**
 * The shops of examples/shop as receivers: the gateway's own callbacks, a repeated one after a
 * restart, webhook.test, and messages that must be refused.
 */
import type { ChildProcess } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordOf } from "../../gateway/answer/record.ts";
import { type Callbacks, startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import { type CallbackSender, createCallbackSender } from "../../gateway/callbacks/send.ts";
import {
  addCallback,
  callbackDeliveries,
  redeliverCallback,
  testCallback,
} from "../../gateway/operator/callbacks.ts";
import { receiver, startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { freePort } from "../../lab/kit/processes.ts";
import { startsTheBuild } from "../support/built.ts";
import { until } from "../support/until.ts";
import { shops, stop } from "./shops.ts";

startsTheBuild();

let gateway: TestGateway;
let callbacks: Callbacks;
let callbackSender: CallbackSender;
let folder: string;
beforeAll(async () => {
  gateway = await startTestGateway({ callbacks: { allowPrivate: true, timeoutSeconds: 5 } });
  gateway.runClock();
  expect((await gateway.pair()).status).toBe(200);
  gateway.fund("eth", 10n ** 20n);
  const { service } = gateway;
  callbackSender = createCallbackSender({
    settings: service.config.callbacks,
    monotonic: () => performance.now(),
  });
  callbacks = startCallbacks({
    ...{ ...service, random: randomBytes, sealingKey: service.key.sealingKey },
    ...{
      invoiceOf: (one) => ({ invoice: one.id }),
      recordOf: (one) => recordOf(one, service),
      fiatValueOf: () => "",
      callbackSender,
    },
  });
  folder = mkdtempSync(join(tmpdir(), "shop-callbacks-"));
});
afterAll(async () => {
  callbacks.close();
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Message {
  readonly timestamp?: number;
  readonly secrets: readonly string[];
  readonly body: string;
  readonly sent?: string; // in the place of the body that was signed
}

/** Posts a message as Standard Webhooks 1.0.0 says; gives the status, 0 while nobody listens. */
function post(
  port: number,
  { timestamp = Math.floor(Date.now() / 1000), secrets, body, sent = body }: Message,
): Promise<number> {
  const id = "msg_1";
  const signatures = secrets.map((one) => {
    const key = Buffer.from(one.slice("whsec_".length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  const headers = {
    ...{
      "content-type": "application/json",
      "content-length": Buffer.byteLength(sent),
      "webhook-id": id,
    },
    ...{ "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") },
  };
  return new Promise((resolve) => {
    const sending = request(
      { host: "127.0.0.1", port, method: "POST", path: "/hook", headers },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    sending.on("error", () => resolve(0));
    sending.end(sent);
  });
}

const other = `whsec_${randomBytes(24).toString("base64")}`;

describe.each(shops)("callbacks in $name", ({ name, isThere, listen }) => {
  const said: string[] = [];
  let child: ChildProcess | null = null;
  let records: string;

  async function begin(port: number, secret: string): Promise<void> {
    records = join(folder, name);
    child = listen(port, { CALLBACK_SECRET: secret, RECORDS: records });
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (part) => said.push(String(part)));
    const unsigned = { secrets: [], body: "{}" };
    for (let tries = 0; tries < 200 && (await post(port, unsigned)) === 0; tries += 1)
      await new Promise((done) => setTimeout(done, 50));
  }

  const times = (text: string): number => said.join("").split(text).length - 1;

  afterAll(async () => {
    if (child !== null) await stop(child);
  });

  it.skipIf(!isThere)(
    `the shop in ${name} takes the gateway's callbacks once each, also after a restart, and webhook.test`,
    async () => {
      const port = await freePort();
      const target = {
        merchant: gateway.merchant.merchantId,
        url: `http://127.0.0.1:${port}/hook`,
        events: [],
      };
      const added = addCallback(gateway.operator, target, gateway.service.config.callbacks);
      if (!added.ok) throw new Error(added.code);
      const { secret, callbackId } = added;
      await begin(port, secret);
      expect(await testCallback(gateway.operator, callbackId, callbackSender)).toMatchObject({
        ok: true,
        taken: true,
      });
      const order = { currency: "eth", amount: "0.5", address: receiver, orderId: `out-${name}` };
      const { transactionId } = (await gateway.call("POST", "/api/v1/autoWithdraw", order)).body;
      const ofIt = () =>
        callbackDeliveries(gateway.operator, { target: callbackId }, 10).find(
          ({ type }) => type === "withdrawal.created",
        );
      await until(
        () => times(`withdrawal.created of out-${name}`) === 1 && ofIt()?.state === "delivered",
      );
      const kept = JSON.parse(readFileSync(join(records, `${transactionId}.json`), "utf8"));
      expect(kept).toMatchObject({
        type: "withdrawal.created",
        data: { transactionId, amount: "0.5", status: 0 },
      });

      await stop(child as ChildProcess);
      await begin(port, secret);
      expect(redeliverCallback(gateway.operator, ofIt()?.delivery ?? 0)).toEqual({ ok: true });
      gateway.service.signals.emit("changed", { transactionId: "" });
      await until(() => ofIt()?.state === "delivered" && ofIt()?.tries.length === 2);
      expect(ofIt()?.tries.map(({ status }) => status)).toEqual([204, 204]);
      expect([
        times("withdrawal.created"),
        times("webhook.test"),
        times("webhook.test of"),
      ]).toEqual([1, 1, 0]);

      // A newer event overtakes one that comes late.
      const event = (sequence: number, type: string) => ({
        secrets: [secret],
        body: JSON.stringify({ ...kept, sequence: kept.sequence + sequence, type }),
      });
      expect(await post(port, event(2, "withdrawal.completed"))).toBe(204);
      expect(await post(port, event(1, "withdrawal.broadcast"))).toBe(204);
      expect([times("withdrawal.completed"), times("withdrawal.broadcast")]).toEqual([1, 0]);
      await stop(child as ChildProcess);
    },
  );

  it.skipIf(!isThere)(
    `the shop in ${name} takes a callback that is signed, fresh and whole, and only that`,
    async () => {
      const port = await freePort();
      const secret = `whsec_${randomBytes(24).toString("base64")}`;
      await begin(port, secret);
      const now = Math.floor(Date.now() / 1000);
      let sequence = 0;
      const body = (transactionId = "a".repeat(32)): string => {
        sequence += 1;
        const data = { transactionId, orderId: `direct-${sequence}`, note: "ş €" };
        return JSON.stringify({
          type: "withdrawal.failed",
          timestamp: "2026-01-02T03:18:40.120Z",
          sequence,
          data,
        });
      };
      const good = body();
      const cases: readonly (readonly [Message, number])[] = [
        [{ secrets: [secret], body: good }, 204],
        [{ secrets: [other, secret], body: body() }, 204],
        [{ secrets: [secret], body: body(), timestamp: now - 290 }, 204],
        [{ secrets: [other], body: body() }, 400],
        [{ secrets: [], body: body() }, 400],
        [{ secrets: [secret], body: body(), timestamp: now - 310 }, 400],
        [{ secrets: [secret], body: body(), timestamp: now + 310 }, 400],
        [{ secrets: [secret], body: good, sent: good.replace("direct-1", "direct-9") }, 400],
        // Signed, and yet no record's name: nothing outside the folder is written.
        [{ secrets: [secret], body: body("../outside") }, 500],
      ];
      for (const [message, status] of cases)
        expect(await post(port, message), JSON.stringify(message)).toBe(status);
      await until(() => times("withdrawal.failed of direct-3") === 1);
      expect([times("direct-1"), times("direct-2"), times("withdrawal.failed")]).toEqual([1, 1, 3]);
      // A disk that does not take it.
      mkdirSync(join(records, `${"b".repeat(32)}.json.new`));
      expect(await post(port, { secrets: [secret], body: body("b".repeat(32)) })).toBe(500);
    },
  );
});
