/**
 * The tables that operators read: codes with their causes and dangers, events, alerts, metrics,
 * currencies by name, and the ends of states.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fastify } from "fastify";
import { createAlertMonitor } from "../../agent/courier/events/alert-monitor.ts";
import { createMetrics } from "../../agent/courier/metrics.ts";
import { createMetricsText } from "../../agent/courier/metrics-text.ts";
import { agentStateEnds } from "../../agent/state-ends.ts";
import { alertTable } from "../../base/alerts/queue/table.ts";
import { causes, type Danger, dangerOf, dangerWords } from "../../base/causes.ts";
import { type Code, codes } from "../../base/codes.ts";
import { agentEvents } from "../../base/events.ts";
import { gatewayEvents } from "../../base/events-gateway.ts";
import type { StateEnds } from "../../base/state-end.ts";
import { currencyPresets } from "../../chains/presets.ts";
import { gatewayStateEnds } from "../../gateway/operator/state-ends.ts";
import { createMeasures } from "../../gateway/reporting/measures.ts";
import { timeStore } from "../../gateway/store/timed.ts";
import { gatewayDatabase, silentLog } from "../../lab/kit/gateway-database.ts";
import { markdownTable, type PageSections, quote } from "./marked-pages.ts";

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

interface CodeGroup {
  readonly title: string;
  readonly names: readonly Code[];
}

/**
 * Headings and codes in the order of the sources below `root`, since an object knows no comments. A
 * comment above rows is their heading.
 */
export function readCodeGroups(root: string): readonly CodeGroup[] {
  const found: { readonly title: string; readonly names: Code[] }[] = [];
  for (const path of ["base/codes.ts", "base/codes-gateway.ts"])
    for (const line of readFileSync(join(root, path), "utf8").split("\n")) {
      const title = /^ {2}\/\/ (.*)$/.exec(line)?.[1];
      if (title !== undefined) found.push({ title, names: [] });
      const name = /^ {2}([A-Z][A-Z0-9_]*): \[/.exec(line)?.[1];
      if (name !== undefined) found.at(-1)?.names.push(name as Code);
    }
  return found.filter(({ names }) => names.length > 0);
}

function codeTables(root: string): string {
  const head = [
    ...["code", "kind", "effect", "who sees it", "meaning", "what the operator does", "passes"],
  ];
  return readCodeGroups(root)
    .map(({ title, names }) => {
      const rows = names.map((name) => {
        const { kind, effect, reader, meaning, advice, passing } = codes[name];
        return [quote(name), kind, effect, reader, meaning, advice, passing ?? ""];
      });
      return `## ${capital(title)}\n\n${markdownTable(head, rows)}`;
    })
    .join("\n\n");
}

function causesTable(): string {
  const rows = Object.entries(causes).flatMap(([code, ofCode]) =>
    Object.entries(ofCode).map(([cause, [danger, meaning, advice]]) => [
      ...[quote(code), quote(cause), danger, meaning, advice],
    ]),
  );
  return markdownTable(["code", "cause", "danger", "meaning", "what the operator does"], rows);
}

/** The alarms of a danger, each with the causes that make it one. */
function alarmsOf(danger: Danger): string {
  return Object.entries(codes)
    .filter(([, { kind }]) => kind === "alarm")
    .flatMap(([code]) => {
      const ofCode: readonly string[] = Object.hasOwn(causes, code)
        ? Object.keys(causes[code as keyof typeof causes])
        : [""];
      const ofDanger = ofCode.filter((cause) => dangerOf(code, cause) === danger);
      if (ofDanger.length === 0) return [];
      const isWhole = ofDanger.every((cause) => cause === "");
      return [`${quote(code)}${isWhole ? "" : ` (${ofDanger.join(", ")})`}`];
    })
    .join(", ");
}

function dangersTable(): string {
  const rows = (Object.keys(dangerWords) as Danger[]).map((danger) => {
    const [meaning, act] = dangerWords[danger];
    return [quote(danger), meaning, danger === "work" ? "every other code" : alarmsOf(danger), act];
  });
  const head = ["`danger`", "what it means", "codes, with the cause where a code has several"];
  return markdownTable([...head, "at once"], rows);
}

function namedTable(
  head: readonly string[],
  rows: Readonly<Record<string, Readonly<Record<string, string>>>>,
): string {
  return markdownTable(
    head,
    Object.entries(rows).map(([name, row]) => [quote(name), ...Object.values(row)]),
  );
}

/** Names of a text that Prometheus scrapes, with their help. */
export const helpOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = "", help = ""]) => [name, help]),
  );

