/**
 * The tables of callbacks, as version 10 of the schema brought them. Two triggers on `transactions`
 * and two on `payments` write down every change of a record that a callback may tell of, in the
 * transaction that makes the change: no code that changes a record, of whatever process, can forget
 * it. A merchant without a target costs one look into an index. Sources: docs/api.md, Callbacks;
 * sqlite.org/lang_createtrigger.html.
 */

/** A target of this merchant takes events now. */
const hasTarget = (merchant: string): string =>
  `EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = ${merchant} AND offAt IS NULL)`;

/**
 * The columns that a record's life changes, and so the only ones that may differ from the row when
 * its change is read.
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
    AND ${hasTarget("t.merchant")})`;

const keepPayment = `INSERT INTO callbackChanges (transactionId, payment) VALUES (NEW.transactionId,
    json_object('currency', NEW.currency, 'units', NEW.units, 'txHash', NEW.txHash))`;

/** A shop is told of its own orders, and not of what moves between a wallet's accounts. */
const isOrder = "NEW.operation IN ('deposit', 'withdraw')";

/**
 * The triggers alone: whoever makes a table of theirs anew drops them first.
 * @public
 */
export const callbackTriggers = `
CREATE TRIGGER callbackMade AFTER INSERT ON transactions
  WHEN ${isOrder} AND ${hasTarget("NEW.merchant")} BEGIN
  UPDATE transactions SET callbackStatus = 0 WHERE id = NEW.id;
  INSERT INTO callbackChanges (transactionId, after) SELECT NEW.id, ${glimpse("NEW")} WHERE NEW.operation = 'withdraw';
END;
CREATE TRIGGER callbackMoved AFTER UPDATE OF status, stage, amountReceivedUnits ON transactions
  WHEN ${isOrder} AND (OLD.status <> NEW.status OR OLD.stage <> NEW.stage OR OLD.amountReceivedUnits <> NEW.amountReceivedUnits)
    AND ${hasTarget("NEW.merchant")} BEGIN
  UPDATE transactions SET callbackStatus = 0 WHERE id = NEW.id;
  INSERT INTO callbackChanges (transactionId, before, after) VALUES (NEW.id, ${glimpse("OLD")}, ${glimpse("NEW")});
END;
CREATE TRIGGER callbackPaid AFTER INSERT ON payments WHEN NEW.final = 1 AND ${othersCoin} BEGIN
  ${keepPayment};
END;
CREATE TRIGGER callbackPaidFinally AFTER UPDATE OF final ON payments WHEN OLD.final = 0 AND NEW.final = 1 AND ${othersCoin} BEGIN
  ${keepPayment};
END;
`;

/** @public */
export const dropCallbackTriggers = `DROP TRIGGER callbackMade; DROP TRIGGER callbackMoved;
  DROP TRIGGER callbackPaid; DROP TRIGGER callbackPaidFinally;`;

/** @public */
export const callbackStatus = "callbackStatus INTEGER NOT NULL DEFAULT 3 CHECK (callbackStatus IN (0,1,2,3))";

/**
 * callbackTargets: who is told; off for good when removed, off until it answers again when it said
 * 410. callbackChanges: what changed and is not told yet. callbackEvents: each event's one body.
 * callbackDeliveries: an event for a target. callbackTries: the log.
 * @public
 */
export const callbackTables = `
ALTER TABLE transactions ADD COLUMN ${callbackStatus};
CREATE TABLE callbackTargets (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), url TEXT NOT NULL, events TEXT NOT NULL,
  secretBox BLOB NOT NULL, oldSecretBox BLOB, oldUntil INTEGER, createdAt INTEGER NOT NULL,
  offAt INTEGER, offReason TEXT NOT NULL DEFAULT '' CHECK (offReason IN ('','gone','removed'))) STRICT;
CREATE INDEX callbackTargetsByMerchant ON callbackTargets (merchant, offAt);
CREATE TABLE callbackChanges (
  id INTEGER PRIMARY KEY, transactionId TEXT NOT NULL REFERENCES transactions(id), before TEXT, after TEXT, payment TEXT) STRICT;
CREATE TABLE callbackEvents (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), transactionId TEXT REFERENCES transactions(id),
  type TEXT NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX callbackEventsByRecord ON callbackEvents (transactionId, sequence);
CREATE INDEX callbackEventsByTime ON callbackEvents (at);
CREATE TABLE callbackDeliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL REFERENCES callbackEvents(id) ON DELETE CASCADE,
  target TEXT NOT NULL REFERENCES callbackTargets(id), state TEXT NOT NULL CHECK (state IN ('waiting','delivered','given up')),
  tries INTEGER NOT NULL DEFAULT 0, nextAt INTEGER NOT NULL, UNIQUE (event, target)) STRICT;
CREATE INDEX callbackDeliveriesWaiting ON callbackDeliveries (target, nextAt) WHERE state = 'waiting';
CREATE INDEX callbackDeliveriesByTarget ON callbackDeliveries (target, id);
CREATE TABLE callbackTries (
  id INTEGER PRIMARY KEY, delivery INTEGER NOT NULL REFERENCES callbackDeliveries(id) ON DELETE CASCADE, at INTEGER NOT NULL,
  status INTEGER NOT NULL, durationMs INTEGER NOT NULL, answer TEXT NOT NULL) STRICT;
CREATE INDEX callbackTriesByDelivery ON callbackTries (delivery, id);
${callbackTriggers}`;
