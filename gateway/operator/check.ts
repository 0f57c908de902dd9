/**
 * `check`: what the next start of the gateway would find, without starting: configuration, key, database, port, certificate, the chains'
 * nodes and tokens. Changes nothing; a gateway that runs already is not in its way.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, isIP } from "node:net";
import { lookAtNode, type NodeView } from "../../chains/evm/node-check.ts";
import { type Code, codes } from "../../protocol/codes.ts";
import { AgentError, reasonOf } from "../../protocol/fault.ts";
import { readGatewayKey } from "../auth/gateway-key.ts";
import { type GatewayChain, type GatewayConfig, isLoopbackHost, readConfig } from "../config.ts";
import { keyOfStore } from "../store/look.ts";
import { runningOn } from "../store/owner.ts";

/**
 * `error`: the gateway would not start, or would be wrong. `warning`: it starts, and somebody should look.
 * @public
 */
export interface GatewayFinding {
  readonly code: Code;
  readonly severity: "error" | "warning";
  readonly what: string;
  readonly hint: string;
}

const nodeMs = 3_000;
const dayMs = 86_400_000;
const certificateDays = 14;

/**
 * Rejects for bugs alone. Twice is harmless.
 * @public
 */
export async function checkGateway(path: string, nowMs: number): Promise<readonly GatewayFinding[]> {
  const findings: GatewayFinding[] = [];
  const config = tried(findings, () => readConfig(path));
  if (config === null) return findings;
  const isRunning = storeFindings(config, findings);
  findings.push(...publicFindings(config), ...certificateFindings(config, nowMs));
  if (!isRunning) findings.push(...(await portFindings(config)));
  findings.push(...(await Promise.all(Object.entries(config.chains).map((entry) => chainFindings(config, ...entry)))).flat());
  return findings;
}

function found(code: Code, severity: GatewayFinding["severity"], what: string, hint: string = codes[code][4]): GatewayFinding {
  return { code, severity, what, hint };
}

/** What `act` gives; null, and a finding, for its fault. */
function tried<T>(findings: GatewayFinding[], act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const path = String(error.context.path ?? "<file>");
    findings.push(found(error.code, "error", error.message, codes[error.code][4].replace("<file>", path)));
    return null;
  }
}

/** Key and database, and that they belong together. @returns whether a gateway runs on them now */
function storeFindings(config: GatewayConfig, findings: GatewayFinding[]): boolean {
  const key = tried(findings, () => readGatewayKey(config.keyFile));
  const made = tried(findings, () => keyOfStore(config.database));
  if (made === null) return false;
  if (key !== null && key.fingerprint !== made)
    findings.push(
      found("GATEWAY_KEY_OTHER", "error", `the key ${config.keyFile} is not the one ${config.database} was made with`),
    );
  return (tried(findings, () => runningOn(config.database) ?? "") ?? "") !== "";
}

/** Shops and agents are told publicUrl; one that only this machine can reach is right for trying things out alone. */
function publicFindings({ publicUrl, listen }: GatewayConfig): readonly GatewayFinding[] {
  const { hostname, protocol } = new URL(publicUrl);
  const isLocal = isLoopbackHost(hostname);
  if (isLocal && !isLoopbackHost(listen.host))
    return [
      found("GATEWAY_PUBLIC_URL", "warning", `publicUrl ${publicUrl} is this machine only, though the gateway listens to others`),
    ];
  if (listen.tls !== null && protocol === "http:")
    return [found("GATEWAY_PUBLIC_URL", "error", `publicUrl ${publicUrl} is plain http, and listen.tls speaks https alone`)];
  return [];
}

function certificateFindings({ listen, publicUrl }: GatewayConfig, nowMs: number): readonly GatewayFinding[] {
  if (listen.tls === null) return [];
  const { certificate, key } = listen.tls;
  let read: X509Certificate;
  try {
    readFileSync(key);
    read = new X509Certificate(readFileSync(certificate));
  } catch (cause) {
    return [found("GATEWAY_TLS", "error", `certificate or key of listen.tls cannot be used: ${reasonOf(cause)}`)];
  }
  const { hostname } = new URL(publicUrl);
  const name = hostname.replace(/^\[|\]$/g, "");
  const findings: GatewayFinding[] = [];
  if ((isIP(name) === 0 ? read.checkHost(name) : read.checkIP(name)) === undefined)
    findings.push(found("GATEWAY_CERTIFICATE", "error", `${certificate} is not for ${name}`));
  const leftMs = Date.parse(read.validTo) - nowMs;
  if (leftMs < certificateDays * dayMs) {
    const when = leftMs < 0 ? "ended" : "ends";
    findings.push(found("GATEWAY_CERTIFICATE", leftMs < 0 ? "error" : "warning", `${certificate} ${when} at ${read.validTo}`));
  }
  return findings;
}

/** Takes the port for a moment, as the gateway would. */
function portFindings({ listen: { host, port } }: GatewayConfig): Promise<readonly GatewayFinding[]> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) =>
      resolve([found("GATEWAY_LISTEN", "error", `${host} port ${port} cannot be listened on: ${reasonOf(error)}`)]),
    );
    server.listen(port, host, () => server.close(() => resolve([])));
  });
}

async function chainFindings(config: GatewayConfig, name: string, chain: GatewayChain): Promise<readonly GatewayFinding[]> {
  const tokens = Object.values(config.currencies).filter((one) => one.chain === name && one.contract !== "");
  const contracts = tokens.map(({ contract }) => contract);
  const { chainId } = chain;
  const nodes = await Promise.all(chain.nodes.map((url) => lookAtNode({ url, chainId, contracts, timeoutMs: nodeMs })));
  return [...nodes.flatMap((node) => nodeFindings(name, node)), ...tokens.flatMap((token) => tokenFindings(nodes, token))];
}

function nodeFindings(name: string, { url, code, detail }: NodeView): readonly GatewayFinding[] {
  if (code === "") return [];
  // A node that is away comes back, and the gateway waits for it.
  return [found(code, code === "NODE_WRONG_CHAIN" ? "error" : "warning", `${url} of ${name}: ${detail}`)];
}

interface Token {
  readonly id: string;
  readonly contract: string;
  readonly decimal: number;
}

function tokenFindings(nodes: readonly NodeView[], { id, contract, decimal }: Token): readonly GatewayFinding[] {
  const said = nodes
    .flatMap(({ tokens }) => tokens.filter((token) => token.contract === contract))
    .map((token) => token.decimals);
  const other = said.find((decimals) => decimals >= 0 && decimals !== decimal);
  if (other !== undefined)
    return [found("WATCHER_DECIMALS", "error", `the contract of ${id} has ${other} decimals, not ${decimal}`)];
  if (said.length === 0 || said.some((decimals) => decimals >= 0)) return [];
  return [found("WATCHER_DECIMALS", "error", `${contract} of ${id} is no token's contract`)];
}
