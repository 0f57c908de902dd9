/**
 * The gateway's tables. Constraints carry the invariants: one withdrawal per order, one job per
 * position in an agent's list, one withdrawal per slot. Base units are TEXT (SQLite integers are 64
 * bit); times are milliseconds since 1970. Sources: docs/architecture.md; the statuses and stages
 * of the interface and of docs/api.md.
 */

import { callbackStatus, callbackTables, callbackTriggers, dropCallbackTriggers } from "./callback-tables.ts";

/** The schema's own version, kept in `meta`; a file with a newer version is refused. */
export const schemaVersion = 24;

/** Version 2 added one row for each epoch that began with a recovery. */
const recoveries = `
CREATE TABLE recoveries (
  agent TEXT NOT NULL REFERENCES agents(id), epoch INTEGER NOT NULL, at INTEGER NOT NULL, heldSeq INTEGER NOT NULL,
  heldHash TEXT NOT NULL, takenAt INTEGER, PRIMARY KEY (agent, epoch)) STRICT;
`;

/** Version 12 added a mark: the recovery to which an order belongs, in any epoch. */
const recoveryMark = "ALTER TABLE recoveries ADD COLUMN mark TEXT NOT NULL DEFAULT '';";

/**
 * Version 8 added every final outgoing transaction of a hot wallet as the watcher reads it,
 * including transactions that no order explains.
 */
const oldSpends = `
CREATE TABLE spends (
  network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER NOT NULL,
  receiver TEXT NOT NULL, contract TEXT NOT NULL, units TEXT NOT NULL, PRIMARY KEY (network, account, slot)) STRICT;
`;

/**
 * Version 16 changed `spends`: on a chain without slots an account has many rows without a slot,
 * and unexplained rows need an alert to operators. A slot is still spent only once.
 */
const spendColumns = "network, account, slot, txHash, block, receiver, contract, units";
const spends = `
CREATE TABLE spends (
  network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER NOT NULL,
  receiver TEXT NOT NULL, contract TEXT NOT NULL, units TEXT NOT NULL, untold INTEGER NOT NULL DEFAULT 0 CHECK (untold IN (0,1)),
  PRIMARY KEY (network, account, slot, txHash)) STRICT;
CREATE UNIQUE INDEX spendsBySlot ON spends (network, account, slot) WHERE slot <> '';
CREATE INDEX spendsByHash ON spends (txHash);
CREATE INDEX spendsUntold ON spends (network) WHERE untold = 1;
`;

/**
 * Version 16 added the chain time until which a block takes a version (0 if a slot keeps others
 * out), and the time since which a version is dead. The new table `expiries` has withdrawals
 * reported expired by an agent before this database held all versions as dead.
 */
const untilMs = "untilMs INTEGER NOT NULL DEFAULT 0";
const deadAt = "deadAt INTEGER";
/** Version 17 added whether a version is a cancel. Older versions have no such statement. */
const cancel = "cancel INTEGER NOT NULL DEFAULT 0 CHECK (cancel IN (0,1))";
/**
 * Version 18 of the signatures: an account has a hash only once, and no agent can claim the hash of
 * another account.
 */
const signatures = (name: string): string => `
CREATE TABLE ${name} (
  transactionId TEXT NOT NULL REFERENCES transactions(id), version INTEGER NOT NULL, agent TEXT NOT NULL, network TEXT NOT NULL,
  account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, feeMax TEXT NOT NULL, seq INTEGER NOT NULL,
  ${untilMs}, ${deadAt}, ${cancel}, PRIMARY KEY (transactionId, version), UNIQUE (txHash, account)) STRICT;
`;
const signatureColumns = "transactionId, version, agent, network, account, slot, txHash, feeMax, seq, untilMs, deadAt, cancel";
const expiries = `
CREATE TABLE expiries (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), code TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
`;

/**
 * Version 10 added the quote of a deposit in fiat money, as JSON, and the prices of the markets.
 */
const quote = "quote TEXT NOT NULL DEFAULT ''";
const prices = `
CREATE TABLE prices (
  asset TEXT NOT NULL, fiat TEXT NOT NULL, price TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (asset, fiat)) STRICT;
CREATE TABLE priceReadings (
  asset TEXT NOT NULL, fiat TEXT NOT NULL, source TEXT NOT NULL, price TEXT NOT NULL, readAt INTEGER, movedAt INTEGER,
  leftOut TEXT NOT NULL, trouble TEXT NOT NULL, PRIMARY KEY (asset, fiat, source)) STRICT;
`;

