-- Faults of single items that stand, so that a restart neither repeats an alert nor forgets their
-- age, and currencies in which an address was not looked at before it left.
CREATE TABLE faults (
  domain TEXT NOT NULL, network TEXT NOT NULL, id TEXT NOT NULL, merchant TEXT NOT NULL, code TEXT NOT NULL, words TEXT NOT NULL,
  since INTEGER NOT NULL, tries INTEGER NOT NULL, toldAt INTEGER, isRetried INTEGER NOT NULL CHECK (isRetried IN (0,1)),
  PRIMARY KEY (domain, network, id)) STRICT;
CREATE TABLE lookGaps (
  network TEXT NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL, PRIMARY KEY (network, address, currency)) STRICT;
-- check: SELECT count(*) = 0 FROM faults
-- check: SELECT count(*) = 0 FROM lookGaps
