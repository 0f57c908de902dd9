/**
 * A made-up family brings a wire, questions, rows for the check and refusals, and gets all else
 * from chains/providers: it has no pool, check, head, health, offer, cache, span or pace of its
 * own.
 */
import { readdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { connectors } from "./made-up/nodes.ts";

const servers: Server[] = [];
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
  for (const server of servers.splice(0)) server.close();
});

const blockAt = (number: number, chain = "made-up 1") => ({
  chain,
  number,
  hash: `h${number}`,
  parentHash: `h${number - 1}`,
  timestampMs: number * 1_000,
});

/**
 * A server whose head is a block; `change` gives the answer to a path, undefined for the usual one.
 */
async function serving(
  head: number,
  change: (path: string) => readonly [number, unknown] | undefined = () => undefined,
) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    request.resume();
    const number = Number(/^\/block\/([0-9]+)$/.exec(path)?.[1] ?? -1);
    const usual =
      { "/head": blockAt(head), "/price": 7, "/offer": "yes" }[path] ??
      (number >= 0 ? blockAt(number) : undefined);
    const [status, value] = change(path) ?? (usual === undefined ? [404, "no"] : [200, usual]);
    response
      .writeHead(status, { connection: "close" })
      .end(typeof value === "string" ? value : JSON.stringify(value));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, asked };
}

function senderOn(...urls: readonly string[]) {
  const sender = connectors.sender({ urls });
  closers.push(sender.close);
  return sender;
}

describe("a made-up family of chains", () => {
  it("has these files, and none for what every family shares", () => {
    const files = readdirSync(`${projectRoot}/test/chains/made-up`);
    expect(files.sort()).toEqual([
      ...["family.ts", "fees.ts", "network.ts", "nodes.ts", "presets.ts"],
      ...["questions.ts", "refusals.ts", "transactions.ts", "wire.ts"],
    ]);
    expect(
      files.filter((file) => /pool|check|head|health|offer|cache|kept|span|pace/.test(file)),
    ).toEqual([]);
  });

  it("has heads, final blocks, agreement and prices", async () => {
    const sender = senderOn((await serving(9)).url, (await serving(8)).url);
    expect(await sender.chainState("")).toMatchObject({
      number: 9,
      finalNumber: 7,
      feeMarket: { price: 7n },
    });
    expect([await sender.holds(7, "h7"), await sender.holds(7, "h8")]).toEqual([true, false]);
    const odd = await serving(9, (path) =>
      path === "/block/7" ? [200, { ...blockAt(7), hash: "other" }] : undefined,
    );
    await expect(senderOn((await serving(9)).url, odd.url).holds(7, "h7")).rejects.toMatchObject({
      code: "NODE_DISAGREE",
    });
  });

  it("has offers and their refusals", async () => {
    const refusing = (words: string) =>
      serving(9, (path) => (path === "/offer" ? [400, words] : undefined));
    expect(await senderOn((await serving(9)).url).broadcast("b")).toMatchObject({
      standing: "taken",
    });
    expect(await senderOn((await refusing("have it")).url).broadcast("b")).toMatchObject({
      standing: "taken",
      meaning: "known",
    });
    const cheap = await senderOn((await refusing("offer 12")).url).broadcast("b");
    expect(cheap).toMatchObject({ standing: "refused", meaning: "price", least: "12" });
    expect(await senderOn((await refusing("made-up words")).url).broadcast("b")).toMatchObject({
      standing: "refused",
      meaning: "",
    });
  });

  it("has one exchange for one question, another node in the place of a failed one, and no node of another chain", async () => {
    const [well, failing] = [await serving(9), await serving(9, () => [500, "no"])];
    const alone = senderOn(well.url);
    expect(await Promise.all([alone.tip(), alone.tip()])).toEqual([blockIdOf(9), blockIdOf(9)]);
    // The chain's own question, and one for both.
    expect(well.asked).toEqual(["/head", "/head"]);
    const sender = senderOn(failing.url, well.url);
    expect(await sender.tip()).toEqual(blockIdOf(9));
    expect(sender.status()[0]).toMatchObject({
      ok: false,
      detail: "NODE_HTTP: HTTP status 500 (internal error): no",
    });
    const other = await serving(9, (path) =>
      path === "/head" ? [200, blockAt(9, "made-up 2")] : undefined,
    );
    await expect(senderOn(other.url).tip()).rejects.toMatchObject({ code: "NODE_WRONG_CHAIN" });
  });

  it("has the check", async () => {
    const well = await serving(9);
    expect(await connectors.examine(well).look([])).toEqual({
      ...{
        url: well.url,
        code: "",
        detail: "",
        block: 9,
        blockAtMs: 9_000,
        blockMs: null,
        lacks: [],
        tokens: [],
      },
    });
    const lacking = await serving(9, (path) => (path === "/price" ? [404, "no"] : undefined));
    const words = "HTTP status 404 (not found): the server has no /price: no";
    expect((await connectors.examine(lacking).look([])).lacks).toEqual([
      { question: "the price", neededBy: "payments", isOptional: false, code: "NODE_PATH", words },
    ]);
    expect(await connectors.examine(well).hashAt(3)).toBe("h3");
    expect(
      await connectors
        .examine(await serving(9, (path) => (path === "/block/3" ? [200, "null"] : undefined)))
        .hashAt(3),
    ).toBe("");
  });
});

const blockIdOf = (number: number) => ({ number, hash: `h${number}` });
