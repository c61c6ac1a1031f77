"""psycopg 3 against a server with the sample tables and the table Types. PGHOST and its kin say where it is."""

import datetime
import decimal
import threading
import time
import uuid

import psycopg
from psycopg import sql
from psycopg.rows import dict_row, namedtuple_row

from checks import check, equal, run

UTC = datetime.timezone.utc


def connect(**options):
    return psycopg.connect("", **options)


def one(cursor, query, *values, **options):
    rows = cursor.execute(query, values or None, **options).fetchall()
    equal(len(rows), 1)
    return rows[0]


def refused(code, work):
    """The error of `work`, which has to have that SQLSTATE."""
    try:
        work()
    except psycopg.Error as error:
        equal(error.sqlstate, code)
        return error
    raise AssertionError(f"wanted {code}, but it worked")


def types_row(connection, row_key, binary):
    with connection.cursor(binary=binary) as cursor:
        return one(cursor, 'SELECT bin, bool, at, dbl, gid, i32, i64, str FROM types WHERE partitionkey = %s AND rowkey = %s', "types", row_key)


@check
def connection_info():
    with connect(application_name="checks") as connection:
        info = connection.info
        equal(info.server_version // 10000, 15)
        equal(info.dbname, "devstoreaccount1")
        equal(info.user, "rowkey")
        equal(info.encoding, "utf-8")
        equal(info.timezone, UTC)
        equal(info.parameter_status("standard_conforming_strings"), "on")
        equal(info.parameter_status("application_name"), "checks")
        equal(info.transaction_status.name, "IDLE")
        equal(one(connection, "SELECT pg_backend_pid()")[0], info.backend_pid)
        equal(info.transaction_status.name, "INTRANS")
        connection.execute("SET TIME ZONE 'America/New_York'")
        equal(info.timezone.key, "America/New_York")
        equal(one(connection, "SELECT '2020-01-01 00:00:00+00'::timestamptz")[0].isoformat(), "2019-12-31T19:00:00-05:00")


@check
def stored_values_in_text_and_binary():
    for binary in (False, True):
        with connect() as connection:
            equal(
                types_row(connection, "all", binary),
                (b"\x00\x01\x02\xff", True, datetime.datetime(2024, 5, 1, 8, 0, 0, 123456, UTC), 12.5,
                 uuid.UUID("c9da6455-213d-42c9-9a79-3e9149a57833"), -7, -9007199254740993, "text"))
            equal(
                types_row(connection, "least", binary),
                (b"", False, datetime.datetime(1601, 1, 1, tzinfo=UTC), float("-inf"), uuid.UUID(int=0), -2**31, -2**63, ""))
            equal(
                types_row(connection, "most", binary),
                (b"\xff" * 4, True, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC), 1.7976931348623157e308,
                 uuid.UUID(int=2**128 - 1), 2**31 - 1, 2**63 - 1, "\U0010ffff"))
            equal(types_row(connection, "nothing", binary), (None,) * 8)
            nan = types_row(connection, "no number", binary)[3]
            assert nan != nan, nan


@check
def labels_and_types_of_columns():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute('SELECT *, 1, count(*) OVER (), rowkey AS "Key" FROM types LIMIT 0')
        described = [(column.name, column.type_code) for column in cursor.description]
        equal(described[:4], [("PartitionKey", 25), ("RowKey", 25), ("Timestamp", 1184), ("Bin", 17)])
        equal(dict(described)["Gid"], 2950)
        equal(dict(described)["Mixed:Int64"], 20)
        equal(described[-3:], [("?column?", 23), ("count", 20), ("Key", 25)])


