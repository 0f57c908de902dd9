
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
CREATE TABLE jobs (
  agent TEXT NOT NULL REFERENCES agents(id), sequence INTEGER NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id), answeredAt INTEGER, PRIMARY KEY (agent, sequence)) STRICT;
CREATE INDEX jobsUnanswered ON jobs (agent, sequence) WHERE answeredAt IS NULL;
CREATE TABLE recoveries (
  agent TEXT NOT NULL REFERENCES agents(id), ledgerEpoch INTEGER NOT NULL, at INTEGER NOT NULL, heldSeq INTEGER NOT NULL,
  heldHash TEXT NOT NULL, takenAt INTEGER,
  mark TEXT NOT NULL DEFAULT '', PRIMARY KEY (agent, ledgerEpoch)) STRICT;

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
CREATE TABLE assignedPayments (
  transactionId TEXT PRIMARY KEY REFERENCES transactions(id), network TEXT NOT NULL, account TEXT NOT NULL, txHash TEXT NOT NULL,
  block INTEGER NOT NULL, feeUnits TEXT NOT NULL, at INTEGER NOT NULL, UNIQUE (txHash, account)) STRICT;
CREATE TRIGGER assignedSigned AFTER INSERT ON signatures BEGIN
  DELETE FROM assignedPayments WHERE transactionId = NEW.transactionId;
END;

CREATE TABLE payments (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  units TEXT NOT NULL, block INTEGER NOT NULL, blockHash TEXT NOT NULL, final INTEGER NOT NULL CHECK (final IN (0,1)),
  transactionId TEXT NOT NULL REFERENCES transactions(id), PRIMARY KEY (network, txHash, logIndex)) STRICT;
CREATE INDEX paymentsByTransaction ON payments (transactionId);
CREATE INDEX paymentsByUnits ON payments (units);
CREATE INDEX paymentsNotFinal ON payments (network, block) WHERE final = 0;
CREATE INDEX paymentsFinal ON payments (network, block) WHERE final = 1;
CREATE TABLE cursors (network TEXT PRIMARY KEY, block INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TABLE balances (
  account TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, block INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (account, currency)) STRICT;
CREATE TABLE outgoing (
  network TEXT NOT NULL, account TEXT NOT NULL, slot TEXT NOT NULL, txHash TEXT NOT NULL, block INTEGER NOT NULL,
  receiver TEXT NOT NULL, tag TEXT NOT NULL, contract TEXT NOT NULL, units TEXT NOT NULL,
  untold INTEGER NOT NULL DEFAULT 0 CHECK (untold IN (0,1)),
  PRIMARY KEY (network, account, slot, txHash)) STRICT;
CREATE UNIQUE INDEX outgoingBySlot ON outgoing (network, account, slot) WHERE slot <> '';
CREATE INDEX outgoingByHash ON outgoing (txHash);
CREATE INDEX outgoingUntold ON outgoing (network) WHERE untold = 1;

CREATE TABLE depositAddresses (
  address TEXT PRIMARY KEY, agent TEXT REFERENCES agents(id), addressIndex INTEGER NOT NULL,
  transactionId TEXT NOT NULL UNIQUE REFERENCES transactions(id), UNIQUE (agent, addressIndex)) STRICT;
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

CREATE TABLE reserved (
  account TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, withdrawals INTEGER NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (account, network, currency)) STRICT;
CREATE TABLE nativeCoins (network TEXT PRIMARY KEY, currency TEXT NOT NULL) STRICT;
CREATE TABLE unsweptBalances (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, merchant TEXT NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (address, network, currency)) STRICT;
CREATE INDEX unsweptBalancesByMerchant ON unsweptBalances (merchant, currency);
CREATE TABLE sweepWishes (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (address, network, currency)) STRICT;
CREATE TABLE sweepNotes (
  address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY (address, network, currency)) STRICT;

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

CREATE TABLE callbackTargets (
  id TEXT PRIMARY KEY, merchant TEXT NOT NULL REFERENCES merchants(id), url TEXT NOT NULL, events TEXT NOT NULL,
  secretBox BLOB NOT NULL, oldSecretBox BLOB, oldValidUntil INTEGER, createdAt INTEGER NOT NULL,
  offAt INTEGER, offReason TEXT NOT NULL DEFAULT '' CHECK (offReason IN ('','gone','removed')), pausedAt INTEGER,
  succeededAt INTEGER, failedAt INTEGER, failedStatus INTEGER NOT NULL DEFAULT 0, failedReason TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX callbackTargetsByMerchant ON callbackTargets (merchant, offAt);
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

CREATE TRIGGER callbackMade AFTER INSERT ON transactions
  WHEN NEW.operation IN ('deposit', 'withdraw') AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = NEW.merchant AND keepsEvents = 1)) BEGIN
  UPDATE transactions SET callbackStatus = 0 WHERE id = NEW.id AND EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL);
  INSERT INTO callbackChanges (transactionId, after) SELECT NEW.id, json_object('status', NEW.status, 'stage', NEW.stage, 'code', NEW.code, 'txHash', NEW.txHash, 'feeUnits', NEW.feeUnits, 'amountReceivedUnits', NEW.amountReceivedUnits, 'finalBlock', NEW.finalBlock, 'late', NEW.late, 'receiverAddress', NEW.receiverAddress, 'changedAt', NEW.changedAt) WHERE NEW.operation = 'withdraw';
