/**
 * Further lines of a server: a file with headers that is read again, and a limit by the hour. A
 * fault of either is that server's alone.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readPrivateFile } from "../../agent/files/private-file.ts";
import { AgentError } from "../../base/fault.ts";
import { lookAtNode, openWatcher } from "../../chains/connect.ts";
import type { ConfiguredChain } from "../../chains/family.ts";
import { paceUnknown } from "../../chains/final-times.ts";
import { healthOf } from "../../chains/health.ts";
import { hasQuestionsLeftFor } from "../../chains/hour-share.ts";
import type { NodeStatus } from "../../chains/nodes.ts";
import { FurtherHeaders, readHeaders } from "../../chains/providers/further-headers.ts";
import { HourCount } from "../../chains/providers/hour-count.ts";
import { createNodePool } from "../../chains/providers/node-pool.ts";
import { serverLinesOf } from "../../chains/server-lines.ts";
import { readSecretFile } from "../../gateway/config/secret-file.ts";

const secret = "Bearer t0ken-that-nobody-may-read-1234567890";
const hourMs = 3_600_000;
let folder = "";
const servers: Server[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headers-"));
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(folder, { recursive: true });
});

function write(text: string, mode = 0o600): string {
  const path = join(folder, "node.headers");
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function codeOf(job: () => unknown): string {
  try {
    job();
    return "";
  } catch (fault) {
    return fault instanceof AgentError ? `${fault.code}: ${fault.message}` : String(fault);
  }
}

describe("the headers of a file", () => {
  it("are its lines by name", () => {
    expect(readHeaders(`Authorization: ${secret}\r\n\nx-plan:  a b \n`, "f")).toEqual({
      authorization: secret,
      "x-plan": "a b",
    });
  });

  it.each([
    ["no colon", "authorization", "line 1 of f is not of the form NAME: VALUE"],
    ["no value", "authorization:", "line 1 of f is not of the form NAME: VALUE"],
    ["a name with a space", "x y: z", "line 1 of f is not of the form NAME: VALUE"],
    ["a value that is no text", "x: a\u0001b", "line 1 of f is not of the form NAME: VALUE"],
    [
      "a header of the exchange itself",
      "a: b\nHost: other",
      "line 2 of f has a header that every request sets itself",
    ],
    ["one header twice", "a: b\nA: c", "line 2 of f names a header for the second time"],
    ["nothing", "\n", "f has no header"],
    [
      "too many",
      Array.from({ length: 17 }, (_, at) => `x-${at}: y`).join("\n"),
      "f has more than 16 headers",
    ],
  ])("are refused with %s", (_, text, message) => {
    expect(codeOf(() => readHeaders(text, "f"))).toBe(`NODE_HEADERS: ${message}`);
  });

  it("are read again when they change, and print as a mark", () => {
    let nowMs = 0;
    const path = write("x-token: one");
    const headers = new FurtherHeaders(path, readSecretFile, () => nowMs);
    expect(headers.lines()).toEqual({ "x-token": "one" });
    write("x-token: two");
    expect(headers.lines()).toEqual({ "x-token": "one" });
    nowMs = 1_000;
    expect(headers.lines()).toEqual({ "x-token": "two" });
    expect(`${headers} ${JSON.stringify(headers)} ${inspect(headers)}`).toBe(
      '[headers] "[headers]" [headers]',
    );
    rmSync(path);
    nowMs = 2_000;
    expect(codeOf(() => headers.lines())).toMatch(/^NODE_HEADERS: .*node.headers cannot be read/);
    write("x-token: three");
    expect(headers.lines()).toEqual({ "x-token": "three" });
  });

  it.each([
    ["the gateway's", readSecretFile],
    ["the agent's", readPrivateFile],
  ])("come by %s reader out of a file that nobody else reads", (_, read) => {
    const headers = (): FurtherHeaders =>
      new FurtherHeaders(join(folder, "node.headers"), read, () => 0);
    write("x: y", 0o640);
    expect(codeOf(() => headers().lines())).toMatch(
      /^NODE_HEADERS: .* can be reached by others than its owner/,
    );
    write("x: y", 0o600);
    expect(headers().lines()).toEqual({ x: "y" });
  });
});

const chains: Readonly<
  Record<string, ConfiguredChain & { readonly confirmations: number | "finalized" }>
> = {
  evm: { family: "evm", chainId: 1, confirmations: 3 },
  tron: { family: "tron", chainId: "0x2b6653dc", confirmations: "finalized" },
  bitcoin: { family: "bitcoin", chainId: "000000000019d6689c085ae165831e93", confirmations: 3 },
  xrp: { family: "xrp", chainId: 0, confirmations: "finalized" },
};

/** A server that refuses everybody, and keeps the headers that it got. */
async function refusing(): Promise<{ readonly url: string; readonly got: (string | undefined)[] }> {
  const got: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    got.push(request.headers.authorization);
    request.resume();
    response.writeHead(403, { connection: "close" }).end(`no: ${request.headers.authorization}`);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, got };
}

