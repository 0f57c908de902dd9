/**
 * The gateway's tables as a new database gets them. A database of an earlier version comes to them
 * by the steps of migrations/; a change here needs such a step. Constraints carry the invariants:
 * one withdrawal per order, one job per position in an agent's list, one withdrawal per slot. Base
 * units are TEXT (SQLite integers are 64 bit); times are milliseconds since 1970. Sources:
 * docs/architecture.md; the statuses and stages of the interface and of docs/api.md.
 */

/*
 * The tables of callbacks, a part of the schema. Two triggers on `transactions`
 * and two on `payments` write each change of a record that callbacks can report, in the transaction
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
 * The columns that change after a record is made. Only these can differ from the row when the
 * change is read.
 */
const glimpse = (row: "OLD" | "NEW"): string => {
  const columns = [
    "status",
    "stage",
    "code",
    "txHash",
    "feeUnits",
    "amountReceivedUnits",
    "finalBlock",
    "late",
    "receiverAddress",
  ];
  return `json_object(${[...columns, "changedAt"].map((column) => `'${column}', ${row}.${column}`).join(", ")})`;
};

const othersCoin = `EXISTS (SELECT 1 FROM transactions t WHERE t.id = NEW.transactionId AND t.currency <> NEW.currency
    AND ${hasReader("t.merchant")})`;

const keepPayment = `INSERT INTO callbackChanges (transactionId, payment) VALUES (NEW.transactionId,
    json_object('currency', NEW.currency, 'units', NEW.units, 'txHash', NEW.txHash))`;

/** Shops get callbacks for their own orders, not for movements between a wallet's accounts. */
const isOrder = "NEW.operation IN ('deposit', 'withdraw')";

const callbackTriggers = `
CREATE TRIGGER callbackMade AFTER INSERT ON transactions
  WHEN ${isOrder} AND ${hasReader("NEW.merchant")} BEGIN
  UPDATE transactions SET callbackStatus = 0 WHERE id = NEW.id AND ${hasTarget("NEW.merchant")};
  INSERT INTO callbackChanges (transactionId, after) SELECT NEW.id, ${glimpse("NEW")} WHERE NEW.operation = 'withdraw';
END;
CREATE TRIGGER callbackMoved AFTER UPDATE OF status, stage, amountReceivedUnits ON transactions
  WHEN ${isOrder} AND (OLD.status <> NEW.status OR OLD.stage <> NEW.stage OR OLD.amountReceivedUnits <> NEW.amountReceivedUnits)
    AND ${hasReader("NEW.merchant")} BEGIN
  UPDATE transactions SET callbackStatus = 0 WHERE id = NEW.id AND ${hasTarget("NEW.merchant")};
  INSERT INTO callbackChanges (transactionId, before, after) VALUES (NEW.id, ${glimpse("OLD")}, ${glimpse("NEW")});
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
  id INTEGER PRIMARY KEY, transactionId TEXT NOT NULL REFERENCES transactions(id), before TEXT, after TEXT, payment TEXT) STRICT;
CREATE TABLE callbackEvents (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, merchant TEXT NOT NULL REFERENCES merchants(id), transactionId TEXT REFERENCES transactions(id),
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
  transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id), answeredAt INTEGER, PRIMARY KEY (agent, sequence)) STRICT;
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
 * Deposit requests, withdrawals, and movements between a wallet's own accounts. The two indexes
 * with a similar beginning cover all filters of lists except orderId, which has a unique index of
 * its own. `transactionsByTime` is for the operator's lists of all merchants,
 * `transactionsByAmount` for the operator's search. `toleranceUnits` may be missing from a deposit;
 * `quote` and `metadata` are JSON. `renews` is the ended record of the same order that a record
 * follows; each has one successor. `refundOf` is the deposit that a withdrawal pays back. `value`
 * is JSON: the fiat value at the completion. `completions` are records that completed and have no
 * value yet; the trigger writes one in the transaction that completes it, whichever process does.
 * `recalls` are open withdrawals that their shop no longer wants; triggers remove one that has
 * ended or is signed.
 */
const transactions = `
CREATE TABLE transactions (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id),
  operation TEXT NOT NULL CHECK (operation IN ('deposit','withdraw','sweep','topup')),
  mode TEXT NOT NULL CHECK (mode IN ('','auto','manual')), orderId TEXT NOT NULL, contentHash TEXT NOT NULL,
  currency TEXT NOT NULL, network TEXT NOT NULL, amount TEXT NOT NULL, amountUnits TEXT NOT NULL,
  receiverAddress TEXT NOT NULL, depositAddress TEXT NOT NULL, tag TEXT NOT NULL DEFAULT '',
  status INTEGER NOT NULL CHECK (status IN (0,1,2)), stage TEXT NOT NULL, code TEXT NOT NULL DEFAULT '',
  txHash TEXT NOT NULL DEFAULT '', feeUnits TEXT NOT NULL DEFAULT '', amountReceivedUnits TEXT NOT NULL DEFAULT '0',
  finalBlock INTEGER, createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL,
  late INTEGER NOT NULL DEFAULT 0 CHECK (late IN (0,1)), quote TEXT NOT NULL DEFAULT '', metadata TEXT NOT NULL DEFAULT '',
  callbackStatus INTEGER NOT NULL DEFAULT 3 CHECK (callbackStatus IN (0,1,2,3)), toleranceUnits TEXT NOT NULL DEFAULT '0',
  payToken TEXT NOT NULL DEFAULT '', returnUrl TEXT NOT NULL DEFAULT '', renews TEXT NOT NULL DEFAULT '',
  refundOf TEXT NOT NULL DEFAULT '', value TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE completions (transactionId TEXT PRIMARY KEY REFERENCES transactions(id)) STRICT;