@check
def values_of_every_type_go_and_come_back():
    values = [
        True, False, 0, -1, 32767, 2**31 - 1, -2**31, 2**53 + 1, 2**63 - 1, 1.5, -0.0, float("inf"), "", "ü'\"\\%", b"", b"\x00\xff",
        decimal.Decimal("12345678901234567890.0123456789"), decimal.Decimal("-0.5"), uuid.UUID(int=5),
        datetime.date(1601, 1, 1), datetime.date(9999, 12, 31), datetime.time(23, 59, 59, 999999),
        datetime.datetime(1601, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(1601, 1, 1, tzinfo=UTC), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        datetime.timedelta(days=3, seconds=5, microseconds=7), [1, 2, None], [2**40], [1.5], [True],
        [uuid.UUID(int=1)], [datetime.date(2000, 1, 1)],
    ]
    with connect(autocommit=True) as connection:
        for placeholder in ("%s", "%t", "%b"):
            for binary in (False, True):
                with connection.cursor(binary=binary) as cursor:
                    for value in values:
                        kind = "text" if isinstance(value, str) else None
                        cast = "::text" if kind else ""
                        try:
                            found = one(cursor, f"SELECT {placeholder}{cast}", value)[0]
                            equal(found, value)
                        except Exception as error:
                            raise AssertionError(f"{value!r} as {placeholder}, binary {binary}: {error}") from error


@check
def null_parameters():
    with connect() as connection:
        equal(one(connection, "SELECT %s::int4, %s::text IS NULL, coalesce(%s, 'x')", None, None, None), (None, True, "x"))
        equal(one(connection, "SELECT count(*) FROM employees WHERE age = %s", None), (0,))


@check
def parameters_beside_columns():
    with connect() as connection:
        for query, values, wanted in [
            ("SELECT count(*) FROM employees WHERE partitionkey = %s AND rowkey < %s", ("Sales", "e"), 2000),
            ("SELECT count(*) FROM employees WHERE partitionkey = ANY(%s) AND age IS NOT NULL", (["Sales", "Design"],), 4000),
            ("SELECT count(*) FROM types WHERE i32 = ANY(%s)", ([-7, 2**31 - 1],), 2),
            ("SELECT count(*) FROM types WHERE i64 = ANY(%s)", ([-7, 2**63 - 1],), 1),
            ("SELECT count(*) FROM types WHERE i64 = %s", (-9007199254740993,), 1),
            ("SELECT count(*) FROM types WHERE i32 = %s", (decimal.Decimal("-7"),), 1),
            ("SELECT count(*) FROM types WHERE dbl = %s", (12.5,), 1),
            ("SELECT count(*) FROM types WHERE dbl = %s", (decimal.Decimal("12.5"),), 1),
            ("SELECT count(*) FROM types WHERE gid = %s", (uuid.UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),), 1),
            ("SELECT count(*) FROM types WHERE gid = %s", ("c9da6455-213d-42c9-9a79-3e9149a57833",), 1),
            ("SELECT count(*) FROM types WHERE gid = ANY(%s)", ([uuid.UUID(int=0)],), 1),
            ("SELECT count(*) FROM types WHERE at = %s", (datetime.datetime(1601, 1, 1, tzinfo=UTC),), 1),
            ("SELECT count(*) FROM types WHERE at >= %s", (datetime.date(9999, 1, 1),), 1),
            ("SELECT count(*) FROM types WHERE at < %s", (datetime.datetime(1700, 1, 1),), 1),
            ("SELECT count(*) FROM types WHERE bin = %s", (b"\x00\x01\x02\xff",), 1),
            ("SELECT count(*) FROM types WHERE bool = %s", (True,), 2),
            ("SELECT count(*) FROM types WHERE bool IS NOT DISTINCT FROM %s", (None,), 19),
            ("SELECT count(*) FROM types WHERE str LIKE %s", ("a %",), 1),
            ("SELECT count(*) FROM types WHERE (partitionkey, rowkey) > (%s, %s) AND partitionkey < %s", ("types", "m", "u"), 3),
            ("SELECT count(*) FROM (SELECT 1 FROM types LIMIT %s OFFSET %s) t", (5, 20), 2),
            ("SELECT count(*) FROM types WHERE i32 BETWEEN %s AND %s", (-10, 0), 1),
            ("SELECT count(*) FROM types WHERE i32 IN (%s, %s, %s)", (-7, 1, None), 1),
            ("SELECT count(*) FROM types WHERE at > %s::timestamptz - %s", ("2024-05-02", datetime.timedelta(days=2)), 2),
            ("SELECT count(*) FROM generate_series(%s::date, %s::date, %s) d LEFT JOIN types ON at = d", ("2024-01-01", "2024-03-01", "1 month"), 3),
            ("SELECT max(d)::date FROM generate_series(%s, %s, '1 month'::interval) d", (datetime.date(2024, 1, 1), datetime.date(2024, 3, 5)), datetime.date(2024, 3, 1)),
            ("SELECT sum(n) FROM generate_series(%s::int, %s::int) n", (1, 4), 10),
        ]:
            for prepare in (False, True):
                try:
                    equal(one(connection, query, *values, prepare=prepare)[0], wanted)
                except Exception as error:
                    raise AssertionError(f"{query} {values!r}, prepared {prepare}: {error}") from error
                connection.rollback()


