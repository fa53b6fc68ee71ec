-- A file on disk, with pages of its own size, text search and a tree of rectangles; it is vacuumed and read again.
PRAGMA page_size = 1024;
PRAGMA journal_mode = DELETE;
CREATE VIRTUAL TABLE document USING fts5(title, body, tokenize = 'porter');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
  INSERT INTO document SELECT 'number ' || i, 'running runs ran ' || char(97 + i % 26) || char(97 + i % 7) || ' jumped over ' || (i * 31 % 17) FROM n;
SELECT count(*) FROM document WHERE document MATCH 'run AND jump*';
SELECT highlight(document, 1, '<', '>') FROM document WHERE document MATCH 'title: 17 OR "over 3"' ORDER BY rank LIMIT 4;
CREATE VIRTUAL TABLE place USING rtree(id, left, right, low, high);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
  INSERT INTO place SELECT i, i % 20, i % 20 + 1.5, i / 20, i / 20 + 1.5 FROM n;
SELECT count(*), min(id), max(id) FROM place WHERE left < 7 AND right > 3 AND low > 5 AND high < 15;
DELETE FROM document WHERE rowid % 3 = 0;
INSERT INTO document(document) VALUES ('optimize');
VACUUM;
PRAGMA integrity_check;
SELECT count(*), sum(length(body)) FROM document;
