/**
 * The gateway's tables as a new database gets them. A database of an earlier version comes to them
 * by the steps of migrations/; a change here needs such a step. Constraints carry the invariants:
 * one withdrawal per order, one job per position in an agent's list, one withdrawal per slot. Base
 * units are TEXT (SQLite integers are 64 bit); times are milliseconds since 1970. Sources:
 * docs/architecture.md; the statuses and stages of the interface and of docs/api.md.
 */

/*
 * The tables of callbacks, a part of the schema. Two triggers each on `deposits`, on withdrawals
 * and on `payments` write each change of a record that callbacks can report, in the transaction
 * that makes the change. So no code in any process can forget to write one. A merchant whose
 * events nobody reads costs two index lookups. Sources: docs/api.md, Callbacks;
 * sqlite.org/lang_createtrigger.html.
 */

/** True if a target of this merchant takes events now. */
const hasTarget = (merchant: string): string =>
  `EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = ${merchant} AND offAt IS NULL)`;

/** True if somebody reads events of this merchant: a target, or the shop that asks for them. */
const hasReader = (merchant: string): string =>
  `(${hasTarget(merchant)} OR EXISTS (SELECT 1 FROM merchants WHERE id = ${merchant} AND keepsEvents = 1))`;

/**
 * The fields that change after a record is made, as its row has them. Only these can differ from
 * the row when the change is read.
 */
const snapshot = (fields: Readonly<Record<string, string>>): string =>
  `json_object(${Object.entries(fields)
    .map(([name, text]) => `'${name}', ${text}`)
    .join(", ")})`;

/** The fields that deposits and transfers have alike. */
const sharedFields = (row: string): Readonly<Record<string, string>> => ({
  status: `${row}.status`,
  stage: `${row}.stage`,
  code: `coalesce(${row}.code, '')`,
  txHash: `coalesce(${row}.txHash, '')`,
  finalBlock: `${row}.finalBlock`,
  changedAt: `${row}.changedAt`,
});

const depositSnapshot = (row: "OLD" | "NEW"): string =>
  snapshot({ ...sharedFields(row), receivedUnits: `${row}.receivedUnits`, late: `${row}.late` });

const transferSnapshot = (row: string): string =>
  snapshot({
    ...sharedFields(row),
    feeUnits: `coalesce(${row}.feeUnits, '')`,
    receivedUnits: `coalesce((SELECT receivedUnits FROM movedPayments WHERE transactionId = ${row}.id), '0')`,
    receiver: `${row}.receiver`,
  });

const othersCoin = `EXISTS (SELECT 1 FROM deposits d WHERE d.id = NEW.transactionId AND d.currency <> NEW.currency
    AND ${hasReader("d.merchant")})`;

const keepPayment = `INSERT INTO callbackChanges (transactionId, payment) VALUES (NEW.transactionId,
    json_object('currency', NEW.currency, 'units', NEW.units, 'txHash', NEW.txHash))`;

/** The event of an invoice's new end. Only money that left the chain ends one that was paid. */
const invoiceEvent =
  "CASE WHEN NEW.status = 1 THEN 'invoice.completed' WHEN NEW.code = 'invoice_cancelled' THEN 'invoice.cancelled'" +
  " WHEN OLD.status = 1 THEN 'invoice.revoked' ELSE 'invoice.expired' END";

/** An invoice's change names its event, and has the invoice as it is then. */
const keepInvoiceChange = (id: string, event: string): string =>
  `INSERT INTO callbackChanges (transactionId, after, event) SELECT i.id, ${snapshot({
    status: "i.status",
    code: "coalesce(i.code, '')",
    completedBy: "coalesce(i.completedBy, '')",
    changedAt: "i.changedAt",
  })}, ${event} FROM invoices i WHERE i.id = ${id}`;

const callbackTriggers = `
CREATE TRIGGER callbackDepositMade AFTER INSERT ON deposits WHEN ${hasTarget("NEW.merchant")} BEGIN
  UPDATE deposits SET callbackStatus = 0 WHERE id = NEW.id;
END;
CREATE TRIGGER callbackDepositMoved AFTER UPDATE OF status, stage, receivedUnits ON deposits
  WHEN (OLD.status <> NEW.status OR OLD.stage <> NEW.stage OR OLD.receivedUnits <> NEW.receivedUnits)
    AND ${hasReader("NEW.merchant")} BEGIN
  UPDATE deposits SET callbackStatus = 0 WHERE id = NEW.id AND ${hasTarget("NEW.merchant")};
  INSERT INTO callbackChanges (transactionId, before, after) VALUES (NEW.id, ${depositSnapshot("OLD")}, ${depositSnapshot("NEW")});
END;
CREATE TRIGGER callbackInvoiceChosen AFTER INSERT ON deposits WHEN NEW.invoice IS NOT NULL AND ${hasReader("NEW.merchant")} BEGIN
  ${keepInvoiceChange("NEW.invoice", "'invoice.chosen'")};
END;
CREATE TRIGGER callbackInvoiceEnded AFTER UPDATE OF status ON invoices WHEN OLD.status <> NEW.status AND ${hasReader("NEW.merchant")} BEGIN
  ${keepInvoiceChange("NEW.id", invoiceEvent)};
END;
CREATE TRIGGER callbackWithdrawalMade AFTER INSERT ON withdrawals WHEN ${hasReader("NEW.merchant")} BEGIN
  UPDATE withdrawals SET callbackStatus = 0 WHERE id = NEW.id AND ${hasTarget("NEW.merchant")};
  INSERT INTO callbackChanges (transactionId, after) SELECT t.id, ${transferSnapshot("t")} FROM transfers t WHERE t.id = NEW.id;
END;
CREATE TRIGGER callbackWithdrawalMoved AFTER UPDATE OF status, stage ON transfers
  WHEN NEW.operation = 'withdraw' AND (OLD.status <> NEW.status OR OLD.stage <> NEW.stage) AND ${hasReader("NEW.merchant")} BEGIN
  UPDATE withdrawals SET callbackStatus = 0 WHERE id = NEW.id AND ${hasTarget("NEW.merchant")};
  INSERT INTO callbackChanges (transactionId, before, after) VALUES (NEW.id, ${transferSnapshot("OLD")}, ${transferSnapshot("NEW")});
END;
CREATE TRIGGER callbackPaid AFTER INSERT ON payments WHEN NEW.final = 1 AND ${othersCoin} BEGIN
  ${keepPayment};
END;
CREATE TRIGGER callbackPaidFinally AFTER UPDATE OF final ON payments WHEN OLD.final = 0 AND NEW.final = 1 AND ${othersCoin} BEGIN
  ${keepPayment};
END;
`;

