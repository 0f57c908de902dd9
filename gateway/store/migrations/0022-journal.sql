-- What should lie on an account had four rules: the unswept balances, the watcher's comparison, the
-- nightly books and the balance. Each read the facts in its own way. One journal takes their place:
-- a move for each final payment, each transfer that ended in a block, its fee, and each adjustment.
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
-- Whose account an address is: a hot wallet of an agent, the account of all tags, or a deposit address.
CREATE TABLE owners (address TEXT PRIMARY KEY, merchant TEXT NOT NULL, kind TEXT NOT NULL) STRICT;
INSERT OR IGNORE INTO owners SELECT json_extract(o.value, '$.id'), a.merchant, 'hot'
  FROM agents a, json_each(a.accounts) o WHERE json_extract(o.value, '$.purpose') = 'hot';
INSERT OR IGNORE INTO owners SELECT payTo, merchant, 'hot' FROM deposits WHERE payTo <> address;
INSERT OR IGNORE INTO owners SELECT payer, merchant, 'hot' FROM transfers WHERE operation IN ('withdraw','topup');
INSERT OR IGNORE INTO owners SELECT receiver, merchant, 'hot' FROM transfers WHERE operation = 'sweep';
INSERT OR IGNORE INTO owners SELECT address, merchant, 'deposit' FROM addresses;
INSERT OR IGNORE INTO owners SELECT address, merchant, 'deposit' FROM deposits;
INSERT OR IGNORE INTO owners SELECT payer, merchant, 'deposit' FROM transfers WHERE operation = 'sweep';
INSERT OR IGNORE INTO owners SELECT receiver, merchant, 'deposit' FROM transfers WHERE operation = 'topup';
INSERT OR IGNORE INTO owners SELECT account, merchant, 'hot' FROM accountOwners;
INSERT OR IGNORE INTO owners SELECT account, merchant, CASE WHEN network LIKE 'xrpl:%' THEN 'hot' ELSE 'deposit' END FROM straySums;
INSERT OR IGNORE INTO owners SELECT address, '', 'hot' FROM bookEntries;
INSERT OR IGNORE INTO owners SELECT address, '', 'deposit' FROM baselines;
-- What a transfer that ended brought, what left beside its fee, and the fee.
CREATE TABLE ended (
  id TEXT PRIMARY KEY, operation TEXT NOT NULL, network TEXT NOT NULL, currency TEXT, coin TEXT, payer TEXT NOT NULL, receiver TEXT,
  block INTEGER NOT NULL, amount TEXT NOT NULL, sent TEXT NOT NULL, received TEXT NOT NULL, fee TEXT NOT NULL, number INTEGER NOT NULL) STRICT;
INSERT INTO ended
  SELECT t.id, t.operation, t.network, CASE t.operation WHEN 'topup' THEN n.currency ELSE t.currency END,
    CASE WHEN t.operation = 'sweep' AND t.network LIKE 'bip122:%' AND t.status = 1 AND m.sentUnits IS NULL THEN t.currency ELSE n.currency END,
    t.payer, t.receiver, t.finalBlock,
    CASE WHEN t.status <> 1 THEN '0'
      WHEN t.operation = 'sweep' AND t.network LIKE 'bip122:%' AND m.sentUnits IS NULL
        THEN (SELECT units_sum(u) FROM (SELECT t.units AS u UNION ALL SELECT '-' || coalesce(t.feeUnits, '0')))
      ELSE t.units END,
    coalesce(m.sentUnits, ''), coalesce(m.receivedUnits, ''), coalesce(t.feeUnits, '0'), t.number
  FROM transfers t LEFT JOIN movedPayments m ON m.transactionId = t.id LEFT JOIN nativeCoins n ON n.network = t.network
  WHERE t.status <> 0 AND t.finalBlock IS NOT NULL;
UPDATE ended SET sent = CASE sent WHEN '' THEN amount ELSE sent END, received = CASE received WHEN '' THEN amount ELSE received END;
UPDATE ended SET amount = CASE WHEN length(sent) < length(received) OR (length(sent) = length(received) AND sent < received) THEN sent ELSE received END;
-- The receiver is an account where its books count, and the far side else.
UPDATE ended SET receiver = '@payees' WHERE operation = 'withdraw'
  AND (network LIKE 'xrpl:%' OR NOT EXISTS (SELECT 1 FROM owners o WHERE o.address = ended.receiver AND o.kind = 'hot'));
