/**
 * The gateway's commands as the operator sees them: each file of test/gateway/cli is a transcript,
 * its `$` lines are run beside a gateway that serves, and the complete output must stand there,
 * exit code included. Ids, keys and times are named by their order.
 */
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HDKey } from "@scure/bip32";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { version } from "../../base/version.ts";
import { buildGatewayCommands, runGatewayCommandLine } from "../../gateway/command.ts";
import { recordAlarm } from "../../gateway/store/alarm.ts";
import { addBookEntry } from "../../gateway/store/books.ts";
import { keepFault } from "../../gateway/store/faults.ts";
import { openGap } from "../../gateway/store/gaps.ts";
import { addToSum } from "../../gateway/store/stray-sums.ts";
import { keepUnread, restUnread } from "../../gateway/store/unread-transactions.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { insertTransaction } from "../../lab/kit/gateway-database.ts";
import { startTestGateway, type TestGateway, testConfig } from "../../lab/kit/gateway-server.ts";

const folder = fileURLToPath(new URL("./cli", import.meta.url));
const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/60'/0'");
const master = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).publicExtendedKey;
const words: Readonly<Record<string, string>> = {
  XPUB: account.publicExtendedKey,
  XPRV: account.privateExtendedKey ?? "",
  MASTER: master,
  ZPUB: `zpub${account.publicExtendedKey.slice(4)}`,
  LATE: "1".repeat(32),
  OPEN: "2".repeat(32),
  SHORT: "3".repeat(32),
  OUT: "4".repeat(32),
  LOST: "7".repeat(32),
  LEFT: "6".repeat(32),
  LEFT2: "8".repeat(32),
};

let gateway: TestGateway;
beforeEach(async () => {
  vi.stubEnv("SUDO_USER", "ayse"); // acts stand under the login's name
  gateway = await startTestGateway();
  gateway.service.store.database.run("DELETE FROM keys");
  gateway.service.store.database.run("DELETE FROM audit");
  gateway.service.store.database.run("DELETE FROM merchants");
  const port = Number(new URL(gateway.url).port);
  const files = { keyFile: "gateway.key", listen: { host: "127.0.0.1", port } };
  for (const [name, database] of [
    ["gateway.config.json", "sqlite:gateway.db"],
    ["drill.json", "sqlite:drill.db"],
  ] as const)
    writeFileSync(join(gateway.dir, name), JSON.stringify({ ...testConfig, ...files, database }));
  const tron = {
    family: "tron",
    chainId: "0x2b6653dc",
    nodes: ["http://127.0.0.1:9"],
    confirmations: "finalized",
  };
  const withTron = {
    ...testConfig,
    ...files,
    database: "sqlite:gateway.db",
    chains: { ...testConfig.chains, tron },
  };
  writeFileSync(join(gateway.dir, "with-tron.json"), JSON.stringify(withTron));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await gateway.close();
});

/** A shop with an agent, three deposits and a withdrawal. */
async function shop(): Promise<void> {
  const { store } = gateway.service;
  await command(["merchant", "create", "Corner Shop"]);
  const merchant = store.database.get<{ id: string }>("SELECT id FROM merchants")?.id ?? "";
  const deposit = { merchant, createdAt: 1_000_000, expiresAt: 4_600_000, changedAt: 4_600_000 };
  const address = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
  const expired = {
    ...deposit,
    status: 2,
    stage: "expired",
    code: "deposit_expired",
    late: 1,
    address,
  } as const;
  const eth = "1000000000000000000";
  insertTransaction(store, {
    ...expired,
    id: words.LATE ?? "",
    orderId: "in-late",
    receivedUnits: eth,
  });
  insertTransaction(store, { ...deposit, id: words.OPEN ?? "", orderId: "in-open" });
  insertTransaction(store, {
    ...expired,
    id: words.SHORT ?? "",
    orderId: "in-short",
    receivedUnits: "999000000000000000",
  });
  const out = {
    operation: "withdraw",
    mode: "auto",
    receiver: address,
    status: 1,
    stage: "completed",
  } as const;
  insertTransaction(store, {
    ...deposit,
    ...out,
    id: words.OUT ?? "",
    orderId: "out-1",
    feeUnits: "21000000000000",
  });
  const hash = `0x${"5".repeat(64)}`;
  store.database.run(
    `INSERT INTO payments (network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId)
     VALUES ('eip155:31337', ?, -1, ?, 'eth', ?, 7, '0x07', 1, ?), ('eip155:31337', ?, 0, ?, 'usdt', '2500000', 8, '0x08', 0, ?)`,
    ...[hash, address, eth, words.LATE ?? "", hash, address, words.LATE ?? ""],
  );
  store.database.run(
    "INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq) VALUES (?, 0, 'a', 'eip155:31337', ?, '12', ?, '42000000000000', 9)",
    ...[words.OUT ?? "", address, hash],
  );
}