/**
 * callbackTargets: the receivers. A removed target is off permanently; a target that answered 410
 * is off until its next good answer. The events of a paused target wait. `succeededAt` and
 * `failedAt` are its newest tries of both kinds, and stay when the log is deleted.
 *
 * callbackChanges: changes without an event yet. callbackEvents: each event with its body; `number`
 * orders all events, and is taken from time, so that it still rises after an older database is
 * restored.
 * callbackDeliveries: an event for a target. `rank` is 0 for an end of money. `scheduledAt` is the
 * try that an earlier one was put before, and no earlier one begins until `restUntil`.
 * callbackTries: the log.
 */
const callbackTables = `
CREATE TABLE callbackTargets (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), url TEXT NOT NULL, events TEXT NOT NULL,
  secretBox BLOB NOT NULL, oldSecretBox BLOB, oldValidUntil INTEGER, createdAt INTEGER NOT NULL,
  offAt INTEGER, offReason TEXT NOT NULL DEFAULT '' CHECK (offReason IN ('','gone','removed')), pausedAt INTEGER,
  succeededAt INTEGER, failedAt INTEGER, failedStatus INTEGER NOT NULL DEFAULT 0, failedReason TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX callbackTargetsByMerchant ON callbackTargets (merchant, offAt);
CREATE INDEX callbackTargetsFailing ON callbackTargets (id)
  WHERE offReason = 'gone' OR (offAt IS NULL AND failedAt > coalesce(succeededAt, 0));
CREATE TABLE callbackChanges (
  id INTEGER PRIMARY KEY, transactionId TEXT NOT NULL, before TEXT, after TEXT, payment TEXT, event TEXT) STRICT;
CREATE TABLE callbackEvents (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, merchant TEXT NOT NULL REFERENCES merchants(id), transactionId TEXT,
  type TEXT NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX callbackEventsByRecord ON callbackEvents (transactionId, sequence);
CREATE INDEX callbackEventsByMerchant ON callbackEvents (merchant, number);
CREATE INDEX callbackEventsByTime ON callbackEvents (at);
CREATE TABLE callbackDeliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL REFERENCES callbackEvents(id) ON DELETE CASCADE,
  target TEXT NOT NULL REFERENCES callbackTargets(id), state TEXT NOT NULL CHECK (state IN ('waiting','delivered','given up')),
  tries INTEGER NOT NULL DEFAULT 0, nextAt INTEGER NOT NULL, rank INTEGER NOT NULL DEFAULT 1 CHECK (rank IN (0,1)),
  scheduledAt INTEGER, restUntil INTEGER NOT NULL DEFAULT 0, UNIQUE (event, target)) STRICT;
CREATE INDEX callbackDeliveriesWaiting ON callbackDeliveries (target, nextAt, rank, id) WHERE state = 'waiting';
CREATE INDEX callbackDeliveriesEarly ON callbackDeliveries (target, rank, restUntil, id)
  WHERE state = 'waiting' AND scheduledAt IS NULL;
CREATE INDEX callbackDeliveriesByTarget ON callbackDeliveries (target, id);
CREATE INDEX callbackDeliveriesGivenUp ON callbackDeliveries (target) WHERE state = 'given up';
CREATE TABLE callbackTries (
  id INTEGER PRIMARY KEY, delivery INTEGER NOT NULL REFERENCES callbackDeliveries(id) ON DELETE CASCADE, at INTEGER NOT NULL,
  status INTEGER NOT NULL, durationMs INTEGER NOT NULL, answer TEXT NOT NULL) STRICT;
CREATE INDEX callbackTriesByDelivery ON callbackTries (delivery, id);
${callbackTriggers}`;

/** Merchants and their keys. */
const people = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE merchants (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, language TEXT NOT NULL DEFAULT 'en', createdAt INTEGER NOT NULL,
  disabledAt INTEGER, shownName TEXT NOT NULL DEFAULT '', contact TEXT NOT NULL DEFAULT '',
  origins TEXT NOT NULL DEFAULT '', keepsEvents INTEGER NOT NULL DEFAULT 0 CHECK (keepsEvents IN (0,1))) STRICT;
CREATE TABLE keys (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), scopes TEXT NOT NULL,
  profile TEXT NOT NULL CHECK (profile IN ('compatible','strict','interface')), alg TEXT NOT NULL CHECK (alg IN ('HS256','EdDSA')),
  secretBox BLOB, publicKey TEXT, pairingUsed INTEGER NOT NULL DEFAULT 0,
  createdAt INTEGER NOT NULL, lastUsedAt INTEGER, revokedAt INTEGER, expiresAt INTEGER, allowedAddresses TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE jtis (key TEXT NOT NULL, jti TEXT NOT NULL, expiresAt INTEGER NOT NULL, PRIMARY KEY (key, jti)) STRICT;
