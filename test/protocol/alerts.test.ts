/**
 * Alerts: the due ones and their time, the queue that hands them on, and the sender that runs a
 * command or posts. Real processes and sockets.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type AlertDelivery, createAlertQueue } from "../../base/alerts/queue/alert-queue.ts";
import {
  type Alert,
  type AlertCondition,
  type AlertStandings,
  observeConditions,
} from "../../base/alerts/queue/due-alerts.ts";
import { createAlertDelivery } from "../../base/alerts/queue/send.ts";
import { until } from "../support/until.ts";

const dayMs = 24 * 3_600_000;
const origin = { process: "courier", agent: "a1" } as const;
const held = (subject: string, afterMs = 0): AlertCondition => ({
  ...{ event: "withdrawal-held", subject, message: "waits", context: { amount: "1" }, afterMs },
  gravity: "warning",
});

/** Looks at the times given, each with its conditions; returns the alerts of each. */
function looks(
  ...steps: readonly (readonly [
    nowMs: number,
    conditions: readonly AlertCondition[],
    unknown?: readonly AlertCondition["event"][],
  ])[]
): readonly (readonly string[])[] {
  let standings: AlertStandings = new Map();
  return steps.map(([nowMs, conditions, unknown = []]) => {
    const seen = observeConditions(
      standings,
      { at: 1000 + nowMs, nowMs, conditions, unknown },
      origin,
    );
    standings = seen.standings;
    return seen.alerts.map(
      ({ event, subject, again }) => `${event} ${subject}${again ? " again" : ""}`,
    );
  });
}

