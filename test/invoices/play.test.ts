/** Invoices in random order, each rule judged after each step (lab/invoices/play.ts). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type InvoiceOutcome, InvoicePlay } from "../../lab/invoices/play.ts";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { seedsOfRun } from "../../lab/kit/seeded.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
  expect((await gateway.pair()).status).toBe(200);
});
afterAll(() => gateway.close());

/** Seeds that together meet each end and exception. */
const known = [...Array.from({ length: 60 }, (_, at) => at + 1), 109, 134, 157, 207];

it("invoices keep every rule in any order, and each end and exception comes", async () => {
  const met = new Set<InvoiceOutcome>();
  for (const seed of known) {
    const play = new InvoicePlay(gateway, seed);
    await play.run();
    for (const one of play.met) met.add(one);
  }
  expect([...met].sort()).toEqual([
    ...["accepted", "cancelled", "completed", "expired", "late", "newPrice", "over"],
    ...["short", "surplus"],
  ]);
});

it("invoices keep every rule in orders that nobody has played", async () => {
  for (const seed of seedsOfRun(20)) await new InvoicePlay(gateway, seed).run();
});
