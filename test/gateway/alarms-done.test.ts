/** An alarm is open until an operator closes it: by number, or many of which none is dangerous. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { closeAlarms } from "../../gateway/operator/audit.ts";
import {
  type Alarm,
  countOpenAlarms,
  listOpenAlarms,
  recordAlarm,
} from "../../gateway/store/alarm.ts";
import { listActs } from "../../gateway/store/audit.ts";
import { type GatewayDatabase, gatewayDatabase } from "../../lab/kit/gateway-database.ts";

let db: GatewayDatabase;
beforeEach(() => {
  db = gatewayDatabase();
});
afterEach(() => db.remove());

const raise = (change: Partial<Alarm> = {}, once?: "once"): boolean =>
  db.store.write((database) =>
    recordAlarm(
      database,
      {
        ...{ at: 5, actor: "watcher", subject: "tx", detail: "it left the chain" },
        ...{ code: "WATCHER_GAP" },
        ...change,
      } as Alarm,
      once,
    ),
  );
const open = (): readonly number[] => listOpenAlarms(db.store.database).map(({ id }) => id);
const close = (numbers: readonly number[], upTo: number | null = null) =>
  closeAlarms(
    { store: db.store, nowMs: 9, actor: "operator Ayse" } as never,
    { numbers, upTo },
    "looked at",
  );

describe("an alarm", () => {
  it("is open until its number is closed, which stands in the audit with its reason", () => {
    raise();
    raise({ subject: "other" });
    const [first = 0, second = 0] = open();
    expect(countOpenAlarms(db.store.database)).toEqual({ count: 2, newestAt: 5 });
    expect(close([first])).toMatchObject({ ok: true, closed: [{ number: first }], left: [] });
    expect(open()).toEqual([second]);
    const [act] = listActs(db.store.database, { kind: "any", most: 1 });
    expect(act).toMatchObject({
      act: "closed alarm",
      subject: "tx",
      detail: `${first}: looked at`,
    });
    const listed = listActs(db.store.database, { kind: "alarm", most: 9 });
    expect(listed.map(({ id, isOpen }) => [id, isOpen])).toEqual([
      [second, 1],
      [first, 0],
    ]);
  });

  it("is closed with others or none of them", () => {
    raise();
    const [number = 0] = open();
    expect(close([number, number + 1])).toMatchObject({ ok: false, code: "GATEWAY_NO_ALARM" });
    expect(open()).toEqual([number]);
    expect(close([number, number])).toMatchObject({ ok: true, closed: [{ number }] });
    expect(close([number])).toMatchObject({ ok: false, code: "GATEWAY_NO_ALARM" });
    expect(close([], number)).toMatchObject({ ok: false, code: "GATEWAY_NO_ALARM" });
  });

  it("with money in danger is closed by its own number alone", () => {
    raise();
    raise({ code: "WATCHER_OUTGOING_FOREIGN", subject: "theft" } as never);
    raise({ subject: "later" });
    const [gap = 0, theft = 0, later = 0] = open();
    expect(close([], theft)).toMatchObject({
      ok: true,
      closed: [{ number: gap, code: "WATCHER_GAP", about: "tx" }],
      left: [{ number: theft, code: "WATCHER_OUTGOING_FOREIGN", about: "theft" }],
    });
    expect(open()).toEqual([theft, later]);
    expect(close([theft])).toMatchObject({ ok: true });
    expect(open()).toEqual([later]);
  });

  it("that an agent states is raised again after it was closed, and once while it is open", () => {
    expect([raise({ detail: "one" }, "once"), raise({ detail: "two" }, "once")]).toEqual([
      true,
      false,
    ]);
    close(open());
    expect([raise({ detail: "three" }, "once"), raise({ detail: "four" }, "once")]).toEqual([
      true,
      false,
    ]);
    expect(open()).toHaveLength(1);
    // The watcher's own, raised in each pass, stays closed.
    raise({ subject: "passes" });
    close(open());
    expect([raise({ subject: "passes" }), open()]).toEqual([false, []]);
  });
});