describe("the due alerts", () => {
  it("a condition gives one alert while it lasts, and one when it ends", () => {
    expect(looks([0, [held("x")]], [1, [held("x")]], [2, []], [3, []])).toEqual([
      ["withdrawal-held x"],
      [],
      ["withdrawal-held-over x"],
      [],
    ]);
  });

  it("a condition gives its alert for each subject by itself, and again when it comes back", () => {
    expect(
      looks(
        [0, [held("x")]],
        [1, [held("x"), held("y")]],
        [2, [held("y")]],
        [3, [held("x"), held("y")]],
      ),
    ).toEqual([
      ["withdrawal-held x"],
      ["withdrawal-held y"],
      ["withdrawal-held-over x"],
      ["withdrawal-held x"],
    ]);
  });

  it("an alert comes again every 24 hours, not a millisecond before", () => {
    expect(
      looks(
        [0, [held("x")]],
        [dayMs - 1, [held("x")]],
        [dayMs, [held("x")]],
        [2 * dayMs - 1, [held("x")]],
      ),
    ).toEqual([["withdrawal-held x"], [], ["withdrawal-held x again"], []]);
  });

  it("an alert of an event with an end comes again after half of the time that is left, and every quarter of an hour at last", () => {
    const hourMs = 3_600_000;
    const ends = { ...held("x"), endsAt: 1000 + 24 * hourMs };
    const everyMinute = Array.from(
      { length: 24 * 60 + 60 },
      (_, minute) => [minute * 60_000, [ends]] as const,
    );
    const told = looks(...everyMinute).flatMap((alerts, minute) =>
      alerts.length === 0 ? [] : [minute],
    );
    expect(told.slice(0, 8)).toEqual([0, 720, 1080, 1260, 1350, 1395, 1418, 1433]);
    expect(told.slice(8)).toEqual([1448, 1463, 1478, 1493]);
  });

  it("alerts beyond those that can be taken are due again at the next look, ends too, and none is lost", () => {
    const many = Array.from({ length: 2_000 }, (_, index) => held(`x${index}`));
    let standings: AlertStandings = new Map();
    const look = (conditions: readonly AlertCondition[], alertsMax: number): readonly string[] => {
      const seen = observeConditions(
        standings,
        { at: 0, nowMs: 0, conditions, unknown: [], alertsMax },
        origin,
      );
      standings = seen.standings;
      return seen.alerts.map(({ event, subject }) => `${event} ${subject}`);
    };
    const begun = Array.from({ length: 9 }, () => look(many, 256));
    expect(begun.map(({ length }) => length)).toEqual([256, 256, 256, 256, 256, 256, 256, 208, 0]);
    expect(new Set(begun.flat()).size).toBe(2_000);
    const ended = Array.from({ length: 9 }, () => look([], 256));
    expect(new Set(ended.flat()).size).toBe(2_000);
    expect([ended.at(-1), standings.size]).toEqual([[], 0]);
  });

  it("a condition waits until it has lasted long enough; one that ended before was nothing", () => {
    const slow = held("x", 500);
    expect(looks([0, [slow]], [499, [slow]], [500, [slow]])).toEqual([
      [],
      [],
      ["withdrawal-held x"],
    ]);
    expect(looks([0, [slow]], [499, []], [500, [slow]], [999, [slow]])).toEqual([[], [], [], []]);
  });

  it("a condition does not end because it cannot be seen", () => {
    expect(looks([0, [held("x")]], [1, [], ["withdrawal-held"]], [2, [], []])).toEqual([
      ["withdrawal-held x"],
      [],
      ["withdrawal-held-over x"],
    ]);
  });

  it("an alert says since when, by whom, how grave, in the form of docs/events.md", () => {
    const first = observeConditions(
      new Map(),
      { at: 0, nowMs: 0, conditions: [held("x", 10)], unknown: [] },
      origin,
    );
    const second = observeConditions(
      first.standings,
      { at: 60_000, nowMs: 10, conditions: [held("x", 10)], unknown: [] },
      origin,
    );
    expect(second.alerts).toEqual([
      {
        ...{
          alert: 1,
          at: "1970-01-01T00:01:00.000Z",
          event: "withdrawal-held",
          level: "warn",
          process: "courier",
          agent: "a1",
        },
        ...{
          subject: "x",
          since: "1970-01-01T00:00:00.000Z",
          again: false,
          gravity: "warning",
          message: "warning: waits",
          context: { amount: "1" },
        },
        hint: "show, then approve or refuse it",
      },
    ]);
  });

  it("an alert says what it is worth waking for, is sent at once when that rises, and its end wakes nobody", () => {
    let standings: AlertStandings = new Map();
    const look = (nowMs: number, ...gravities: readonly AlertCondition["gravity"][]) => {
      const conditions = gravities.map((gravity) => ({ ...held("x"), gravity }));
      const seen = observeConditions(standings, { at: 0, nowMs, conditions, unknown: [] }, origin);
      standings = seen.standings;
      return seen.alerts.map(({ gravity, message }) => [gravity, message]);
    };
    expect(look(0, "warning")).toEqual([["warning", "warning: waits"]]);
    expect(look(1, "broken")).toEqual([["broken", "does not work: waits"]]);
    expect(look(2, "broken")).toEqual([]);
    expect(look(3, "wake")).toEqual([["wake", "wake somebody: waits"]]);
    expect(look(4, "warning")).toEqual([]);
    expect(look(5, "wake")).toEqual([]);
    expect(look(6)).toEqual([["warning", "over: waits"]]);
  });

  it("an alert comes again when what had become less grave is grave again, a quarter of an hour after the last at the soonest", () => {
    let standings: AlertStandings = new Map();
    const look = (minute: number, gravity: AlertCondition["gravity"]) => {
      const conditions = [{ ...held("x"), gravity }];
      const times = { at: 0, nowMs: minute * 60_000 };
      const seen = observeConditions(standings, { ...times, conditions, unknown: [] }, origin);
      standings = seen.standings;
      return seen.alerts.map((one) => one.gravity);
    };
    expect(look(0, "broken")).toEqual(["broken"]);
    expect(look(60, "broken")).toEqual([]);
    expect(look(61, "warning")).toEqual([]);
    expect(look(62, "broken")).toEqual(["broken"]);
    expect(look(63, "warning")).toEqual([]);
    expect(look(64, "broken")).toEqual([]);
    expect(look(76, "broken")).toEqual([]);
    expect(look(77, "broken")).toEqual(["broken"]);
    expect(look(120, "broken")).toEqual([]);
  });

  it("are bounded: beyond twenty thousand at once the rest waits", () => {
    const many = Array.from({ length: 30_000 }, (_, index) => held(`${index}`));
    const seen = observeConditions(
      new Map(),
      { at: 0, nowMs: 0, conditions: many, unknown: [] },
      origin,
    );
    expect([seen.alerts.length, seen.standings.size]).toEqual([20_000, 20_000]);
    const later = observeConditions(
      seen.standings,
      { at: 1, nowMs: 1, conditions: many.slice(20_000), unknown: [] },
      origin,
    );
    expect(later.alerts.filter(({ event }) => event === "withdrawal-held")).toHaveLength(10_000);
  });
});

