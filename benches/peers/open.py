"""Opening a store: wall time and peak memory of a process that opens it, answers one query and ends.

    open.py --generated FOLDER --data FOLDER [--rounds 5]

Imports generate.py's Parquet files into the data folder unless it holds that many entities already. `SELECT 1` over
`--data :memory:` shows what the process alone costs. The goal for ten million entities: under a second, under 300 MiB.
"""

import argparse
import csv
import json
import shutil
import statistics
import sys
from pathlib import Path

import product

SECONDS_MAX = 1.0
MIB_MAX = 300


def measure(title, rounds, data, query):
    """The median time and the highest peak, after one run that warms the OS cache."""
    runs = [product.rowkey("sql", "--data", data, "--output", "csv", query) for _ in range(rounds + 1)][1:]
    seconds, peak_mib = statistics.median(run.seconds for run in runs), max(run.peak_mib for run in runs)
    print(f"| {title} | {seconds * 1e3:.0f} | {peak_mib:.0f} |")
    return seconds, peak_mib, list(csv.reader(runs[-1].stdout.decode().splitlines()))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--generated", type=Path, required=True)
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--rounds", type=int, default=5)
    options = arguments.parse_args()
    meta = json.loads((options.generated / "meta.json").read_text())
    entities = int(meta["entities"])

    # Written last: a store without it is incomplete, or of other entities.
    imported = options.data.with_name(options.data.name + ".imported")
    if not imported.exists() or json.loads(imported.read_text()) != meta:
        imported.unlink(missing_ok=True)
        shutil.rmtree(options.data, ignore_errors=True)
        done = product.rowkey("import", "--data", options.data, "--table", "Entities", options.generated / "parquet")
        print(f"imported in {done.seconds:.1f} s, peak {done.peak_mib:.0f} MiB", file=sys.stderr)
        imported.write_text(json.dumps(meta))

    size = product.folder_bytes(options.data) / 2**20
    print(f"\n### Open, shape {meta['shape']}, {entities:,} entities, {size:,.0f} MiB, {options.rounds} rounds\n")
    print("| | ms (median) | peak MiB |\n|---|---:|---:|")
    measure("the process alone, SELECT 1", options.rounds, ":memory:", "SELECT 1")
    seconds, peak_mib, answer = measure("count(*)", options.rounds, options.data, 'SELECT count(*) AS n FROM "Entities"')
    if answer != [["n"], [str(entities)]]:
        sys.exit(f"count(*) answered {answer[1:]}, expected {entities}")
    partition, row = ("p00000500", f"{entities // 2000:010}") if meta["shape"] == "a" else (f"p{entities // 10:08}", "0000000002")
    key = f"\"PartitionKey\" = '{partition}' AND \"RowKey\" = '{row}'"
    _, _, answer = measure("one entity by key", options.rounds, options.data, f'SELECT "RowKey" AS n FROM "Entities" WHERE {key}')
    if answer != [["n"], [row]]:
        sys.exit(f"the entity {partition}, {row} answered {answer[1:]}")
    met = seconds < SECONDS_MAX and peak_mib < MIB_MAX
    print(f"\nGoal, at ten million entities: under {SECONDS_MAX:.0f} s and {MIB_MAX} MiB: {'met' if met else 'MISSED'} here.")


if __name__ == "__main__":
    main()
