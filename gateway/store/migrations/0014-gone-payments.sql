-- Final payments whose block left the chain, until a final block holds them again: they counted on,
-- and nobody could say which deposits were credited by them.
CREATE TABLE gonePayments (
  network TEXT NOT NULL, txHash TEXT NOT NULL, logIndex INTEGER NOT NULL, address TEXT NOT NULL, currency TEXT NOT NULL,
  units TEXT NOT NULL, block INTEGER NOT NULL, blockHash TEXT NOT NULL, transactionId TEXT NOT NULL REFERENCES transactions(id),
  state TEXT NOT NULL CHECK (state IN ('open','kept','revoked')), at INTEGER NOT NULL, toldAt INTEGER,
  PRIMARY KEY (network, txHash, logIndex, blockHash)) STRICT;
CREATE INDEX gonePaymentsByTransaction ON gonePayments (transactionId);
CREATE INDEX gonePaymentsByAddress ON gonePayments (address);
CREATE INDEX gonePaymentsOpen ON gonePayments (network, block) WHERE state = 'open';
-- check: SELECT count(*) = 0 FROM gonePayments
