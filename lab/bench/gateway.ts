/**
 * The real gateway process over loopback: CPU of a POST with and without open withdrawals beside
 * what it cannot do without, pages by every filter of a long list beside those of a short one, a
 * burst of new connections, and whole lists as streams.
 */

import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createTokenMaker } from "../../clients/typescript/signature-token.ts";
import { verifyToken } from "../../gateway/auth/authenticate.ts";
import { markTokenSeen } from "../../gateway/store/jtis.ts";
import { type StartedProcess, stop } from "../kit/processes.ts";
import { cpuUsOf } from "./cpu.ts";
import { median, rounded as roundedTo } from "./figures.ts";
import {
  fillRecords,
  type MeasuredFolder,
  makeMeasuredFolder,
  openOf,
  receiver,
  startMeasured,
} from "./gateway-folder.ts";
import { ask, drain } from "./requests.ts";

const openWithdrawals = 10_000;
const fewRecords = 1_000;
const rounds = 7;
const warmRounds = 3; // code that has run a while is what a gateway runs
const postsPerRound = 1_000;
const postsInFlight = 16;
const burstConnections = 64;
const listsAtOnce = 16;

const rounded = (value: number, digits = 2): number => roundedTo(value, digits);

let orders = 0;
const orderBody = (): string => {
  orders += 1;
  return JSON.stringify({
    currency: "eth",
    amount: "0.000001",
    orderId: `bench-${orders}`,
    address: receiver,
  });
};

/** So many orders, some at once; CPU of the gateway for each, in microseconds. */
async function postsCpuUs(folder: MeasuredFolder, pid: number, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: postsInFlight });
  const before = cpuUsOf(pid);
  let left = count;
  const one = async (): Promise<void> => {
    for (; left > 0; ) {
      left -= 1;
      await drain(
        await ask(folder.url, {
          path: "/autoWithdraw",
          shopKey: folder.shopKey,
          body: orderBody(),
          agent,
        }),
      );
    }
  };
  await Promise.all(Array.from({ length: postsInFlight }, one));
  const usUsed = (cpuUsOf(pid) - before) / count;
  agent.destroy();
  return usUsed;
}

/**
 * CPU of one token check and of one durable commit, with the gateway's own functions, in this
 * process.
 */
async function floorUs(
  folder: MeasuredFolder,
): Promise<{ readonly tokenUs: number; readonly commitUs: number }> {
  const store = openOf(folder.database);
  const make = createTokenMaker({ apiKey: folder.few.shopKey });
  const at = { store, sealingKey: folder.key.sealingKey, publicUrl: folder.url, nowMs: Date.now() };
  const count = postsPerRound;
  const tokens = Array.from({ length: count * 2 }, () => make());
  const each = async (from: number, work: (token: string) => unknown): Promise<number> => {
    const before = process.cpuUsage();
    for (const token of tokens.slice(from, from + count)) await work(token);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  };
  const check = async (token: string): Promise<void> => {
    const verdict = await verifyToken(token, null, at);
    if (!verdict.ok) throw new Error(`the bench's own token is refused: ${verdict.reason}`);
  };
  const commit = (jti: string): void =>
    store.write((database) =>
      markTokenSeen(database, { keyId: "bench", jti: jti.slice(-40), expiresAtMs: 1 }),
    );
  try {
    await each(0, check);
    const tokenUs = await each(count, check);
    await each(0, commit);
    return { tokenUs, commitUs: await each(count, commit) };
  } finally {
    store.close();
  }
}

async function measurePosts(dir: string) {
  const folders = [
    await makeMeasuredFolder(join(dir, "none"), 0),
    await makeMeasuredFolder(join(dir, "open"), openWithdrawals),
  ] as const;
  const gateways: StartedProcess[] = [];
  try {
    for (const folder of folders) gateways.push(await startMeasured(folder));
    const [none, open]: [number[], number[]] = [[], []];
    const floors: { tokenUs: number; commitUs: number }[] = [];
    for (let round = -warmRounds; round < rounds; round += 1) {
      const [a, b] = [
        await postsCpuUs(folders[0], gateways[0]?.pid ?? 0, postsPerRound),
        await postsCpuUs(folders[1], gateways[1]?.pid ?? 0, postsPerRound),
      ];
      const floor = await floorUs(folders[0]);
      if (round < 0) continue;
      none.push(a);
      open.push(b);
      floors.push(floor);
    }
    const floorAt = (round: number): number =>
      (floors[round]?.tokenUs ?? 0) + (floors[round]?.commitUs ?? 0);
    return {
      postUsNone: rounded(median(none)),
      postUsOpen: rounded(median(open)),
      tokenUs: rounded(median(floors.map(({ tokenUs }) => tokenUs))),
      commitUs: rounded(median(floors.map(({ commitUs }) => commitUs))),
      openToNone: rounded(median(open.map((us, round) => us / (none[round] ?? 1)))),
      postToFloor: rounded(median(open.map((us, round) => us / floorAt(round)))),
      burstWaitMsMax: rounded(await burst(folders[1])),
    };
  } finally {
    for (const gateway of gateways) await stop(gateway);
  }
}

/**
 * New connections all at once, an order on each and others behind it: how long the longest waits
 * for its first answer.
 */
async function burst(folder: MeasuredFolder): Promise<number> {
  const waits = await Promise.all(
    Array.from({ length: burstConnections }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const order = async (): Promise<void> =>
        void (await drain(
          await ask(folder.url, {
            path: "/autoWithdraw",
            shopKey: folder.shopKey,
            body: orderBody(),
            agent,
          }),
        ));
      const began = performance.now();
      await order();
      const waited = performance.now() - began;
      for (let again = 0; again < 5; again += 1) await order();
      agent.destroy();
      return waited;
    }),
  );
  return Math.max(...waits);
}