/** A payment to an address that the database had forgotten, and the order of that address. */
function unattributed(): void {
  const { store } = gateway.service;
  const merchant = store.database.get<{ id: string }>("SELECT id FROM merchants")?.id ?? "";
  const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
  const none = {
    merchant,
    status: 2,
    stage: "expired",
    code: "deposit_expired",
    contentHash: null,
    late: 1,
  } as const;
  const of = {
    address,
    orderId: `unattributed/${address}`,
  };
  const units = "2000000000000000000";
  insertTransaction(store, { ...none, ...of, id: words.LOST ?? "", receivedUnits: units });
  const hash = `0x${"6".repeat(64)}`;
  const sql = "INSERT INTO payments VALUES ('eip155:31337', ?, -1, ?, 'eth', ?, 9, '0x09', 1, ?)";
  store.database.run(sql, hash, address, units, words.LOST ?? "");
}

/** A deposit whose credited payment left the chain, and one that is as it was. */
function reorged(): void {
  const { store } = gateway.service;
  const merchant = store.database.get<{ id: string }>("SELECT id FROM merchants")?.id ?? "";
  const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
  const done = {
    merchant,
    status: 1,
    stage: "completed",
    createdAt: 1_000_000,
    address,
  } as const;
  const units = "1000000000000000000";
  for (const [id, orderId] of [
    [words.LEFT, "in-left"] as const,
    [words.LEFT2, "in-left-too"] as const,
  ]) {
    insertTransaction(store, { ...done, id: id ?? "", orderId, receivedUnits: units });
    const sql =
      "INSERT INTO gonePayments VALUES ('eip155:31337', ?, -1, ?, 'eth', ?, 9, '0x09', ?, 'open', 1772334005000, 1772334005000)";
    store.database.run(sql, `0x${(id ?? "").slice(0, 1).repeat(64)}`, address, units, id ?? "");
  }
}

/** Books as a closing left them: one difference, and money that came to a hot wallet. */
function books(): void {
  const { database } = gateway.service.store;
  const at = Date.parse("2026-03-01T03:00:05.000Z");
  const [network, address] = ["eip155:31337", "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"];
  const hotWallet = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
  const merchant = database.get<{ id: string }>("SELECT id FROM merchants")?.id ?? "";
  database.run("INSERT INTO closings VALUES (?, ?, 90, 90, 3, 1, 7, 1, ?, '')", network, at, at);
  database.run(
    "INSERT INTO bookDifferences VALUES (?, ?, 'eth', ?, 'deposit', '1000000000000000000', '500000000000000000', 90, 88, '', ?)",
    ...[network, address, merchant, at],
  );
  for (const [kind, units] of [
    ["opening", "0"],
    ["outside", "2500000"],
  ] as const)
    addBookEntry(database, {
      ...{ network, address: hotWallet, currency: "usdt", kind, units, block: 90, at },
      ...{ operator: "", reason: "", owner: { merchant, kind: "hot" } },
    });
}

/** Two alarms: one with advice, and one of a version whose codes this one does not know. */
function alarms(): void {
  const { database } = gateway.service.store;
  const at = Date.parse("2026-03-01T04:00:00.000Z");
  const alarm = {
    at,
    actor: "hub",
    code: "HUB_LEDGER_FORKED",
    subject: "abababababababab",
    detail: "two ledgers report record 7",
  } as const;
  recordAlarm(database, alarm);
  recordAlarm(database, {
    ...alarm,
    at: at + 1,
    code: "FROM_A_LATER_VERSION" as never,
    detail: "of a later version",
  });
}