CREATE INDEX jtisByExpiry ON jtis (expiresAt);
`;

/**
 * Paired agents, their jobs, the networks and currencies in which they sign no first attempt, the
 * foreign transactions that their ledgers know, and each epoch that began with a recovery; `mark`
 * is the recovery to which an order belongs, in any epoch.
 */
const agents = `
CREATE TABLE agents (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), wallet TEXT NOT NULL, ledgerEpoch INTEGER NOT NULL,
  signerKey TEXT NOT NULL, linkKey TEXT NOT NULL, accounts TEXT NOT NULL,
  networks TEXT NOT NULL, currencies TEXT NOT NULL, headSeq INTEGER NOT NULL DEFAULT 0, headHash TEXT NOT NULL DEFAULT '',
  jobSequence INTEGER NOT NULL DEFAULT 0, jobHash TEXT NOT NULL DEFAULT '', nextDepositIndex INTEGER NOT NULL DEFAULT 0,
  transcriptHash TEXT NOT NULL DEFAULT '', transcriptAt INTEGER NOT NULL DEFAULT 0,
  pairedAt INTEGER NOT NULL, unpairedAt INTEGER, lastSeenAt INTEGER, lockedCode TEXT NOT NULL DEFAULT '',
  caughtUp TEXT NOT NULL DEFAULT '', software TEXT NOT NULL DEFAULT '', linkBlock TEXT NOT NULL DEFAULT '',
  pausedAt INTEGER, policy TEXT NOT NULL DEFAULT '', depositCeiling INTEGER NOT NULL DEFAULT 0,
  awaitsCeiling INTEGER NOT NULL DEFAULT 0 CHECK (awaitsCeiling IN (0,1)), ledgerAt INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE UNIQUE INDEX oneLiveAgentPerMerchant ON agents (merchant) WHERE unpairedAt IS NULL;