/**
 * Version 11 added sums of pending amounts (reserved.ts fills the table), and indexes for the
 * filters of lists. The two indexes with a similar beginning cover all filters except orderId,
 * which has the table's own constraint.
 */
const transactionFilters = `
CREATE INDEX transactionsByKind ON transactions (merchant, operation, status, createdAt DESC, id);
CREATE INDEX transactionsByCurrency ON transactions (merchant, currency, operation, status, createdAt DESC, id);
`;
const sums = `
CREATE TABLE reserved (
  account TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, withdrawals INTEGER NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (account, network, currency)) STRICT;
${transactionFilters}`;

/** Versions 3 to 7 added these. */
const heard = "heard TEXT NOT NULL DEFAULT ''";
const software = "software TEXT NOT NULL DEFAULT ''";
const linkBlock = "linkBlock TEXT NOT NULL DEFAULT ''";
const agentsByLinkBlock = "CREATE INDEX agentsByLinkBlock ON agents (linkBlock) WHERE releasedAt IS NULL;";
const pausedAt = "pausedAt INTEGER";
const policy = "policy TEXT NOT NULL DEFAULT ''";
const ledgerAt = "ledgerAt INTEGER NOT NULL DEFAULT 0";

/**
 * Version 9 added expiry and addresses of keys, disabled merchants, merchants that only receive,
 * and late deposits.
 */
const keyEnds = "expiresAt INTEGER";
const keyAddresses = "allowedAddresses TEXT NOT NULL DEFAULT ''";
const disabledAt = "disabledAt INTEGER";
const late = "late INTEGER NOT NULL DEFAULT 0 CHECK (late IN (0,1))";
const oneReceivingKey = `
CREATE TABLE receivingKeys (
  merchant TEXT PRIMARY KEY REFERENCES merchants(id), xpub TEXT NOT NULL, firstDepositAddress TEXT NOT NULL UNIQUE,
  nextDepositIndex INTEGER NOT NULL, createdAt INTEGER NOT NULL) STRICT;
`;

/** Version 15 replaced the one account with an account for each family. */
const receivingKeys = `
CREATE TABLE receivingKeys (
  merchant TEXT NOT NULL REFERENCES merchants(id), family TEXT NOT NULL, xpub TEXT NOT NULL,
  firstDepositAddress TEXT NOT NULL UNIQUE, nextDepositIndex INTEGER NOT NULL, createdAt INTEGER NOT NULL,
  PRIMARY KEY (merchant, family)) STRICT;
`;
/**
 * An address of a merchant that only receives has no agent. Rows keep their rowids, because the
 * watcher reads its list by rowid.
 */
const depositAddresses = (name: string): string => `
CREATE TABLE ${name} (
  address TEXT PRIMARY KEY, agent TEXT REFERENCES agents(id), addressIndex INTEGER NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id), UNIQUE (agent, addressIndex)) STRICT;
`;

/** Version 12 replaced one family's accounts with the accounts of every family. */
const accounts = "accounts TEXT NOT NULL DEFAULT '[]'";

/** Version 10 added the shop's own data for an order, as JSON; "" without any. */
const metadata = "metadata TEXT NOT NULL DEFAULT ''";

/** Deposit requests, withdrawals, and movements between a wallet's own accounts. */
const transactions = (name: string): string => `
CREATE TABLE ${name} (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id),
  operation TEXT NOT NULL CHECK (operation IN ('deposit','withdraw','sweep','topup')),
  mode TEXT NOT NULL CHECK (mode IN ('','auto','manual')), orderId TEXT NOT NULL, contentHash TEXT NOT NULL,
  currency TEXT NOT NULL, network TEXT NOT NULL, amount TEXT NOT NULL, amountUnits TEXT NOT NULL,
  receiverAddress TEXT NOT NULL, depositAddress TEXT NOT NULL, tag TEXT NOT NULL DEFAULT '',
  status INTEGER NOT NULL CHECK (status IN (0,1,2)), stage TEXT NOT NULL, code TEXT NOT NULL DEFAULT '',
  txHash TEXT NOT NULL DEFAULT '', feeUnits TEXT NOT NULL DEFAULT '', amountReceivedUnits TEXT NOT NULL DEFAULT '0',
  finalBlock INTEGER, createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL, ${late}, ${quote},
  ${metadata},
  UNIQUE (merchant, operation, orderId)) STRICT;
`;
const transactionIndexes = `
CREATE INDEX transactionsByMerchant ON transactions (merchant, createdAt DESC, id);
CREATE INDEX transactionsOpen ON transactions (operation, status) WHERE status = 0;
CREATE INDEX transactionsFinal ON transactions (depositAddress, finalBlock) WHERE finalBlock IS NOT NULL;
`;
const transactionColumns = `id, merchant, operation, mode, orderId, contentHash, currency, network, amount, amountUnits,
  receiverAddress, depositAddress, tag, status, stage, code, txHash, feeUnits, amountReceivedUnits, finalBlock, createdAt,
  changedAt, expiresAt, late, quote, metadata, callbackStatus`;

