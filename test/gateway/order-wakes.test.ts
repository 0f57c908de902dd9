/** The order of a new withdrawal's acts: stored, then awaited, and only then its agent is woken. */
import { describe, expect, it, vi } from "vitest";
import { auto, countOf, eachTestItsGateway, gateway, online, ready } from "../support/shop.ts";

eachTestItsGateway();

describe("a new order", () => {
  it("is awaited before its agent is woken, so that no answer is missed", async () => {
    await ready();
    online();
    const { waiters, signals } = gateway.service;
    const acts: string[] = [];
    vi.spyOn(waiters, "answered").mockImplementation(
      async ({ transactionId }) => void acts.push(`awaited ${transactionId}`),
    );
    signals.on("job", () => void acts.push("woken"));
    const { body } = await auto();
    expect(acts).toEqual([`awaited ${body.transactionId}`, "woken"]);
  });

  it("wakes its agent when it is on disk, and never if it was rolled back", async () => {
    await ready();
    const woken: (number | undefined)[] = [];
    gateway.service.signals.on("job", () => void woken.push(countOf("jobs")));
    const { database } = gateway.service.store;
    const real = database.run;
    const run = vi.spyOn(database, "run").mockImplementation((sql, ...values) => {
      const done = real(sql, ...values);
      if (sql.startsWith("INSERT INTO jobs")) throw new Error("planted");
      return done;
    });
    expect((await auto()).status).toBe(500);
    run.mockRestore();
    expect([woken, countOf("transfers"), countOf("jobs")]).toEqual([[], 0, 0]);
    expect((await auto()).status).toBe(200);
    expect([woken, countOf("transfers"), countOf("jobs")]).toEqual([[1], 1, 1]);
  });
});
