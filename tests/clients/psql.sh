#!/usr/bin/env bash
# psql against a server with the sample tables and the table Types: what it prints, and how it ends. The variables PGHOST and
# its kin say where the server is.
set -uo pipefail

checks=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ask() { timeout 60 psql -X "$@" 2>&1; }

# says NAME WANTED ARGUMENT...: the output of psql has to contain each line of WANTED, in that order (blanks count as one).
says() {
  local name=$1 wanted=$2
  shift 2
  checks=$((checks + 1))
  ask "$@" >"$work/found"
  if ! wanted=$wanted awk '
    BEGIN { lines = split(ENVIRON["wanted"], want, "\n"); at = 1 }
    { gsub(/[ \t]+/, " "); gsub(/^ | $/, "") }
    at <= lines && index($0, want[at]) { at++ }
    END { exit at <= lines }' "$work/found"; then
    failed=$((failed + 1))
    { echo "FAILED $name: psql $*"; echo "wanted:"; echo "$wanted"; echo "found:"; cat "$work/found"; } >&2
  fi
}

# ends NAME STATUS ARGUMENT...: the exit status of psql.
ends() {
  local name=$1 wanted=$2
  shift 2
  checks=$((checks + 1))
  ask "$@" >"$work/found"
  local found=$?
  if [ "$found" != "$wanted" ]; then
    failed=$((failed + 1))
    { echo "FAILED $name: psql $* ended with $found instead of $wanted"; cat "$work/found"; } >&2
  fi
}

says "relations" "List of relations
public | Departments | table | rowkey
public | Types | table | rowkey
(6 rows)" -c '\d'
says "tables" "public | Employees | table | rowkey" -c '\dt'
says "one table, without quotes" "public | Employees | table | rowkey
(1 row)" -c '\dt employees'
says "tables by a pattern" "public | EmployeeReviews | table | rowkey
public | Employees | table | rowkey
(2 rows)" -c '\dt public.emp*'
says "sizes" "public | Departments | table | rowkey | permanent | heap | 2485 bytes |" -c '\dt+'
for name in Employees employees '"Employees"' public.employees; do
  says "a table as $name" 'Table "public.Employees"
