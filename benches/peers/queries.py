"""Answers, not times: the same queries through `rowkey sql` and through DuckDB over the generated Parquet files.

    queries.py --generated FOLDER --work FOLDER [--source parquet|ndjson]

Imports the generated table, asks both, and compares the results: in order where the query says one, as sets of rows otherwise;
numbers to nine digits, because sums of doubles depend on the order of the addends. Exits with status 1 naming every query that was
answered differently.
"""

import argparse
import csv
import io
import json
import re
import shutil
import sys
from datetime import datetime, timezone
from pathlib import Path

import duckdb
import product

ANALYTIC = {
    "count": 'SELECT count(*) AS n FROM "Entities"',
    "group by few": 'SELECT "Department", count(*) AS n, avg("Score") AS score FROM "Entities" GROUP BY "Department" ORDER BY "Department"',
    "top ten": 'SELECT "PartitionKey", "RowKey", "Score" FROM "Entities" WHERE "Score" IS NOT NULL ORDER BY "Score" DESC LIMIT 10',
    "count distinct": 'SELECT count(DISTINCT "Email") AS n FROM "Entities"',
    "by month": """SELECT date_trunc('month', "HiredAt") AS month, count(*) AS n FROM "Entities" WHERE "HiredAt" IS NOT NULL GROUP BY 1 ORDER BY 1""",
    "join": 'SELECT d."Region", count(*) AS n, sum(e."Level") AS levels FROM "Entities" e JOIN "Departments" d ON e."Department" = d."RowKey" '
    'GROUP BY d."Region" ORDER BY d."Region"',
    "percentile": 'SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY "Score") AS p90 FROM "Entities"',
    "text search": """SELECT count(*) AS n FROM "Entities" WHERE "Bio" LIKE '%kolber%'""",
    "many aggregates": 'SELECT "Department", "Active", count(*) AS n, count("Email") AS emails, min("Score") AS low, max("Score") AS high, '
    'sum("Badge") AS badges, min("HiredAt") AS first, max("HiredAt") AS last FROM "Entities" GROUP BY "Department", "Active"',
    "top three of each": 'SELECT * FROM (SELECT "Department", "RowKey", "PartitionKey", row_number() OVER (PARTITION BY "Department" '
    'ORDER BY "Score" DESC) AS place FROM "Entities" WHERE "Score" IS NOT NULL) ranked WHERE place <= 3',
    "mixed types": 'SELECT count("Mixed") AS n, count("Mixed:String") AS texts, sum("Mixed:Int64") AS total, min("Mixed") AS low FROM "Entities"',
    "every type": 'SELECT "DeviceId", "Active", "HiredAt", "Level", "Badge", "Score", "LastName", "Mixed" FROM "Entities" '
    """WHERE "LastName" = 'Kollum' AND "Level" = 42 ORDER BY "PartitionKey", "RowKey\"""",
}

# {p} and {q} are two PartitionKeys of the table, {r} and {s} two RowKeys that occur in both.
BY_KEY = {
    "one entity": """ "PartitionKey" = '{p}' AND "RowKey" = '{r}'""",
    "no entity": """ "PartitionKey" = '{p}' AND "RowKey" = 'none'""",
    "row keys of one partition": """ "PartitionKey" = '{p}' AND "RowKey" >= '{r}' AND "RowKey" < '{s}'""",
    "either row key": """ "PartitionKey" = '{p}' AND ("RowKey" = '{r}' OR "RowKey" = '{s}')""",
    "lists of both keys": """ "PartitionKey" IN ('{p}', '{q}', 'none') AND "RowKey" IN ('{r}', '{s}')""",
    "one partition": """ "PartitionKey" = '{p}'""",
    "one partition, filtered": """ "PartitionKey" = '{p}' AND "Active" AND "Level" >= 90""",
    "all of a partition but": """ "PartitionKey" = '{p}' AND NOT ("RowKey" = '{r}' OR "Level" IS NULL)""",
    "prefix": """ "PartitionKey" LIKE '{p}%' AND "RowKey" LIKE '00000000%'""",
    # Two row comparisons together are beyond DuckDB: it makes a BETWEEN of them, which it refuses for rows.
    "after a key": """ ("PartitionKey", "RowKey") > ('{p}', '{r}') AND "PartitionKey" <= '{q}'""",
    "up to a key": """ ("PartitionKey", "RowKey") <= ('{q}', '{s}')""",
    "row key alone": """ "RowKey" = '{r}' AND "Level" = 7""",
    "contradiction": """ "PartitionKey" = '{p}' AND "PartitionKey" = '{q}'""",
}