@check
def rows_as_dictionaries_and_tuples():
    with connect(row_factory=dict_row) as connection:
        row = connection.execute("SELECT rowkey, region FROM departments ORDER BY rowkey LIMIT 1").fetchone()
        equal(row, {"RowKey": "Accounting", "Region": "Europe"})
    with connect(row_factory=namedtuple_row) as connection:
        equal(connection.execute("SELECT count(*) FROM departments").fetchone().count, 12)


@check
def statements_are_prepared_after_five_uses():
    with connect() as connection:
        for number in range(10):
            equal(one(connection, "SELECT count(*) FROM types WHERE i32 > %s", number)[0], 1)
        prepared = connection.execute("SELECT statement, from_sql FROM pg_prepared_statements").fetchall()
        equal(prepared, [("SELECT count(*) FROM types WHERE i32 > $1", False)])
        connection.prepare_threshold = 0
        equal(one(connection, "SELECT %s + 1", 41)[0], 42)


@check
def many_executions_of_one_statement():
    with connect() as connection, connection.cursor() as cursor:
        cursor.executemany("SELECT %s::int4 * 2", [(number,) for number in range(50)], returning=True)
        found = []
        while True:
            found.append(cursor.fetchone()[0])
            if not cursor.nextset():
                break
        equal(found, [2 * number for number in range(50)])


@check
def several_statements_in_one_query():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1; SELECT 'b', 2; SET application_name = 'x'; SELECT rowkey FROM departments ORDER BY 1 LIMIT 2")
        equal(cursor.fetchall(), [(1,)])
        assert cursor.nextset()
        equal(cursor.fetchall(), [("b", 2)])
        assert cursor.nextset()
        equal(cursor.statusmessage, "SET")
        assert cursor.nextset()
        equal([row[0] for row in cursor.fetchall()], ["Accounting", "Design"])
        assert not cursor.nextset()


@check
def server_side_cursors_stream():
    for binary in (False, True):
        with connect() as connection:
            with connection.cursor("c", binary=binary) as cursor:
                cursor.itersize = 1000
                began = time.monotonic()
                cursor.execute("SELECT e.rowkey, f.rowkey FROM employees e CROSS JOIN employees f WHERE e.partitionkey < %s", ("z",))
                equal(len(cursor.fetchmany(10)), 10)
                assert time.monotonic() - began < 20, "2.3 billion rows were computed before the first was given"
            with connection.cursor("d", binary=binary) as cursor:
                cursor.execute("SELECT partitionkey, rowkey, salary FROM employees ORDER BY 1, 2")
                count = sum(1 for _ in cursor)
                equal(count, 48000)
            with connection.cursor("e", binary=binary) as cursor:
                cursor.execute("SELECT rowkey FROM departments ORDER BY rowkey")
                equal(cursor.fetchone()[0], "Accounting")
                cursor.scroll(9)
                equal(len(cursor.fetchall()), 2)
                refused("55000", lambda: cursor.scroll(-3))


