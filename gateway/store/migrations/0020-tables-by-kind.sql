-- One table had deposit requests, withdrawals, sweeps and top-ups, and columns meant another thing by
-- row: the address that pays stood in the same column as the address that is paid, and what a kind
-- lacks was a blank or a zero. Each kind has its own columns now, and what is absent is NULL. A row
-- that no gateway wrote stops no upgrade: a request for nothing counts as one that nobody asked for,
-- a payout without a mode waits for a person, and what cannot be read is as if it were not there.
DROP TRIGGER transactionCompleted;
DROP TRIGGER recallEnded;
DROP TRIGGER callbackMade;
DROP TRIGGER callbackMoved;
DROP TRIGGER callbackPaid;
DROP TRIGGER callbackPaidFinally;
DROP TRIGGER recallSigned;
DROP TRIGGER assignedSigned;
DROP TRIGGER outgoingExplained;
DROP TRIGGER accountOwned;
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
  createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL,
  CHECK ((origin = 'ordered') = (contentHash IS NOT NULL)), CHECK ((origin = 'ordered') = (amount IS NOT NULL)),
  CHECK ((origin = 'ordered') = (units IS NOT NULL)), CHECK ((origin = 'ordered') = (toleranceUnits IS NOT NULL)),
  CHECK (origin = 'ordered' OR coalesce(quote, payToken, returnUrl, metadata) IS NULL)) STRICT;
CREATE TABLE transfers (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, operation TEXT NOT NULL CHECK (operation IN ('withdraw','sweep','topup')),
  merchant TEXT NOT NULL REFERENCES merchants(id), contentHash TEXT NOT NULL, network TEXT NOT NULL, currency TEXT CHECK (currency <> ''),
  amount TEXT NOT NULL, units TEXT NOT NULL, payer TEXT NOT NULL, receiver TEXT CHECK (receiver <> ''),
  tag TEXT NOT NULL DEFAULT '', status INTEGER NOT NULL DEFAULT 0 CHECK (status IN (0,1,2)), stage TEXT NOT NULL,
  code TEXT CHECK (code <> ''), txHash TEXT CHECK (txHash <> ''), feeUnits TEXT CHECK (feeUnits <> ''), finalBlock INTEGER,
  createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL,
  CHECK ((operation = 'topup') = (currency IS NULL)), CHECK (operation = 'withdraw' OR receiver IS NOT NULL)) STRICT;
CREATE TABLE withdrawals (
  id TEXT PRIMARY KEY REFERENCES transfers(id), merchant TEXT NOT NULL REFERENCES merchants(id), orderId TEXT NOT NULL,
  renews TEXT NOT NULL DEFAULT '', mode TEXT NOT NULL CHECK (mode IN ('auto','manual')),
  refundOf TEXT CHECK (refundOf <> ''), metadata TEXT CHECK (metadata <> ''), value TEXT CHECK (value <> ''),
  callbackStatus INTEGER NOT NULL DEFAULT 3 CHECK (callbackStatus IN (0,1,2,3))) STRICT;
CREATE TABLE sweeps (
  id TEXT PRIMARY KEY REFERENCES transfers(id), address TEXT NOT NULL, ordinal INTEGER NOT NULL, addressIndex INTEGER NOT NULL,
  nextSlot TEXT CHECK (nextSlot <> ''), UNIQUE (address, ordinal)) STRICT;
CREATE TABLE topUps (
  id TEXT PRIMARY KEY REFERENCES transfers(id), sweep TEXT NOT NULL UNIQUE, sweptCurrency TEXT NOT NULL,
  addressIndex INTEGER NOT NULL) STRICT;
