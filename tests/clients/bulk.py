"""asyncpg, ADBC, connectorx and polars, which move rows by COPY. PGHOST and its kin say where the server is."""

import asyncio
import datetime
import io
import os
import uuid

import adbc_driver_postgresql.dbapi as adbc
import asyncpg
import connectorx
import polars
import pyarrow

from checks import check, equal, run

URL = "postgresql://{PGUSER}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)
TYPES = "t text, n int, big bigint, f float8, b boolean, at timestamptz, id uuid, x bytea"
# Clients that write names in quotes need the keys' own.
COLUMNS = ["PartitionKey", "RowKey", "t", "n", "big", "f", "b", "at", "id", "x"]
NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)


def row(n):
    if n % 7 == 6:
        return ("p", str(n), None, n) + (None,) * 6
    at = START + datetime.timedelta(microseconds=n)
    return ("p", str(n), f"é\t{n}", n, n << 33, n / 3, n % 2 == 0, at, uuid.UUID(int=n), bytes([n % 256]) * 3)


ROWS = [row(n) for n in range(300)]


async def with_asyncpg(work):
    connection = await asyncpg.connect(URL)
    try:
        return await work(connection)
    finally:
        await connection.close()


@check
def asyncpg_copies_records():
    async def work(connection):
        await connection.execute(f"CREATE TABLE Records ({TYPES})")
        equal(await connection.copy_records_to_table("records", records=ROWS, columns=COLUMNS), "COPY 300")
        query = f"SELECT {NAMES} FROM records ORDER BY n"
        equal([tuple(row) for row in await connection.fetch(query)], ROWS)
        binary, csv = io.BytesIO(), io.BytesIO()
        equal(await connection.copy_from_query(query, output=binary, format="binary"), "COPY 300")
        equal(await connection.copy_from_table("records", output=csv, format="csv", header=True, force_quote=True), "COPY 300")
        equal(csv.getvalue().splitlines()[1].split(b",")[:2], [b'"p"', b'"0"'])
        await connection.execute("DELETE FROM records")
        source = io.BytesIO(binary.getvalue())
        equal(await connection.copy_to_table("records", source=source, columns=COLUMNS, format="binary"), "COPY 300")
        equal([tuple(row) for row in await connection.fetch(query)], ROWS)
        source, some = io.BytesIO(b'q,1,""\n'), ["PartitionKey", "RowKey", "t"]
        await connection.copy_to_table("records", source=source, columns=some, format="csv", force_null=["t"])
        equal(await connection.fetchval("SELECT t IS NULL FROM records WHERE partitionkey = 'q'"), True)
        await connection.execute("DELETE FROM records WHERE partitionkey = 'q'")

    asyncio.run(with_asyncpg(work))


@check
def adbc_reads_and_ingests():
    with adbc.connect(URL, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {NAMES} FROM records ORDER BY n")
        table = cursor.fetch_arrow_table()
        equal(table.column("n").to_pylist(), [row[3] for row in ROWS])
        equal(table.column("t").to_pylist(), [row[2] for row in ROWS])
        equal(table.column("f").to_pylist(), [row[5] for row in ROWS])
        keys = {"PartitionKey": ["a", "a"], "RowKey": ["1", "2"]}
        values = {"n": pyarrow.array([1, None], pyarrow.int32()), "x": pyarrow.array([b"\x00", None], pyarrow.binary())}
        equal(cursor.adbc_ingest("ingested", pyarrow.table(keys | values), mode="create"), 2)
        cursor.execute("SELECT n, x FROM ingested ORDER BY rowkey")
        equal(cursor.fetchall(), [(1, b"\x00"), (None, None)])
        cursor.execute("DROP TABLE ingested")


@check
def connectorx_reads_binary_and_csv():
    for protocol in ("binary", "csv", "cursor"):
        table = connectorx.read_sql(URL, "SELECT n, f, t FROM records", protocol=protocol, return_type="arrow")
        equal(sorted(table.column("n").to_pylist()), [row[3] for row in ROWS])
    query = "SELECT n, big, b, at, id, x FROM records"
    table = connectorx.read_sql(URL, query, partition_on="n", partition_num=3, return_type="arrow")
    equal(sum(n for n in table.column("n").to_pylist()), sum(row[3] for row in ROWS))


@check
def polars_reads_and_writes():
    for engine in ("adbc", "connectorx"):
        frame = polars.read_database_uri("SELECT n, t, f FROM records ORDER BY n", URL, engine=engine)
        equal(frame["t"].to_list(), [row[2] for row in ROWS])
    frame = polars.DataFrame({"PartitionKey": ["w"], "RowKey": ["1"], "t": ["x"]})
    equal(frame.write_database("records", URL, engine="adbc", if_table_exists="append"), 1)
    equal(polars.read_database_uri("SELECT count(*) AS c FROM records", URL, engine="adbc")["c"].to_list(), [301])


run()
