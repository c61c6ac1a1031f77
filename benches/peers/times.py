"""Times of the same queries in one run: Rowkey, DuckDB over a table of its own and over Rowkey's files, PostgreSQL.

    times.py --generated FOLDER --work FOLDER [--postgres CONNINFO] [--rounds 3]

The contestants take turns, query by query, after one round that warms every cache; medians are compared. Each is a process that
stays, has all it may use of the machine, and hands over whole results: Rowkey's driver (`benches/queries.rs --serve`, named by
ROWKEY_QUERIES) and DuckDB as Arrow, PostgreSQL as text to psql. PostgreSQL's table has the primary key of the keys in byte order;
DuckDB's has none, since it is not asked to find rows by it.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import product
from queries import ANALYTIC, queries

MIXED = 'coalesce("Mixed:String", CAST("Mixed:Int64" AS VARCHAR)) AS "Mixed"'
# The order of the CSV's columns.
POSTGRES_TABLE = """CREATE TABLE stored (
    "PartitionKey" text COLLATE "C" NOT NULL, "RowKey" text COLLATE "C" NOT NULL, "Timestamp" timestamptz, "Department" text,
    "Email" text, "Bio" text, "LastName" text, "Level" int4, "Badge" int8, "Score" float8, "Active" boolean,
    "HiredAt" timestamptz, "Mixed:String" text, "Mixed:Int64" int8, "DeviceId" uuid, "Payload" bytea,
    PRIMARY KEY ("PartitionKey", "RowKey"))"""


class Rowkey:
    name = "Rowkey"

    def __init__(self, data):
        self.driver = subprocess.Popen(
            [os.environ["ROWKEY_QUERIES"], "--serve", str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, query):
        print(query, file=self.driver.stdin, flush=True)
        answer = self.driver.stdout.readline().split()
        if not answer or answer[0] != "ok":
            sys.exit(f"Rowkey: {' '.join(answer) or 'its driver ended'}: {query}")
        return float(answer[1])

    def close(self):
        self.driver.stdin.close()
        self.driver.wait()


class DuckDB:
    def __init__(self, name, connection):
        self.name, self.connection = name, connection

    def seconds(self, query):
        start = time.perf_counter()
        self.connection.sql(query).to_arrow_table()
        return time.perf_counter() - start

    def close(self):
        self.connection.close()


class PostgreSQL:
    name = "PostgreSQL"

    def __init__(self, conninfo, generated):
        self.psql = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", conninfo],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"LC_ALL": "C"},
        )
        self.ask("SET client_min_messages = warning;")
        self.ask('DROP TABLE IF EXISTS stored CASCADE; DROP TABLE IF EXISTS "Departments";')
        self.ask(" ".join(POSTGRES_TABLE.split()) + ";")
        self.ask(f"\\copy stored from '{generated / 'entities.csv'}' with (format csv, header true)")
        self.ask("VACUUM ANALYZE stored;")
        mixed = MIXED.replace("VARCHAR", "text")
        self.ask(f'CREATE VIEW "Entities" AS SELECT *, {mixed} FROM stored;')
        self.ask('CREATE TABLE "Departments" ("PartitionKey" text, "RowKey" text, "Region" text);')
        for line in (generated / "departments" / "departments.ndjson").read_text().splitlines():
            row = json.loads(line)
            values = ", ".join("'" + row[name].replace("'", "''") + "'" for name in ("PartitionKey", "RowKey", "Region"))
            self.ask(f'INSERT INTO "Departments" VALUES ({values});')
        self.ask("SET TimeZone = 'UTC';")

    def ask(self, statement):
        """Sends a statement and gives the seconds that psql reports for it; its rows go nowhere."""
        print("\\o /dev/null", "\\timing on", statement, "\\timing off", "\\o", "\\echo done", sep="\n", file=self.psql.stdin, flush=True)
        seconds = 0.0
        for line in self.psql.stdout:
            if line == "done\n":
                return seconds
            if line.startswith("Time: "):
                seconds = float(line.split()[1]) / 1e3
        sys.exit(f"psql ended at: {statement}")

    def seconds(self, query):
        return self.ask(query + ";")

    def close(self):
        self.ask('DROP TABLE stored CASCADE; DROP TABLE "Departments";')
        self.psql.stdin.close()
        self.psql.wait()


def duckdb_native(generated, file):
    file.unlink(missing_ok=True)
    connection = duckdb.connect(str(file))
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"CREATE TABLE \"Entities\" AS SELECT *, {MIXED} FROM read_parquet('{generated}/parquet/*.parquet')")
    connection.execute(f"CREATE TABLE \"Departments\" AS FROM read_parquet('{generated}/departments/departments.parquet')")
    connection.execute("CHECKPOINT")
    return DuckDB("DuckDB", connection)


def duckdb_files(data):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    tables = data / "tables" / "devstoreaccount1"
    connection.execute(f"CREATE VIEW \"Entities\" AS SELECT *, {MIXED} FROM read_parquet('{tables}/Entities.*/*.parquet')")
    connection.execute(f"CREATE VIEW \"Departments\" AS FROM read_parquet('{tables}/Departments.*/*.parquet')")
    return DuckDB("DuckDB over Rowkey's files", connection)


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--generated", type=Path, required=True)
    arguments.add_argument("--work", type=Path, required=True)
    arguments.add_argument("--postgres")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    meta = json.loads((options.generated / "meta.json").read_text())

    data, file = options.work / "rowkey-times", options.work / "times.duckdb"
    shutil.rmtree(data, ignore_errors=True)
    product.rowkey("import", "--data", data, "--table", "Entities", options.generated / "parquet")
    product.rowkey("import", "--data", data, "--table", "Departments", options.generated / "departments" / "departments.ndjson")
    native = duckdb_native(options.generated, file)
    (p, q), (r, s) = (
        [row[0] for row in native.connection.execute(f'SELECT DISTINCT "{name}" FROM "Entities" ORDER BY 1 LIMIT 2 OFFSET 2').fetchall()]
        for name in ("PartitionKey", "RowKey")
    )
    contestants = [Rowkey(data), native, duckdb_files(data)]
    if options.postgres:
        contestants.append(PostgreSQL(options.postgres, options.generated))

    print(f"\n### Times, shape {meta['shape']}, {int(meta['entities']):,} entities, {os.cpu_count()} processors, medians of {options.rounds}, ms\n")
    print("| query | " + " | ".join(contestant.name for contestant in contestants) + " |")
    print("|---|" + "---:|" * len(contestants))
    medians = {}
    for name, query in queries({"p": p, "q": q, "r": r, "s": s}):
        rounds = [[contestant.seconds(query) for contestant in contestants] for _ in range(options.rounds + 1)]
        medians[name] = [statistics.median(seconds) for seconds in zip(*rounds[1:])]
        print(f"| {name} | " + " | ".join(f"{seconds * 1e3:.2f}" for seconds in medians[name]) + " |", flush=True)
    print()
    kinds = [
        ("analytic queries", [name for name in medians if name in ANALYTIC]),
        ("queries by key", [name for name in medians if name not in ANALYTIC]),
    ]
    for title, names in kinds:
        speeds = [
            f"{geometric_mean(medians[name][at] / medians[name][0] for name in names):.2f} times that of {contestant.name}"
            for at, contestant in enumerate(contestants)
            if at > 0
        ]
        print(f"Rowkey's speed, geometric mean of {len(names)} {title}: {', '.join(speeds)}.")
    for contestant in contestants:
        contestant.close()
    shutil.rmtree(data)
    file.unlink()


if __name__ == "__main__":
    main()