CREATE INDEX agentsByLinkBlock ON agents (linkBlock) WHERE unpairedAt IS NULL;
CREATE INDEX agentsByMerchant ON agents (merchant);
CREATE INDEX agentsHalted ON agents (id) WHERE unpairedAt IS NULL AND (lockedCode <> '' OR pausedAt IS NOT NULL);
CREATE TRIGGER agentCame AFTER INSERT ON agents BEGIN
  INSERT INTO meta (name, value) VALUES ('agents', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1;
END;
CREATE TRIGGER agentChanged AFTER UPDATE OF accounts, networks, unpairedAt ON agents BEGIN
  INSERT INTO meta (name, value) VALUES ('agents', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1;
END;
CREATE TABLE jobs (
  agent TEXT NOT NULL REFERENCES agents(id), sequence INTEGER NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transfers(id), answeredAt INTEGER, PRIMARY KEY (agent, sequence)) STRICT;
CREATE INDEX jobsUnanswered ON jobs (agent, sequence) WHERE answeredAt IS NULL;
CREATE INDEX jobsWaiting ON jobs (agent, sequence) WHERE sequence < 0 AND answeredAt IS NULL;
CREATE TABLE networkStops (
  agent TEXT NOT NULL REFERENCES agents(id), network TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (agent, network)) STRICT;
CREATE TABLE currencyStops (
  agent TEXT NOT NULL REFERENCES agents(id), network TEXT NOT NULL, currency TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (agent, network, currency)) STRICT;
CREATE TABLE foreignTold (
  agent TEXT NOT NULL REFERENCES agents(id), network TEXT NOT NULL, txHash TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (agent, network, txHash)) STRICT;
CREATE TABLE recoveries (
  agent TEXT NOT NULL REFERENCES agents(id), ledgerEpoch INTEGER NOT NULL, at INTEGER NOT NULL, heldSeq INTEGER NOT NULL,
  heldHash TEXT NOT NULL, takenAt INTEGER,
  mark TEXT NOT NULL DEFAULT '', PRIMARY KEY (agent, ledgerEpoch)) STRICT;
`;

/**
 * Records and transfers. `deposits` has requests, and what was paid to addresses that no shop asked
 * for in this database; `transfers` has all that agents sign, and the three tables after it the
 * columns that one kind alone has. A column has one meaning in each row, and what is absent is
 * NULL. `number` is the order in which the gateway made the rows. The indexes by merchant cover all
 * filters of lists except orderId, which has a unique index of its own. The operator's lists of all
 * merchants go by `number`, and the operator's search finds what is open by `…Open` and what has
 * ended by `…ByAmount` and `transfersReceived`, so that an order pays for neither. `toleranceUnits`
 * may be missing from a deposit, and `endBlock` holds all payments that were included before its
 * end; `quote` and `metadata` are JSON. `renews` is the ended record of the same order that a
 * record follows; each has one successor. `refundOf` is the deposit that a withdrawal pays back.
 * `value` is JSON: the fiat value at the completion. `contentHash` is of what was asked for. A
 * sweep is the `ordinal`th of its address, and `nextSlot` is the slot that its job names. A top-up
 * pays the fee of a sweep of `sweptCurrency`. A restored database may lack the deposit of
 * `refundOf` and the sweep of a top-up. `completions` are records that completed and have no value
 * yet; the triggers write one in the transaction that completes it, whichever process does.
 * `recalls` are open withdrawals that their shop no longer wants; triggers remove one that has
 * ended or is signed.
 */
const records = `
CREATE TABLE deposits (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, merchant TEXT NOT NULL REFERENCES merchants(id),
  origin TEXT NOT NULL CHECK (origin IN ('ordered','unattributed')), orderId TEXT NOT NULL, renews TEXT NOT NULL DEFAULT '',
  contentHash TEXT CHECK (contentHash <> ''), address TEXT NOT NULL, payTo TEXT NOT NULL, tag TEXT NOT NULL DEFAULT '',
  network TEXT NOT NULL, currency TEXT NOT NULL, amount TEXT CHECK (amount <> ''),
  units TEXT CHECK (units NOT IN ('', '0')), toleranceUnits TEXT CHECK (toleranceUnits <> ''),
  quote TEXT CHECK (quote <> ''), payToken TEXT CHECK (payToken <> ''), returnUrl TEXT CHECK (returnUrl <> ''),
  metadata TEXT CHECK (metadata <> ''), status INTEGER NOT NULL DEFAULT 0 CHECK (status IN (0,1,2)), stage TEXT NOT NULL,
  code TEXT CHECK (code <> ''), receivedUnits TEXT NOT NULL DEFAULT '0', late INTEGER NOT NULL DEFAULT 0 CHECK (late IN (0,1)),
  txHash TEXT CHECK (txHash <> ''), finalBlock INTEGER, endBlock INTEGER, value TEXT CHECK (value <> ''),
  callbackStatus INTEGER NOT NULL DEFAULT 3 CHECK (callbackStatus IN (0,1,2,3)),
  createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL, acceptedAt INTEGER,
  invoice TEXT CHECK (invoice IS NULL OR (invoice <> '' AND origin = 'ordered')), choice TEXT NOT NULL DEFAULT '',
  CHECK ((origin = 'ordered') = (contentHash IS NOT NULL)), CHECK ((origin = 'ordered') = (amount IS NOT NULL)),
  CHECK ((origin = 'ordered') = (units IS NOT NULL)), CHECK ((origin = 'ordered') = (toleranceUnits IS NOT NULL)),
  CHECK (origin = 'ordered' OR coalesce(quote, payToken, returnUrl, metadata) IS NULL)) STRICT;
CREATE UNIQUE INDEX depositsByOrder ON deposits (merchant, orderId, renews, choice);
CREATE UNIQUE INDEX depositsByInvoice ON deposits (invoice, currency) WHERE invoice IS NOT NULL;
CREATE UNIQUE INDEX depositsPaidOfInvoice ON deposits (invoice) WHERE invoice IS NOT NULL AND status = 1;
CREATE UNIQUE INDEX depositsByPayToken ON deposits (payToken) WHERE payToken IS NOT NULL;
CREATE INDEX choicesOpen ON deposits (network) WHERE status = 0 AND invoice IS NOT NULL;
CREATE INDEX depositsByMerchant ON deposits (merchant, createdAt DESC, id);
CREATE INDEX depositsByChange ON deposits (merchant, changedAt, id);
CREATE INDEX depositsByCurrency ON deposits (merchant, currency, status, createdAt DESC, id);
CREATE INDEX depositsOpen ON deposits (network, currency) WHERE status = 0;
CREATE INDEX depositsEnding ON deposits (network, endBlock) WHERE endBlock IS NOT NULL;
CREATE INDEX depositsByAmount ON deposits (units) WHERE status <> 0;
CREATE INDEX depositsByTag ON deposits (payTo, createdAt) WHERE payTo <> address;
CREATE TABLE transfers (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, operation TEXT NOT NULL CHECK (operation IN ('withdraw','sweep','topup')),
  merchant TEXT NOT NULL REFERENCES merchants(id), contentHash TEXT NOT NULL, network TEXT NOT NULL, currency TEXT CHECK (currency <> ''),
  amount TEXT NOT NULL, units TEXT NOT NULL, payer TEXT NOT NULL, receiver TEXT CHECK (receiver <> ''),
  tag TEXT NOT NULL DEFAULT '', status INTEGER NOT NULL DEFAULT 0 CHECK (status IN (0,1,2)), stage TEXT NOT NULL,
  code TEXT CHECK (code <> ''), txHash TEXT CHECK (txHash <> ''), feeUnits TEXT CHECK (feeUnits <> ''), finalBlock INTEGER,
  createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL,
  CHECK ((operation = 'topup') = (currency IS NULL)), CHECK (operation = 'withdraw' OR receiver IS NOT NULL)) STRICT;
CREATE INDEX transfersByMerchant ON transfers (merchant, operation, createdAt DESC, id);
CREATE INDEX transfersByChange ON transfers (merchant, changedAt, id) WHERE operation = 'withdraw';
CREATE INDEX transfersByCurrency ON transfers (merchant, currency, status, createdAt DESC, id) WHERE operation = 'withdraw';
CREATE INDEX transfersOpen ON transfers (operation, status) WHERE status = 0;
CREATE INDEX transfersByAmount ON transfers (units) WHERE status <> 0;
CREATE INDEX transfersPaid ON transfers (payer, finalBlock) WHERE finalBlock IS NOT NULL;
CREATE INDEX transfersReceived ON transfers (receiver, finalBlock) WHERE status <> 0;
CREATE INDEX withdrawalFees ON transfers (currency, network, changedAt)
  WHERE operation = 'withdraw' AND status = 1 AND feeUnits IS NOT NULL;
CREATE INDEX sweepsUnreached ON transfers (network) WHERE operation = 'sweep' AND status = 2 AND code = 'SWEEP_UNREACHABLE';
CREATE INDEX coinsEnded ON transfers (network) WHERE status = 2 AND code = 'coin_unknown';
CREATE TABLE withdrawals (
  id TEXT PRIMARY KEY REFERENCES transfers(id), merchant TEXT NOT NULL REFERENCES merchants(id), orderId TEXT NOT NULL,
  renews TEXT NOT NULL DEFAULT '', mode TEXT NOT NULL CHECK (mode IN ('auto','manual')),
  refundOf TEXT CHECK (refundOf <> ''), metadata TEXT CHECK (metadata <> ''), value TEXT CHECK (value <> ''),
  callbackStatus INTEGER NOT NULL DEFAULT 3 CHECK (callbackStatus IN (0,1,2,3))) STRICT;
CREATE UNIQUE INDEX withdrawalsByOrder ON withdrawals (merchant, orderId, renews);
CREATE INDEX withdrawalsByRefund ON withdrawals (refundOf) WHERE refundOf IS NOT NULL;
CREATE TABLE sweeps (
  id TEXT PRIMARY KEY REFERENCES transfers(id), address TEXT NOT NULL, ordinal INTEGER NOT NULL, addressIndex INTEGER NOT NULL,
  nextSlot TEXT CHECK (nextSlot <> ''), UNIQUE (address, ordinal)) STRICT;
CREATE TABLE topUps (
  id TEXT PRIMARY KEY REFERENCES transfers(id), sweep TEXT NOT NULL UNIQUE, sweptCurrency TEXT NOT NULL,
  addressIndex INTEGER NOT NULL) STRICT;
CREATE TABLE completions (transactionId TEXT PRIMARY KEY) STRICT;
CREATE TRIGGER depositCompleted AFTER UPDATE OF status ON deposits WHEN NEW.status = 1 AND OLD.status <> 1 BEGIN
  INSERT OR IGNORE INTO completions (transactionId) VALUES (NEW.id);
END;
CREATE TRIGGER withdrawalCompleted AFTER UPDATE OF status ON transfers
  WHEN NEW.operation = 'withdraw' AND NEW.status = 1 AND OLD.status <> 1 BEGIN
  INSERT OR IGNORE INTO completions (transactionId) VALUES (NEW.id);
END;
CREATE TABLE recalls (
  transactionId TEXT PRIMARY KEY REFERENCES withdrawals(id), recalledAt INTEGER NOT NULL) STRICT;
CREATE TRIGGER recallEnded AFTER UPDATE OF status ON transfers WHEN NEW.status <> 0 BEGIN
  DELETE FROM recalls WHERE transactionId = NEW.id;
END;
`;

/**
 * Agents' signatures. An account has a hash only once, and no agent can claim the hash of another
 * account. `validUntilMs` is the chain time until which a block takes an attempt, 0 if a slot keeps
 * others out; `pin` is the coin that all attempts spend, empty on chains without coins.
 * `voidAttempts` has withdrawals reported expired before this database held all attempts as void.
 * `movedPayments` has final attempts that moved something else than was asked for, and what they
 * moved, as an operator says; `currencyHolds` the currencies in which nothing is paid since.
 * `assignedPayments` has final transactions that no signature explains, each with the withdrawal
 * that an operator says it paid; a signature of that withdrawal removes the row.
 */
const signing = `
CREATE TABLE signatures (
  transactionId TEXT NOT NULL REFERENCES transfers(id), attempt INTEGER NOT NULL, agent TEXT NOT NULL, network TEXT NOT NULL,
  account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, feeMax TEXT NOT NULL, seq INTEGER NOT NULL,
  validUntilMs INTEGER NOT NULL DEFAULT 0, pin TEXT NOT NULL DEFAULT '', voidAt INTEGER, cancel INTEGER NOT NULL DEFAULT 0 CHECK (cancel IN (0,1)),
  PRIMARY KEY (transactionId, attempt), UNIQUE (txHash, account)) STRICT;
CREATE TRIGGER recallSigned AFTER INSERT ON signatures BEGIN
  DELETE FROM recalls WHERE transactionId = NEW.transactionId;
END;
CREATE TABLE slots (
  network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, transactionId TEXT NOT NULL UNIQUE REFERENCES transfers(id),
  PRIMARY KEY (network, account, slot)) STRICT;
CREATE TABLE voidAttempts (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), code TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE movedPayments (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), txHash TEXT NOT NULL, block INTEGER NOT NULL, feeUnits TEXT NOT NULL,
  at INTEGER NOT NULL, receivedUnits TEXT, sentUnits TEXT) STRICT;
CREATE TABLE currencyHolds (
  currency TEXT NOT NULL, merchant TEXT NOT NULL, at INTEGER NOT NULL, transactionId TEXT NOT NULL, txHash TEXT NOT NULL,
  PRIMARY KEY (currency, merchant)) STRICT;
CREATE TABLE assignedPayments (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), network TEXT NOT NULL, account TEXT NOT NULL, txHash TEXT NOT NULL,
  block INTEGER NOT NULL, feeUnits TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE (txHash, account)) STRICT;
