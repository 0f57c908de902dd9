-- A number that rises with each agent that is paired or unpaired, so that no pass reads the list of
-- all agents; and the accounts that promise something now, so that none looks at each sum.
CREATE TRIGGER agentCame AFTER INSERT ON agents BEGIN
  INSERT INTO meta (name, value) VALUES ('agents', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1;
END;
CREATE TRIGGER agentChanged AFTER UPDATE OF accounts, networks, unpairedAt ON agents BEGIN
  INSERT INTO meta (name, value) VALUES ('agents', '1') ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1;
END;
CREATE INDEX reservedNow ON reserved (network, account) WHERE withdrawals > 0;
-- check: SELECT count(*) >= 0 FROM reserved WHERE withdrawals > 0
