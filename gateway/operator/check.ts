/**
 * `check`: finds the faults of the gateway's next start without starting it: in configuration, key,
 * database and its disk, port, certificate, and the chains' nodes and tokens. Changes nothing, and
 * works while a gateway runs.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, isIP } from "node:net";
import { reasonOf } from "../../base/fault.ts";
import { type Finding, newFinding, runOrAddFinding } from "../../base/finding.ts";
import { isLoopback } from "../../base/loopback.ts";
import { lookAtNode } from "../../chains/connect.ts";
import { nodeFindings, severityOf } from "../../chains/node-findings.ts";
import type { NodeView } from "../../chains/nodes.ts";
import { readGatewayKey } from "../auth/gateway-key.ts";
import { certificateState } from "../config/certificate-end.ts";
import { type GatewayChain, type GatewayConfig, readConfig } from "../config/config.ts";
import { listenFault } from "../config/listen-fault.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { databaseName, findStandbyWait, inspectDatabase } from "../database/database.ts";
import { databaseRoomLeft } from "../problems/table.ts";
import { freeBytesOf, hasNoRoom, isOnReadOnlyDisk } from "../store/disk.ts";
import type { DatabaseSummary } from "../store/inspect.ts";
import { missingRoomBytes } from "../store/migrate.ts";
import { schemaVersion } from "../store/migrations.ts";
import { owningRun } from "../store/owner.ts";

const nodeMs = 3_000;

/**
 * Checks the configuration at `path` and everything that it names. Error: the gateway would not
 * start, or would be wrong. Warning: the gateway starts, and an operator should look. Rejects only
 * for bugs. Harmless to call twice.
 */
export async function checkGateway(path: string, nowMs: number): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const config = runOrAddFinding(findings, () => readConfig(path));
  if (config === null) return findings;
  const isRunning = storeFindings(config, findings);
  findings.push(
    ...roomFindings(config),
    ...publicFindings(config),
    ...certificateFindings(config, nowMs),
  );
  if (!isRunning) findings.push(...(await portFindings(config)));
  const chains = Object.entries(config.chains);
  findings.push(
    ...(
      await Promise.all(chains.map(([name, chain]) => chainFindings(config, name, chain, nowMs)))
    ).flat(),
  );
  return findings;
}

/**
 * Checks that key and database belong together.
 * @returns true if a gateway runs on them now
 */
function storeFindings(config: GatewayConfig, findings: Finding[]): boolean {
  const key = runOrAddFinding(findings, () => readGatewayKey(config.keyFile));
  const found = runOrAddFinding(findings, () => inspectDatabase(config));
  if (found === null) return false;
  findings.push(...upgradeFindings(config, found));
  if (key !== null && key.fingerprint !== found.gatewayKey)
    findings.push(
      newFinding(
        "GATEWAY_KEY_OTHER",
        "error",
        `the key ${config.keyFile} is not the one ${databaseName(config)} was made with`,
      ),
    );
  const waits = runOrAddFinding(findings, () => findStandbyWait(config)) ?? "";
  if (waits !== "") findings.push(newFinding("GATEWAY_STORE_BUSY", "error", waits));
  return (runOrAddFinding(findings, () => owningRun(config.database) ?? "") ?? "") !== "";
}

/** A start upgrades a database of an earlier version, and copies it first. */
function upgradeFindings(
  config: GatewayConfig,
  { isOlder, version }: DatabaseSummary,
): readonly Finding[] {
  const { database, postgres } = config;
  if (!isOlder) return [];
  if (postgres !== null) {
    const words = `${databaseName(config)} has tables of version ${version}: the next start brings them to version ${schemaVersion}`;
    return [newFinding("GATEWAY_STORE_OLDER", "warning", words)];
  }
  const words = `${database} has tables of version ${version}: the next start copies it and brings it to version ${schemaVersion}`;
  const missing = missingRoomBytes(database);
  const room = `the upgrade of ${database} needs ${missing} bytes more on its disk`;
  return [
    newFinding("GATEWAY_STORE_OLDER", "warning", words),
    ...(missing === 0 ? [] : [newFinding("GATEWAY_DISK_FULL", "error", room)]),
  ];
}

/**
 * A disk that is nearly full soon stops orders, and a full one each start; neither damages
 * anything.
 */
function roomFindings({ database }: GatewayConfig): readonly Finding[] {
  if (isOnReadOnlyDisk(database))
    return [
      newFinding(
        "GATEWAY_DISK_FAILED",
        "error",
        `the disk of ${database} is mounted to be read alone`,
      ),
    ];
  if (hasNoRoom(database))
    return [newFinding("GATEWAY_DISK_FULL", "error", `the disk of ${database} is full`)];
  const free = freeBytesOf(database);
  if (free === null || databaseRoomLeft(free) === "enough") return [];
  const words = `${Math.floor(free / 1024 / 1024)} MiB are free on the disk of ${database}`;
  return [newFinding("GATEWAY_DISK_FULL", "warning", words)];
}