END;
CREATE TRIGGER callbackMoved AFTER UPDATE OF status, stage, amountReceivedUnits ON transactions
  WHEN NEW.operation IN ('deposit', 'withdraw') AND (OLD.status <> NEW.status OR OLD.stage <> NEW.stage OR OLD.amountReceivedUnits <> NEW.amountReceivedUnits)
    AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = NEW.merchant AND keepsEvents = 1)) BEGIN
  UPDATE transactions SET callbackStatus = 0 WHERE id = NEW.id AND EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = NEW.merchant AND offAt IS NULL);
  INSERT INTO callbackChanges (transactionId, before, after) VALUES (NEW.id, json_object('status', OLD.status, 'stage', OLD.stage, 'code', OLD.code, 'txHash', OLD.txHash, 'feeUnits', OLD.feeUnits, 'amountReceivedUnits', OLD.amountReceivedUnits, 'finalBlock', OLD.finalBlock, 'late', OLD.late, 'receiverAddress', OLD.receiverAddress, 'changedAt', OLD.changedAt), json_object('status', NEW.status, 'stage', NEW.stage, 'code', NEW.code, 'txHash', NEW.txHash, 'feeUnits', NEW.feeUnits, 'amountReceivedUnits', NEW.amountReceivedUnits, 'finalBlock', NEW.finalBlock, 'late', NEW.late, 'receiverAddress', NEW.receiverAddress, 'changedAt', NEW.changedAt));
END;
CREATE TRIGGER callbackPaid AFTER INSERT ON payments WHEN NEW.final = 1 AND EXISTS (SELECT 1 FROM transactions t WHERE t.id = NEW.transactionId AND t.currency <> NEW.currency
    AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = t.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = t.merchant AND keepsEvents = 1))) BEGIN
  INSERT INTO callbackChanges (transactionId, payment) VALUES (NEW.transactionId,
    json_object('currency', NEW.currency, 'units', NEW.units, 'txHash', NEW.txHash));
END;
CREATE TRIGGER callbackPaidFinally AFTER UPDATE OF final ON payments WHEN OLD.final = 0 AND NEW.final = 1 AND EXISTS (SELECT 1 FROM transactions t WHERE t.id = NEW.transactionId AND t.currency <> NEW.currency
    AND (EXISTS (SELECT 1 FROM callbackTargets WHERE merchant = t.merchant AND offAt IS NULL) OR EXISTS (SELECT 1 FROM merchants WHERE id = t.merchant AND keepsEvents = 1))) BEGIN
  INSERT INTO callbackChanges (transactionId, payment) VALUES (NEW.transactionId,
    json_object('currency', NEW.currency, 'units', NEW.units, 'txHash', NEW.txHash));
END;