INSERT INTO deposits (number, id, merchant, origin, orderId, renews, contentHash, address, payTo, tag, network, currency, amount,
    units, toleranceUnits, quote, payToken, returnUrl, metadata, status, stage, code, receivedUnits, late, txHash, finalBlock,
    endBlock, value, callbackStatus, createdAt, changedAt, expiresAt)
  SELECT rowid, id, merchant, CASE WHEN asked THEN 'ordered' ELSE 'unattributed' END, orderId, renews,
    CASE WHEN asked THEN contentHash END, depositAddress, receiverAddress, tag, network, currency, CASE WHEN asked THEN amount END,
    CASE WHEN asked THEN amountUnits END, CASE WHEN asked THEN toleranceUnits END, CASE WHEN asked THEN nullif(quote, '') END,
    CASE WHEN asked THEN nullif(payToken, '') END, CASE WHEN asked THEN nullif(returnUrl, '') END,
    CASE WHEN asked THEN nullif(metadata, '') END, status, stage, nullif(code, ''), amountReceivedUnits, late,
    nullif(txHash, ''), finalBlock, (SELECT block FROM depositEnds WHERE transactionId = o.id), nullif(value, ''),
    callbackStatus, createdAt, changedAt, expiresAt
  FROM (SELECT rowid, *, contentHash <> '' AND amount <> '' AND amountUnits NOT IN ('', '0') AND toleranceUnits <> '' AS asked
    FROM transactions WHERE operation = 'deposit') o ORDER BY rowid;
INSERT INTO transfers (number, id, operation, merchant, contentHash, network, currency, amount, units, payer, receiver, tag, status,
    stage, code, txHash, feeUnits, finalBlock, createdAt, changedAt, expiresAt)
  SELECT rowid, id, operation, merchant, contentHash, network, CASE WHEN operation <> 'topup' THEN currency END, amount, amountUnits,
    depositAddress, nullif(receiverAddress, ''), tag, status, stage, nullif(code, ''), nullif(txHash, ''), nullif(feeUnits, ''),
    finalBlock, createdAt, changedAt, expiresAt
  FROM transactions WHERE operation <> 'deposit' ORDER BY rowid;
INSERT INTO withdrawals (id, merchant, orderId, renews, mode, refundOf, metadata, value, callbackStatus)
  SELECT id, merchant, orderId, renews, CASE mode WHEN 'auto' THEN 'auto' ELSE 'manual' END, nullif(refundOf, ''), nullif(metadata, ''), nullif(value, ''), callbackStatus
  FROM transactions WHERE operation = 'withdraw' ORDER BY rowid;
INSERT INTO sweeps (id, address, ordinal, addressIndex, nextSlot)
  SELECT id, depositAddress, CAST(substr(orderId, length(depositAddress) + 2) AS INTEGER), coalesce(CASE WHEN json_valid(metadata) THEN metadata ->> 'depositIndex' END,
      (SELECT addressIndex FROM depositAddresses WHERE address = depositAddress), 0),
    CASE WHEN json_valid(metadata) THEN nullif(metadata ->> 'depositNext', '') END
  FROM transactions WHERE operation = 'sweep' ORDER BY rowid;
INSERT INTO topUps (id, sweep, sweptCurrency, addressIndex)
  SELECT id, orderId, currency, coalesce(CASE WHEN json_valid(metadata) THEN metadata ->> 'depositIndex' END,
      (SELECT addressIndex FROM depositAddresses WHERE address = receiverAddress), 0)
  FROM transactions WHERE operation = 'topup' ORDER BY rowid;
UPDATE callbackChanges SET
  before = CASE WHEN json_valid(before) THEN json_object('status', before ->> 'status', 'stage', before ->> 'stage', 'code', before ->> 'code',
    'txHash', before ->> 'txHash', 'finalBlock', before ->> 'finalBlock', 'changedAt', before ->> 'changedAt',
    'receivedUnits', before ->> 'amountReceivedUnits', 'late', before ->> 'late') ELSE before END,
  after = CASE WHEN json_valid(after) THEN json_object('status', after ->> 'status', 'stage', after ->> 'stage', 'code', after ->> 'code',
    'txHash', after ->> 'txHash', 'finalBlock', after ->> 'finalBlock', 'changedAt', after ->> 'changedAt',
    'receivedUnits', after ->> 'amountReceivedUnits', 'late', after ->> 'late') ELSE after END
  WHERE transactionId IN (SELECT id FROM deposits);