CREATE TRIGGER assignedSigned AFTER INSERT ON signatures BEGIN
  DELETE FROM assignedPayments WHERE transactionId = NEW.transactionId;
END;
CREATE TABLE unknownCoins (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), since INTEGER NOT NULL, chainSince INTEGER NOT NULL) STRICT;
CREATE TABLE coinLooks (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), chainAt INTEGER NOT NULL, watchedMs INTEGER NOT NULL) STRICT;
CREATE TRIGGER outgoingExplained AFTER INSERT ON signatures BEGIN
  DELETE FROM unexplained WHERE account = NEW.account AND txHash = NEW.txHash;
END;
`;

/**
 * The chains' contents. `outgoing` has every final outgoing transaction of a hot wallet, including
 * transactions that no order explains; on a chain without slots an account has many rows without a
 * slot, and a slot is spent only once. `unexplained` has those that no signature explains, also
 * before they are final and before a block has them (outgoing-holds.ts); a signature removes the
 * row. `gonePayments` has the final payments whose block left the chain (gone-payments.ts).
 * `levels` has the run of the gateway in which a hot wallet's chain was read up to its head,
 * and `releasedOrders` the payments of which an operator says that they did not pay an order, or
 * none at all.
 */
const chains = `
CREATE TABLE payments (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  units TEXT NOT NULL, block INTEGER NOT NULL, blockHash TEXT NOT NULL, final INTEGER NOT NULL CHECK (final IN (0,1)),
  transactionId TEXT NOT NULL REFERENCES deposits(id), PRIMARY KEY (network, txHash, logIndex)) STRICT;
CREATE INDEX paymentsByTransaction ON payments (transactionId);
CREATE INDEX paymentsByUnits ON payments (units);
CREATE INDEX paymentsNotFinal ON payments (network, block) WHERE final = 0;
CREATE INDEX paymentsFinal ON payments (network, block) WHERE final = 1;
CREATE TABLE gonePayments (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  units TEXT NOT NULL, block INTEGER NOT NULL, blockHash TEXT NOT NULL, transactionId TEXT NOT NULL REFERENCES deposits(id),
  state TEXT NOT NULL CHECK (state IN ('open','kept','revoked')), at INTEGER NOT NULL, toldAt INTEGER,
  PRIMARY KEY (network, txHash, logIndex, blockHash)) STRICT;
CREATE INDEX gonePaymentsByTransaction ON gonePayments (transactionId);
CREATE INDEX gonePaymentsByAddress ON gonePayments (address);
CREATE INDEX gonePaymentsOpen ON gonePayments (network, block) WHERE state = 'open';
CREATE TABLE straySums (
  network TEXT NOT NULL, account TEXT NOT NULL, currency TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('dust','more')),
  transactionId TEXT NOT NULL, merchant TEXT NOT NULL, fromBlock INTEGER NOT NULL, toBlock INTEGER NOT NULL, count INTEGER NOT NULL,
  units TEXT NOT NULL, largest TEXT NOT NULL, txHash TEXT NOT NULL,
  PRIMARY KEY (network, account, currency, kind, transactionId, fromBlock)) STRICT;
CREATE INDEX straySumsByRequest ON straySums (transactionId) WHERE transactionId <> '';
CREATE TABLE straySumMarks (network TEXT PRIMARY KEY, summedTo INTEGER NOT NULL, fineTo INTEGER NOT NULL) STRICT;
CREATE TABLE strayRecords (
  network TEXT NOT NULL, account TEXT NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (network, account, day)) STRICT;