@check
def cursors_outlive_their_transaction_if_asked_to():
    with connect() as connection:
        cursor = connection.cursor("held", withhold=True)
        cursor.execute("SELECT rowkey FROM departments ORDER BY rowkey")
        connection.commit()
        equal(cursor.fetchone()[0], "Accounting")
        cursor.close()
        gone = connection.cursor("gone")
        gone.execute("SELECT 1")
        connection.commit()
        refused("34000", gone.fetchone)


@check
def rows_one_by_one_without_a_cursor():
    with connect() as connection, connection.cursor() as cursor:
        count = 0
        for _ in cursor.stream("SELECT rowkey FROM employees"):
            count += 1
            if count == 5000:
                break
        equal(count, 5000)
        connection.rollback()
        equal(one(connection, "SELECT 1")[0], 1)


@check
def pipelines():
    with connect() as connection:
        with connection.pipeline():
            cursors = [connection.execute("SELECT %s::int4", (number,)) for number in range(300)]
            equal([cursor.fetchone()[0] for cursor in cursors], list(range(300)))

        def one_of_three_fails():
            with connection.pipeline() as pipeline:
                connection.execute("SELECT 1")
                connection.execute("SELECT nosuch FROM departments")
                connection.execute("SELECT 2")
                pipeline.sync()

        refused("42703", one_of_three_fails)
        connection.rollback()
        equal(one(connection, "SELECT 3")[0], 3)


@check
def transactions_and_savepoints():
    with connect() as connection:
        with connection.transaction():
            equal(one(connection, "SELECT 1")[0], 1)
            error = refused("42P01", lambda: nested(connection))
            equal(error.diag.message_primary, 'relation "nosuch" does not exist')
            equal(one(connection, "SELECT 2")[0], 2)
            with connection.transaction("named"):
                connection.execute("SELECT 3")
        equal(connection.info.transaction_status.name, "IDLE")
        refused("22012", lambda: connection.execute("SELECT 1/0"))
        equal(connection.info.transaction_status.name, "INERROR")
        refused("25P02", lambda: connection.execute("SELECT 1"))
        connection.rollback()
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        equal(one(connection, "SHOW transaction_isolation")[0], "repeatable read")
        equal(one(connection, "SHOW transaction_read_only")[0], "on")
        connection.rollback()


def nested(connection):
    with connection.transaction():
        connection.execute("SELECT * FROM nosuch")


@check
def autocommit():
    with connect(autocommit=True) as connection:
        equal(one(connection, "SELECT 1")[0], 1)
        equal(connection.info.transaction_status.name, "IDLE")
        refused("22012", lambda: connection.execute("SELECT 1/0"))
        equal(connection.info.transaction_status.name, "IDLE")
        equal(one(connection, "SELECT 1")[0], 1)


@check
def settings_roll_back():
    with connect() as connection:
        connection.execute("SET statement_timeout = '5s'")
        equal(one(connection, "SHOW statement_timeout")[0], "5s")
        connection.rollback()
        equal(one(connection, "SHOW statement_timeout")[0], "0")
        equal(one(connection, "SELECT set_config('application_name', %s, true)", "y"), ("y",))
        equal(one(connection, "SELECT current_setting('application_name')"), ("y",))
        connection.commit()
        equal(one(connection, "SELECT current_setting('application_name')"), ("",))


