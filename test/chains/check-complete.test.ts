/**
 * The check of a node puts every question that payments and deposits put: each method and path in
 * a family's sources is asked for by its probe. Only a write is not.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { findMissingAnswers as lacksOfEvm } from "../../chains/evm/node-probe.ts";
import { findMissingAnswers as lacksOfTron } from "../../chains/tron/node-probe.ts";
import { bitcoin, type UtxoNetwork } from "../../chains/utxo/network.ts";
import { findMissingAnswers as lacksOfUtxo } from "../../chains/utxo/node-probe.ts";
import { findMissingAnswers as lacksOfXrp } from "../../chains/xrp/node-probe.ts";

/** What stands in the sources of a family's questions. */
function inSources(family: string, form: RegExp): ReadonlySet<string> {
  const folder = new URL(`../../chains/${family}/`, import.meta.url);
  const names = readdirSync(folder).filter(
    (name) => /^node.*\.ts$/.test(name) && !/probe|check|read-back/.test(name),
  );
  const texts = names.map((name) =>
    readFileSync(new URL(name, folder), "utf8").replace(/^ *(?:\/?\*|\/\/).*$/gm, ""),
  );
  return new Set(texts.flatMap((text) => [...text.matchAll(form)].map(([, found = ""]) => found)));
}

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly params?: readonly unknown[];
}

/** A pool that notes what is asked, and answers what `answer` knows. */
function poolThat(answer: (name: string, question: Asked) => unknown) {
  const names = new Set<string>();
  const node = { rpc: { origin: "http://node" }, heads: { view: () => null } };
  const ask = async (
    _: unknown,
    question: Asked & { readonly read: (value: unknown) => unknown },
  ): Promise<unknown> => {
    const name = question.method ?? String(question.path);
    names.add(name);
    const value = answer(name, question);
    if (value === undefined) throw new AgentError("NODE_ERROR", "none", "nothing is answered here");
    return question.read(value);
  };
  return {
    names,
    pool: {
      nodes: [node],
      ask,
      sawHead: () => undefined,
      fail: () => undefined,
      quorumMin: 1,
    } as never,
  };
}

const hash = "ab".repeat(32);

describe("the check of a node asks for all that the work asks for", () => {
  it("on EVM chains", async () => {
    const block = { transactions: [{ hash: `0x${hash}` }] };
    const { names, pool } = poolThat((name, { params }) =>
      name === "eth_getBlockByNumber" && params?.[1] === true ? block : undefined,
    );
    const question = {
      url: "http://127.0.0.1:9",
      confirmations: 3,
      contracts: [`0x${"1".repeat(40)}`],
    } as const;
    await lacksOfEvm(pool, 100, { ...question, feeModel: "ethereum", timeoutMs: 1_000 });
    const work = inSources("evm", /"(eth_[A-Za-z]+)"/g);
    expect(work.size).toBeGreaterThan(10);
    // A write, and the question by which the pool knows the chain.
    expect([...work].filter((one) => !names.has(one)).sort()).toEqual([
      "eth_chainId",
      "eth_sendRawTransaction",
    ]);
  });

  it("on Tron", async () => {
    const blockID = `${"7".padStart(16, "0")}${"cd".repeat(24)}`;
    const head = {
      blockID,
      block_header: { raw_data: { number: 7, timestamp: 1, parentHash: "00".repeat(32) } },
    };
    const { names, pool } = poolThat((name) =>
      name === "/walletsolidity/getblock" ? head : undefined,
    );
    await lacksOfTron(pool, ["TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"]);
    const work = inSources("tron", /[`"/](?:\$\{side\}|wallet)\/([a-z]+)[`"]/g);
    const asked = new Set([...names].map((path) => path.split("/").at(-1)));
    expect(work.size).toBeGreaterThan(6);
    expect([...work].filter((one) => !asked.has(one))).toEqual(["broadcasthex"]);
    // Each side of the API may be switched off alone.
    for (const path of ["getblockbynum", "gettransactioninfobyblocknum", "gettransactioninfobyid"])
      expect([...names]).toEqual(
        expect.arrayContaining([`/wallet/${path}`, `/walletsolidity/${path}`]),
      );
  });

  it("on Bitcoin and Litecoin", async () => {
    const { names, pool } = poolThat((path) =>
      path.endsWith("/txids") ? Buffer.from(JSON.stringify([hash])) : undefined,
    );
    const head = { number: 7, hash, parentHash: hash, timestampMs: 1 };
    await lacksOfUtxo(pool, bitcoin.networks.at(-1) as UtxoNetwork, head);
    const templates = [...inSources("utxo", /canonicalPathOf`([^`]+)`/g)].filter((one) =>
      one.startsWith("/"),
    );
    expect(templates.length).toBeGreaterThan(12);
    const asked = (template: string): boolean => {
      const form = new RegExp(`^${template.replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "[^/]+")}$`);
      return [...names].some((path) => form.test(path));
    };
    const blockTemplate = templates.find((one) => /^\/block\/[^/]*$/.test(one));
    // A write; the newest block, which the look itself reads; and the chain's first one.
    const others = ["/tx", "/blocks/tip/hash", blockTemplate, "/block-height/0"];
    expect(templates.filter((template) => !asked(template) && !others.includes(template))).toEqual(
      [],
    );
  });

  it("on the XRP Ledger", async () => {
    const { names, pool } = poolThat(() => undefined);
    await lacksOfXrp(pool, {
      number: 1_000,
      hash: "AB".repeat(32),
      parentHash: "AB".repeat(32),
      timestampMs: 1,
    });
    const work = inSources("xrp", /method: "([a-z_]+)"/g);
    expect(work.size).toBeGreaterThan(5);
    expect([...work].filter((one) => !names.has(one))).toEqual(["submit"]);
  });
});