PartitionKey | text | | not null |
Timestamp | timestamp with time zone | | not null | now()
Id | uuid
Indexes:
"Employees_pkey" PRIMARY KEY, btree ("PartitionKey", "RowKey")' -c "\\d $name"
done
says "a table in detail" 'Table "public.Departments"
Column | Type | Collation | Nullable | Default | Storage | Compression | Stats target | Description
Budget | double precision | | | | plain
Access method: heap' -c '\d+ departments'
says "an index" 'Index "public.Employees_pkey"
PartitionKey | text | yes | "PartitionKey"
primary key, btree, for table "public.Employees"' -c '\d "Employees_pkey"'
says "no such table" 'Did not find any relation named "nosuch".' -c '\d nosuch'
says "schemas" "public | rowkey
rowkey | rowkey" -c '\dn'
says "databases" "devstoreaccount1 | rowkey | UTF8" -c '\l'
says "no views" "Did not find any relations." -c '\dv'
says "views" 'CREATE VIEW
public | adults | view | rowkey
View "public.adults"
Age | integer
View definition:
SELECT
DROP VIEW' -c 'CREATE VIEW adults AS SELECT partitionkey, age FROM employees WHERE age >= 18' -c '\dv' -c '\d+ adults' -c 'DROP VIEW adults'
says "functions" "List of functions" -c '\df'
says "functions of the system" "pg_catalog | now | timestamp with time zone" -c '\df now'
says "roles" "rowkey | Superuser" -c '\du'
says "indexes" "public | Employees_pkey | index | rowkey | Employees" -c '\di'
says "types" "List of data types" -c '\dT'
says "a type" "pg_catalog | uuid" -c '\dT uuid'
says "privileges" "public | Employees | table" -c '\dp'
says "settings" "TimeZone | UTC" -c '\dconfig timezone'
says "descriptions" "Object descriptions" -c '\dd'
says "casts" "List of casts" -c '\dC'
says "operators" "List of operators" -c '\do ='
says "extensions" "List of installed extensions" -c '\dx'
says "where it is" 'You are connected to database "devstoreaccount1" as user "rowkey" on host "127.0.0.1"' -c '\conninfo'
says "expanded" "-[ RECORD 1 ]
PartitionKey | dept
RowKey | Accounting" -c '\x' -c 'SELECT * FROM departments ORDER BY rowkey LIMIT 1'
says "description of a result" "Column | Type
PartitionKey | text
years | integer
?column? | numeric
Id | uuid
count | bigint" -f <(printf 'SELECT partitionkey, age AS years, 1.5, id, count(*) FROM employees GROUP BY 1, 2, 4 \\gdesc\n')
printf 'SELECT count(*) AS n FROM departments \\gset\n\\echo found :n\nSELECT :n + 1 AS more;\n' >"$work/gset.sql"
says "variables" "found 12
13" -f "$work/gset.sql"
printf '\\set FETCH_COUNT 100\nSELECT rowkey FROM employees ORDER BY partitionkey, rowkey;\n' >"$work/fetch.sql"
checks=$((checks + 1))
rows=$(ask -At -f "$work/fetch.sql" | wc -l)
[ "$rows" = 48000 ] || { failed=$((failed + 1)); echo "FAILED with FETCH_COUNT $rows rows came instead of 48000" >&2; }
printf '\\set FETCH_COUNT 10\nSELECT a.rowkey FROM employees a, employees b;\n' >"$work/endless.sql"
checks=$((checks + 1))
rows=$(timeout 30 psql -X -At -f "$work/endless.sql" 2>/dev/null | head -n 1000 | wc -l)
[ "$rows" = 1000 ] || { failed=$((failed + 1)); echo "FAILED $rows rows of 2.3 billion came instead of the first 1000" >&2; }
says "savepoints behind errors" "BEGIN
ERROR: relation \"nosuch\" does not exist
7
COMMIT" -At -v ON_ERROR_ROLLBACK=on -f <(printf 'BEGIN;\nSELECT * FROM nosuch;\nSELECT 7;\nCOMMIT;\n')
says "a failed transaction" 'ERROR: current transaction is aborted, commands ignored until end of transaction block
ROLLBACK' -f <(printf 'BEGIN;\nSELECT 1/0;\nSELECT 7;\nCOMMIT;\n')
says "several statements in one -c" "1
b" -At -c "SELECT 1; SELECT 'b'"
says "an error between statements" "1
ERROR: division by zero" -At -c "SELECT 1; SELECT 1/0; SELECT 3"
ends "success" 0 -c 'SELECT 1'
ends "an error in -c" 1 -c 'SELECT nosuch'
ends "an error in a script" 0 -f <(echo 'SELECT nosuch;')
ends "an error that stops a script" 3 -v ON_ERROR_STOP=1 -f <(echo 'SELECT nosuch;')
ends "no such database" 2 -d nosuch -c 'SELECT 1'
says "no such database, in words" 'FATAL: database "nosuch" does not exist' -d nosuch -c 'SELECT 1'
says "the caret, at a column" 'ERROR: column "nosuch" does not exist
LINE 1: SELECT nosuch FROM employees
^' -c 'SELECT nosuch FROM employees'
says "the caret, in the second line" 'ERROR: relation "nosuch" does not exist
LINE 2: FROM nosuch
^' -c 'SELECT 1
FROM nosuch'
says "the caret, behind wide letters" 'LINE 1: SELECT '"'äöü€😀'"', nosuch(1)
^' -c "SELECT 'äöü€😀', nosuch(1)"
says "a hint" 'ERROR: column "lastnam" does not exist
HINT:' -c 'SELECT lastnam FROM employees'
says "in full" 'ERROR: 42P01: relation "nosuch" does not exist' -v VERBOSITY=verbose -c 'SELECT * FROM nosuch'
says "null, dates and bytes" '1601-01-01 00:00:00+00|\x|(null)|-9223372036854775808
9999-12-31 23:59:59.999999+00|\xffffffff|(null)|9223372036854775807' -At -P null='(null)' -c "SELECT at, bin, mixed, i64 FROM types WHERE rowkey IN ('least', 'most') ORDER BY rowkey"
says "the session's time zone" "1600-12-31 19:03:58-04:56:02" -At -c "SET TimeZone = 'America/New_York'" -c "SELECT at FROM types WHERE rowkey = 'least'"
says "a prepared statement" "PREPARE
2000
DEALLOCATE" -At -c "PREPARE of AS SELECT count(*) FROM employees WHERE partitionkey = \$1 AND rowkey < 'e'" -c "EXECUTE of('Sales')" -c "DEALLOCATE of"
says "a cursor" "DECLARE CURSOR
Accounting
MOVE 1
Engineering
CLOSE CURSOR" -At -c "BEGIN" -c "DECLARE c CURSOR FOR SELECT rowkey FROM departments ORDER BY 1" -c "FETCH c" -c "MOVE c" -c "FETCH FROM c" -c "CLOSE c" -c "COMMIT"
says "a timeout" "ERROR: canceling statement due to statement timeout
1" -At -c "SET statement_timeout = '200ms'" -c "SELECT pg_sleep(20)" -c "SELECT 1"
checks=$((checks + 1))
began=$SECONDS
(timeout --foreground -s INT 1 psql -X -At -c "SELECT pg_sleep(50)" >"$work/found" 2>&1)
if [ $((SECONDS - began)) -gt 10 ] || ! grep -q 'canceling statement due to user request' "$work/found"; then
  failed=$((failed + 1))
  { echo "FAILED Ctrl-C:"; cat "$work/found"; } >&2