def queries(keys):
    yield from ANALYTIC.items()
    for name, predicate in BY_KEY.items():
        columns = '"PartitionKey", "RowKey", "Level", "Email"'
        yield f"by key: {name}", f'SELECT {columns} FROM "Entities" WHERE{predicate.format(**keys)}'
    yield "first keys", 'SELECT "PartitionKey", "RowKey" FROM "Entities" ORDER BY "PartitionKey", "RowKey" LIMIT 5'
    yield "last keys", 'SELECT "PartitionKey", "RowKey" FROM "Entities" ORDER BY "PartitionKey" DESC, "RowKey" DESC LIMIT 5'
    yield (
        "last of a partition",
        'SELECT "RowKey", "Email" FROM "Entities" WHERE "PartitionKey" = \'{p}\' ORDER BY "RowKey" DESC LIMIT 3'.format(**keys),
    )


def normal(value):
    """One spelling for what two engines print differently. NULL and empty text are one in CSV."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    text = str(value)
    if text.lower() in ("true", "false", "t", "f"):
        return {"t": "true", "f": "false"}.get(text.lower(), text.lower())  # psql's form, and Python's
    if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:.*", text):
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc).isoformat()
    if re.fullmatch(r"-?\d+\.\d+([eE][-+]?\d+)?|-?\d+[eE][-+]?\d+", text):
        return f"{float(text):.9g}"
    return text


def table(rows, ordered):
    normalised = [[normal(value) for value in row] for row in rows]
    return normalised if ordered else sorted(normalised)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--generated", type=Path, required=True)
    arguments.add_argument("--work", type=Path, required=True)
    arguments.add_argument("--source", choices=("parquet", "ndjson"), default="ndjson")
    options = arguments.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    meta = json.loads((options.generated / "meta.json").read_text())

    data = options.work / "rowkey"
    shutil.rmtree(data, ignore_errors=True)
    source = options.generated / ("parquet" if options.source == "parquet" else "entities.ndjson")
    product.rowkey("import", "--data", data, "--table", "Entities", source)
    product.rowkey("import", "--data", data, "--table", "Departments", options.generated / "departments" / "departments.ndjson")

    other = duckdb.connect()
    other.execute("SET TimeZone = 'UTC'")
    other.execute(
        'CREATE VIEW "Entities" AS SELECT *, coalesce("Mixed:String", CAST("Mixed:Int64" AS VARCHAR)) AS "Mixed" '
        f"FROM read_parquet('{options.generated}/parquet/*.parquet')"
    )
    other.execute(f"""CREATE VIEW "Departments" AS FROM read_parquet('{options.generated}/departments/departments.parquet')""")
    (p, q), (r, s) = (
        [row[0] for row in other.execute(f'SELECT DISTINCT "{name}" FROM "Entities" ORDER BY 1 LIMIT 2 OFFSET 2').fetchall()]
        for name in ("PartitionKey", "RowKey")
    )

    asked = failures = 0
    for name, query in queries({"p": p, "q": q, "r": r, "s": s}):
        ordered = re.search(r"ORDER BY [^()]*$", query) is not None
        result = other.execute(query)
        expected_header, expected = [column[0] for column in result.description], table(result.fetchall(), ordered)
        asked += 1
        try:
            printed = product.rowkey("sql", "--data", data, "--output", "csv", query).stdout.decode("utf-8")
        except product.Failed as failed:
            failures += 1
            print(f"FAILED: {name}\n{failed}", file=sys.stderr)
            continue
        header, *rows = csv.reader(io.StringIO(printed, newline=""))
        answer = table(rows, ordered)
        if (header, answer) != (expected_header, expected):
            failures += 1
            first = next((pair for pair in zip(answer, expected) if pair[0] != pair[1]), ("", ""))
            print(
                f"DIFFERENT: {name}\n  {query}\n  columns {header} against {expected_header}, {len(answer)} rows against {len(expected)}\n"
                f"  first difference: {first[0]}\n       duckdb says: {first[1]}",
                file=sys.stderr,
            )
    print(f"shape {meta['shape']}, from {options.source}: {asked - failures} of {asked} queries answered as DuckDB answers them")
    shutil.rmtree(data)
    if failures:
        sys.exit(1)


if __name__ == "__main__":
    main()