const alert = (subject: string): Alert => {
  const [made] = observeConditions(
    new Map(),
    { at: 0, nowMs: 0, conditions: [held(subject)], unknown: [] },
    origin,
  ).alerts;
  if (made === undefined) throw new Error("nothing is due");
  return made;
};

function alertQueueOn(deliver: AlertDelivery) {
  const told: string[] = [];
  const dropped: string[] = [];
  const alertQueue = createAlertQueue({
    deliver,
    onTold: ({ subject }) => told.push(subject),
    onFailed: () => undefined,
    onDropped: ({ subject }, why) => dropped.push(`${subject}: ${why}`),
    retryMs: { first: 1, most: 2 },
  });
  return { alertQueue, told, dropped };
}

describe("the queue", () => {
  it("hands on one at a time, in order", async () => {
    let inside = 0;
    let most = 0;
    const { alertQueue, told } = alertQueueOn(async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 2));
      inside -= 1;
      return "";
    });
    alertQueue.take([alert("a"), alert("b")]);
    alertQueue.take([alert("c")]);
    await until(() => told.length === 3);
    expect([told, most]).toEqual([["a", "b", "c"], 1]);
    alertQueue.close();
  });

  it("tries again what failed until it is taken, and says meanwhile what is wrong", async () => {
    let tries = 0;
    const { alertQueue, told } = alertQueueOn(async () => {
      tries += 1;
      return tries < 4 ? "no" : "";
    });
    alertQueue.take([alert("a")]);
    await until(() => alertQueue.trouble() === "no");
    await until(() => told.length === 1);
    expect([tries, alertQueue.trouble(), alertQueue.counts()]).toEqual([
      4,
      "",
      { told: 1, failures: 3, dropped: 0, waiting: 0 },
    ]);
    alertQueue.close();
  });

  it("gives up after a bounded number of tries, and goes on with the next", async () => {
    const { alertQueue, told, dropped } = alertQueueOn(async (body) =>
      body.includes('"subject":"bad"') ? "no" : "",
    );
    alertQueue.take([alert("bad"), alert("good")]);
    await until(() => told.length === 1);
    expect([told, dropped, alertQueue.counts()]).toEqual([
      ["good"],
      ["bad: no"],
      { told: 1, failures: 18, dropped: 1, waiting: 0 },
    ]);
    alertQueue.close();
  });

  it("keeps 256, drops the oldest, and counts them", () => {
    const { alertQueue, dropped } = alertQueueOn(() => new Promise(() => {}));
    alertQueue.take([alert("first")]);
    alertQueue.take(Array.from({ length: 258 }, (_, index) => alert(`${index}`)));
    expect([alertQueue.counts().waiting, alertQueue.counts().dropped]).toEqual([256, 3]);
    // The alert under way is not dropped: nobody knows whether it was taken.
    expect(dropped.map((text) => text.split(":")[0])).toEqual(["0", "1", "2"]);
    alertQueue.close();
  });
});