/**
 * Version 13 added sweeps and top-ups among the transactions, and the unswept balance of each
 * deposit address (holdings.ts fills the table). It also added sweeps that an operator asked for,
 * and the reason why an address is not swept.
 */
const sweeps = `
CREATE TABLE nativeCoins (network TEXT PRIMARY KEY, currency TEXT NOT NULL) STRICT;
CREATE TABLE holdings (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, merchant TEXT NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (address, network, currency)) STRICT;
CREATE INDEX holdingsByMerchant ON holdings (merchant, currency);
CREATE TABLE sweepWishes (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (address, network, currency)) STRICT;
CREATE TABLE sweepNotes (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY (address, network, currency)) STRICT;
CREATE INDEX sweepsByAddress ON transactions (depositAddress, createdAt) WHERE operation = 'sweep';
`;

/**
 * Version 20 added the books (books.ts): entries that no payment or outgoing transaction makes, the
 * newest closing of each network, and its differences.
 */
const books = `
CREATE TABLE bookEntries (
  id INTEGER PRIMARY KEY, network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('opening','outside','note')), units TEXT NOT NULL, block INTEGER NOT NULL,
  at INTEGER NOT NULL, person TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE INDEX bookEntriesByAddress ON bookEntries (address, network, currency, block);
CREATE UNIQUE INDEX bookOpenings ON bookEntries (address, network, currency) WHERE kind = 'opening';
CREATE TABLE bookDifferences (
  network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, merchant TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('deposit','hot')), expectedUnits TEXT NOT NULL, foundUnits TEXT NOT NULL, block INTEGER NOT NULL,
  sinceBlock INTEGER, detail TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (network, address, currency)) STRICT;
CREATE TABLE closings (
  network TEXT PRIMARY KEY, closedAt INTEGER, firstBlock INTEGER NOT NULL, lastBlock INTEGER NOT NULL, addresses INTEGER NOT NULL,
  hotWallets INTEGER NOT NULL, compared INTEGER NOT NULL, left INTEGER NOT NULL, triedAt INTEGER NOT NULL, fault TEXT NOT NULL) STRICT;
CREATE INDEX transactionsReceived ON transactions (receiverAddress, finalBlock)
  WHERE operation <> 'deposit' AND finalBlock IS NOT NULL;
`;

/**
 * Version 22 added (address-states.ts) known balances of deposit addresses, and the block in which
 * a request ends, until this end is final. It also added the amount that may be missing from a
 * request. Older addresses have no baseline.
 */
const addressStates = `
CREATE TABLE addressStates (
  network TEXT NOT NULL, address TEXT NOT NULL, block INTEGER NOT NULL, isUsed INTEGER NOT NULL CHECK (isUsed IN (0,1)),
  comparedAt INTEGER NOT NULL, run TEXT NOT NULL, PRIMARY KEY (network, address)) STRICT;
CREATE INDEX addressStatesByTime ON addressStates (network, comparedAt);
CREATE INDEX addressStatesByAddress ON addressStates (address);
CREATE TABLE baselines (
  network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, block INTEGER NOT NULL,
  takenUnits TEXT NOT NULL DEFAULT '0', PRIMARY KEY (address, network, currency)) STRICT;
CREATE TABLE depositEnds (transactionId TEXT PRIMARY KEY REFERENCES transactions(id), block INTEGER NOT NULL) STRICT;
ALTER TABLE transactions ADD COLUMN toleranceUnits TEXT NOT NULL DEFAULT '0';
`;

/**
 * Version 23 added payments that an operator credited to a request of another address (credits.ts),
 * and the first block whose payments count at an address found by a scan (found-addresses.ts).
 */
const creditsAndFinds = `
CREATE TABLE depositCredits (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, transactionId TEXT NOT NULL REFERENCES transactions(id),
  units TEXT NOT NULL, ofUnits TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (network, txHash, logIndex, transactionId)) STRICT;
CREATE INDEX depositCreditsByTransaction ON depositCredits (transactionId);
CREATE TABLE foundAddresses (
  network TEXT NOT NULL, address TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (address, network)) STRICT;
`;

/**
 * A table's own constraints change only with the table; foreign keys are off meanwhile (store.ts).
 */