CREATE TRIGGER transactionCompleted AFTER UPDATE OF status ON transactions
  WHEN NEW.status = 1 AND OLD.status <> 1 AND NEW.operation IN ('deposit','withdraw') BEGIN
  INSERT OR IGNORE INTO completions (transactionId) VALUES (NEW.id);
END;
CREATE TABLE recalls (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), recalledAt INTEGER NOT NULL) STRICT;
CREATE TRIGGER recallEnded AFTER UPDATE OF status ON transactions WHEN NEW.status <> 0 BEGIN
  DELETE FROM recalls WHERE transactionId = NEW.id;
END;
CREATE UNIQUE INDEX transactionsByOrder ON transactions (merchant, operation, orderId, renews);
CREATE INDEX transactionsByMerchant ON transactions (merchant, createdAt DESC, id);
CREATE INDEX transactionsByChange ON transactions (merchant, changedAt, id) WHERE operation IN ('deposit','withdraw');
CREATE INDEX transactionsPaid ON transactions (currency, network, changedAt)
  WHERE operation = 'withdraw' AND status = 1 AND feeUnits <> '';
CREATE INDEX transactionsByRefund ON transactions (refundOf) WHERE refundOf <> '';
CREATE UNIQUE INDEX transactionsByPayToken ON transactions (payToken) WHERE payToken <> '';
CREATE INDEX transactionsOpen ON transactions (operation, status) WHERE status = 0;
CREATE INDEX transactionsFinal ON transactions (depositAddress, finalBlock) WHERE finalBlock IS NOT NULL;
CREATE INDEX transactionsByKind ON transactions (merchant, operation, status, createdAt DESC, id);
CREATE INDEX transactionsByCurrency ON transactions (merchant, currency, operation, status, createdAt DESC, id);
CREATE INDEX transactionsReceived ON transactions (receiverAddress, finalBlock) WHERE operation <> 'deposit';
CREATE INDEX transactionsByTime ON transactions (operation, createdAt DESC, id);
CREATE INDEX transactionsByAmount ON transactions (amountUnits);
CREATE INDEX taggedDeposits ON transactions (receiverAddress, createdAt)
  WHERE operation = 'deposit' AND receiverAddress <> depositAddress;
