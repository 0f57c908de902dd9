-- Rows that a bug or a fault kept from being shown, told or judged. The others go on without them
-- until an operator has them tried again.
CREATE TABLE setAside (
  kind TEXT NOT NULL CHECK (kind IN ('record','change','event','value','judgement')), id TEXT NOT NULL, about TEXT NOT NULL,
  code TEXT NOT NULL, stack TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (kind, id)) STRICT;
-- check: SELECT count(*) = 0 FROM setAside
