/**
 * A server that lacks a path is told apart from one that refuses a key or is asked too much: in
 * each family the words name the path, and never an address or a key. Source: an own mempool server
 * without /fee-estimates (mempool/mempool, every release up to 3.3).
 */
import { createServer, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { codes } from "../../base/codes.ts";
import { lookAtNode } from "../../chains/connect.ts";
import type { ConfiguredChain } from "../../chains/family.ts";
import { describeMissingPath } from "../../chains/providers/node-words.ts";

const chains: Readonly<
  Record<string, ConfiguredChain & { readonly confirmations: number | "finalized" }>
> = {
  evm: { family: "evm", chainId: 1, confirmations: 3 },
  tron: { family: "tron", chainId: "0x2b6653dc", confirmations: "finalized" },
  bitcoin: { family: "bitcoin", chainId: "000000000019d6689c085ae165831e93", confirmations: 3 },
  xrp: { family: "xrp", chainId: 0, confirmations: "finalized" },
};

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that gives each question this status and a page. */
async function serving(status: number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { connection: "close" }).end("<html><title>Error</title></html>");
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}/k3y-of-the-operator-0123456789`;
}

describe("a server that answers each question", () => {
  it.each([
    ["evm", "HTTP status 404 (not found): the server has nothing at the path of its address"],
    ["tron", "HTTP status 404 (not found): the server has no /wallet/getblock"],
    ["bitcoin", "HTTP status 404 (not found): the server has no /block-height/..."],
    ["xrp", "HTTP status 404 (not found): the server has nothing at the path of its address"],
  ])("of %s with 404 lacks a path, which the words name", async (family, detail) => {
    const view = await lookAtNode({
      chain: chains[family] as (typeof chains)[string],
      url: await serving(404),
      contracts: [],
      timeoutMs: 20_000,
    });
    expect(view).toMatchObject({ code: "NODE_PATH", detail });
    expect(codes[view.code as "NODE_PATH"].advice).not.toMatch(/key|rate limit/);
  });

  it.each(Object.keys(chains))("of %s with 403 lacks no path", async (family) => {
    const view = await lookAtNode({
      chain: chains[family] as (typeof chains)[string],
      url: await serving(403),
      contracts: [],
      timeoutMs: 20_000,
    });
    expect(view).toMatchObject({ code: "NODE_HTTP" });
    expect(view.detail).not.toContain("k3y");
  });
});

describe("the words for a path", () => {
  it("keep the kind of question and the server's own text", () => {
    const address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
    expect(describeMissingPath(`/address/${address}/utxo`, "")).toBe(
      "the server has no /address/.../utxo",
    );
    expect(describeMissingPath("/fee-estimates", "Error")).toBe("the server has no /fee-estimates");
    expect(describeMissingPath("/v1/fees/recommended", "no such endpoint")).toBe(
      "the server has no /v1/fees/recommended: no such endpoint",
    );
  });
});