/**
 * Shops and agents reach the gateway at publicUrl, so a local address is right only if the gateway
 * serves no other machine.
 */
function publicFindings({ publicUrl, listen }: GatewayConfig): readonly Finding[] {
  const { hostname, protocol } = new URL(publicUrl);
  const isLocal = isLoopback(hostname);
  if (isLocal && !isLoopback(listen.host))
    return [
      newFinding(
        "GATEWAY_PUBLIC_URL",
        "warning",
        `publicUrl ${publicUrl} is this machine only, though the gateway listens to others`,
      ),
    ];
  if (listen.tls !== null && protocol === "http:")
    return [
      newFinding(
        "GATEWAY_PUBLIC_URL",
        "error",
        `publicUrl ${publicUrl} is plain http, and listen.tls speaks https alone`,
      ),
    ];
  return [];
}

function certificateFindings(
  { listen, publicUrl }: GatewayConfig,
  nowMs: number,
): readonly Finding[] {
  if (listen.tls === null) return [];
  const { certificate, key } = listen.tls;
  let read: X509Certificate;
  try {
    read = new X509Certificate(readFileSync(certificate));
    if (!read.checkPrivateKey(createPrivateKey(readFileSync(key))))
      return [
        newFinding(
          "GATEWAY_TLS",
          "error",
          `the key ${key} of listen.tls is not the one of ${certificate}`,
        ),
      ];
  } catch (cause) {
    return [
      newFinding(
        "GATEWAY_TLS",
        "error",
        `certificate or key of listen.tls cannot be used: ${reasonOf(cause)}`,
      ),
    ];
  }
  const { hostname } = new URL(publicUrl);
  const name = hostname.replace(/^\[|\]$/g, "");
  const findings: Finding[] = [];
  if ((isIP(name) === 0 ? read.checkHost(name) : read.checkIP(name)) === undefined)
    findings.push(newFinding("GATEWAY_CERTIFICATE", "error", `${certificate} is not for ${name}`));
  const { left } = certificateState(Date.parse(read.validTo), nowMs);
  if (left !== "enough") {
    const when = left === "none" ? "ended" : "ends";
    findings.push(
      newFinding(
        "GATEWAY_CERTIFICATE",
        left === "none" ? "error" : "warning",
        `${certificate} ${when} at ${read.validTo}`,
      ),
    );
  }
  return findings;
}

function portFinding(host: string, port: number, cause: unknown): Finding {
  const { code, reason } = listenFault(cause);
  return newFinding(code, "error", `${host} port ${port} cannot be listened on: ${reason}`);
}

/** Listens on the port for a moment. */
function portFindings({ listen: { host, port } }: GatewayConfig): Promise<readonly Finding[]> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve([portFinding(host, port, error)]));
    server.listen(port, host, () => server.close(() => resolve([])));
  });
}

async function chainFindings(
  config: GatewayConfig,
  name: string,
  chain: GatewayChain,
  nowMs: number,
): Promise<readonly Finding[]> {
  const tokens = Object.values(config.currencies).filter(
    (one) => one.chain === name && one.contract !== "",
  );
  const contracts = tokens.map(({ contract }) => contract);
  const nodes = await Promise.all(
    chain.nodes.map((url) =>
      lookAtNode({ chain, url, contracts, timeoutMs: nodeMs, readSecretFile }),
    ),
  );
  return [
    ...nodes.flatMap((node) => answerFindings(name, node)),
    ...nodeFindings(name, chain, nodes, nowMs, "NODE_LAG"),
    ...tokens.flatMap((token) => tokenFindings(nodes, token)),
  ];
}

function answerFindings(name: string, { url, code, detail }: NodeView): readonly Finding[] {
  if (code === "") return [];
  // The gateway waits for a node that does not answer.
  return [newFinding(code, severityOf({ code }), `${url} of ${name}: ${detail}`)];
}

interface Token {
  readonly id: string;
  readonly contract: string;
  readonly decimal: number;
}

function tokenFindings(
  nodes: readonly NodeView[],
  { id, contract, decimal }: Token,
): readonly Finding[] {
  const said = nodes
    .flatMap(({ tokens }) => tokens.filter((token) => token.contract === contract))
    .map((token) => token.decimals);
  const other = said.find((decimals) => decimals >= 0 && decimals !== decimal);
  if (other !== undefined)
    return [
      newFinding(
        "WATCHER_DECIMALS",
        "error",
        `the contract of ${id} has ${other} decimals, not ${decimal}`,
      ),
    ];
  if (said.length === 0 || said.some((decimals) => decimals >= 0)) return [];
  return [newFinding("WATCHER_DECIMALS", "error", `${contract} of ${id} is no token's contract`)];
}
