/**
 * The gateway's tables. Constraints carry the invariants: one withdrawal per order, one job per place in an agent's chain, one
 * withdrawal per exclusion token. Base units are TEXT (SQLite integers are 64 bit); times are milliseconds since 1970.
 * Sources: docs/architecture.md; the statuses and stages of the interface and of docs/api.md.
 */

/**
 * The schema's own version, kept in `meta`; a newer one in the file is refused.
 * @public
 */
export const schemaVersion = 4;

/** What version 2 added: one row for each epoch that began with a recovery. */
const recoveries = `
CREATE TABLE recoveries (
  agent TEXT NOT NULL REFERENCES agents(id), epoch INTEGER NOT NULL, at INTEGER NOT NULL, heldSeq INTEGER NOT NULL,
  heldHash TEXT NOT NULL, takenAt INTEGER, PRIMARY KEY (agent, epoch)) STRICT;
`;

/** What version 3 added, and what version 4. */
const heard = "heard TEXT NOT NULL DEFAULT ''";
const software = "software TEXT NOT NULL DEFAULT ''";

/**
 * What turns a database of an older version into one of the next, by the older one's number.
 * @public
 */
export const upgrades: Readonly<Record<number, string>> = {
  1: recoveries,
  2: `ALTER TABLE agents ADD COLUMN ${heard};`,
  3: `ALTER TABLE agents ADD COLUMN ${software};`,
};

/** @public */
export const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE merchants (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, language TEXT NOT NULL DEFAULT 'en', createdAt INTEGER NOT NULL) STRICT;
CREATE TABLE keys (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), scopes TEXT NOT NULL,
  profile TEXT NOT NULL CHECK (profile IN ('compatible','strict')), alg TEXT NOT NULL CHECK (alg IN ('HS256','EdDSA')),
  secretBox BLOB, publicKey TEXT, pairingUsed INTEGER NOT NULL DEFAULT 0,
  createdAt INTEGER NOT NULL, lastUsedAt INTEGER, revokedAt INTEGER) STRICT;
CREATE TABLE jtis (key TEXT NOT NULL, jti TEXT NOT NULL, expiresAt INTEGER NOT NULL, PRIMARY KEY (key, jti)) STRICT;
CREATE INDEX jtisByExpiry ON jtis (expiresAt);
CREATE TABLE agents (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), wallet TEXT NOT NULL, epoch INTEGER NOT NULL,
  signerKey TEXT NOT NULL, linkKey TEXT NOT NULL, hotAddress TEXT NOT NULL, depositXpub TEXT NOT NULL,
  networks TEXT NOT NULL, currencies TEXT NOT NULL, headSeq INTEGER NOT NULL DEFAULT 0, headHash TEXT NOT NULL DEFAULT '',
  jobSequence INTEGER NOT NULL DEFAULT 0, jobHash TEXT NOT NULL DEFAULT '', nextDepositIndex INTEGER NOT NULL DEFAULT 0,
  firstDepositAddress TEXT NOT NULL DEFAULT '', transcriptHash TEXT NOT NULL DEFAULT '', transcriptAt INTEGER NOT NULL DEFAULT 0,
  pairedAt INTEGER NOT NULL, releasedAt INTEGER, lastSeenAt INTEGER, lockedCode TEXT NOT NULL DEFAULT '',
  ${heard}, ${software}) STRICT;
CREATE UNIQUE INDEX oneLiveAgentPerMerchant ON agents (merchant) WHERE releasedAt IS NULL;
CREATE TABLE transactions (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), operation TEXT NOT NULL CHECK (operation IN ('deposit','withdraw')),
  mode TEXT NOT NULL CHECK (mode IN ('','auto','manual')), orderId TEXT NOT NULL, contentHash TEXT NOT NULL,
  currency TEXT NOT NULL, network TEXT NOT NULL, amount TEXT NOT NULL, amountUnits TEXT NOT NULL,
  receiverAddress TEXT NOT NULL, depositAddress TEXT NOT NULL, tag TEXT NOT NULL DEFAULT '',
  status INTEGER NOT NULL CHECK (status IN (0,1,2)), stage TEXT NOT NULL, code TEXT NOT NULL DEFAULT '',
  txHash TEXT NOT NULL DEFAULT '', feeUnits TEXT NOT NULL DEFAULT '', amountReceivedUnits TEXT NOT NULL DEFAULT '0',
  finalBlock INTEGER, createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL,
  UNIQUE (merchant, operation, orderId)) STRICT;
CREATE INDEX transactionsByMerchant ON transactions (merchant, createdAt DESC, id);
CREATE INDEX transactionsOpen ON transactions (operation, status) WHERE status = 0;
CREATE INDEX transactionsFinal ON transactions (depositAddress, finalBlock) WHERE finalBlock IS NOT NULL;
CREATE TABLE jobs (
  agent TEXT NOT NULL REFERENCES agents(id), sequence INTEGER NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id), answeredAt INTEGER, PRIMARY KEY (agent, sequence)) STRICT;
CREATE INDEX jobsUnanswered ON jobs (agent, sequence) WHERE answeredAt IS NULL;
CREATE TABLE signatures (
  transactionId TEXT NOT NULL REFERENCES transactions(id), version INTEGER NOT NULL, agent TEXT NOT NULL, network TEXT NOT NULL,
  account TEXT NOT NULL, token TEXT NOT NULL, txHash TEXT NOT NULL UNIQUE, feeMaxWei TEXT NOT NULL, seq INTEGER NOT NULL,
  PRIMARY KEY (transactionId, version)) STRICT;
CREATE TABLE tokens (
  network TEXT NOT NULL, account TEXT NOT NULL, token TEXT NOT NULL, transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id),
  PRIMARY KEY (network, account, token)) STRICT;
CREATE TABLE depositAddresses (
  address TEXT PRIMARY KEY, agent TEXT NOT NULL REFERENCES agents(id), addressIndex INTEGER NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id), UNIQUE (agent, addressIndex)) STRICT;
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
${recoveries}`;