@check
def errors_have_code_position_and_hint():
    with connect(autocommit=True) as connection:
        for query, code, message, position in [
            ("SELECT lastnam FROM employees", "42703", 'column "lastnam" does not exist', "8"),
            ("SELECT 1 FROM employes", "42P01", 'relation "employes" does not exist', "15"),
            ("SELEC 1", "42601", 'syntax error at or near "SELEC"', "1"),
            ("SELECT 1 FROM", "42601", "syntax error at end of input", "14"),
            ("SELECT nosuch(1, 'a')", "42883", "function nosuch(integer, unknown) does not exist", "8"),
            ("SELECT nosuch(age) FROM employees", "42883", "function nosuch(integer) does not exist", "8"),
            ("SELECT 1/0", "22012", "division by zero", None),
            ("SELECT 2147483647 + 1", "22003", "integer out of range", None),
            ("SELECT 'x'::int4", "22P02", 'invalid input syntax for type integer: "x"', None),
            ("SELECT 'x'::uuid", "22P02", 'invalid input syntax for type uuid: "x"', None),
            ("SELECT '2020-13-01'::date", "22008", 'date/time field value out of range: "2020-13-01"', None),
            ("SELECT 'x'::timestamptz", "22007", 'invalid input syntax for type timestamp with time zone: "x"', None),
            ("SELECT 1::nosuch", "42704", 'type "nosuch" does not exist', None),
            ("SELECT 1 + true", "42883", "operator does not exist: integer + boolean", None),
            ("SET nosuch = 1", "42704", 'unrecognized configuration parameter "nosuch"', None),
            ("SELECT lastname, count(*) FROM employees", "42803", None, None),
            ("SELECT upper(age) FROM employees", "42883", "function upper(integer) does not exist", None),
            ("SELECT 1 FROM employees WHERE lastname", "42804", "argument of WHERE must be type boolean, not type text", None),
            ("SELECT 1 FROM employees WHERE count(*) > 1", "42803", "aggregate functions are not allowed in WHERE", None),
            ("SELECT sum(count(*)) FROM employees", "42803", "aggregate function calls cannot be nested", None),
            ("SELECT sum(lastname) FROM employees", "42883", "function sum(text) does not exist", None),
            ("SELECT (SELECT rowkey FROM departments)", "21000", "more than one row returned by a subquery used as an expression", None),
            ("SELECT 1 IN (SELECT age, age FROM employees)", "42601", "subquery has too many columns", None),
            ("SELECT 1 UNION SELECT true", "42804", "UNION types integer and boolean cannot be matched", None),
        ]:
            error = refused_named(connection, query, code)
            if message is not None:
                equal((query, error.diag.message_primary), (query, message))
            if position is not None:
                equal((query, error.diag.statement_position), (query, position))
            equal(error.diag.severity_nonlocalized, "ERROR")
        error = refused("42883", lambda: connection.execute("SELECT nosuch(1)"))
        assert "No function matches" in error.diag.message_hint, error.diag.message_hint
        equal(one(connection, "SELECT 1")[0], 1)


def refused_named(connection, query, code):
    try:
        connection.execute(query)
    except psycopg.Error as error:
        if error.sqlstate != code:
            raise AssertionError(f"{query}: found {error.sqlstate} {error}, wanted {code}") from error
        return error
    raise AssertionError(f"{query}: wanted {code}, but it worked")


@check
def notices():
    with connect(autocommit=True) as connection:
        heard = []
        connection.add_notice_handler(lambda diag: heard.append((diag.severity_nonlocalized, diag.sqlstate)))
        connection.execute("BEGIN")
        connection.execute("BEGIN")
        connection.execute("COMMIT")
        connection.execute("COMMIT")
        equal(heard, [("WARNING", "25001"), ("WARNING", "25P01")])


ENDLESS = "SELECT pg_sleep(60)"


@check
def cancel():
    with connect(autocommit=True) as connection:
        threading.Timer(0.5, connection.cancel).start()
        began = time.monotonic()
        error = refused("57014", lambda: connection.execute(ENDLESS))
        equal(error.diag.message_primary, "canceling statement due to user request")
        assert time.monotonic() - began < 10
        threading.Timer(0.5, connection.cancel_safe).start()
        refused("57014", lambda: connection.execute(ENDLESS))
        equal(one(connection, "SELECT 1")[0], 1)


@check
def statement_timeout():
    with connect(autocommit=True, options="-c statement_timeout=300") as connection:
        began = time.monotonic()
        error = refused("57014", lambda: connection.execute(ENDLESS))
        equal(error.diag.message_primary, "canceling statement due to statement timeout")
        assert time.monotonic() - began < 10
        connection.execute("SET statement_timeout = 0")
        equal(one(connection, "SELECT 1")[0], 1)


