/**
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
export const callbackTables = `
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
