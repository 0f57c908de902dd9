/**
 * Checks config.json against its nodes: each serves its chain, keeps up and agrees with the others,
 * and each token's contract has the decimals of config.json. Reads through the chains' own
 * interface; the judgement is pure.
 */

import { type Finding, newFinding } from "../../base/finding.ts";
import { isLoopback } from "../../base/loopback.ts";
import { blockHashAt, lookAtNode } from "../../chains/connect.ts";
import type { ChainId } from "../../chains/family.ts";
import { nodeFindings, severityOf } from "../../chains/node-findings.ts";
import type { NodeView } from "../../chains/nodes.ts";
import type { AgentSettings } from "../config/settings.ts";
import { readPrivateFile } from "../files/private-file.ts";

/**
 * The answers of a chain's nodes, in the order of config.json. `hashes` are of one block, which all
 * nodes should have alike.
 */
export interface ChainNodeViews {
  readonly chain: string;
  readonly chainId: ChainId;
  readonly nodes: readonly NodeView[];
  readonly hashes: readonly string[]; // one for each node, "" for a node that did not answer
}

type ChainSettings = Pick<AgentSettings, "chains" | "currencies">;

const timeoutMsDefault = 3_000;
/** Blocks below the lowest of the nodes' newest blocks; honest nodes have no two branches there. */
const agreedDepth = 6;
/**
 * Asks every node, all at the same time, within three exchanges of `timeoutMs` each. Rejects only
 * for bugs.
 */
export function askChainNodes(
  settings: ChainSettings,
  timeoutMs = timeoutMsDefault,
): Promise<readonly ChainNodeViews[]> {
  return Promise.all(
    Object.entries(settings.chains).map(async ([name, chain]) => {
      const urls = chain.nodes;
      const contracts = tokensOn(settings, name).map(({ contract }) => contract);
      const nodes = await Promise.all(
        urls.map((url) =>
          lookAtNode({ chain, url, contracts, timeoutMs, readSecretFile: readPrivateFile }),
        ),
      );
      const answered = nodes.filter((node) => node.code === "");
      const level = Math.max(0, Math.min(...answered.map((node) => node.block)) - agreedDepth);
      const hashes =
        answered.length < 2
          ? nodes.map(() => "")
          : await Promise.all(
              nodes.map((node, at) =>
                node.code === ""
                  ? blockHashAt(
                      { chain, url: urls[at] ?? "", timeoutMs, readSecretFile: readPrivateFile },
                      level,
                    )
                  : Promise.resolve(""),
              ),
            );
      return { chain: name, chainId: chain.chainId, nodes, hashes };
    }),
  );
}

interface Token {
  readonly id: string;
  readonly contract: string;
  readonly decimal: number;
}

function tokensOn({ currencies }: ChainSettings, chain: string): readonly Token[] {
  return Object.entries(currencies).flatMap(([id, { chain: on, contract = "", decimal }]) =>
    on === chain && contract !== "" ? [{ id, contract, decimal }] : [],
  );
}

/**
 * Judges the answers. A wrong chain or token is an error, and so are needed questions that too few
 * nodes will ever answer. A problem that may pass by itself is a warning, because no start needs a
 * node. `nowMs` in Unix milliseconds.
 */
export function judgeChainNodeViews(
  settings: ChainSettings,
  views: readonly ChainNodeViews[],
  nowMs: number,
): readonly Finding[] {
  return views.flatMap((view) => [
    ...view.nodes.flatMap((node) => answerFindings(view, node)),
    ...questionFindings(settings, view, nowMs),
    ...plainFindings(settings, view.chain),
    ...agreementFindings(view),
    ...tokensOn(settings, view.chain).flatMap((token) => tokenFindings(view, token)),
  ]);
}

function questionFindings(
  { chains }: ChainSettings,
  { chain, nodes }: ChainNodeViews,
  nowMs: number,
): readonly Finding[] {
  const configured = chains[chain];
  return configured === undefined
    ? []
    : nodeFindings(chain, configured, nodes, nowMs, "DOCTOR_CHAIN_LAG");
}

function answerFindings({ chain }: ChainNodeViews, node: NodeView): readonly Finding[] {
  const hint = `look at this node, or name a better one under chains.${chain}.nodes in config.json`;
  if (node.code === "NODE_WRONG_CHAIN")
    return [
      newFinding(
        "NODE_WRONG_CHAIN",
        "error",
        `${node.url} of ${chain} serves another chain: ${node.detail}`,
      ),
    ];
  if (node.code !== "" && severityOf(node) === "error")
    return [newFinding(node.code, "error", `${node.url} of ${chain}: ${node.detail}`)];
  if (node.code !== "")
    return [
      newFinding(
        node.code,
        "warning",
        `${node.url} of ${chain} did not answer: ${node.detail}`,
        hint,
      ),
    ];
  return [];
}

function plainFindings({ chains }: ChainSettings, chain: string): readonly Finding[] {
  return (chains[chain]?.nodes ?? []).flatMap((text) => {
    const { protocol, hostname, origin } = new URL(text);
    if (protocol !== "http:" || isLoopback(hostname)) return [];
    return [
      newFinding("DOCTOR_CHAIN_PLAIN", "warning", `${origin} of ${chain} is asked over plain http`),
    ];
  });
}

function agreementFindings({ chain, nodes, hashes }: ChainNodeViews): readonly Finding[] {
  const said = hashes
    .map((hash, at) => ({ hash, url: nodes[at]?.url ?? "" }))
    .filter(({ hash }) => hash !== "");
  if (new Set(said.map(({ hash }) => hash)).size < 2) return [];
  const branches = said.map(({ url, hash }) => `${url} ${hash.slice(0, 12)}…`).join(", ");
  const what = `the nodes of ${chain} have different blocks at one height: ${branches}`;
  return [
    newFinding(
      "NODE_DISAGREE",
      "warning",
      what,
      "find out which of them is on the wrong branch, and take it out of config.json",
    ),
  ];
}

function tokenFindings(
  { chain, nodes }: ChainNodeViews,
  { id, contract, decimal }: Token,
): readonly Finding[] {
  const said = nodes.flatMap((node) => node.tokens.filter((token) => token.contract === contract));
  const other = said.find((token) => token.decimals >= 0 && token.decimals !== decimal);
  if (other !== undefined) {
    const what = `the contract of ${id} has ${other.decimals} decimals, and config.json says ${decimal}`;
    return [
      newFinding(
        "CHECK_DECIMALS",
        "error",
        what,
        `set currencies.${id}.decimal to ${other.decimals}, after a look at its contract`,
      ),
    ];
  }
  if (said.length === 0 || said.some((token) => token.decimals >= 0)) return [];
  return [
    newFinding(
      "CHECK_CONTRACT",
      "error",
      `${contract} of ${id} is no token's contract on ${chain}`,
    ),
  ];
}