UPDATE callbackChanges SET
  before = CASE WHEN json_valid(before) THEN json_object('status', before ->> 'status', 'stage', before ->> 'stage', 'code', before ->> 'code',
    'txHash', before ->> 'txHash', 'finalBlock', before ->> 'finalBlock', 'changedAt', before ->> 'changedAt',
    'receivedUnits', before ->> 'amountReceivedUnits',
    'feeUnits', before ->> 'feeUnits', 'receiver', nullif(before ->> 'receiverAddress', '')) ELSE before END,
  after = CASE WHEN json_valid(after) THEN json_object('status', after ->> 'status', 'stage', after ->> 'stage', 'code', after ->> 'code',
    'txHash', after ->> 'txHash', 'finalBlock', after ->> 'finalBlock', 'changedAt', after ->> 'changedAt',
    'receivedUnits', after ->> 'amountReceivedUnits',
    'feeUnits', after ->> 'feeUnits', 'receiver', nullif(after ->> 'receiverAddress', '')) ELSE after END
  WHERE transactionId IN (SELECT id FROM transfers);
CREATE TABLE isSame (answer INTEGER NOT NULL CHECK (answer = 1)) STRICT;
INSERT INTO isSame SELECT (SELECT count(*) FROM transactions) = (SELECT count(*) FROM deposits) + (SELECT count(*) FROM transfers);
INSERT INTO isSame SELECT (SELECT count(*) FROM transactions WHERE operation = 'sweep') =
  (SELECT count(*) FROM sweeps s JOIN transactions o ON o.id = s.id WHERE o.orderId = s.address || '/' || s.ordinal);
INSERT INTO isSame SELECT count(*) = 0 FROM transactions o LEFT JOIN movedPayments m ON m.transactionId = o.id
  WHERE o.operation <> 'deposit' AND o.amountReceivedUnits <> coalesce(m.receivedUnits, '0');
INSERT INTO isSame SELECT (SELECT count(*) FROM depositEnds) = (SELECT count(*) FROM deposits WHERE endBlock IS NOT NULL);
DROP TABLE isSame;
DROP TABLE depositEnds;
DROP TABLE transactions;
CREATE TABLE new_jobs (
  agent TEXT NOT NULL REFERENCES agents(id), sequence INTEGER NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transfers(id), answeredAt INTEGER, PRIMARY KEY (agent, sequence)) STRICT;
INSERT INTO new_jobs (rowid, agent, sequence, hash, text, transactionId, answeredAt)
  SELECT rowid, agent, sequence, hash, text, transactionId, answeredAt FROM jobs ORDER BY rowid;
DROP TABLE jobs;
ALTER TABLE new_jobs RENAME TO jobs;
CREATE TABLE new_signatures (
  transactionId TEXT NOT NULL REFERENCES transfers(id), attempt INTEGER NOT NULL, agent TEXT NOT NULL, network TEXT NOT NULL,
  account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, feeMax TEXT NOT NULL, seq INTEGER NOT NULL,
  validUntilMs INTEGER NOT NULL DEFAULT 0, pin TEXT NOT NULL DEFAULT '', voidAt INTEGER, cancel INTEGER NOT NULL DEFAULT 0 CHECK (cancel IN (0,1)),
  PRIMARY KEY (transactionId, attempt), UNIQUE (txHash, account)) STRICT;
INSERT INTO new_signatures (rowid, transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq, validUntilMs, pin, voidAt, cancel)
  SELECT rowid, transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq, validUntilMs, pin, voidAt, cancel FROM signatures ORDER BY rowid;
