-- An alarm stays open until an operator says that it is dealt with. Before, `status` named the alarms
-- of a day, so that one of a weekend was gone on Monday. The alarms of the last thirty days before
-- the newest alarm are open after this step.
CREATE TABLE openAlarms (act INTEGER PRIMARY KEY REFERENCES audit(id)) STRICT;
INSERT INTO openAlarms SELECT id FROM audit
  WHERE substr(act, 1, 6) = 'alarm ' AND at >= (SELECT max(at) FROM audit WHERE substr(act, 1, 6) = 'alarm ') - 2592000000;
-- check: SELECT count(*) = 0 FROM openAlarms o LEFT JOIN audit a ON a.id = o.act WHERE a.id IS NULL OR a.act NOT LIKE 'alarm %'
