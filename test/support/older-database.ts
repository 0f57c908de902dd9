/**
 * A gateway's database as earlier versions left it: each step takes away what one version added.
 */

/** The statements that turn a database of the next version into one of this version. */
const stepsBack: Readonly<Record<number, readonly string[]>> = {
  23: ["DROP TABLE forgottenRanges"],
  22: ["depositCredits", "foundAddresses"].map((name) => `DROP TABLE ${name}`),
  21: [
    ...["addressStates", "baselines", "depositEnds"].map((name) => `DROP TABLE ${name}`),
    "DELETE FROM meta WHERE name = 'baselinesAfter'",
    "ALTER TABLE transactions DROP COLUMN toleranceUnits",
  ],
  20: ["ALTER TABLE agents DROP COLUMN ledgerAt"],
  19: [...["bookEntries", "bookDifferences", "closings"].map((name) => `DROP TABLE ${name}`), "DROP INDEX transactionsReceived"],
  18: [
    "ALTER TABLE agents DROP COLUMN depositCeiling",
    "ALTER TABLE agents DROP COLUMN awaitsCeiling",
    ...["forgottenAddresses", "vouched"].map((name) => `DROP TABLE ${name}`),
  ],
  17: [
    "ALTER TABLE signatures RENAME TO newSignatures",
    `CREATE TABLE signatures (
      transactionId TEXT NOT NULL REFERENCES transactions(id), version INTEGER NOT NULL, agent TEXT NOT NULL,
      network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL UNIQUE, feeMax TEXT NOT NULL,
      seq INTEGER NOT NULL, untilMs INTEGER NOT NULL DEFAULT 0, deadAt INTEGER, cancel INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (transactionId, version)) STRICT`,
    `INSERT INTO signatures SELECT transactionId, version, agent, network, account, slot, txHash, feeMax, seq, untilMs, deadAt, cancel
      FROM newSignatures`,
    "DROP TABLE newSignatures",
  ],
  16: ["ALTER TABLE signatures DROP COLUMN cancel"],
  15: [
    "ALTER TABLE signatures DROP COLUMN untilMs",
    "ALTER TABLE signatures DROP COLUMN deadAt",
    "DROP TABLE expiries",
    ...["spendsBySlot", "spendsByHash", "spendsUntold"].map((name) => `DROP INDEX ${name}`),
    "ALTER TABLE spends RENAME TO newSpends",
    `CREATE TABLE spends (
      network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER NOT NULL,
      receiver TEXT NOT NULL, contract TEXT NOT NULL, units TEXT NOT NULL, PRIMARY KEY (network, account, slot)) STRICT`,
    "INSERT INTO spends SELECT network, account, slot, txHash, block, receiver, contract, units FROM newSpends",
    "DROP TABLE newSpends",
  ],
  14: [
    "ALTER TABLE receivingKeys RENAME TO newReceivingKeys",
    `CREATE TABLE receivingKeys (
      merchant TEXT PRIMARY KEY REFERENCES merchants(id), xpub TEXT NOT NULL, firstDepositAddress TEXT NOT NULL UNIQUE,
      nextDepositIndex INTEGER NOT NULL, createdAt INTEGER NOT NULL) STRICT`,
    `INSERT INTO receivingKeys SELECT merchant, xpub, firstDepositAddress, nextDepositIndex, createdAt
      FROM newReceivingKeys WHERE family = 'evm'`,
    "DROP TABLE newReceivingKeys",
  ],
  13: ["ALTER TABLE recoveries DROP COLUMN mark"],
  12: [
    ...["nativeCoins", "holdings", "sweepWishes", "sweepNotes"].map((name) => `DROP TABLE ${name}`),
    "DROP INDEX sweepsByAddress",
  ],
  11: [
    ...["hotAddress", "depositXpub", "firstDepositAddress"].map(
      (name) => `ALTER TABLE agents ADD COLUMN ${name} TEXT NOT NULL DEFAULT ''`,
    ),
    `UPDATE agents SET hotAddress = json_extract(accounts, '$[0].id'), depositXpub = json_extract(accounts, '$[1].id'),
      firstDepositAddress = json_extract(accounts, '$[1].firstAddress')`,
    "ALTER TABLE agents DROP COLUMN accounts",
  ],
  10: ["DROP TABLE reserved", "DROP INDEX transactionsByKind", "DROP INDEX transactionsByCurrency"],
  9: [
    ...["Made", "Moved", "Paid", "PaidFinally"].map((name) => `DROP TRIGGER callback${name}`),
    ...["Tries", "Deliveries", "Events", "Changes", "Targets"].map((name) => `DROP TABLE callback${name}`),
    "ALTER TABLE transactions DROP COLUMN callbackStatus",
    "ALTER TABLE transactions DROP COLUMN quote",
    "ALTER TABLE transactions DROP COLUMN metadata",
    "DROP TABLE prices",
    "DROP TABLE priceReadings",
  ],
  8: [
    "ALTER TABLE keys DROP COLUMN expiresAt",
    "ALTER TABLE keys DROP COLUMN allowedAddresses",
    "ALTER TABLE merchants DROP COLUMN disabledAt",
    "ALTER TABLE transactions DROP COLUMN late",
    "DROP TABLE receivingKeys",
  ],
  7: ["DROP TABLE spends"],
  6: ["ALTER TABLE agents DROP COLUMN policy"],
  5: ["ALTER TABLE agents DROP COLUMN pausedAt"],
  4: ["DROP INDEX agentsByLinkBlock", "ALTER TABLE agents DROP COLUMN linkBlock"],
  3: ["ALTER TABLE agents DROP COLUMN software"],
  2: ["ALTER TABLE agents DROP COLUMN heard"],
  1: ["DROP TABLE recoveries"],
};

/** Takes a database of the newest version, open behind `exec`, back to an older one. */
export function takeBack(exec: (sql: string) => void, version: number): void {
  const newest = Math.max(...Object.keys(stepsBack).map(Number));
  for (let step = newest; step >= version; step -= 1) for (const sql of stepsBack[step] ?? []) exec(sql);
  exec(`UPDATE meta SET value = '${version}' WHERE name = 'schema'`);
}