const sweepsUpgrade = `${dropCallbackTriggers}
  ${transactions("newTransactions")} ALTER TABLE newTransactions ADD COLUMN ${callbackStatus};
  INSERT INTO newTransactions (${transactionColumns}) SELECT ${transactionColumns} FROM transactions;
  DROP TABLE transactions; ALTER TABLE newTransactions RENAME TO transactions;
  ${transactionIndexes}${transactionFilters}${callbackTriggers}${sweeps}`;

/**
 * Version 19 added the deposit ceiling in the agent's ledger, and whether it is awaited after the
 * database was restored from a backup. It also added the addresses that a restored database may
 * have forgotten, and the blocks from which to read the chains again.
 */
const depositCeiling = "depositCeiling INTEGER NOT NULL DEFAULT 0";
const awaitsCeiling = "awaitsCeiling INTEGER NOT NULL DEFAULT 0 CHECK (awaitsCeiling IN (0,1))";
const forgotten = `
CREATE TABLE forgottenAddresses (
  address TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), agent TEXT REFERENCES agents(id),
  addressIndex INTEGER NOT NULL, namespace TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE vouched (network TEXT PRIMARY KEY, block INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
`;

/** Version 24 added skipped indexes whose addresses are not derived and watched yet. */
const forgottenRanges = `
CREATE TABLE forgottenRanges (
  id INTEGER PRIMARY KEY, account TEXT NOT NULL, family TEXT NOT NULL, merchant TEXT NOT NULL REFERENCES merchants(id),
  agent TEXT REFERENCES agents(id), next INTEGER NOT NULL, placesEnd INTEGER NOT NULL CHECK (placesEnd > next), at INTEGER NOT NULL) STRICT;
`;

/** The SQL that upgrades a database to the next version, by the number of the older version. */
export const upgrades: Readonly<Record<number, string>> = {
  1: recoveries,
  2: `ALTER TABLE agents ADD COLUMN ${heard};`,
  3: `ALTER TABLE agents ADD COLUMN ${software};`,
  4: `ALTER TABLE agents ADD COLUMN ${linkBlock}; ${agentsByLinkBlock}`,
  5: `ALTER TABLE agents ADD COLUMN ${pausedAt};`,
  6: `ALTER TABLE agents ADD COLUMN ${policy};`,
  7: oldSpends,
  8: `ALTER TABLE keys ADD COLUMN ${keyEnds}; ALTER TABLE keys ADD COLUMN ${keyAddresses};
    ALTER TABLE merchants ADD COLUMN ${disabledAt}; ALTER TABLE transactions ADD COLUMN ${late}; ${oneReceivingKey}
    ${depositAddresses("newAddresses")}
    INSERT INTO newAddresses (rowid, address, agent, addressIndex, transactionId)
      SELECT rowid, address, agent, addressIndex, transactionId FROM depositAddresses;
    DROP TABLE depositAddresses; ALTER TABLE newAddresses RENAME TO depositAddresses;`,
  9: `ALTER TABLE transactions ADD COLUMN ${quote}; ALTER TABLE transactions ADD COLUMN ${metadata}; ${prices}${callbackTables}`,
  10: sums,
  11: `ALTER TABLE agents ADD COLUMN ${accounts};
    UPDATE agents SET accounts = json_array(
      json_object('family', 'evm', 'purpose', 'hot', 'id', hotAddress, 'firstAddress', hotAddress),
      json_object('family', 'evm', 'purpose', 'deposits', 'id', depositXpub, 'firstAddress', firstDepositAddress));
    ALTER TABLE agents DROP COLUMN hotAddress; ALTER TABLE agents DROP COLUMN depositXpub;
    ALTER TABLE agents DROP COLUMN firstDepositAddress;`,
  12: sweepsUpgrade,
  // An older order names no mark. An operator who opened a ledger with it is told to ask for
  // another.
  13: `${recoveryMark} UPDATE recoveries SET mark = lower(hex(randomblob(16)));`,
  14: `ALTER TABLE receivingKeys RENAME TO oldReceivingKeys; ${receivingKeys}
    INSERT INTO receivingKeys (merchant, family, xpub, firstDepositAddress, nextDepositIndex, createdAt)
      SELECT merchant, 'evm', xpub, firstDepositAddress, nextDepositIndex, createdAt FROM oldReceivingKeys;
    DROP TABLE oldReceivingKeys;`,
  15: `ALTER TABLE signatures ADD COLUMN ${untilMs}; ALTER TABLE signatures ADD COLUMN ${deadAt}; ${expiries}
    ALTER TABLE spends RENAME TO oldSpends; ${spends}
    INSERT INTO spends (${spendColumns}) SELECT ${spendColumns} FROM oldSpends; DROP TABLE oldSpends;`,
  16: `ALTER TABLE signatures ADD COLUMN ${cancel};`,
  17: `${signatures("newSignatures")}
    INSERT INTO newSignatures (${signatureColumns}) SELECT ${signatureColumns} FROM signatures;
    DROP TABLE signatures; ALTER TABLE newSignatures RENAME TO signatures;`,
  18: `ALTER TABLE agents ADD COLUMN ${depositCeiling}; ALTER TABLE agents ADD COLUMN ${awaitsCeiling}; ${forgotten}`,
  19: books,
  20: `ALTER TABLE agents ADD COLUMN ${ledgerAt};`,
  21: `${addressStates}
    INSERT INTO meta (name, value) SELECT 'baselinesAfter', coalesce(max(rowid), 0) FROM depositAddresses;`,
  22: creditsAndFinds,
  23: forgottenRanges,
};

