-- The last block of each month on a network, so that a month's report asks no node. The books find it
-- when the month is over; none is known of the months before this step.
CREATE TABLE monthEnds (network TEXT NOT NULL, month TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (network, month)) STRICT;
-- check: SELECT count(*) = 0 FROM monthEnds
