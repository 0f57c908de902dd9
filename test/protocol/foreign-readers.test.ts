/**
 * A list of every file that reads JSON, each with the party that writes the text: a new reader of
 * foreign text is added to foreign-text.test.ts as well. Texts of this program, or of its operator,
 * are named so.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { rootsOf } from "../../scripts/roots.ts";

const rooms = rootsOf(projectRoot, "product");

/** Readers of foreign text, by file, with their row in foreign-text.test.ts. */
const foreign: Readonly<Record<string, string>> = {
  "agent/signer/sockets/line-server.ts": "a message of a courier",
  "chains/evm/rpc-envelope.ts": "an answer of an EVM node",
  "chains/providers/node-words.ts": "a page or an error of a node",
  "chains/tron/rpc.ts": "an answer of a Tron node",
  "chains/utxo/answers.ts": "an answer of an Esplora server",
  "chains/xrp/rpc.ts": "an answer of a rippled or Clio server",
  "gateway/answer/body.ts": "an order of a shop",
  "gateway/prices/exact-json.ts": "an answer of a market",
  "gateway/prices/prices.ts": "an answer of a market",
  "base/foreign-json.ts": "an answer of a Tron node",
  "protocol/grant.ts": "a server that pairs, and the answer to it",
  "base/json.ts": "a frame, a file or a configuration",
  "protocol/pairing.ts": "a server that pairs, and the answer to it",
  "protocol/payloads.ts": "a message of an agent",
  "protocol/recovery.ts": "a message of a gateway",
  "protocol/sightings.ts": "a question of an agent, and a gateway's answer",
};

/** By the strict reader or the runtime's own, of a text that is bounded before: the bound. */
const bounded: Readonly<Record<string, string>> = {
  "agent/launcher/supervisor.ts": "a line of a child, at most 65,536 characters",
  "agent/socket/client.ts": "a line of the signer, bounded by agent/socket/line.ts",
  "cli/registering/register.ts": "the gateway's answer to pairing, bounded by its reader",
  "clients/typescript/callbacks.ts": "a callback whose signature fits",
  "clients/typescript/client.ts": "an answer of the gateway that the shop chose",
  "gateway/auth/authenticate.ts": "a token, at most 4,096 characters",
};

/** Written by this program, or by the operator who starts it. */
const own: readonly string[] = [
  ...[
    "agent/check/check.ts",
    "agent/check/main.ts",
    "agent/courier/main.ts",
    "agent/signer/bootstrap.ts",
    "cli/child.ts",
  ],
  ...[
    "base/settings.ts",
    "agent/config/link-file.ts",
    "agent/keystore/keystore.ts",
    "agent/exit-reason.ts",
  ],
  ...[
    "agent/launcher/paired.ts",
    "agent/ledger/codec.ts",
    "agent/ledger/pairing-mac.ts",
    "agent/ledger/segment.ts",
  ],
  ...[
    "agent/signer/policy/destinations.ts",
    "agent/signer/runtime/signer.ts",
    "agent/signer/runtime/stop-mark.ts",
  ],
  ...[
    "cli/backup/format.ts",
    "cli/backup/make.ts",
    "cli/backup/manifest.ts",
    "cli/backup/task.ts",
    "cli/install/program.ts",
  ],
  ...["cli/install/main.ts", "gateway/store/last-item.ts"],
  ...["gateway/books/accounts.ts", "gateway/store/journal.ts"],
  ...[
    "cli/pair/progress.ts",
    "cli/pair/scrub.ts",
    "cli/sealing/begin-ledger.ts",
    "cli/sealing/seal.ts",
  ],
  ...[
    "gateway/answer/interface-fields.ts",
    "gateway/answer/record.ts",
    "gateway/api/payer.ts",
    "gateway/deposits/fresh-address.ts",
    "gateway/invoices/view.ts",
    "gateway/sightings/sightings.ts",
  ],
  ...[
    "gateway/operator/currencies.ts",
    "gateway/operator/health.ts",
    "gateway/operator/merchants.ts",
  ],
  ...[
    "gateway/store/agents.ts",
    "gateway/store/foreign.ts",
    "gateway/store/invoices.ts",
    "gateway/store/callback-outbox.ts",
    "gateway/store/credits.ts",
  ],
  ...[
    "gateway/store/leases.ts",
    "gateway/store/parsed-text.ts",
    "gateway/store/restored-database.ts",
  ],
];

const reads = /\b(?:JSON\.parse|parseJson|parseForeign|parseExact)\(/;

function readersIn(room: string): readonly string[] {
  return (readdirSync(join(projectRoot, room), { recursive: true }) as string[])
    .filter((path) => /\.tsx?$/.test(path) && !path.includes("node_modules"))
    .map((path) => `${room}/${path}`)
    .filter((path) => reads.test(readFileSync(join(projectRoot, path), "utf8")));
}

it("every file that reads JSON is known with its writer, and no file of the list has gone", () => {
  const known = [...Object.keys(foreign), ...Object.keys(bounded), ...own];
  expect(rooms.flatMap(readersIn).sort()).toEqual([...known].sort());
});

it("every reader of foreign text has its row among the hostile shapes", () => {
  const table = readFileSync(join(projectRoot, "test", "protocol", "foreign-text.test.ts"), "utf8");
  for (const row of Object.values(foreign)) expect(table).toContain(`  "${row}":`);
});