@check
def copies_are_refused_clearly():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:

        def copy(text):
            with cursor.copy(text) as copied:
                for _ in copied:
                    pass

        for text, code in (
            ("COPY departments TO STDOUT (FORMAT binary, HEADER)", "0A000"),
            ("COPY (SELECT 1) TO STDOUT (FORMAT binary, NULL 'x')", "42601"),
        ):
            refused(code, lambda: copy(text))
            equal(one(connection, "SELECT 1")[0], 1)


@check
def binary_copies():
    types = ("text", "text", "int4", "int8", "float8", "bool", "timestamptz", "uuid", "bytea", "text")
    columns = "partitionkey, rowkey, n, big, f, b, at, id, x, t"
    at = datetime.datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=datetime.timezone.utc)
    rows = [("p", "1", 5, 1 << 40, 1.5, True, at, uuid.UUID(int=7), b"\x00\xff", "a\tb"), ("p", "2") + (None,) * 8]
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE Binaries (n int, big bigint, f float8, b boolean, at timestamptz, id uuid, x bytea, t text)")
        with cursor.copy(f"COPY binaries ({columns}) FROM STDIN (FORMAT binary)") as copied:
            copied.set_types(types)
            for row in rows:
                copied.write_row(row)
        equal(cursor.statusmessage, "COPY 2")
        with cursor.copy(f"COPY binaries ({columns}) TO STDOUT (FORMAT binary)") as copied:
            copied.set_types(types)
            equal(list(copied.rows()), rows)
        with cursor.copy("COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT binary)") as copied:
            copied.set_types(["int4"])
            equal(list(copied.rows()), [])

        def wrong():
            with cursor.copy("COPY binaries (partitionkey, rowkey, n) FROM STDIN (FORMAT binary)") as copied:
                copied.set_types(("text", "text", "int8"))
                copied.write_row(("p", "3", 5))

        equal(refused("22P03", wrong).diag.context, "COPY Binaries, line 1, column n")
        equal(one(connection, "SELECT count(*) FROM binaries")[0], 2)
        cursor.execute("DROP TABLE binaries")


@check
def writing():
    with connect() as connection:
        connection.autocommit = True
        connection.execute("CREATE TABLE Written (n int, big bigint, t text, f float8, b boolean, at timestamptz, id uuid, x bytea)")
        at, guid = datetime.datetime(1601, 1, 1, tzinfo=datetime.timezone.utc), uuid.uuid4()
        values = (5, 1 << 40, "é", 1.5, True, at, guid, b"\x00\xff")
        insert = "INSERT INTO written (partitionkey, rowkey, n, big, t, f, b, at, id, x) VALUES (%s, '1', %s, %s, %s, %s, %s, %s, %s, %s) RETURNING n, big, t, f, b, at, id, x"
        for key, binary in (("text", False), ("binary", True)):
            equal(connection.execute(insert, (key, *values), binary=binary, prepare=True).fetchone(), values)
        equal(connection.execute("UPDATE written SET n = n + %s, t = %s WHERE partitionkey = %s RETURNING n", (10, None, "text")).fetchall(), [(15,)])
        upsert = "INSERT INTO written (partitionkey, rowkey, n) VALUES (%s, %s, %s) ON CONFLICT (partitionkey, rowkey) DO UPDATE SET n = excluded.n + %s WHERE written.n < %s"
        equal(connection.execute(upsert, ("text", "1", 1, 2, 100)).statusmessage, "INSERT 0 1")
        equal(connection.execute("DELETE FROM written WHERE n = %s AND at = %s", (3, at)).statusmessage, "DELETE 1")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO written (partitionkey, rowkey, n) VALUES (%s, %s, %s)", [("many", str(i), i) for i in range(50)])
            equal(cursor.rowcount, 50)
            with cursor.copy("COPY written (partitionkey, rowkey, t) FROM STDIN") as copied:
                for i in range(10):
                    copied.write_row(("copied", str(i), "a\tb\\"))
            equal(cursor.statusmessage, "COPY 10")
            with cursor.copy("COPY (SELECT rowkey, t FROM written WHERE partitionkey = 'copied' ORDER BY 1) TO STDOUT") as copied:
                equal(list(copied.rows())[1], ("1", "a\tb\\"))
        refused("23505", lambda: connection.execute("INSERT INTO written (partitionkey, rowkey) VALUES ('many', '1')"))
        connection.autocommit = False
        with connect() as other:
            connection.execute("UPDATE written SET n = 1 WHERE partitionkey = 'many' AND rowkey = '1'")
            other.execute("UPDATE written SET n = 2 WHERE partitionkey = 'many' AND rowkey = '1'")
            other.commit()
        refused("40001", connection.commit)
        connection.rollback()
        with connection.transaction():
            connection.execute("DELETE FROM written WHERE partitionkey = 'many'")
            with connection.transaction(force_rollback=True):
                connection.execute("INSERT INTO written (partitionkey, rowkey) VALUES ('inner', '1')")
        equal(connection.execute("SELECT count(*) FROM written").fetchone(), (11,))
        connection.rollback()
        connection.autocommit = True
        connection.execute("DROP TABLE written")