describe.each(Object.entries(chains))("a node of %s with further headers", (_, chain) => {
  it("gets them, and no word shows them", async () => {
    const { url, got } = await refusing();
    const servers = { [url]: { headersFile: write(`Authorization: ${secret}`) } };
    const view = await lookAtNode({
      chain: { ...chain, servers },
      url,
      contracts: [],
      timeoutMs: 20_000,
      readSecretFile,
    });
    expect(got.every((one) => one === secret) && got.length > 0).toBe(true);
    expect(view.code).toBe("NODE_HTTP");
    expect(JSON.stringify(view)).not.toContain("t0ken");
  });

  it("whose file is missing is not asked, and the other node is", async () => {
    const [lacking, other] = [await refusing(), await refusing()];
    const servers = { [lacking.url]: { headersFile: join(folder, "none") } };
    const nodes = [lacking.url, other.url];
    const watcher = openWatcher({
      chain: { ...chain, nodes, servers },
      log: () => undefined,
      readSecretFile,
    });
    await expect(watcher.tip()).rejects.toBeInstanceOf(AgentError);
    expect(lacking.got).toEqual([]);
    expect(other.got.length).toBeGreaterThan(0);
    expect(watcher.status()[0]?.detail).toMatch(/^NODE_HEADERS: .*none cannot be read/);
    expect(watcher.status()[1]?.detail).not.toMatch(/NODE_HEADERS/);
    watcher.close();
  });
});

describe("a limit by the hour", () => {
  it("counts the last hour, and names the time of the next question", () => {
    const hour = new HourCount(2);
    hour.asked(30_000);
    expect(hour.waitMs(40_000)).toBe(0);
    hour.asked(90_000);
    expect(hour.waitMs(100_000)).toBe(hourMs + 60_000 - 100_000);
    expect(hour.view(100_000)).toEqual({ perHour: 2, asked: 2 });
    expect(hour.waitMs(hourMs + 60_000)).toBe(0);
    expect(hour.view(hourMs + 60_000)).toEqual({ perHour: 2, asked: 1 });
  });

  function poolOf(perHour: number) {
    let nowMs = 0;
    const asked: string[] = [];
    const client = { origin: "http://a", close: () => undefined };
    const server = { url: "http://a", headers: null, hour: new HourCount(perHour) };
    const askChain = async (): Promise<string> => "1";
    const options = {
      clients: [client],
      servers: [server],
      chain: "1",
      askChain,
      chainOf: (answer: string) => answer,
    };
    const pool = createNodePool({ ...options, log: () => undefined, clock: () => nowMs });
    const [node] = pool.nodes;
    if (node === undefined) throw new Error("no node");
    const ask = (use?: "write"): Promise<number> =>
      pool.exchange(node, async () => asked.push(use ?? "read"), use);
    return { pool, ask, pass: (ms: number) => (nowMs += ms) };
  }

  it("stops reads above it and lets signed bytes go, and ends by itself", async () => {
    const { pool, ask, pass } = poolOf(3);
    await ask(); // with the question for the chain
    await ask();
    await expect(ask()).rejects.toMatchObject({
      code: "NODE_QUOTA",
      effect: "none",
      context: { quietMs: hourMs + 60_000 },
    });
    expect(pool.status()[0]).toMatchObject({
      ok: false,
      detail: "NODE_QUOTA: 3 questions in the last hour, the most that questionsPerHour allows",
      hour: { perHour: 3, asked: 3 },
    });
    pass(hourMs + 60_000);
    await expect(ask()).resolves.toBeGreaterThan(0);
    expect(pool.status()[0]).toMatchObject({ ok: true });
  });

  it("of a node that has questions left stops nothing, and its writes go above it", async () => {
    const { ask } = poolOf(2);
    await ask();
    await expect(ask("write")).resolves.toBeGreaterThan(0);
    const more = poolOf(4);
    await more.ask();
    await expect(more.ask()).resolves.toBeGreaterThan(0);
  });

  const nodeAt = (asked: number): NodeStatus => ({
    url: `http://${asked}`,
    ok: true,
    detail: "",
    outForMs: null,
    block: null,
    head: null,
    final: null,
    ranges: null,
    hour: { perHour: 100, asked },
  });

  it.each([
    [74, true, true, 0],
    [75, false, true, 0],
    [89, false, true, 0],
    [90, false, false, 1],
  ] as const)(
    "with %d of 100 leaves room for comparison: %s, for looks: %s",
    (asked, comparison, looks, told) => {
      const nodes = [nodeAt(asked), nodeAt(1)];
      expect([
        hasQuestionsLeftFor("comparison", nodes),
        hasQuestionsLeftFor("looks", nodes),
      ]).toEqual([comparison, looks]);
      const delays = healthOf("btc", paceUnknown, nodes, 0).delays.filter(
        ({ code }) => code === "NODE_HOUR_NEAR",
      );
      expect(delays).toHaveLength(told);
      if (told > 0) expect(delays[0]?.words).toContain("http://90 90 of 100");
    },
  );

  it("is the preset's public figure for an address without a key, and the configuration's otherwise", () => {
    const chain = chains.bitcoin as ConfiguredChain;
    const url = "https://blockstream.info/api";
    expect(serverLinesOf(chain, url)).toEqual({ questionsPerHour: 700 });
    expect(serverLinesOf(chain, "https://user:key@blockstream.info/api")).toEqual({});
    expect(serverLinesOf(chain, "https://esplora.example/api")).toEqual({});
    expect(
      serverLinesOf({ ...chain, servers: { [url]: { questionsPerHour: 9_000 } } }, url),
    ).toEqual({
      questionsPerHour: 9_000,
    });
  });
});
