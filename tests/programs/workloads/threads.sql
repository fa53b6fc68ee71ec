-- Sorts more than the cache holds, with threads that are started after the warm point.
PRAGMA cache_size = 40;
PRAGMA threads = 2;
PRAGMA temp_store = FILE;
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
  INSERT INTO t SELECT (i * 7919) % 30011, printf('%030d', (i * 104729) % 30011) FROM n;
CREATE INDEX t_by_text ON t(b, a);
SELECT count(*), sum(a) FROM (SELECT a FROM t ORDER BY b DESC, a);
SELECT a FROM t ORDER BY b LIMIT 3;