CREATE TABLE cursors (network TEXT PRIMARY KEY, block INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TABLE balances (
  account TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, block INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (account, currency)) STRICT;
CREATE TABLE unusableCoins (
  account TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, words TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (account, currency)) STRICT;
CREATE TABLE outgoing (
  network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER NOT NULL,
  receiver TEXT NOT NULL, tag TEXT NOT NULL, contract TEXT NOT NULL, units TEXT NOT NULL,
  untold INTEGER NOT NULL DEFAULT 0 CHECK (untold IN (0,1)),
  PRIMARY KEY (network, account, slot, txHash)) STRICT;
CREATE UNIQUE INDEX outgoingBySlot ON outgoing (network, account, slot) WHERE slot <> '';
CREATE INDEX outgoingByHash ON outgoing (txHash);
CREATE INDEX outgoingUntold ON outgoing (network) WHERE untold = 1;
CREATE TABLE unexplained (
  network TEXT NOT NULL, account TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER, final INTEGER NOT NULL CHECK (final IN (0,1)),
  receiver TEXT NOT NULL, tag TEXT NOT NULL, contract TEXT NOT NULL, units TEXT NOT NULL, firstAt INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account, txHash, network)) STRICT;
CREATE INDEX unexplainedSeen ON unexplained (account, network) WHERE final = 0;
CREATE TABLE levels (
  network TEXT NOT NULL, account TEXT NOT NULL, run TEXT NOT NULL, trouble TEXT NOT NULL, PRIMARY KEY (network, account)) STRICT;
CREATE TABLE releasedOrders (
  account TEXT NOT NULL, txHash TEXT NOT NULL, transactionId TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (account, txHash, transactionId)) STRICT;
`;

/** The owner of the account of a new address, where requests differ by their tags. */
const keepOwner = `INSERT INTO accountOwners (network, account, merchant, agent)
    SELECT network, payTo, merchant, NEW.agent FROM deposits WHERE id = NEW.request AND payTo <> address
    ON CONFLICT (network, account) DO UPDATE SET merchant = excluded.merchant, agent = excluded.agent
      WHERE merchant <> excluded.merchant OR agent IS NOT excluded.agent;`;

/**
 * Deposit addresses; one of a merchant that only receives has no agent. `origin` says why an
 * address is watched: it was given to a shop's request, a restored database skipped its index, a
 * scan found it in use, or a payment named a tag that no request has. `request` is the deposit that
 * has the address, and NULL as long as none has it, or where another address has its index; only
 * an address with a request is compared and swept. `number` counts up from 1 with each address of a
 * request, and down from -1 with each other: however many these are, the newest requests are found
 * by their numbers. An address that gets a request later gets a new one, and none gets its old one
 * (`lowestAddress` of meta), or a reader of the list would miss it. `accountOwners` has the
 * owner of each account whose requests differ by their tags: triggers write it with each request's
 * address. `addressStates` and `baselines` have known balances (address-states.ts), `arriving`
 * payments to open requests that no block has. `depositCredits` has payments that an operator
 * credited to a request of another address, `foundAddresses` the first block whose payments count
 * at an address found by a scan. `forgottenRanges` and `vouched` are of a database restored from a
 * backup: skipped indexes that are not watched yet, and the blocks from which to read the chains
 * again.
 */
const addresses = `
CREATE TABLE addresses (
  number INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE, addressSpace TEXT NOT NULL, merchant TEXT NOT NULL REFERENCES merchants(id),
  agent TEXT REFERENCES agents(id), addressIndex INTEGER,
  origin TEXT NOT NULL CHECK (origin IN ('given','skipped','found','stray')), request TEXT REFERENCES deposits(id), at INTEGER NOT NULL,
  CHECK (origin <> 'given' OR request IS NOT NULL), CHECK ((request IS NULL) = (number < 0)), CHECK (request IS NULL OR addressIndex IS NOT NULL)) STRICT;
CREATE UNIQUE INDEX addressesByIndex ON addresses (agent, addressIndex) WHERE request IS NOT NULL;
CREATE TABLE accountOwners (
  network TEXT NOT NULL, account TEXT NOT NULL, merchant TEXT NOT NULL REFERENCES merchants(id), agent TEXT REFERENCES agents(id),
  PRIMARY KEY (network, account)) STRICT;
CREATE TRIGGER accountOwned AFTER INSERT ON addresses WHEN NEW.request IS NOT NULL BEGIN
  ${keepOwner}
END;
CREATE TRIGGER accountOwnedLater AFTER UPDATE OF request ON addresses BEGIN
  ${keepOwner}
  INSERT INTO meta (name, value) SELECT 'lowestAddress', OLD.number WHERE OLD.number < 0
    ON CONFLICT (name) DO UPDATE SET value = min(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER));
END;
CREATE TABLE receivingKeys (
  merchant TEXT NOT NULL REFERENCES merchants(id), family TEXT NOT NULL, xpub TEXT NOT NULL,
  firstDepositAddress TEXT NOT NULL UNIQUE, nextDepositIndex INTEGER NOT NULL, createdAt INTEGER NOT NULL,
  PRIMARY KEY (merchant, family)) STRICT;
CREATE TABLE addressStates (
  network TEXT NOT NULL, address TEXT NOT NULL, block INTEGER NOT NULL, isUsed INTEGER NOT NULL CHECK (isUsed IN (0,1)),
  comparedAt INTEGER NOT NULL, run TEXT NOT NULL, PRIMARY KEY (network, address)) STRICT;
CREATE INDEX addressStatesByTime ON addressStates (network, comparedAt);
CREATE INDEX addressStatesByAddress ON addressStates (address);
CREATE TABLE lookGaps (
  network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, PRIMARY KEY (network, address, currency)) STRICT;
