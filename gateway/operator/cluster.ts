/**
 * `cluster`: the gateways that share one database, who of them is active, and the database's own
 * standbys.
 */
import type { Command } from "commander";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import { databaseName } from "../database/database.ts";
import {
  isStandbyAwaited,
  listPresences,
  listReplicas,
  type ReplicaState,
  readHistory,
  readLease,
  type ShownGateway,
} from "../store/leases.ts";
import { standbyWaitWords } from "../store/postgres-server.ts";
import { type JsonOption, printJson, printText, runInOperatorContext } from "./command.ts";
import { ageText } from "./status.ts";
import { addConfigAndJsonOptions } from "./words.ts";

function gatewayLine({ name, state, version, digest, heartbeatAgeMs }: ShownGateway): string {
  return `${name}  ${state}  version ${version}  settings ${digest}  heartbeat ${ageText(heartbeatAgeMs)} ago`;
}

function replicaLine({ name, mode, state, lagBytes }: ReplicaState): string {
  const lag = lagBytes === null ? "lag not shown to this role" : `${lagBytes} bytes behind`;
  return `${name}  ${mode === "" ? "mode not shown" : mode}  ${state === "" ? "state not shown" : state}  ${lag}`;
}

function runCluster(options: JsonOption): void {
  runInOperatorContext(options, ({ store: { database } }, config) => {
    const name = databaseName(config);
    if (config.postgres === null) {
      if (options.json === true) printJson({ database: name, shared: false });
      else printText(`${name} is a file of SQLite: one gateway works on it.`);
      return;
    }
    const lease = readLease(database);
    const { history, sinceMs } = readHistory(database);
    const [gateways, replicas] = [listPresences(database), listReplicas(database)];
    const waitsForStandby = isStandbyAwaited(database);
    if (options.json === true) {
      printJson({
        database: name,
        shared: true,
        leaseNumber: lease.token,
        leaseLeftMs: Math.max(lease.leftMs, 0),
        history,
        historySince: formatTimestampUtc(sinceMs),
        gateways,
        replicas,
        waitsForStandby,
      });
      return;
    }
    const left = lease.leftMs > 0 ? `taken for ${ageText(lease.leftMs)} more` : "free";
    const lines = [
      `database  ${name}`,
      `lease     number ${lease.token}, ${left}`,
      `history   ${history === "" ? "none yet" : `${history} since ${formatTimestampUtc(sinceMs)}`}`,
      ...(waitsForStandby ? [`commits   the database ${standbyWaitWords}`] : []),
      "gateways",
      ...listed(gateways.map(gatewayLine)),
      "standbys of the database",
      ...listed(replicas.map(replicaLine)),
    ];
    printText(lines.join("\n"));
  });
}

const listed = (lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? ["  none"] : lines.map((line) => `  ${line}`);

export function addClusterCommand(program: Command): void {
  addConfigAndJsonOptions(
    program
      .command("cluster")
      .description("the gateways on one database: who is active, and the database's standbys"),
  ).action(runCluster);
}