DROP TABLE signatures;
ALTER TABLE new_signatures RENAME TO signatures;
CREATE TABLE new_slots (
  network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, transactionId TEXT NOT NULL UNIQUE REFERENCES transfers(id),
  PRIMARY KEY (network, account, slot)) STRICT;
INSERT INTO new_slots (rowid, network, account, slot, transactionId)
  SELECT rowid, network, account, slot, transactionId FROM slots ORDER BY rowid;
DROP TABLE slots;
ALTER TABLE new_slots RENAME TO slots;
CREATE TABLE new_voidAttempts (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), code TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
INSERT INTO new_voidAttempts (rowid, transactionId, code, at)
  SELECT rowid, transactionId, code, at FROM voidAttempts ORDER BY rowid;
DROP TABLE voidAttempts;
ALTER TABLE new_voidAttempts RENAME TO voidAttempts;
CREATE TABLE new_movedPayments (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), txHash TEXT NOT NULL, block INTEGER NOT NULL, feeUnits TEXT NOT NULL,
  at INTEGER NOT NULL, receivedUnits TEXT, sentUnits TEXT) STRICT;
INSERT INTO new_movedPayments (rowid, transactionId, txHash, block, feeUnits, at, receivedUnits, sentUnits)
  SELECT rowid, transactionId, txHash, block, feeUnits, at, receivedUnits, sentUnits FROM movedPayments ORDER BY rowid;
DROP TABLE movedPayments;
ALTER TABLE new_movedPayments RENAME TO movedPayments;
CREATE TABLE new_assignedPayments (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), network TEXT NOT NULL, account TEXT NOT NULL, txHash TEXT NOT NULL,
  block INTEGER NOT NULL, feeUnits TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE (txHash, account)) STRICT;
INSERT INTO new_assignedPayments (rowid, transactionId, network, account, txHash, block, feeUnits, at)
  SELECT rowid, transactionId, network, account, txHash, block, feeUnits, at FROM assignedPayments ORDER BY rowid;
DROP TABLE assignedPayments;
ALTER TABLE new_assignedPayments RENAME TO assignedPayments;
CREATE TABLE new_unknownCoins (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), since INTEGER NOT NULL, chainSince INTEGER NOT NULL) STRICT;
INSERT INTO new_unknownCoins (rowid, transactionId, since, chainSince)
  SELECT rowid, transactionId, since, chainSince FROM unknownCoins ORDER BY rowid;
DROP TABLE unknownCoins;
ALTER TABLE new_unknownCoins RENAME TO unknownCoins;
CREATE TABLE new_coinLooks (
  transactionId TEXT PRIMARY KEY REFERENCES transfers(id), chainAt INTEGER NOT NULL, watchedMs INTEGER NOT NULL) STRICT;
INSERT INTO new_coinLooks (rowid, transactionId, chainAt, watchedMs)
  SELECT rowid, transactionId, chainAt, watchedMs FROM coinLooks ORDER BY rowid;
DROP TABLE coinLooks;
ALTER TABLE new_coinLooks RENAME TO coinLooks;
CREATE TABLE new_recalls (
  transactionId TEXT PRIMARY KEY REFERENCES withdrawals(id), recalledAt INTEGER NOT NULL) STRICT;
INSERT INTO new_recalls (rowid, transactionId, recalledAt)
  SELECT rowid, transactionId, recalledAt FROM recalls ORDER BY rowid;
DROP TABLE recalls;
ALTER TABLE new_recalls RENAME TO recalls;
CREATE TABLE new_payments (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  units TEXT NOT NULL, block INTEGER NOT NULL, blockHash TEXT NOT NULL, final INTEGER NOT NULL CHECK (final IN (0,1)),
  transactionId TEXT NOT NULL REFERENCES deposits(id), PRIMARY KEY (network, txHash, logIndex)) STRICT;
INSERT INTO new_payments (rowid, network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId)
  SELECT rowid, network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId FROM payments ORDER BY rowid;