const filters: Readonly<Record<string, string>> = {
  "no filter": "",
  orderId: "&orderId=order-77",
  "currency of few": "&currency=rare",
  "currency of many": "&currency=eth",
  "transactionType of few": "&transactionType=1",
  "transactionType of many": "&transactionType=2",
  "status of few": "&status=2",
  "status of none": "&status=0",
  "from and to": "&from=2023-11-14T22:13:22Z&to=2023-11-14T22:13:26Z",
  "all together": "&currency=eth&transactionType=2&status=1&from=2023-11-14T22:13:21Z",
};

/**
 * Both lists fill such a page by each filter. Milliseconds of the fastest of some, which is least
 * disturbed by whatever else the machine does.
 */
async function pageMs(folder: MeasuredFolder, shopKey: string, filter: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 15; i += 1) {
    const began = performance.now();
    await drain(await ask(folder.url, { path: `/transactions?limit=4${filter}`, shopKey, agent }));
    best = Math.min(best, performance.now() - began);
  }
  agent.destroy();
  return best;
}

const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;

/** Runs `work` while the process is looked at; the most memory it had meanwhile, MiB. */
async function mostMiB(pid: number, work: () => Promise<void>): Promise<number> {
  let most = residentMiB(pid);
  const timer = setInterval(() => {
    most = Math.max(most, residentMiB(pid));
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return Math.max(most, residentMiB(pid));
}

async function measureLists(dir: string, records: number) {
  const folder = await makeMeasuredFolder(join(dir, "lists"), 0);
  fillRecords(folder.database, folder.few.merchantId, fewRecords);
  fillRecords(folder.database, folder.many.merchantId, records);
  const gateway = await startMeasured(folder);
  try {
    const pages: Record<string, { fewMs: number; manyMs: number; ratio: number }> = {};
    for (const [name, filter] of Object.entries(filters)) {
      await pageMs(folder, folder.few.shopKey, filter);
      const [fewMs, manyMs] = [
        await pageMs(folder, folder.few.shopKey, filter),
        await pageMs(folder, folder.many.shopKey, filter),
      ];
      pages[name] = {
        fewMs: rounded(fewMs),
        manyMs: rounded(manyMs),
        ratio: rounded(manyMs / fewMs),
      };
    }
    await sleep(1_000);
    const idleMiB = residentMiB(gateway.pid);
    let firstRowMs = 0;
    let streamMs = 0;
    const began = performance.now();
    const streamMiB = await mostMiB(gateway.pid, async () => {
      const response = await ask(folder.url, {
        path: "/transactions",
        shopKey: folder.many.shopKey,
      });
      response.once("data", () => {
        firstRowMs = performance.now() - began;
      });
      await drain(response);
      streamMs = performance.now() - began;
    });
    const waits: number[] = [];
    const listsMiB = await mostMiB(gateway.pid, async () => {
      const lists = await Promise.all(
        Array.from({ length: listsAtOnce }, () =>
          ask(folder.url, { path: "/transactions", shopKey: folder.many.shopKey }),
        ),
      );
      const read = lists.map((response) => drain(response).catch(() => undefined));
      for (let i = 0; i < 40; i += 1) {
        const asked = performance.now();
        await drain(
          await ask(folder.url, { path: "/supportedCurrency", shopKey: folder.few.shopKey }),
        );
        waits.push(performance.now() - asked);
      }
      for (const response of lists) response.destroy();
      await Promise.all(read);
    });
    return {
      ...{
        records,
        pages,
        idleMiB: rounded(idleMiB, 1),
        streamMiB: rounded(streamMiB, 1),
        listsMiB: rounded(listsMiB, 1),
      },
      ...{
        firstRowMs: rounded(firstRowMs),
        streamMs: Math.round(streamMs),
        waitBesideListsMsMax: rounded(Math.max(...waits)),
      },
    };
  } finally {
    await stop(gateway);
  }
}

/** All figures of the gateway; `records` is the length of the long list. */
export async function measureGateway(dir: string, records: number) {
  return { posts: await measurePosts(dir), lists: await measureLists(dir, records) };
}

/** The figures as lines for people. */
export function describeGateway({
  posts,
  lists,
}: Awaited<ReturnType<typeof measureGateway>>): string {
  const row = (name: string, figure: string | number, note = ""): string =>
    `${name.padEnd(40)}${String(figure).padStart(13)}   ${note}`.trimEnd();
  const floor = `token check ${posts.tokenUs}, commit ${posts.commitUs}`;
  return [
    row("gateway: CPU us a POST, none open", posts.postUsNone),
    row(
      `CPU us a POST, ${openWithdrawals} open`,
      posts.postUsOpen,
      `${posts.openToNone} times none open; ${posts.postToFloor} times the sum of ${floor}`,
    ),
    row(`ms the last of ${burstConnections} new connections waits`, posts.burstWaitMsMax),
    ...Object.entries(lists.pages).map(([name, { fewMs, manyMs, ratio }]) =>
      row(
        `ms a page, ${name}`,
        manyMs,
        `of ${lists.records} records; ${ratio} times that of ${fewRecords} (${fewMs})`,
      ),
    ),
    row(
      "ms to the first row of all",
      lists.firstRowMs,
      `${lists.records} records in ${Math.round(lists.streamMs / 1000)} s`,
    ),
    row(
      "MiB above idle while they stream",
      rounded(lists.streamMiB - lists.idleMiB, 1),
      `idle ${lists.idleMiB}`,
    ),
    row(
      `MiB above idle, ${listsAtOnce} such lists at once`,
      rounded(lists.listsMiB - lists.idleMiB, 1),
    ),
    row("ms another waits beside them, at most", lists.waitBesideListsMsMax),
  ].join("\n");
}
