-- Payments to open requests that nodes show and no block has.
CREATE TABLE arriving (
  transactionId TEXT NOT NULL REFERENCES transactions(id), txHash TEXT NOT NULL, units TEXT NOT NULL, firstAt INTEGER NOT NULL,
  seenAt INTEGER NOT NULL, isReplaceable INTEGER NOT NULL CHECK (isReplaceable IN (0,1)),
  isHeld INTEGER NOT NULL CHECK (isHeld IN (0,1)), PRIMARY KEY (transactionId, txHash)) STRICT;
-- check: SELECT count(*) = 0 FROM arriving