-- Every move with both its accounts; those that an opening has already are taken out below.
CREATE TABLE posting (
  place INTEGER PRIMARY KEY, network TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, fromSide TEXT NOT NULL, toSide TEXT NOT NULL,
  kind TEXT NOT NULL, block INTEGER NOT NULL, cause TEXT NOT NULL, part INTEGER NOT NULL, at INTEGER, actor TEXT, reason TEXT) STRICT;
INSERT INTO posting (network, currency, units, fromSide, toSide, kind, block, cause, part)
  SELECT p.network, p.currency, p.units, '@customers', CASE WHEN p.network LIKE 'xrpl:%' THEN d.payTo ELSE p.address END, 'payment', p.block,
    'payment:' || p.network || ':' || p.txHash || ':' || p.logIndex, 0
  FROM payments p JOIN deposits d ON d.id = p.transactionId
  WHERE p.final = 1 AND p.units <> '0' AND NOT EXISTS (
    SELECT 1 FROM signatures s JOIN transfers t ON t.id = s.transactionId
    WHERE s.txHash = p.txHash AND s.network = p.network AND p.logIndex = -1 AND t.operation = 'topup'
      AND t.merchant = d.merchant AND t.receiver = p.address AND t.units = p.units)
  ORDER BY p.block, p.rowid;
INSERT INTO posting (network, currency, units, fromSide, toSide, kind, block, cause, part)
  SELECT network, currency, units, '@outside', address, 'opening', 0, 'opening:' || network || ':' || address || ':' || currency, 0
  FROM baselines WHERE units <> '0';
INSERT INTO posting (network, currency, units, fromSide, toSide, kind, block, cause, part)
  SELECT network, currency, takenUnits, address, '@owner', 'owner', block, 'owner:' || network || ':' || address || ':' || currency, 0
  FROM baselines WHERE takenUnits <> '0';
INSERT INTO posting (network, currency, units, fromSide, toSide, kind, block, cause, part, at, actor, reason)
  SELECT network, currency, ltrim(units, '-'),
    CASE WHEN units LIKE '-%' THEN address WHEN kind = 'note' THEN '@note' ELSE '@outside' END,
    CASE WHEN units NOT LIKE '-%' THEN address WHEN kind = 'note' THEN '@note' ELSE '@outside' END,
    kind, block, kind || ':' || network || ':' || address || ':' || currency,
    row_number() OVER (PARTITION BY kind, network, address, currency ORDER BY id) - 1, at, operator, reason
  FROM bookEntries WHERE units NOT IN ('0','-0') OR kind = 'note' ORDER BY id;
INSERT INTO posting (network, currency, units, fromSide, toSide, kind, block, cause, part)
  SELECT network, currency, amount, payer, receiver, operation, block, 'transfer:' || id, 0 FROM ended
    WHERE amount <> '0' AND currency IS NOT NULL AND payer <> coalesce(receiver, '@payees') ORDER BY number;
INSERT INTO posting (network, currency, units, fromSide, toSide, kind, block, cause, part)
  SELECT network, currency, (SELECT units_sum(u) FROM (SELECT sent AS u UNION ALL SELECT '-' || amount)), payer, '@payees', operation, block, 'transfer:' || id, 1 FROM ended
    WHERE sent <> amount AND currency IS NOT NULL ORDER BY number;
INSERT INTO posting (network, currency, units, fromSide, toSide, kind, block, cause, part)
  SELECT network, currency, (SELECT units_sum(u) FROM (SELECT received AS u UNION ALL SELECT '-' || amount)), '@outside', receiver, operation, block, 'transfer:' || id, 1 FROM ended
    WHERE received <> amount AND currency IS NOT NULL AND receiver NOT LIKE '@%' ORDER BY number;
INSERT INTO posting (network, currency, units, fromSide, toSide, kind, block, cause, part)
  SELECT network, coin, fee, payer, '@fees', 'fee', block, 'transfer:' || id, 2 FROM ended WHERE fee <> '0' AND coin IS NOT NULL ORDER BY number;
-- The balance that an opening found has every earlier move of its account.
CREATE TABLE opened (address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (address, network, currency)) STRICT;
INSERT INTO opened SELECT e.address, e.network, e.currency, e.block FROM bookEntries e
  WHERE e.kind = 'opening' AND EXISTS (SELECT 1 FROM owners o WHERE o.address = e.address AND o.kind = 'hot');
