"""Import against the loads of peers: entities per second, bytes per entity, peak memory.

    load.py --generated FOLDER --work FOLDER [--postgres CONNINFO] [--rounds 3]

FOLDER is generate.py's, with all three formats. The contestants take turns, round by round, so that a machine that slows
down slows all of them; medians are compared. Every load starts from an empty table:

    rowkey ndjson, csv, parquet      `rowkey import` of the whole process, into a new data folder; the CSV is Storage Explorer's, with a
                                     type beside every value, as `rowkey export` writes it
    postgres copy                    \\copy of the plain CSV into a table with PRIMARY KEY (partition_key, row_key)
    duckdb ndjson, csv, parquet      INSERT .. SELECT from read_json, read_csv of the plain CSV, or Parquet into a table with that primary
                                     key, in a new database file; DuckDB's own guesses of the types

Rowkey and PostgreSQL sync to disk before they report success. PostgreSQL's bytes are heap and index.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import product

TABLE = "entities"
# The order of the CSV's columns.
POSTGRES_TABLE = f"""CREATE TABLE {TABLE} (
    partition_key text NOT NULL, row_key text NOT NULL, timestamp timestamptz, department text, email text, bio text,
    last_name text, level int4, badge int8, score float8, active boolean, hired_at timestamptz, mixed_string text,
    mixed_int64 int8, device_id uuid, payload bytea, PRIMARY KEY (partition_key, row_key))"""


@dataclass
class Contestant:
    name: str
    load: object  # () -> (seconds, bytes, peak MiB or None)
    seconds: list = field(default_factory=list)
    bytes: int = 0
    peak_mib: float = 0.0


def rowkey(source, work):
    def load():
        data = work / "rowkey"
        shutil.rmtree(data, ignore_errors=True)
        done = product.rowkey("import", "--data", data, "--table", "Entities", source)
        size = product.folder_bytes(data)
        shutil.rmtree(data)
        return done.seconds, size, done.peak_mib

    return load


def postgres(conninfo, csv):
    def psql(*commands):
        options = [option for command in commands for option in ("-c", command)]
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", conninfo, *options],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )
        if done.returncode != 0:
            sys.exit(f"psql: {done.stderr.strip()}")
        return done.stdout.strip()

    def load():
        # A checkpoint now, so that this round does not pay for what another one left behind.
        psql("SET client_min_messages = warning", f"DROP TABLE IF EXISTS {TABLE}", POSTGRES_TABLE, "CHECKPOINT")
        start = time.perf_counter()
        psql(f"\\copy {TABLE} from '{csv}' with (format csv, header true)")
        seconds = time.perf_counter() - start
        size = int(psql(f"SELECT pg_total_relation_size('{TABLE}')"))
        psql(f"DROP TABLE {TABLE}")
        return seconds, size, None

    return load


def typed_csv(generated, work):
    """The entities as Storage Explorer's typed CSV; made once, beside the other formats."""
    out = generated / "entities-typed.csv"
    if not out.exists():
        data = work / "typed"
        shutil.rmtree(data, ignore_errors=True)
        product.rowkey("import", "--data", data, "--table", "Entities", generated / "entities.ndjson")
        product.rowkey("export", "--data", data, "--table", "Entities", "--format", "csv", "--output", out)
        shutil.rmtree(data)
    return out


def duckdb(source, keys, work):
    program = """
import sys, duckdb
database, source, keys = sys.argv[1:]
connection = duckdb.connect(database)
columns = connection.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()
definitions = ", ".join(f'"{name}" {type}' for name, type, *_ in columns)
connection.execute(f'CREATE TABLE entities ({definitions}, PRIMARY KEY ({keys}))')
connection.execute(f"INSERT INTO entities SELECT * FROM {source}")
connection.close()
"""

    def load():
        database = work / "duckdb.db"
        for old in work.glob("duckdb.db*"):
            old.unlink()
        done = product.run([sys.executable, "-c", program, database, source, keys])
        size = database.stat().st_size
        database.unlink()
        return done.seconds, size, done.peak_mib

    return load


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--generated", type=Path, required=True)
    arguments.add_argument("--work", type=Path, required=True, help="folder for the stores; on the disk to be measured")
    arguments.add_argument("--postgres", help="libpq connection string; without it PostgreSQL is left out")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    meta = json.loads((options.generated / "meta.json").read_text())
    entities = int(meta["entities"])

    keys = '"PartitionKey", "RowKey"'
    contestants = [
        Contestant("rowkey ndjson", rowkey(options.generated / "entities.ndjson", options.work)),
        Contestant("rowkey csv", rowkey(typed_csv(options.generated, options.work), options.work)),
        Contestant("rowkey parquet", rowkey(options.generated / "parquet", options.work)),
        Contestant("duckdb ndjson", duckdb(f"read_json('{options.generated}/entities.ndjson')", keys, options.work)),
        Contestant("duckdb csv", duckdb(f"read_csv('{options.generated}/entities.csv')", keys, options.work)),
        Contestant("duckdb parquet", duckdb(f"'{options.generated}/parquet/*.parquet'", keys, options.work)),
    ]
    if options.postgres:
        contestants.append(Contestant("postgres copy", postgres(options.postgres, options.generated / "entities.csv")))
    for round_number in range(1, options.rounds + 1):
        for contestant in contestants:
            seconds, contestant.bytes, peak_mib = contestant.load()
            contestant.seconds.append(seconds)
            contestant.peak_mib = max(contestant.peak_mib, peak_mib or 0)
            print(f"round {round_number}: {contestant.name} {seconds:.2f} s", file=sys.stderr)

    baseline = contestants[-1]
    print(f"\n### Load, shape {meta['shape']}, {entities:,} entities, {options.rounds} rounds\n")
    print(f"| | entities/s (median) | range | against {baseline.name} | bytes/entity | peak MiB |")
    print("|---|---:|---:|---:|---:|---:|")
    for contestant in contestants:
        rate = entities / statistics.median(contestant.seconds)
        ratio = statistics.median(baseline.seconds) / statistics.median(contestant.seconds)
        slowest, fastest = entities / max(contestant.seconds), entities / min(contestant.seconds)
        peak = f"{contestant.peak_mib:.0f}" if contestant.peak_mib else ""
        print(
            f"| {contestant.name} | {rate:,.0f} | {slowest:,.0f}..{fastest:,.0f} | {ratio:.2f}x "
            f"| {contestant.bytes / entities:.0f} | {peak} |"
        )


if __name__ == "__main__":
    main()
