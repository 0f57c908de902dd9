/**
 * The tables of events: every event is used by a log call of its process, at its level, and no log
 * call names another.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentEvents } from "../../base/events.ts";
import { gatewayEvents } from "../../base/events-gateway.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");

function sourcesUnder(folder: string): readonly string[] {
  return readdirSync(join(projectRoot, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sourcesUnder(path);
    return /\.tsx?$/.test(path) ? [path] : [];
  });
}

/** Every `log.level({ event: "…"` of the sources, and every event the small writers are given. */
function callsIn(
  paths: readonly string[],
): readonly { readonly path: string; readonly level: string; readonly event: string }[] {
  return paths.flatMap((path) => {
    const text = read(path);
    const pino = [
      ...text.matchAll(/\blog\.(debug|info|warn|error)\(\s*\{\s*event(?:: "([a-z-]+)")?/g),
    ];
    // The gateway's `say` is the answer of an HTTP request.
    const small = path.startsWith("gateway/")
      ? []
      : [
          ...text.matchAll(
            /(?:\blog|#options\.log|\bsay|exitReason|\.#say|options\.say)\(\s*"([a-z-]+)",/g,
          ),
        ];
    return [
      ...pino.map(([, level = "", event = "*"]) => ({ path, level, event })),
      ...small.map(([, event = ""]) => ({ path, level: "", event })),
    ];
  });
}

/** Logs for both sides. */
const loggedAlertQueue = "base/alerts/queue/logged-queue.ts";
const agentSources = [
  ...sourcesUnder("agent/signer"),
  ...sourcesUnder("agent/ledger"),
  ...sourcesUnder("agent/courier"),
  ...sourcesUnder("agent/launcher"),
  "agent/crypto.ts",
  loggedAlertQueue,
];
const sides = [
  {
    name: "agent",
    table: agentEvents as Readonly<Record<string, Readonly<Record<string, string>>>>,
    sources: agentSources,
  },
  {
    name: "gateway",
    table: gatewayEvents as Readonly<Record<string, Readonly<Record<string, string>>>>,
    sources: [...sourcesUnder("gateway"), loggedAlertQueue],
  },
] as const;

describe("events", () => {
  for (const { name, table, sources } of sides) {
    it(`each event of the ${name} is used, at its level, and no log call names another`, () => {
      const calls = callsIn(sources);
      expect(calls.length).toBeGreaterThan(25);
      for (const { path, level, event } of calls) {
        if (event === "*") continue; // the name comes from a type whose members are the table's
        expect(Object.keys(table), `${path} names ${event}`).toContain(event);
        if (level !== "") expect(table[event]?.level, `${path}: level of ${event}`).toBe(level);
      }
      const text = sources.map(read).join("\n");
      const chain = ["chains/providers/node-pool.ts", "chains/evm/node-wire.ts"]
        .map(read)
        .join("\n");
      for (const event of Object.keys(table)) {
        const isUsed =
          text.includes(`"${event}"`) ||
          (event.startsWith("node-") && chain.includes(`log("${event}"`));
        expect(isUsed, `${event} is used nowhere`).toBe(true);
      }
    });

    it(`no log call of the ${name} is without an event`, () => {
      for (const path of sources) {
        const bare = [
          ...read(path).matchAll(
            /\b(?:log|out)\.(?:debug|info|warn|error|fatal|trace)\((?!\s*\{\s*event|\s*line,)/g,
          ),
        ];
        expect(bare.map(([text]) => `${path}: ${text}`)).toEqual([]);
      }
    });
  }
});