CREATE TABLE arriving (
  transactionId TEXT NOT NULL REFERENCES deposits(id), txHash TEXT NOT NULL, units TEXT NOT NULL, firstAt INTEGER NOT NULL,
  seenAt INTEGER NOT NULL, isReplaceable INTEGER NOT NULL CHECK (isReplaceable IN (0,1)),
  isHeld INTEGER NOT NULL CHECK (isHeld IN (0,1)), PRIMARY KEY (transactionId, txHash)) STRICT;
CREATE TABLE depositCredits (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, transactionId TEXT NOT NULL REFERENCES deposits(id),
  units TEXT NOT NULL, ofUnits TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (network, txHash, logIndex, transactionId)) STRICT;
CREATE INDEX depositCreditsByTransaction ON depositCredits (transactionId);
CREATE TABLE foundAddresses (
  network TEXT NOT NULL, address TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (address, network)) STRICT;
CREATE TABLE forgottenRanges (
  id INTEGER PRIMARY KEY, account TEXT NOT NULL, family TEXT NOT NULL, merchant TEXT NOT NULL REFERENCES merchants(id),
  agent TEXT REFERENCES agents(id), next INTEGER NOT NULL, indexesEnd INTEGER NOT NULL CHECK (indexesEnd > next), at INTEGER NOT NULL) STRICT;
CREATE TABLE vouched (network TEXT PRIMARY KEY, block INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
`;

/**
 * The journal of money (journal.ts), the sums of promised amounts (reserved.ts), sweeps that an
 * operator asked for, and the reason why an address is not swept.
 */
const sums = `
CREATE TABLE reserved (
  account TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, withdrawals INTEGER NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (account, network, currency)) STRICT;
CREATE INDEX reservedNow ON reserved (network, account) WHERE withdrawals > 0;
CREATE TABLE accounts (
  number INTEGER PRIMARY KEY, network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, merchant TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('hot','deposit')), units TEXT NOT NULL, heldUnits TEXT NOT NULL, openedBlock INTEGER,
  UNIQUE (address, network, currency), CHECK (kind = 'hot' OR openedBlock IS NULL)) STRICT;
CREATE TABLE moves (
  number INTEGER PRIMARY KEY, network TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL,
  fromSide TEXT NOT NULL, toSide TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('payment','withdraw','sweep','topup','fee','opening','outside','owner','note')),
  block INTEGER NOT NULL, cause TEXT NOT NULL, part INTEGER NOT NULL, undoes INTEGER REFERENCES moves(number), at INTEGER,
  actor TEXT, reason TEXT, CHECK (fromSide <> toSide), CHECK (units NOT LIKE '-%' AND (units <> '0' OR kind = 'note')), UNIQUE (cause, part)) STRICT;
CREATE INDEX accountsUnswept ON accounts (merchant, currency) WHERE kind = 'deposit' AND units <> heldUnits;
CREATE INDEX accountsUnsweptByNumber ON accounts (network, number) WHERE kind = 'deposit' AND units <> heldUnits;
CREATE INDEX movesOut ON moves (fromSide, network, block) WHERE substr(fromSide, 1, 1) <> '@';
CREATE INDEX movesIn ON moves (toSide, network, block) WHERE substr(toSide, 1, 1) <> '@';
CREATE INDEX movesAdjustingOut ON moves (fromSide, network) WHERE kind IN ('opening','outside','owner','note');
CREATE INDEX movesAdjustingIn ON moves (toSide, network) WHERE kind IN ('opening','outside','owner','note');
CREATE INDEX movesEntered ON moves (network, number) WHERE kind IN ('outside','note');
CREATE TABLE nativeCoins (network TEXT PRIMARY KEY, currency TEXT NOT NULL) STRICT;
CREATE TABLE sweepWishes (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (address, network, currency)) STRICT;
CREATE TABLE sweepNotes (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY (address, network, currency)) STRICT;
CREATE INDEX sweepNotesByNetwork ON sweepNotes (network);
`;

/**
 * Invoices and their choices (invoices.ts, quotes.ts). `currencies` is a list as JSON. A choice is
 * the deposit of an invoice in one of them, so that a second one of the same currency finds the
 * first; its column `choice` has its own id, and a request of an order has ''. The first choice
 * that is paid completes the invoice and ends the others; a second one that is paid is refused by
 * an index. `quotes` has the prices of a choice, each from a time to a time; `firstSights` the
 * quote at which each transaction that pays it counts.
 */
const invoices = `
CREATE TABLE invoices (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, merchant TEXT NOT NULL REFERENCES merchants(id), orderId TEXT NOT NULL,
  renews TEXT NOT NULL DEFAULT '', contentHash TEXT NOT NULL, fiatCurrency TEXT NOT NULL, fiatAmount TEXT NOT NULL,
  currencies TEXT NOT NULL, quoteMinutes INTEGER NOT NULL, tolerancePercent TEXT CHECK (tolerancePercent <> ''),
  payToken TEXT NOT NULL UNIQUE, returnUrl TEXT CHECK (returnUrl <> ''), metadata TEXT CHECK (metadata <> ''),
  status INTEGER NOT NULL DEFAULT 0 CHECK (status IN (0,1,2)), code TEXT CHECK (code <> ''), completedBy TEXT,
  createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL,
  CHECK ((status = 1) = (completedBy IS NOT NULL)), CHECK ((status = 2) = (code IS NOT NULL))) STRICT;
CREATE UNIQUE INDEX invoicesByOrder ON invoices (merchant, orderId, renews);
CREATE INDEX invoicesByMerchant ON invoices (merchant, createdAt DESC, id);
CREATE INDEX invoicesByChange ON invoices (merchant, changedAt, id);
CREATE INDEX invoicesOpen ON invoices (expiresAt) WHERE status = 0;
CREATE TABLE quotes (
  transactionId TEXT NOT NULL REFERENCES deposits(id), number INTEGER NOT NULL, price TEXT NOT NULL, priceAt INTEGER NOT NULL,
  fromAt INTEGER NOT NULL, untilAt INTEGER NOT NULL, PRIMARY KEY (transactionId, number)) STRICT;
CREATE TABLE firstSights (
  transactionId TEXT NOT NULL REFERENCES deposits(id), txHash TEXT NOT NULL, at INTEGER NOT NULL, quote INTEGER NOT NULL,
  PRIMARY KEY (transactionId, txHash)) STRICT;