fi
says "COPY that is refused, and the session goes on" "ERROR: 0A000:
1" -At -v VERBOSITY=verbose -c "COPY departments TO STDOUT (FORMAT binary, HEADER)" -c "SELECT 1"
says "binary and quoted \\copy" "CREATE TABLE
INSERT 0 2
COPY 2
DELETE 2
COPY 2
\"1\",\"x\"
\"2\",
DROP TABLE" -At -c "CREATE TABLE Copied (t text)" -c "INSERT INTO copied (partitionkey, rowkey, t) VALUES ('a', '1', 'x'), ('a', '2', NULL)" \
  -c "\\copy copied to '$work/copied' with binary" -c "DELETE FROM copied" -c "\\copy copied from '$work/copied' (format binary)" \
  -c "\\copy (select rowkey, t from copied order by 1) to stdout (format csv, force_quote *)" -c "DROP TABLE copied"
says "\\copy" "CREATE TABLE
a,1,5
COPY 1
UPDATE 1
a,1,6
DROP TABLE" -At -c "CREATE TABLE Copied (n int)" -c "COPY (SELECT 'a', '1', 5) TO STDOUT csv" \
  -c "\\copy copied from program 'printf \"a,1,5\\n\"' csv" -c "UPDATE copied SET n = n + 1" -c "COPY copied TO STDOUT csv" -c "DROP TABLE copied"
says "EXPLAIN" "QUERY PLAN
access path: point" -c "EXPLAIN SELECT * FROM employees WHERE partitionkey = 'Sales' AND rowkey = '000001'"
says "csv" "RowKey,Region
Accounting,Europe" --csv -c "SELECT rowkey, region FROM departments ORDER BY 1 LIMIT 1"

echo "$((checks - failed)) of $checks checks passed"
[ "$failed" = 0 ]