DROP TABLE payments;
ALTER TABLE new_payments RENAME TO payments;
CREATE TABLE new_gonePayments (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  units TEXT NOT NULL, block INTEGER NOT NULL, blockHash TEXT NOT NULL, transactionId TEXT NOT NULL REFERENCES deposits(id),
  state TEXT NOT NULL CHECK (state IN ('open','kept','revoked')), at INTEGER NOT NULL, toldAt INTEGER,
  PRIMARY KEY (network, txHash, logIndex, blockHash)) STRICT;
INSERT INTO new_gonePayments (rowid, network, txHash, logIndex, address, currency, units, block, blockHash, transactionId, state, at, toldAt)
  SELECT rowid, network, txHash, logIndex, address, currency, units, block, blockHash, transactionId, state, at, toldAt FROM gonePayments ORDER BY rowid;
DROP TABLE gonePayments;
ALTER TABLE new_gonePayments RENAME TO gonePayments;
CREATE TABLE new_depositAddresses (
  address TEXT PRIMARY KEY, agent TEXT REFERENCES agents(id), addressIndex INTEGER NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES deposits(id), UNIQUE (agent, addressIndex)) STRICT;
INSERT INTO new_depositAddresses (rowid, address, agent, addressIndex, transactionId)
  SELECT rowid, address, agent, addressIndex, transactionId FROM depositAddresses ORDER BY rowid;
DROP TABLE depositAddresses;
ALTER TABLE new_depositAddresses RENAME TO depositAddresses;
CREATE TABLE new_arriving (
  transactionId TEXT NOT NULL REFERENCES deposits(id), txHash TEXT NOT NULL, units TEXT NOT NULL, firstAt INTEGER NOT NULL,
  seenAt INTEGER NOT NULL, isReplaceable INTEGER NOT NULL CHECK (isReplaceable IN (0,1)),
  isHeld INTEGER NOT NULL CHECK (isHeld IN (0,1)), PRIMARY KEY (transactionId, txHash)) STRICT;
INSERT INTO new_arriving (rowid, transactionId, txHash, units, firstAt, seenAt, isReplaceable, isHeld)
  SELECT rowid, transactionId, txHash, units, firstAt, seenAt, isReplaceable, isHeld FROM arriving ORDER BY rowid;
DROP TABLE arriving;
ALTER TABLE new_arriving RENAME TO arriving;
CREATE TABLE new_depositCredits (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, transactionId TEXT NOT NULL REFERENCES deposits(id),
  units TEXT NOT NULL, ofUnits TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (network, txHash, logIndex, transactionId)) STRICT;
INSERT INTO new_depositCredits (rowid, network, txHash, logIndex, transactionId, units, ofUnits, at)
  SELECT rowid, network, txHash, logIndex, transactionId, units, ofUnits, at FROM depositCredits ORDER BY rowid;
DROP TABLE depositCredits;
ALTER TABLE new_depositCredits RENAME TO depositCredits;
CREATE TABLE new_gapHolds (
  network TEXT NOT NULL, account TEXT NOT NULL, fromBlock INTEGER NOT NULL, transactionId TEXT NOT NULL REFERENCES deposits(id),
  PRIMARY KEY (transactionId, network, account, fromBlock)) STRICT;
INSERT INTO new_gapHolds (rowid, network, account, fromBlock, transactionId)
  SELECT rowid, network, account, fromBlock, transactionId FROM gapHolds ORDER BY rowid;
DROP TABLE gapHolds;
ALTER TABLE new_gapHolds RENAME TO gapHolds;
CREATE TABLE new_completions (transactionId TEXT PRIMARY KEY) STRICT;
INSERT INTO new_completions (rowid, transactionId)
  SELECT rowid, transactionId FROM completions ORDER BY rowid;
DROP TABLE completions;
ALTER TABLE new_completions RENAME TO completions;
CREATE TABLE new_callbackChanges (
  id INTEGER PRIMARY KEY, transactionId TEXT NOT NULL, before TEXT, after TEXT, payment TEXT) STRICT;