@check
def pipelines_and_texts_of_several_statements_are_transactions():
    with connect(autocommit=True) as connection:
        connection.execute("CREATE TABLE Piped (n int)")
        insert = "INSERT INTO piped (partitionkey, rowkey, n) VALUES ('p', %s, 1)"
        count = "SELECT count(*) FROM piped"
        try:
            def pipeline(keys):
                with connection.pipeline():
                    for key in keys:
                        connection.execute(insert, (key,))

            refused("23505", lambda: pipeline(["a", "b", "a", "c"]))
            equal(one(connection, count)[0], 0)
            pipeline(["a", "b", "c"])
            equal(one(connection, count)[0], 3)
            refused("22012", lambda: connection.execute("INSERT INTO piped (partitionkey, rowkey) VALUES ('q', '1'); DROP TABLE piped; SELECT 1/0"))
            equal(one(connection, count)[0], 3)
            connection.execute("INSERT INTO piped (partitionkey, rowkey) VALUES ('q', '1'); DELETE FROM piped WHERE partitionkey = 'p'")
            equal(one(connection, count)[0], 1)
            with connection.transaction(), connection.pipeline():
                connection.execute(insert, ("x",))
                connection.execute("ALTER TABLE piped ADD COLUMN more text")
                connection.execute("UPDATE piped SET more = 'y'")
            equal(one(connection, "SELECT count(more) FROM piped")[0], 2)
            with connection.cursor() as cursor:
                error = refused("22P02", lambda: copied(cursor, [("r", "1", "1"), ("r", "2", "abc")]))
                equal(error.diag.context, 'COPY Piped, line 2, column n: "abc"')
        finally:
            connection.execute("DROP TABLE piped")


def copied(cursor, rows):
    with cursor.copy("COPY piped (partitionkey, rowkey, n) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


@check
def identifiers_composed():
    with connect() as connection:
        query = sql.SQL("SELECT {} FROM {} ORDER BY 1 LIMIT 1").format(sql.Identifier("RowKey"), sql.Identifier("public", "Departments"))
        equal(connection.execute(query).fetchone(), ("Accounting",))
        equal(connection.execute(sql.SQL("SELECT {}, {}").format("a'b\\", datetime.date(1601, 1, 1))).fetchone(), ("a'b\\", datetime.date(1601, 1, 1)))


@check
def types_looked_up_by_name():
    with connect() as connection:
        equal(psycopg.types.TypeInfo.fetch(connection, "uuid").oid, 2950)
        equal(psycopg.types.TypeInfo.fetch(connection, "nosuch"), None)
        equal(one(connection, "SELECT pg_typeof(1)::text, pg_typeof(now())::text, pg_typeof('a')::text, pg_typeof(1.5)::text, pg_typeof(null)::text"),
              ("integer", "timestamp with time zone", "unknown", "numeric", "unknown"))


run()