/** An agent that is locked, a target that fails, and a withdrawal that waits for an operator. */
function trouble(): void {
  const { store } = gateway.service;
  const merchant = store.database.get<{ id: string }>("SELECT id FROM merchants")?.id ?? "";
  const hot = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
  const accounts = JSON.stringify([{ family: "evm", purpose: "hot", id: hot, firstAddress: hot }]);
  store.database.run(
    `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt, lockedCode)
     VALUES ('abababababababab', ?, 'w', 1, '', '', ?, '["eip155:31337"]', '[]', 0, 'LEDGER_FORKED')`,
    ...[merchant, accounts],
  );
  store.database.run(
    "INSERT INTO callbackTargets (id, merchant, url, events, secretBox, createdAt, failedAt, failedStatus) VALUES ('c_1', ?, 'https://a.example/', '', x'00', 1, 2, 500)",
    merchant,
  );
  const held = {
    operation: "withdraw",
    mode: "auto",
    stage: "awaiting_approval",
    status: 0,
  } as const;
  insertTransaction(store, {
    ...held,
    merchant,
    id: "8".repeat(32),
    orderId: "held-1",
    createdAt: 1_000_000,
    expiresAt: 9_000_000,
  });
}

/** Items that cannot be read: two of the shop's addresses, and a token that is everybody's. */
function faults(): void {
  const { database } = gateway.service.store;
  const merchant = database.get<{ id: string }>("SELECT id FROM merchants")?.id ?? "";
  const since = Date.parse("2026-03-01T08:12:00.000Z");
  const fault = {
    network: "eip155:31337",
    merchant,
    code: "NODE_PRUNED",
    words: "https://a.example: missing trie node",
    since,
    tries: 3,
  };
  for (const address of [
    "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  ])
    keepFault(database, { ...fault, domain: "address", id: `${address} eth` });
  const gap = {
    network: "eip155:31337",
    account: "",
    fromBlock: 40,
    toBlock: 41,
    merchant: "",
    code: "NODE_PRUNED",
    words: "no receipts",
  };
  openGap(database, { ...gap, since, summedTo: 0 });
  const lost = {
    ...gap,
    domain: "history",
    id: "* 40",
    words: "blocks 40 to 41: no receipts",
    since: since + 1,
    tries: 1,
  };
  keepFault(database, lost);
  const small = {
    network: "eip155:31337",
    account: `0x${"7".repeat(40)}`,
    currency: "eth",
    kind: "dust",
    transactionId: "",
  } as const;
  for (const [at, units] of [1_000_000_000_000n, 3_000_000_000_000n].entries())
    addToSum(database, { ...small, merchant, txHash: "0x1", block: 300 + at, units, end: null });
  const { code, words, network } = fault;
  const unread = {
    network,
    txHash: `0x${"5".repeat(64)}`,
    block: 7,
    address: `0x${"7".repeat(40)}`,
    merchant,
    code,
    words,
    at: since,
  };
  keepUnread(database, unread);
  restUnread(database, unread, Number.MAX_SAFE_INTEGER);
  keepFault(database, {
    ...fault,
    domain: "currency",
    id: "usdt",
    merchant: "",
    code: "NODE_ERROR",
    words: "execution reverted",
  });
}

/** The output of a command, both streams in their order, and its exit code. */
async function command(
  line: readonly string[],
): Promise<{ readonly text: string; readonly code: number }> {
  let text = "";
  const take = (part: string | Uint8Array): boolean => {
    text += part.toString();
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(take),
    vi.spyOn(process.stderr, "write").mockImplementation(take),
  ];
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    const asked = line.includes("--config") ? line : [...line, "--config", "gateway.config.json"];
    await runGatewayCommandLine(
      asked.map((word) => (/\.(?:json|backup)$/.test(word) ? join(gateway.dir, word) : word)),
    );
    return { text, code: Number(process.exitCode ?? 0) };
  } finally {
    process.exitCode = before;
    for (const spy of spies) spy.mockRestore();
  }
}

/**
 * Replaces a value that differs in each run by a number in order of appearance, and remembers it
 * for later lines.
 */
class Names {
  readonly #found = new Map<string, string>();

  hide(text: string): string {
    return text
      .replaceAll(gateway.dir, "DIR")
      .replace(/(k_[0-9a-f]{16})\.[\w-]{43}\.[0-9a-f]{32}/g, "$1.SECRET.FINGERPRINT")
      .replace(/\b([mk])_[0-9a-f]{16}\b/g, (id, kind: string) => this.#name(id, kind))
      .replaceAll(gateway.service.key.fingerprint, "FINGERPRINT")
      .replace(/20(?!35)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME")
      .replaceAll("\r\n", "\n") // the transcripts are text files
      .replaceAll("\ufeff", "BYTE-ORDER-MARK")
      .replace(/\b\d+ [KM]iB\b/g, "SIZE")
      .replace(/("(?:databaseBytes|walBytes|freeBytes)":)\d+/g, "$1SIZE")
      .replace(/oldest \d+ d\b/g, "oldest AGE")
      .replaceAll(version, "VERSION")
      .replace(/"copiedAt":\d+/g, '"copiedAt":TIME')
      .replace(/(schema(?: +|":))\d+/g, "$1NUMBER");
  }

  say(word: string): string {
    const known = [...this.#found].find(([, name]) => name === word)?.[0];
    return (
      known ??
      words[word] ??
      (/^[mk]_none$/.test(word) ? word.replace("none", "0".repeat(16)) : word)
    );
  }

  #name(id: string, kind: string): string {
    if (/^.{2}0+$/.test(id)) return `${kind}_none`;
    const same = [...this.#found.values()].filter((name) => name.startsWith(kind)).length;
    const name = this.#found.get(id) ?? `${kind}_${same + 1}`;
    this.#found.set(id, name);
    return name;
  }
}

const split = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");

describe("transcripts of the gateway's operator", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));

  // The commands open the file.
  it.skipIf(isOnPostgres).each(files)("transcripts of the gateway's operator: %s", async (file) => {
    const names = new Names();
    const said: string[] = [];
    for (const line of readFileSync(join(folder, file), "utf8").split("\n")) {
      if (line.startsWith("# ")) said.push(line);
      if (line === "# scene: shop") await shop();
      if (line === "# scene: books") books();
      if (line === "# scene: unattributed") unattributed();
      if (line === "# scene: alarms") alarms();
      if (line === "# scene: trouble") trouble();
      if (line === "# scene: faults") faults();
      if (line === "# scene: reorged") reorged();
      if (!line.startsWith("$ ")) continue;
      const [program, ...rest] = split(line.slice(2)).map((word) => names.say(word));
      if (program === "cp") {
        copyFileSync(join(gateway.dir, rest[0] ?? ""), join(gateway.dir, rest[1] ?? ""));
        said.push(line, "");
        continue;
      }
      const { text, code } = await command(rest);
      expect(text).not.toContain(words.XPRV?.slice(4, 30));
      const shown = names.hide(text);
      said.push(
        line,
        `${shown}${shown === "" || shown.endsWith("\n") ? "" : "\n"}[exit ${code}]`,
        "",
      );
    }
    await expect(`${said.join("\n").trimEnd()}\n`).toMatchFileSnapshot(join(folder, file));
  });

  it("hold every command of these groups, and each of them takes --json", () => {
    const groups = buildGatewayCommands().commands.filter((one) =>
      [
        "merchant",
        "key",
        "deposits",
        "withdrawals",
        "currencies",
        "find",
        "audit",
        "alarms",
        "balances",
        "status",
        "faults",
      ].includes(one.name()),
    );
    const all = groups.flatMap((group) => (group.commands.length === 0 ? [group] : group.commands));
    expect(all.length).toBeGreaterThan(16);
    const text = files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
    for (const one of all) {
      const name =
        one.parent === null || one.parent.parent === null
          ? one.name()
          : `${one.parent.name()} ${one.name()}`;
      expect(text, name).toContain(`$ gateway ${name}`);
      expect(
        one.options.map(({ long }) => long),
        name,
      ).toContain("--json");
    }
  });
});