INSERT INTO new_callbackChanges (id, transactionId, before, after, payment)
  SELECT id, transactionId, before, after, payment FROM callbackChanges ORDER BY rowid;
DROP TABLE callbackChanges;
ALTER TABLE new_callbackChanges RENAME TO callbackChanges;
CREATE TABLE new_callbackEvents (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, merchant TEXT NOT NULL REFERENCES merchants(id), transactionId TEXT,
  type TEXT NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
INSERT INTO new_callbackEvents (number, id, merchant, transactionId, type, sequence, at, body)
  SELECT number, id, merchant, transactionId, type, sequence, at, body FROM callbackEvents ORDER BY rowid;
DROP TABLE callbackEvents;
ALTER TABLE new_callbackEvents RENAME TO callbackEvents;
CREATE UNIQUE INDEX depositsByOrder ON deposits (merchant, orderId, renews);
CREATE UNIQUE INDEX depositsByPayToken ON deposits (payToken) WHERE payToken IS NOT NULL;
CREATE INDEX depositsByMerchant ON deposits (merchant, createdAt DESC, id);
CREATE INDEX depositsByChange ON deposits (merchant, changedAt, id);
CREATE INDEX depositsByCurrency ON deposits (merchant, currency, status, createdAt DESC, id);
CREATE INDEX depositsOpen ON deposits (network, currency) WHERE status = 0;
CREATE INDEX depositsEnding ON deposits (network, endBlock) WHERE endBlock IS NOT NULL;
CREATE INDEX depositsByAmount ON deposits (units) WHERE status <> 0;
CREATE INDEX depositsByTag ON deposits (payTo, createdAt) WHERE payTo <> address;
CREATE INDEX transfersByMerchant ON transfers (merchant, operation, createdAt DESC, id);
CREATE INDEX transfersByChange ON transfers (merchant, changedAt, id) WHERE operation = 'withdraw';
CREATE INDEX transfersByCurrency ON transfers (merchant, currency, status, createdAt DESC, id) WHERE operation = 'withdraw';
CREATE INDEX transfersOpen ON transfers (operation, status) WHERE status = 0;
CREATE INDEX transfersByAmount ON transfers (units) WHERE status <> 0;
CREATE INDEX transfersPaid ON transfers (payer, finalBlock) WHERE finalBlock IS NOT NULL;
CREATE INDEX transfersReceived ON transfers (receiver, finalBlock) WHERE status <> 0;
CREATE INDEX withdrawalFees ON transfers (currency, network, changedAt)
  WHERE operation = 'withdraw' AND status = 1 AND feeUnits IS NOT NULL;
CREATE INDEX sweepsByBlock ON transfers (merchant, currency, finalBlock)
  WHERE operation = 'sweep' AND finalBlock IS NOT NULL;
CREATE INDEX topUpsByBlock ON transfers (merchant, network, finalBlock)
  WHERE operation = 'topup' AND finalBlock IS NOT NULL;
CREATE INDEX sweepsUnreached ON transfers (network) WHERE operation = 'sweep' AND status = 2 AND code = 'SWEEP_UNREACHABLE';
CREATE INDEX coinsEnded ON transfers (network) WHERE status = 2 AND code = 'coin_unknown';
CREATE UNIQUE INDEX withdrawalsByOrder ON withdrawals (merchant, orderId, renews);
CREATE INDEX withdrawalsByRefund ON withdrawals (refundOf) WHERE refundOf IS NOT NULL;
CREATE INDEX jobsUnanswered ON jobs (agent, sequence) WHERE answeredAt IS NULL;
CREATE INDEX jobsWaiting ON jobs (agent, sequence) WHERE sequence < 0 AND answeredAt IS NULL;
CREATE INDEX paymentsByTransaction ON payments (transactionId);
CREATE INDEX paymentsByUnits ON payments (units);
CREATE INDEX paymentsNotFinal ON payments (network, block) WHERE final = 0;
CREATE INDEX paymentsFinal ON payments (network, block) WHERE final = 1;
CREATE INDEX gonePaymentsByTransaction ON gonePayments (transactionId);
CREATE INDEX gonePaymentsByAddress ON gonePayments (address);
CREATE INDEX gonePaymentsOpen ON gonePayments (network, block) WHERE state = 'open';
CREATE INDEX depositCreditsByTransaction ON depositCredits (transactionId);
CREATE INDEX gapHoldsByGap ON gapHolds (network, account, fromBlock);
CREATE UNIQUE INDEX callbackEventsByRecord ON callbackEvents (transactionId, sequence);
CREATE INDEX callbackEventsByMerchant ON callbackEvents (merchant, number);
CREATE INDEX callbackEventsByTime ON callbackEvents (at);
CREATE TRIGGER depositCompleted AFTER UPDATE OF status ON deposits WHEN NEW.status = 1 AND OLD.status <> 1 BEGIN
  INSERT OR IGNORE INTO completions (transactionId) VALUES (NEW.id);
END;
CREATE TRIGGER callbackDepositMade AFTER INSERT ON deposits WHEN EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL) BEGIN
  UPDATE deposits SET callbackStatus = 0 WHERE id = NEW.id;