CREATE INDEX sweepsByAddress ON transactions (depositAddress, createdAt) WHERE operation = 'sweep';
CREATE INDEX sweepsByBlock ON transactions (merchant, currency, finalBlock)
  WHERE operation = 'sweep' AND finalBlock IS NOT NULL;
CREATE INDEX topUpsByBlock ON transactions (merchant, network, finalBlock)
  WHERE operation = 'topup' AND finalBlock IS NOT NULL;
CREATE INDEX sweepsUnreached ON transactions (network) WHERE operation = 'sweep' AND status = 2 AND code = 'SWEEP_UNREACHABLE';
CREATE INDEX coinsEnded ON transactions (network) WHERE status = 2 AND code = 'coin_unknown';
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
  transactionId TEXT NOT NULL REFERENCES transactions(id), attempt INTEGER NOT NULL, agent TEXT NOT NULL, network TEXT NOT NULL,
  account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, feeMax TEXT NOT NULL, seq INTEGER NOT NULL,
  validUntilMs INTEGER NOT NULL DEFAULT 0, pin TEXT NOT NULL DEFAULT '', voidAt INTEGER, cancel INTEGER NOT NULL DEFAULT 0 CHECK (cancel IN (0,1)),
  PRIMARY KEY (transactionId, attempt), UNIQUE (txHash, account)) STRICT;
CREATE TRIGGER recallSigned AFTER INSERT ON signatures BEGIN
  DELETE FROM recalls WHERE transactionId = NEW.transactionId;
END;
CREATE TABLE slots (
  network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id),
  PRIMARY KEY (network, account, slot)) STRICT;
CREATE TABLE voidAttempts (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), code TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE movedPayments (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), txHash TEXT NOT NULL, block INTEGER NOT NULL, feeUnits TEXT NOT NULL,
  at INTEGER NOT NULL, receivedUnits TEXT, sentUnits TEXT) STRICT;
CREATE TABLE currencyHolds (
  currency TEXT NOT NULL, merchant TEXT NOT NULL, at INTEGER NOT NULL, transactionId TEXT NOT NULL, txHash TEXT NOT NULL,
  PRIMARY KEY (currency, merchant)) STRICT;
CREATE TABLE assignedPayments (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), network TEXT NOT NULL, account TEXT NOT NULL, txHash TEXT NOT NULL,
  block INTEGER NOT NULL, feeUnits TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE (txHash, account)) STRICT;
CREATE TRIGGER assignedSigned AFTER INSERT ON signatures BEGIN
  DELETE FROM assignedPayments WHERE transactionId = NEW.transactionId;
END;
CREATE TABLE unknownCoins (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), since INTEGER NOT NULL, chainSince INTEGER NOT NULL) STRICT;
CREATE TABLE coinLooks (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), chainAt INTEGER NOT NULL, watchedMs INTEGER NOT NULL) STRICT;
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
  transactionId TEXT NOT NULL REFERENCES transactions(id), PRIMARY KEY (network, txHash, logIndex)) STRICT;
