-- Tables, indices, triggers, views, joins, windows, recursion, JSON, errors in between.
PRAGMA foreign_keys = ON;
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, born INTEGER CHECK (born > 1800));
CREATE TABLE book(id INTEGER PRIMARY KEY, author INTEGER REFERENCES person(id) ON DELETE CASCADE, title TEXT, price REAL);
CREATE INDEX book_by_author ON book(author, price DESC);
CREATE TABLE change(what TEXT, at INTEGER);
CREATE TRIGGER book_added AFTER INSERT ON book BEGIN INSERT INTO change VALUES ('book ' || new.title, new.id); END;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
  INSERT INTO person SELECT i, printf('person %c%03d', 65 + i % 26, i), 1801 + i % 200 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
  INSERT INTO book SELECT i, 1 + (i * 37) % 300, 'title ' || (i * i % 101), (i * 7919 % 1000) / 10.0 FROM n;
CREATE VIEW shelf AS SELECT p.name, b.title, b.price FROM person p JOIN book b ON b.author = p.id;
SELECT name, count(*), round(avg(price), 2), max(title) FROM shelf GROUP BY name HAVING count(*) > 2 ORDER BY 3 DESC LIMIT 12;
SELECT title, price, rank() OVER (PARTITION BY title ORDER BY price), sum(price) OVER (ORDER BY id ROWS 3 PRECEDING)
  FROM book WHERE author < 40 ORDER BY title, price LIMIT 20;
SELECT p.name FROM person p LEFT JOIN book b ON b.author = p.id AND b.price > 95 WHERE b.id IS NULL AND p.name LIKE '%1_' LIMIT 5;
EXPLAIN QUERY PLAN SELECT * FROM shelf WHERE name = 'person a026';
BEGIN; DELETE FROM person WHERE born % 7 = 0; SELECT count(*) FROM book; ROLLBACK;
SAVEPOINT half; UPDATE book SET price = price * 2 WHERE author IN (SELECT id FROM person WHERE born > 1990); RELEASE half;
INSERT INTO person VALUES (1, 'again', 1900);
SELECT nothing FROM nowhere;
SELECT json_extract('{"a": [1, {"b": "two"}], "c": null}', '$.a[1].b'), json_group_array(id) FROM person WHERE id < 9;
SELECT group_concat(hex(name), ','), upper(substr(name, 2, 4)), replace(name, 'n', 'm') FROM person WHERE id BETWEEN 3 AND 8;
SELECT date('2024-02-28', '+2 days'), strftime('%W %j', '2023-07-09'), 7 / 2, 7 % -3, -7.5e3, x'00ff', 'é' < 'z', NULL IS NULL;
SELECT * FROM (SELECT id FROM book INTERSECT SELECT author FROM book EXCEPT SELECT 5) ORDER BY 1 DESC LIMIT 7;
ALTER TABLE book ADD COLUMN pages INTEGER DEFAULT 100;
DROP INDEX book_by_author;
ANALYZE;
PRAGMA integrity_check;
.mode csv
SELECT id, title, price, pages FROM book ORDER BY price, id LIMIT 8;
.schema book