END;
CREATE TRIGGER callbackDepositMoved AFTER UPDATE OF status, stage, receivedUnits ON deposits
  WHEN (OLD.status <> NEW.status OR OLD.stage <> NEW.stage OR OLD.receivedUnits <> NEW.receivedUnits)
    AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = NEW.merchant AND keepsEvents = 1)) BEGIN
  UPDATE deposits SET callbackStatus = 0 WHERE id = NEW.id AND EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL);
  INSERT INTO callbackChanges (transactionId, before, after) VALUES (NEW.id, json_object('status', OLD.status, 'stage', OLD.stage, 'code', coalesce(OLD.code, ''), 'txHash', coalesce(OLD.txHash, ''), 'finalBlock', OLD.finalBlock, 'changedAt', OLD.changedAt, 'receivedUnits', OLD.receivedUnits, 'late', OLD.late), json_object('status', NEW.status, 'stage', NEW.stage, 'code', coalesce(NEW.code, ''), 'txHash', coalesce(NEW.txHash, ''), 'finalBlock', NEW.finalBlock, 'changedAt', NEW.changedAt, 'receivedUnits', NEW.receivedUnits, 'late', NEW.late));
END;
CREATE TRIGGER withdrawalCompleted AFTER UPDATE OF status ON transfers
  WHEN NEW.operation = 'withdraw' AND NEW.status = 1 AND OLD.status <> 1 BEGIN
  INSERT OR IGNORE INTO completions (transactionId) VALUES (NEW.id);
END;
CREATE TRIGGER recallEnded AFTER UPDATE OF status ON transfers WHEN NEW.status <> 0 BEGIN
  DELETE FROM recalls WHERE transactionId = NEW.id;
END;
CREATE TRIGGER callbackWithdrawalMoved AFTER UPDATE OF status, stage ON transfers
  WHEN NEW.operation = 'withdraw' AND (OLD.status <> NEW.status OR OLD.stage <> NEW.stage) AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = NEW.merchant AND keepsEvents = 1)) BEGIN
  UPDATE withdrawals SET callbackStatus = 0 WHERE id = NEW.id AND EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL);
  INSERT INTO callbackChanges (transactionId, before, after) VALUES (NEW.id, json_object('status', OLD.status, 'stage', OLD.stage, 'code', coalesce(OLD.code, ''), 'txHash', coalesce(OLD.txHash, ''), 'finalBlock', OLD.finalBlock, 'changedAt', OLD.changedAt, 'feeUnits', coalesce(OLD.feeUnits, ''), 'receivedUnits', coalesce((SELECT receivedUnits FROM movedPayments WHERE transactionId = OLD.id), '0'), 'receiver', OLD.receiver), json_object('status', NEW.status, 'stage', NEW.stage, 'code', coalesce(NEW.code, ''), 'txHash', coalesce(NEW.txHash, ''), 'finalBlock', NEW.finalBlock, 'changedAt', NEW.changedAt, 'feeUnits', coalesce(NEW.feeUnits, ''), 'receivedUnits', coalesce((SELECT receivedUnits FROM movedPayments WHERE transactionId = NEW.id), '0'), 'receiver', NEW.receiver));