/** Every metric, from a courier and a gateway that have seen nothing yet. */
async function metricsTable(): Promise<string> {
  const clocks = { clock: () => 0, monotonic: () => 0 };
  const agent = createMetricsText({
    metrics: createMetrics(clocks.monotonic),
    alertMonitor: createAlertMonitor({
      settings: { currencies: {} },
      deliver: null,
      log: silentLog,
      ...clocks,
    }),
    clock: clocks.clock,
    version: "",
    residentBytes: () => 0,
  });
  const server = fastify();
  const made = gatewayDatabase();
  const timed = timeStore(made.store, clocks.monotonic);
  const gateway = createMeasures({
    server: server as never,
    database: timed.store.database,
    hub: { online: () => false },
    watcher: () => null,
    freeBytes: () => null,
    walBytes: () => 0,
    certificateEndsAtMs: () => null,
    alerts: () => null,
    clock: clocks.clock,
    residentBytes: () => 0,
    callbacksWaiting: () => 0,
    databaseTimes: timed.times,
  });
  const help = [...helpOf(await agent.text()), ...helpOf(await gateway.text())];
  made.remove();
  await server.close();
  return markdownTable(
    ["metric", "meaning"],
    help.map(([name, words]) => [quote(name), words]),
  );
}

function endTables(ends: StateEnds): string {
  const head = ["state", "is", "ended by", "seen in", "command", "then"];
  return Object.entries(ends)
    .map(([group, rows]) => {
      const cells = Object.entries(rows).map(([name, [by, what, evidence, command, effect]]) => [
        ...[quote(name), what, by, evidence, command === "" ? "–" : quote(command), effect],
      ]);
      return `### ${group}\n\n${markdownTable(head, cells)}`;
    })
    .join("\n\n");
}

/** The sections of docs/errors.md; `root` is the tree whose sources have the headings. */
export const errorSections = (root: string): PageSections => ({
  codes: codeTables(root),
  causes: causesTable(),
});

/** The section of docs/alerts.md. */
export const alertSections = (): PageSections => ({ dangers: dangersTable() });

/** The sections of docs/events.md. */
export async function eventSections(): Promise<PageSections> {
  const head = ["event", "process", "level", "meaning", "what the operator does"];
  const alertHead = ["event", "told by", "level", "subject", "meaning", "what the operator does"];
  return {
    agent: namedTable(head, agentEvents),
    gateway: namedTable(head, gatewayEvents),
    alerts: namedTable(alertHead, alertTable),
    metrics: await metricsTable(),
  };
}

/** The section of docs/chains.md. */
export function chainSections(): PageSections {
  const rows = Object.entries(currencyPresets).map(([id, { chain, lines, source }]) => [
    ...[quote(id), quote(chain), lines.symbol, `${lines.decimal}`],
    ...[lines.contract === undefined ? "the native coin" : quote(lines.contract), source],
  ]);
  const head = ["id", "chain", "ticker", "decimals", "contract", "source"];
  return { currencies: markdownTable(head, rows) };
}

/** The section of docs/states.md. */
export const stateSections = (): PageSections => ({
  states: `## Gateway\n\n${endTables(gatewayStateEnds)}\n\n## Agent\n\n${endTables(agentStateEnds)}`,
});