UPDATE posting SET fromSide = '@earlier' WHERE kind <> 'opening'
  AND EXISTS (SELECT 1 FROM opened o WHERE o.address = fromSide AND o.network = posting.network AND o.currency = posting.currency AND posting.block <= o.block);
UPDATE posting SET toSide = '@earlier' WHERE kind <> 'opening'
  AND EXISTS (SELECT 1 FROM opened o WHERE o.address = toSide AND o.network = posting.network AND o.currency = posting.currency AND posting.block <= o.block);
INSERT INTO moves (network, currency, units, fromSide, toSide, kind, block, cause, part, at, actor, reason)
  SELECT network, currency, units, fromSide, toSide, kind, block, cause,
    row_number() OVER (PARTITION BY cause ORDER BY part, place) - 1, at, actor, reason
  FROM posting WHERE fromSide <> toSide ORDER BY place;
-- The sums: of the moves, of the sums of small payments, and of what open sweeps hold.
CREATE TABLE changes (address TEXT NOT NULL, network TEXT NOT NULL, currency TEXT NOT NULL, units TEXT NOT NULL, held TEXT NOT NULL) STRICT;
INSERT INTO changes SELECT toSide, network, currency, units, '0' FROM moves WHERE toSide NOT LIKE '@%';
INSERT INTO changes SELECT fromSide, network, currency, '-' || units, '0' FROM moves WHERE fromSide NOT LIKE '@%';
INSERT INTO changes SELECT s.account, s.network, s.currency, s.units, CASE WHEN s.kind = 'dust' AND s.network LIKE 'bip122:%' THEN s.units ELSE '0' END
  FROM straySums s WHERE NOT EXISTS (SELECT 1 FROM opened o
    WHERE o.address = s.account AND o.network = s.network AND o.currency = s.currency AND s.toBlock <= o.block);
INSERT INTO changes SELECT payer, network, currency, '0', units FROM transfers WHERE operation = 'sweep' AND status = 0;
INSERT INTO changes SELECT address, network, currency, '0', '0' FROM opened;
INSERT INTO accounts (network, address, currency, merchant, kind, units, heldUnits, openedBlock)
  SELECT c.network, c.address, c.currency, o.merchant, o.kind, units_sum(c.units), units_sum(c.held),
    (SELECT b.block FROM opened b WHERE b.address = c.address AND b.network = c.network AND b.currency = c.currency)
  FROM changes c JOIN owners o ON o.address = c.address GROUP BY c.address, c.network, c.currency;
CREATE TABLE isSame (answer INTEGER NOT NULL CHECK (answer = 1)) STRICT;
INSERT INTO isSame SELECT NOT EXISTS (SELECT 1 FROM changes c WHERE NOT EXISTS (SELECT 1 FROM accounts a
  WHERE a.address = c.address AND a.network = c.network AND a.currency = c.currency));
INSERT INTO isSame SELECT (SELECT coalesce(units_sum(units), '0') FROM accounts) = (SELECT coalesce(units_sum(units), '0') FROM changes);
DROP TABLE isSame;
DROP TABLE changes;
DROP TABLE opened;
DROP TABLE posting;
DROP TABLE ended;
DROP TABLE owners;
DROP INDEX sweepsByBlock;
DROP INDEX topUpsByBlock;
DROP TABLE bookEntries;
DROP TABLE baselines;
DROP TABLE unsweptBalances;
CREATE INDEX accountsUnswept ON accounts (merchant, currency) WHERE kind = 'deposit' AND units <> heldUnits;
CREATE INDEX accountsUnsweptByNumber ON accounts (network, number) WHERE kind = 'deposit' AND units <> heldUnits;
CREATE INDEX movesOut ON moves (fromSide, network, block) WHERE substr(fromSide, 1, 1) <> '@';
CREATE INDEX movesIn ON moves (toSide, network, block) WHERE substr(toSide, 1, 1) <> '@';
CREATE INDEX movesAdjustingOut ON moves (fromSide, network) WHERE kind IN ('opening','outside','owner','note');
CREATE INDEX movesAdjustingIn ON moves (toSide, network) WHERE kind IN ('opening','outside','owner','note');
CREATE INDEX movesEntered ON moves (network, number) WHERE kind IN ('outside','note');
DELETE FROM meta WHERE name = 'unsweptUncounted';
-- check: SELECT count(*) = 0 FROM accounts WHERE kind = 'deposit' AND openedBlock IS NOT NULL