CREATE TRIGGER invoicePaid AFTER UPDATE OF status ON deposits
  WHEN NEW.status = 1 AND OLD.status <> 1 AND NEW.invoice IS NOT NULL BEGIN
  UPDATE invoices SET status = 1, code = NULL, completedBy = NEW.id, changedAt = NEW.changedAt
    WHERE id = NEW.invoice AND completedBy IS NULL;
  DELETE FROM arriving WHERE transactionId IN
    (SELECT id FROM deposits WHERE invoice = NEW.invoice AND status = 0 AND id <> NEW.id);
  UPDATE deposits SET status = 2, stage = 'expired', code = 'invoice_paid', endBlock = NULL, changedAt = NEW.changedAt
    WHERE invoice = NEW.invoice AND status = 0 AND id <> NEW.id;
END;
CREATE TRIGGER invoiceMoved AFTER UPDATE OF status, stage, receivedUnits, late ON deposits WHEN NEW.invoice IS NOT NULL BEGIN
  UPDATE invoices SET changedAt = NEW.changedAt WHERE id = NEW.invoice AND changedAt < NEW.changedAt;
END;
CREATE TRIGGER invoiceRevoked AFTER UPDATE OF status ON deposits
  WHEN OLD.status = 1 AND NEW.status <> 1 AND NEW.invoice IS NOT NULL BEGIN
  UPDATE invoices SET status = 2, code = 'invoice_revoked', completedBy = NULL, changedAt = NEW.changedAt
    WHERE id = NEW.invoice AND completedBy = NEW.id;
END;
`;

/**
 * The books (books.ts): the newest closing of each network, and its differences. The last block of
 * each month (month-ends.ts). Prices of the markets. The operators' acts. `setAside` has rows that
 * a bug or a fault kept from being shown, told or judged (set-aside.ts). `faults` has the items
 * that cannot be read or judged (faults.ts), `unreadTransactions` the transactions among them
 * (unread-transactions.ts), `gaps` the blocks that could not be read (gaps.ts), `gapHolds` the
 * requests that one of them holds after it was given up (gap-holds.ts).
 */
const books = `
CREATE TABLE bookDifferences (
  network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, merchant TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('deposit','hot')), expectedUnits TEXT NOT NULL, foundUnits TEXT NOT NULL, block INTEGER NOT NULL,
  sinceBlock INTEGER, detail TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (network, address, currency)) STRICT;
CREATE TABLE closings (
  network TEXT PRIMARY KEY, closedAt INTEGER, firstBlock INTEGER NOT NULL, lastBlock INTEGER NOT NULL, addresses INTEGER NOT NULL,
  hotWallets INTEGER NOT NULL, compared INTEGER NOT NULL, left INTEGER NOT NULL, triedAt INTEGER NOT NULL, fault TEXT NOT NULL) STRICT;
CREATE TABLE monthEnds (network TEXT NOT NULL, month TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (network, month)) STRICT;
CREATE TABLE prices (
  asset TEXT NOT NULL, fiat TEXT NOT NULL, price TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (asset, fiat)) STRICT;
CREATE TABLE priceReadings (
  asset TEXT NOT NULL, fiat TEXT NOT NULL, source TEXT NOT NULL, price TEXT NOT NULL, readAt INTEGER, movedAt INTEGER,
  leftOut TEXT NOT NULL, trouble TEXT NOT NULL, PRIMARY KEY (asset, fiat, source)) STRICT;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
CREATE INDEX auditBySubject ON audit (subject, act, actor);
CREATE TABLE openAlarms (act INTEGER PRIMARY KEY REFERENCES audit(id)) STRICT;
CREATE TABLE faults (
  domain TEXT NOT NULL, network TEXT NOT NULL, id TEXT NOT NULL, merchant TEXT NOT NULL, code TEXT NOT NULL, words TEXT NOT NULL,
  since INTEGER NOT NULL, tries INTEGER NOT NULL, toldAt INTEGER, isRetried INTEGER NOT NULL CHECK (isRetried IN (0,1)),
  PRIMARY KEY (domain, network, id)) STRICT;
CREATE TABLE gaps (
  network TEXT NOT NULL, account TEXT NOT NULL, fromBlock INTEGER NOT NULL, toBlock INTEGER NOT NULL, merchant TEXT NOT NULL,
  code TEXT NOT NULL, words TEXT NOT NULL, since INTEGER NOT NULL, tries INTEGER NOT NULL, retryAt INTEGER NOT NULL,
  toldAt INTEGER, summedTo INTEGER NOT NULL, givenUpAt INTEGER, PRIMARY KEY (network, account, fromBlock)) STRICT;
CREATE TABLE gapHolds (
  network TEXT NOT NULL, account TEXT NOT NULL, fromBlock INTEGER NOT NULL, transactionId TEXT NOT NULL REFERENCES deposits(id),
  PRIMARY KEY (transactionId, network, account, fromBlock)) STRICT;
CREATE INDEX gapHoldsByGap ON gapHolds (network, account, fromBlock);
CREATE TABLE unreadTransactions (
  network TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER NOT NULL, blockTo INTEGER NOT NULL, address TEXT NOT NULL,
  merchant TEXT NOT NULL, code TEXT NOT NULL, words TEXT NOT NULL, at INTEGER NOT NULL, tries INTEGER NOT NULL,
  retryAt INTEGER NOT NULL, settledAt INTEGER, PRIMARY KEY (network, block, txHash, address)) STRICT;
CREATE INDEX unreadOpen ON unreadTransactions (network, address) WHERE settledAt IS NULL;
CREATE INDEX unreadSettled ON unreadTransactions (settledAt) WHERE settledAt IS NOT NULL;
CREATE TABLE setAside (
  kind TEXT NOT NULL CHECK (kind IN ('record','change','event','value','judgement')), id TEXT NOT NULL, about TEXT NOT NULL,
  code TEXT NOT NULL, stack TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (kind, id)) STRICT;
`;

export const schema = [
  people,
  agents,
  records,
  invoices,
  signing,
  chains,
  addresses,
  sums,
  books,
  callbackTables,
].join("");