const folder = mkdtempSync(join(tmpdir(), "alerts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, text: string): readonly string[] {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return [path];
}

/** Gone, or a zombie that its new parent has not collected. */
function isGone(pid: string): boolean {
  try {
    return / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

describe("a command", () => {
  it("gets the alert on stdin, its arguments as they are, and a clean environment", async () => {
    process.env.ALERT_TEST_SECRET = "do not pass this on";
    const out = join(folder, "out");
    const command = [
      ...program("tell", `cat >${out}; echo "$1" >>${out}; env >>${out}`),
      "a b; $(touch /nowhere)",
    ];
    expect(await createAlertDelivery({ kind: "command", command })('{"alert":1}')).toBe("");
    delete process.env.ALERT_TEST_SECRET;
    const text = readFileSync(out, "utf8");
    expect(text).toContain('{"alert":1}\na b; $(touch /nowhere)\n');
    expect(text).not.toContain("ALERT_TEST_SECRET");
    expect(text).toContain("PATH=/usr/local/sbin");
  });

  it("that fails, is missing or says too much is told in one short line", async () => {
    const failing = createAlertDelivery({
      kind: "command",
      command: program("fail", "echo first; echo second >&2; exit 3"),
    });
    expect(await failing("{}")).toMatch(/^the command ended with 3: first second$/);
    expect(
      await createAlertDelivery({ kind: "command", command: [join(folder, "absent")] })("{}"),
    ).toBe("the command could not be started (ENOENT)");
    const loud = createAlertDelivery({
      kind: "command",
      command: program("loud", "yes | head -c 1000000; exit 1"),
    });
    expect((await loud("{}")).length).toBeLessThanOrEqual(200);
  });

  it("that takes too long is ended with all it started", async () => {
    const started = join(folder, "started");
    const slow = program("slow", `sleep 300 & echo $! > ${started}; wait`);
    expect(await createAlertDelivery({ kind: "command", command: slow }, 2_000)("{}")).toBe(
      "the command took longer than 2 s and was ended",
    );
    const pid = readFileSync(started, "utf8").trim();
    await until(() => isGone(pid));
  });
});

describe("an address", () => {
  const serve = async (
    listener: RequestListener,
  ): Promise<{ readonly url: string; close(): void }> => {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}/hook?token=sesame`,
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    };
  };

  it("gets the alert as JSON by POST, and 2xx is a yes", async () => {
    let got = "";
    const there = await serve((request, response) => {
      got = `${request.method} ${request.url} ${request.headers["content-type"]} `;
      request.on("data", (part) => (got += String(part)));
      request.on("end", () => response.writeHead(204).end());
    });
    expect(await createAlertDelivery({ kind: "url", url: there.url })('{"alert":1}')).toBe("");
    expect(got).toBe('POST /hook?token=sesame application/json {"alert":1}');
    there.close();
  });

  it("that redirects, refuses, hangs or is away is a no, and no word shows the address", async () => {
    let asked = 0;
    const elsewhere = await serve((_request, response) => {
      asked += 1;
      response.end();
    });
    const redirecting = await serve((_request, response) =>
      response.writeHead(302, { location: elsewhere.url }).end(),
    );
    const refusing = await serve((_request, response) => response.writeHead(500).end("sesame"));
    const hanging = await serve(() => undefined);
    const answers = [
      await createAlertDelivery({ kind: "url", url: redirecting.url })("{}"),
      await createAlertDelivery({ kind: "url", url: refusing.url })("{}"),
      await createAlertDelivery({ kind: "url", url: hanging.url }, 200)("{}"),
    ];
    for (const server of [elsewhere, redirecting, refusing, hanging]) server.close();
    answers.push(await createAlertDelivery({ kind: "url", url: hanging.url })("{}"));
    expect(answers).toEqual([
      "the address answered 302",
      "the address answered 500",
      "the address took longer than 0.2 s",
      "the address could not be reached (ECONNREFUSED)",
    ]);
    expect(asked).toBe(0);
  });
});