END;
CREATE TRIGGER callbackWithdrawalMade AFTER INSERT ON withdrawals WHEN (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = NEW.merchant AND keepsEvents = 1)) BEGIN
  UPDATE withdrawals SET callbackStatus = 0 WHERE id = NEW.id AND EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL);
  INSERT INTO callbackChanges (transactionId, after) SELECT t.id, json_object('status', t.status, 'stage', t.stage, 'code', coalesce(t.code, ''), 'txHash', coalesce(t.txHash, ''), 'finalBlock', t.finalBlock, 'changedAt', t.changedAt, 'feeUnits', coalesce(t.feeUnits, ''), 'receivedUnits', coalesce((SELECT receivedUnits FROM movedPayments WHERE transactionId = t.id), '0'), 'receiver', t.receiver) FROM transfers t WHERE t.id = NEW.id;
END;
CREATE TRIGGER recallSigned AFTER INSERT ON signatures BEGIN
  DELETE FROM recalls WHERE transactionId = NEW.transactionId;
END;
CREATE TRIGGER assignedSigned AFTER INSERT ON signatures BEGIN
  DELETE FROM assignedPayments WHERE transactionId = NEW.transactionId;
END;
CREATE TRIGGER outgoingExplained AFTER INSERT ON signatures BEGIN
  DELETE FROM unexplained WHERE account = NEW.account AND txHash = NEW.txHash;
END;
CREATE TRIGGER callbackPaid AFTER INSERT ON payments WHEN NEW.final = 1 AND EXISTS (SELECT 1 FROM deposits d WHERE d.id = NEW.transactionId AND d.currency <> NEW.currency
    AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = d.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = d.merchant AND keepsEvents = 1))) BEGIN
  INSERT INTO callbackChanges (transactionId, payment) VALUES (NEW.transactionId,
    json_object('currency', NEW.currency, 'units', NEW.units, 'txHash', NEW.txHash));
END;
CREATE TRIGGER callbackPaidFinally AFTER UPDATE OF final ON payments WHEN OLD.final = 0 AND NEW.final = 1 AND EXISTS (SELECT 1 FROM deposits d WHERE d.id = NEW.transactionId AND d.currency <> NEW.currency
    AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = d.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = d.merchant AND keepsEvents = 1))) BEGIN
  INSERT INTO callbackChanges (transactionId, payment) VALUES (NEW.transactionId,
    json_object('currency', NEW.currency, 'units', NEW.units, 'txHash', NEW.txHash));
END;
CREATE TRIGGER accountOwned AFTER INSERT ON depositAddresses BEGIN
  INSERT INTO accountOwners (network, account, merchant, agent)
    SELECT network, payTo, merchant, NEW.agent FROM deposits WHERE id = NEW.transactionId AND payTo <> address
    ON CONFLICT (network, account) DO UPDATE SET merchant = excluded.merchant, agent = excluded.agent
      WHERE merchant <> excluded.merchant OR agent IS NOT excluded.agent;
END;
-- check: SELECT (SELECT count(*) FROM transfers) = (SELECT count(*) FROM withdrawals) + (SELECT count(*) FROM sweeps) + (SELECT count(*) FROM topUps)
-- check: SELECT count(*) = 0 FROM sweeps s JOIN transfers t ON t.id = s.id WHERE s.ordinal < 1 OR s.address <> t.payer
