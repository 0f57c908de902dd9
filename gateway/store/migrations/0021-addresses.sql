-- Deposit addresses stood in two tables: those that a request has, and those that a restored database
-- may have forgotten. An address could be in both, with two places in two orders. Each address has one
-- row now, and `request` is NULL as long as no request names it; numbers of these are negative.
DROP TRIGGER accountOwned;
CREATE TABLE addresses (
  number INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE, addressSpace TEXT NOT NULL, merchant TEXT NOT NULL REFERENCES merchants(id),
  agent TEXT REFERENCES agents(id), addressIndex INTEGER,
  origin TEXT NOT NULL CHECK (origin IN ('given','skipped','found','stray')), request TEXT REFERENCES deposits(id), at INTEGER NOT NULL,
  CHECK (origin <> 'given' OR request IS NOT NULL), CHECK ((request IS NULL) = (number < 0)), CHECK (request IS NULL OR addressIndex IS NOT NULL)) STRICT;
INSERT INTO addresses (number, address, addressSpace, merchant, agent, addressIndex, origin, request, at)
  SELECT a.rowid, a.address,
    CASE WHEN d.network LIKE 'bip122:%' THEN d.network ELSE substr(d.network, 1, instr(d.network, ':')) END,
    d.merchant, a.agent, a.addressIndex,
    CASE WHEN d.origin = 'ordered' THEN 'given'
      WHEN EXISTS (SELECT 1 FROM foundAddresses o WHERE o.address = a.address) THEN 'found'
      WHEN f.address IS NULL THEN 'given' ELSE 'skipped' END,
    a.transactionId, CASE WHEN d.origin = 'ordered' THEN d.createdAt ELSE coalesce(f.at, d.createdAt) END
  FROM depositAddresses a JOIN deposits d ON d.id = a.transactionId LEFT JOIN forgottenAddresses f ON f.address = a.address;
INSERT INTO addresses (number, address, addressSpace, merchant, agent, addressIndex, origin, at)
  SELECT -f.rowid, f.address, f.addressSpace, f.merchant, f.agent,
    CASE WHEN f.addressIndex >= 0 THEN f.addressIndex END,
    CASE WHEN f.addressIndex < 0 THEN 'stray'
      WHEN EXISTS (SELECT 1 FROM foundAddresses o WHERE o.address = f.address) THEN 'found' ELSE 'skipped' END, f.at
  FROM forgottenAddresses f WHERE NOT EXISTS (SELECT 1 FROM depositAddresses a WHERE a.address = f.address);
CREATE TABLE isSame (answer INTEGER NOT NULL CHECK (answer = 1)) STRICT;
INSERT INTO isSame SELECT (SELECT count(*) FROM addresses WHERE request IS NOT NULL) = (SELECT count(*) FROM depositAddresses);
INSERT INTO isSame SELECT (SELECT count(*) FROM addresses) =
  (SELECT count(*) FROM (SELECT address FROM depositAddresses UNION SELECT address FROM forgottenAddresses));
DROP TABLE isSame;
DROP TABLE depositAddresses;
DROP TABLE forgottenAddresses;
CREATE UNIQUE INDEX addressesByIndex ON addresses (agent, addressIndex) WHERE request IS NOT NULL;
CREATE TRIGGER accountOwned AFTER INSERT ON addresses WHEN NEW.request IS NOT NULL BEGIN
  INSERT INTO accountOwners (network, account, merchant, agent)
    SELECT network, payTo, merchant, NEW.agent FROM deposits WHERE id = NEW.request AND payTo <> address
    ON CONFLICT (network, account) DO UPDATE SET merchant = excluded.merchant, agent = excluded.agent
      WHERE merchant <> excluded.merchant OR agent IS NOT excluded.agent;
END;
CREATE TRIGGER accountOwnedLater AFTER UPDATE OF request ON addresses BEGIN
  INSERT INTO accountOwners (network, account, merchant, agent)
    SELECT network, payTo, merchant, NEW.agent FROM deposits WHERE id = NEW.request AND payTo <> address
    ON CONFLICT (network, account) DO UPDATE SET merchant = excluded.merchant, agent = excluded.agent
      WHERE merchant <> excluded.merchant OR agent IS NOT excluded.agent;
  INSERT INTO meta (name, value) SELECT 'lowestAddress', OLD.number WHERE OLD.number < 0
    ON CONFLICT (name) DO UPDATE SET value = min(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER));
END;
-- check: SELECT count(*) = 0 FROM addresses WHERE origin <> 'stray' AND addressIndex IS NULL
INSERT OR REPLACE INTO meta (name, value) VALUES ('unsweptUncounted', '');