export const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE merchants (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, language TEXT NOT NULL DEFAULT 'en', createdAt INTEGER NOT NULL,
  ${disabledAt}) STRICT;
CREATE TABLE keys (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), scopes TEXT NOT NULL,
  profile TEXT NOT NULL CHECK (profile IN ('compatible','strict')), alg TEXT NOT NULL CHECK (alg IN ('HS256','EdDSA')),
  secretBox BLOB, publicKey TEXT, pairingUsed INTEGER NOT NULL DEFAULT 0,
  createdAt INTEGER NOT NULL, lastUsedAt INTEGER, revokedAt INTEGER, ${keyEnds}, ${keyAddresses}) STRICT;
CREATE TABLE jtis (key TEXT NOT NULL, jti TEXT NOT NULL, expiresAt INTEGER NOT NULL, PRIMARY KEY (key, jti)) STRICT;
CREATE INDEX jtisByExpiry ON jtis (expiresAt);
CREATE TABLE agents (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), wallet TEXT NOT NULL, epoch INTEGER NOT NULL,
  signerKey TEXT NOT NULL, linkKey TEXT NOT NULL, accounts TEXT NOT NULL,
  networks TEXT NOT NULL, currencies TEXT NOT NULL, headSeq INTEGER NOT NULL DEFAULT 0, headHash TEXT NOT NULL DEFAULT '',
  jobSequence INTEGER NOT NULL DEFAULT 0, jobHash TEXT NOT NULL DEFAULT '', nextDepositIndex INTEGER NOT NULL DEFAULT 0,
  transcriptHash TEXT NOT NULL DEFAULT '', transcriptAt INTEGER NOT NULL DEFAULT 0,
  pairedAt INTEGER NOT NULL, releasedAt INTEGER, lastSeenAt INTEGER, lockedCode TEXT NOT NULL DEFAULT '',
  ${heard}, ${software}, ${linkBlock}, ${pausedAt}, ${policy}, ${depositCeiling}, ${awaitsCeiling}, ${ledgerAt}) STRICT;
CREATE UNIQUE INDEX oneLiveAgentPerMerchant ON agents (merchant) WHERE releasedAt IS NULL;
${agentsByLinkBlock}
${transactions("transactions")}
${transactionIndexes}
CREATE TABLE jobs (
  agent TEXT NOT NULL REFERENCES agents(id), sequence INTEGER NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id), answeredAt INTEGER, PRIMARY KEY (agent, sequence)) STRICT;
CREATE INDEX jobsUnanswered ON jobs (agent, sequence) WHERE answeredAt IS NULL;
${signatures("signatures")}CREATE TABLE slots (
  network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id),
  PRIMARY KEY (network, account, slot)) STRICT;
${depositAddresses("depositAddresses")}
CREATE TABLE payments (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  units TEXT NOT NULL, block INTEGER NOT NULL, blockHash TEXT NOT NULL, final INTEGER NOT NULL CHECK (final IN (0,1)),
  transactionId TEXT NOT NULL REFERENCES transactions(id), PRIMARY KEY (network, txHash, logIndex)) STRICT;
CREATE INDEX paymentsByTransaction ON payments (transactionId);
CREATE INDEX paymentsNotFinal ON payments (network, block) WHERE final = 0;
CREATE TABLE cursors (network TEXT PRIMARY KEY, block INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TABLE balances (
  account TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, block INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (account, currency)) STRICT;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
CREATE INDEX auditBySubject ON audit (subject, act, actor);
${recoveries}${recoveryMark}${spends}${expiries}${receivingKeys}${prices}${callbackTables}${sums}${sweeps}${forgotten}${books}${addressStates}${creditsAndFinds}
${forgottenRanges}`;
