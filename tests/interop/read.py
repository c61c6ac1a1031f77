"""Reads run files with DuckDB and with pandas and compares what is in them with what Rowkey says is in the tables.

usage: read.py DATA_FOLDER EXPECTED.json

EXPECTED.json holds, by table, the entities as {"PartitionKey", "RowKey", "properties": {name: [type, value]}}, values in the
form of `canonical` below. Prints what was compared; the exit status is 0 only if all of it is equal.
"""

import collections
import json
import pathlib
import struct
import sys
import uuid

import duckdb
import pandas

# What a property type is in a file: the type that DuckDB shows, and the one that pandas shows.
TYPES = {
    "Binary": ("BLOB", "binary"),
    "Boolean": ("BOOLEAN", "bool"),
    "DateTime": ("TIMESTAMP WITH TIME ZONE", "timestamp[us, tz=UTC]"),
    "Double": ("DOUBLE", "double"),
    "Guid": ("UUID", "uuid"),
    "Int32": ("INTEGER", "int32"),
    "Int64": ("BIGINT", "int64"),
    "String": ("VARCHAR", "string"),
}


def double_bits(value):
    return "NaN" if value != value else struct.pack(">d", value).hex()


def fail(message):
    sys.exit(f"read.py: {message}")


def entities(rows, columns, tables_file):
    """Entities from rows of raw values; `columns` are pairs of name and property type."""
    found = []
    for row in rows:
        ticks = {name[: -len(":tick")]: value for (name, _), value in zip(columns, row) if name.endswith(":tick")}
        entity = {"properties": {}}
        for (name, edm), value in zip(columns, row):
            if name.endswith(":tick") or value is None:
                continue
            base = name.split(":")[0]
            if edm == "DateTime":
                value = [value, ticks.get(base) or 0]
            if base in ("PartitionKey", "RowKey"):
                entity[base] = value
            elif base in entity["properties"]:
                fail(f"{tables_file}: {base} has two values in one entity")
            else:
                entity["properties"][base] = [edm, value]
        found.append(entity)
    return found


def edm_of(name, shown, reader, file):
    """The property type of a column, from what a reader shows it as; the column's name may only repeat it."""
    if name.endswith(":tick"):
        return "tick"
    edm = next((edm for edm, names in TYPES.items() if names[reader] == shown), None)
    if edm is None:
        fail(f"{file}: column {name} is shown as {shown}, which is no property's type")
    if ":" in name and name.split(":")[1] != edm:
        fail(f"{file}: column {name} is shown as {shown}")
    return edm


def by_duckdb(file):
    source = f"read_parquet('{file}')"
    described = duckdb.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()
    columns = [(name, edm_of(name, shown, 0, file)) for name, shown, *_ in described]
    raw = {"Binary": 'hex("{}")', "DateTime": 'epoch_us("{}")', "Guid": 'CAST("{}" AS VARCHAR)'}
    selected = ", ".join(raw.get(edm, '"{}"').format(name) for name, edm in columns)
    rows = duckdb.sql(f"SELECT {selected} FROM {source}").fetchall()
    return entities([[canonical(edm, value) for (_, edm), value in zip(columns, row)] for row in rows], columns, file)


def by_pandas(file):
    frame = pandas.read_parquet(file, dtype_backend="pyarrow")
    columns, values = [], []
    for name in frame.columns:
        arrow = frame[name].array.__arrow_array__()
        shown = str(arrow.type).removeprefix("large_").removesuffix("_view")
        if "uuid" in shown:
            shown, arrow = "uuid", getattr(arrow, "storage", arrow)
        edm = edm_of(name, shown, 1, file)
        if edm == "DateTime":
            arrow = arrow.cast("int64")
        columns.append((name, edm))
        values.append([canonical(edm, value) for value in arrow.to_pylist()])
    return entities(zip(*values), columns, file)


def canonical(edm, value):
    """Binary as hexadecimal digits, DateTime as microseconds since 1970 (the tick is added later), Double by its bits, Guid
    as text, Int64 as text, others as they are."""
    if value is None:
        return None
    if edm == "Binary":
        return (value if isinstance(value, str) else value.hex()).lower()
    if edm == "Double":
        return double_bits(value)
    if edm == "Guid":
        return str(uuid.UUID(bytes=value)) if isinstance(value, bytes) else str(value)
    if edm == "Int64":
        return str(value)
    return value


def compare(reader, table, found, expected):
    if len(found) != len(expected):
        fail(f"{reader}: table {table} has {len(found)} entities, expected {len(expected)}")
    values = 0
    for position, (one, other) in enumerate(zip(found, expected)):
        if one != other:
            fail(f"{reader}: table {table}, entity {position}:\n  in the file {one}\n  expected    {other}")
        values += len(one["properties"])
    return values


def main():
    folder, expected = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    counts = collections.Counter()
    for table, entities_expected in expected.items():
        files = list(folder.glob(f"tables/*/{table}.*/*.parquet"))
        if not files:
            fail(f"table {table} has no files below {folder}")
        for name, reader in (("DuckDB", by_duckdb), ("pandas", by_pandas)):
            # Each file is sorted by key, and together they are when taken in the order of their first keys.
            parts = sorted((reader(file) for file in files), key=lambda part: key(part[0]))
            found = [entity for part in parts for entity in part]
            if [key(entity) for entity in found] != sorted({key(entity) for entity in found}):
                fail(f"{name}: the files of table {table} are not sorted by key, or overlap")
            counts[name] += compare(name, table, found, entities_expected)
        whole = duckdb.sql(f"SELECT count(*) FROM read_parquet({[str(file) for file in files]})").fetchall()[0][0]
        if whole != len(entities_expected):
            fail(f"DuckDB: the files of table {table} together have {whole} entities")
        counts["entities"] += whole
    print(" ".join(f"{name}={counts[name]}" for name in ("entities", "DuckDB", "pandas")))


def key(entity):
    return entity["PartitionKey"].encode("utf-8"), entity["RowKey"].encode("utf-8")


main()