CREATE INDEX paymentsByTransaction ON payments (transactionId);
CREATE INDEX paymentsByUnits ON payments (units);
CREATE INDEX paymentsNotFinal ON payments (network, block) WHERE final = 0;
CREATE INDEX paymentsFinal ON payments (network, block) WHERE final = 1;
CREATE TABLE gonePayments (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  units TEXT NOT NULL, block INTEGER NOT NULL, blockHash TEXT NOT NULL, transactionId TEXT NOT NULL REFERENCES transactions(id),
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

/**
 * Deposit addresses; one of a merchant that only receives has no agent. The watcher reads the list
 * by rowid. `accountOwners` has the owner of each account whose requests differ by their tags: the
 * trigger writes it with each new address. `addressStates` and `baselines` have known balances
 * (address-states.ts), `arriving` payments to open requests that no block has, `depositEnds` the
 * block in which a request ends until this end is final. `depositCredits` has payments that an
 * operator credited to a request of another address, `foundAddresses` the first block whose
 * payments count at an address found by a scan. `forgottenAddresses`, `forgottenRanges` and
 * `vouched` are of a database restored from a backup: addresses it may have forgotten, skipped
 * indexes that are not watched yet, and the blocks from which to read the chains again.
 */
const addresses = `
CREATE TABLE depositAddresses (
  address TEXT PRIMARY KEY, agent TEXT REFERENCES agents(id), addressIndex INTEGER NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id), UNIQUE (agent, addressIndex)) STRICT;
CREATE TABLE accountOwners (
  network TEXT NOT NULL, account TEXT NOT NULL, merchant TEXT NOT NULL REFERENCES merchants(id), agent TEXT REFERENCES agents(id),
  PRIMARY KEY (network, account)) STRICT;
CREATE TRIGGER accountOwned AFTER INSERT ON depositAddresses BEGIN
  INSERT INTO accountOwners (network, account, merchant, agent)
    SELECT network, receiverAddress, merchant, NEW.agent FROM transactions
      WHERE id = NEW.transactionId AND operation = 'deposit' AND receiverAddress <> depositAddress
    ON CONFLICT (network, account) DO UPDATE SET merchant = excluded.merchant, agent = excluded.agent
      WHERE merchant <> excluded.merchant OR agent IS NOT excluded.agent;
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
CREATE TABLE baselines (
  network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, block INTEGER NOT NULL,
  takenUnits TEXT NOT NULL DEFAULT '0', PRIMARY KEY (address, network, currency)) STRICT;
CREATE TABLE lookGaps (
  network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, PRIMARY KEY (network, address, currency)) STRICT;
CREATE TABLE arriving (
  transactionId TEXT NOT NULL REFERENCES transactions(id), txHash TEXT NOT NULL, units TEXT NOT NULL, firstAt INTEGER NOT NULL,
  seenAt INTEGER NOT NULL, isReplaceable INTEGER NOT NULL CHECK (isReplaceable IN (0,1)),
  isHeld INTEGER NOT NULL CHECK (isHeld IN (0,1)), PRIMARY KEY (transactionId, txHash)) STRICT;
CREATE TABLE depositEnds (transactionId TEXT PRIMARY KEY REFERENCES transactions(id), block INTEGER NOT NULL) STRICT;
CREATE TABLE depositCredits (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, transactionId TEXT NOT NULL REFERENCES transactions(id),
  units TEXT NOT NULL, ofUnits TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (network, txHash, logIndex, transactionId)) STRICT;
CREATE INDEX depositCreditsByTransaction ON depositCredits (transactionId);
CREATE TABLE foundAddresses (
  network TEXT NOT NULL, address TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (address, network)) STRICT;
CREATE TABLE forgottenAddresses (
  address TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), agent TEXT REFERENCES agents(id),
  addressIndex INTEGER NOT NULL, addressSpace TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE forgottenRanges (
  id INTEGER PRIMARY KEY, account TEXT NOT NULL, family TEXT NOT NULL, merchant TEXT NOT NULL REFERENCES merchants(id),
  agent TEXT REFERENCES agents(id), next INTEGER NOT NULL, indexesEnd INTEGER NOT NULL CHECK (indexesEnd > next), at INTEGER NOT NULL) STRICT;
CREATE TABLE vouched (network TEXT PRIMARY KEY, block INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
`;

/**
 * Sums that other tables imply (reserved.ts, unswept-balances.ts), sweeps that an operator asked
 * for, and the reason why an address is not swept.
 */
const sums = `
CREATE TABLE reserved (
  account TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, withdrawals INTEGER NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (account, network, currency)) STRICT;
CREATE INDEX reservedNow ON reserved (network, account) WHERE withdrawals > 0;
CREATE TABLE nativeCoins (network TEXT PRIMARY KEY, currency TEXT NOT NULL) STRICT;
CREATE TABLE unsweptBalances (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, merchant TEXT NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (address, network, currency)) STRICT;
CREATE INDEX unsweptBalancesByMerchant ON unsweptBalances (merchant, currency);
CREATE INDEX unsweptBalancesByNetwork ON unsweptBalances (network);
CREATE TABLE sweepWishes (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (address, network, currency)) STRICT;
CREATE TABLE sweepNotes (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY (address, network, currency)) STRICT;
CREATE INDEX sweepNotesByNetwork ON sweepNotes (network);
`;

/**
 * The books (books.ts): entries that no payment or outgoing transaction makes, the newest closing
 * of each network, and its differences. Prices of the markets. The operators' acts. `setAside` has
 * rows that a bug or a fault kept from being shown, told or judged (set-aside.ts). `faults` has the
 * items that cannot be read or judged (faults.ts), `unreadTransactions` the transactions among them
 * (unread-transactions.ts), `gaps` the blocks that could not be read (gaps.ts), `gapHolds` the
 * requests that one of them holds after it was given up (gap-holds.ts).
 */
const books = `
CREATE TABLE bookEntries (
  id INTEGER PRIMARY KEY, network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('opening','outside','note')), units TEXT NOT NULL, block INTEGER NOT NULL,
  at INTEGER NOT NULL, operator TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE INDEX bookEntriesByAddress ON bookEntries (address, network, currency, block);
CREATE UNIQUE INDEX bookOpenings ON bookEntries (address, network, currency) WHERE kind = 'opening';
CREATE TABLE bookDifferences (
  network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, merchant TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('deposit','hot')), expectedUnits TEXT NOT NULL, foundUnits TEXT NOT NULL, block INTEGER NOT NULL,
  sinceBlock INTEGER, detail TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (network, address, currency)) STRICT;
CREATE TABLE closings (
  network TEXT PRIMARY KEY, closedAt INTEGER, firstBlock INTEGER NOT NULL, lastBlock INTEGER NOT NULL, addresses INTEGER NOT NULL,
  hotWallets INTEGER NOT NULL, compared INTEGER NOT NULL, left INTEGER NOT NULL, triedAt INTEGER NOT NULL, fault TEXT NOT NULL) STRICT;
CREATE TABLE prices (
  asset TEXT NOT NULL, fiat TEXT NOT NULL, price TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (asset, fiat)) STRICT;
CREATE TABLE priceReadings (
  asset TEXT NOT NULL, fiat TEXT NOT NULL, source TEXT NOT NULL, price TEXT NOT NULL, readAt INTEGER, movedAt INTEGER,
  leftOut TEXT NOT NULL, trouble TEXT NOT NULL, PRIMARY KEY (asset, fiat, source)) STRICT;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, act TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
CREATE INDEX auditBySubject ON audit (subject, act, actor);
CREATE TABLE faults (
  domain TEXT NOT NULL, network TEXT NOT NULL, id TEXT NOT NULL, merchant TEXT NOT NULL, code TEXT NOT NULL, words TEXT NOT NULL,
  since INTEGER NOT NULL, tries INTEGER NOT NULL, toldAt INTEGER, isRetried INTEGER NOT NULL CHECK (isRetried IN (0,1)),
  PRIMARY KEY (domain, network, id)) STRICT;
CREATE TABLE gaps (
  network TEXT NOT NULL, account TEXT NOT NULL, fromBlock INTEGER NOT NULL, toBlock INTEGER NOT NULL, merchant TEXT NOT NULL,
  code TEXT NOT NULL, words TEXT NOT NULL, since INTEGER NOT NULL, tries INTEGER NOT NULL, retryAt INTEGER NOT NULL,
  toldAt INTEGER, summedTo INTEGER NOT NULL, givenUpAt INTEGER, PRIMARY KEY (network, account, fromBlock)) STRICT;
CREATE TABLE gapHolds (
  network TEXT NOT NULL, account TEXT NOT NULL, fromBlock INTEGER NOT NULL, transactionId TEXT NOT NULL REFERENCES transactions(id),
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
  transactions,
  signing,
  chains,
  addresses,
  sums,
  books,
  callbackTables,
].join("");
