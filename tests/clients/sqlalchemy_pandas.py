"""SQLAlchemy and pandas, with both of psycopg's versions, against a server with the sample tables and the table Types."""

import datetime
import os
import uuid
from decimal import Decimal

import pandas
import sqlalchemy
from sqlalchemy import Column, MetaData, Table, and_, bindparam, case, cast, column, func, inspect, select, text
from sqlalchemy import types

from checks import check, equal, run

UTC = datetime.timezone.utc
ENGINES = {
    driver: sqlalchemy.create_engine(
        f"postgresql+{driver}://{os.environ['PGUSER']}@{os.environ['PGHOST']}:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}")
    for driver in ("psycopg", "psycopg2")
}


def with_each_driver(function):
    """The check once for each driver, which it gets an engine of."""
    for driver, engine in ENGINES.items():
        def bound(engine=engine):
            function(engine)
        bound.__name__ = f"{function.__name__}_({driver})"
        check(bound)
    return function


@with_each_driver
def connect(engine):
    with engine.connect() as connection:
        equal(connection.dialect.server_version_info[0], 15)
        equal(connection.dialect.default_schema_name, "public")
        equal(connection.execute(text("SELECT 1")).scalar_one(), 1)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        equal(connection.execute(text("SELECT current_database()")).scalar_one(), "devstoreaccount1")
    with engine.connect() as connection:
        equal(connection.get_isolation_level(), "READ COMMITTED")


@with_each_driver
def names(engine):
    inspector = inspect(engine)
    equal(sorted(inspector.get_table_names()), ["Departments", "EmployeeReviews", "Employees", "Events", "Logins", "Types"])
    assert "public" in inspector.get_schema_names() and "rowkey" in inspector.get_schema_names(), inspector.get_schema_names()
    assert inspector.has_table("Employees") and not inspector.has_table("Nosuch")
    equal(inspector.get_materialized_view_names(), [])
    equal(inspector.get_temp_table_names(), [])
    equal(inspector.get_sequence_names(), [])
    equal(inspector.get_enums(), [])


@with_each_driver
def columns_and_keys(engine):
    inspector = inspect(engine)
    columns = {found["name"]: found for found in inspector.get_columns("Employees")}
    for name, kind in {
        "PartitionKey": types.TEXT, "Timestamp": types.TIMESTAMP, "Age": types.INTEGER, "Salary": types.Float,
        "BadgeNumber": types.BIGINT, "Id": types.UUID, "Remote": types.BOOLEAN, "BadgePhoto": sqlalchemy.dialects.postgresql.BYTEA,
    }.items():
        assert isinstance(columns[name]["type"], kind), (name, columns[name])
    equal(columns["Timestamp"]["type"].timezone, True)
    equal([columns["PartitionKey"]["nullable"], columns["Age"]["nullable"]], [False, True])
    equal(columns["Timestamp"]["default"], "now()")
    key = inspector.get_pk_constraint("Employees")
    equal((key["constrained_columns"], key["name"]), (["PartitionKey", "RowKey"], "Employees_pkey"))
    equal(inspector.get_indexes("Employees"), [])
    equal(inspector.get_foreign_keys("Employees"), [])
    equal(inspector.get_unique_constraints("Employees"), [])
    equal(inspector.get_check_constraints("Employees"), [])
    equal(set(inspector.get_multi_columns()), {(None, name) for name in inspector.get_table_names()})


@with_each_driver
def views_and_comments(engine):
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("CREATE OR REPLACE VIEW adults AS SELECT partitionkey, age FROM employees WHERE age >= 18"))
        connection.execute(text("COMMENT ON VIEW adults IS 'of age'"))
        connection.execute(text("COMMENT ON TABLE departments IS 'who works where'"))
        connection.execute(text("COMMENT ON COLUMN departments.budget IS 'a year'"))
        try:
            inspector = inspect(engine)
            equal(inspector.get_view_names(), ["adults"])
            definition = inspector.get_view_definition("adults")
            assert "age" in definition.lower() and "SELECT" in definition.upper(), definition
            equal([found["name"] for found in inspector.get_columns("adults")], ["PartitionKey", "Age"])
            equal(inspector.get_table_comment("Departments"), {"text": "who works where"})
            equal(inspector.get_table_comment("adults"), {"text": "of age"})
            comments = {found["name"]: found["comment"] for found in inspector.get_columns("Departments")}
            equal((comments["Budget"], comments["Region"]), ("a year", None))
        finally:
            connection.execute(text("COMMENT ON TABLE departments IS NULL"))
            connection.execute(text("COMMENT ON COLUMN departments.budget IS NULL"))
            connection.execute(text("DROP VIEW adults"))


@with_each_driver
def reflected_tables_are_queried(engine):
    metadata = MetaData()
    metadata.reflect(engine)
    employees, departments = metadata.tables["Employees"], metadata.tables["Departments"]
    equal([key.name for key in employees.primary_key], ["PartitionKey", "RowKey"])
    with engine.connect() as connection:
        rows = connection.execute(
            select(departments.c.Region, func.count().label("n"), func.max(employees.c.Age).label("oldest"))
            .select_from(employees.join(departments, employees.c.PartitionKey == departments.c.RowKey))
            .where(and_(employees.c.Age.is_not(None), departments.c.PartitionKey == "dept"))
            .group_by(departments.c.Region).order_by(departments.c.Region)).all()
        equal(sum(row.n for row in rows), 24000)
        equal(rows[0].Region, "Americas")
        row = connection.execute(
            select(employees).where(employees.c.PartitionKey == "Accounting").order_by(employees.c.RowKey).limit(1)).mappings().one()
        equal((row["LastName"], row["Id"], row["Salary"], row["HiredAt"]),
              ("Abe", uuid.UUID("917ec734-7709-4a5b-8240-3612cfabb8c0"), 115280.5, datetime.datetime(2012, 9, 4, tzinfo=UTC)))
        in_list = select(func.count()).select_from(employees).where(
            employees.c.PartitionKey.in_(["Sales", "Design"]), employees.c.RowKey.between("0", "9"), employees.c.LastName.ilike("a%"))
        assert connection.execute(in_list).scalar_one() > 0
        young = case((employees.c.Age < 30, "young"), else_="old").label("young")
        found = connection.execute(select(young, func.count()).where(employees.c.Age.is_not(None)).group_by(young).order_by(young)).all()
        equal([row[0] for row in found], ["old", "young"])
        inner = select(employees.c.PartitionKey, func.avg(employees.c.Salary).label("mean")).group_by(employees.c.PartitionKey).cte("means")
        found = connection.execute(select(inner).where(inner.c.mean > 0).order_by(inner.c.mean.desc()).limit(3).offset(1)).all()
        equal(len(found), 3)
        ranked = select(employees.c.RowKey, func.row_number().over(partition_by=employees.c.PartitionKey, order_by=employees.c.Salary.desc())
                        .label("rank")).where(employees.c.Salary.is_not(None)).subquery()
        equal(connection.execute(select(func.count()).select_from(ranked).where(ranked.c.rank == 1)).scalar_one(), 12)
        exists = select(departments.c.RowKey).where(
            select(employees.c.RowKey).where(employees.c.PartitionKey == departments.c.RowKey, employees.c.Age > 64).exists())
        equal(len(connection.execute(exists).all()), 12)
        equal(connection.execute(select(cast(employees.c.Age, types.Numeric(10, 2))).where(employees.c.Age == 40).limit(1)).scalar_one().as_tuple().exponent, -2)
        month = func.date_trunc("month", employees.c.HiredAt).label("month")
        assert connection.execute(select(month, func.count()).group_by(month).order_by(month)).first() is not None
        equal(connection.execute(select(func.extract("year", datetime.datetime(9999, 1, 1, tzinfo=UTC)))).scalar_one(), Decimal(9999))
        both = select(departments.c.RowKey).union(select(employees.c.PartitionKey)).order_by(column("RowKey"))
        equal(len(connection.execute(both).all()), 12)


@with_each_driver
def errors_are_sorted(engine):
    with engine.connect() as connection:
        for query, kind, code in [
            ("SELECT * FROM nosuch", sqlalchemy.exc.ProgrammingError, "42P01"),
            ("SELECT 1/0", sqlalchemy.exc.DataError, "22012"),
            ("SELECT 'x'::int4", sqlalchemy.exc.DataError, "22P02"),
            ("CREATE INDEX i ON departments (budget)", sqlalchemy.exc.NotSupportedError, "0A000"),
        ]:
            try:
                connection.execute(text(query))
            except kind as error:
                equal(getattr(error.orig, "sqlstate", None) or error.orig.pgcode, code)
            else:
                raise AssertionError(f"{query} worked")
            connection.rollback()
        with connection.begin():
            try:
                with connection.begin_nested():
                    connection.execute(text("SELECT 1/0"))
            except sqlalchemy.exc.DataError:
                pass
            equal(connection.execute(text("SELECT 5")).scalar_one(), 5)


@with_each_driver
def results_are_streamed(engine):
    with engine.connect() as connection:
        result = connection.execution_options(stream_results=True, yield_per=1000).execute(text("SELECT rowkey FROM employees"))
        equal(sum(len(part) for part in result.partitions()), 48000)
        endless = connection.execution_options(stream_results=True, max_row_buffer=10).execute(
            text("SELECT a.rowkey FROM employees a, employees b WHERE a.partitionkey < :key"), {"key": "z"})
        equal(len(endless.fetchmany(10)), 10)
        endless.close()


@with_each_driver
def parameters(engine):
    with engine.connect() as connection:
        equal(connection.execute(text("SELECT count(*) FROM types WHERE at = :at"), {"at": datetime.datetime(1601, 1, 1, tzinfo=UTC)}).scalar_one(), 1)
        equal(connection.execute(text("SELECT count(*) FROM types WHERE i64 = :n"), {"n": 2**63 - 1}).scalar_one(), 1)
        query = text("SELECT count(*) FROM departments WHERE rowkey IN :names").bindparams(bindparam("names", expanding=True))
        equal(connection.execute(query, {"names": ["Sales", "Design", "x"]}).scalar_one(), 2)


@with_each_driver
def pandas_reads_queries(engine):
    with engine.connect() as connection:
        frame = pandas.read_sql(text("SELECT partitionkey, age, salary, hiredat, coalesce(remote, false) AS remote, badgenumber FROM employees WHERE age IS NOT NULL"), connection)
        equal(len(frame), 24000)
        equal([str(frame.dtypes[name]) for name in ("Age", "Salary", "remote", "BadgeNumber")], ["int64", "float64", "bool", "int64"])
        assert str(frame.dtypes["HiredAt"]).startswith("datetime64[") and "UTC" in str(frame.dtypes["HiredAt"]), frame.dtypes
        equal(int(frame.groupby("PartitionKey").size().sum()), 24000)
        one = pandas.read_sql(text("SELECT i64, at FROM types WHERE rowkey = 'all'"), connection)
        equal(int(one.I64[0]), -9007199254740993)
        equal(one.At[0], pandas.Timestamp("2024-05-01T08:00:00.123456Z"))
        dated = pandas.read_sql(text("SELECT at FROM types WHERE rowkey IN ('least', 'most') ORDER BY 1"), connection)
        equal([found.year for found in dated.At], [1601, 9999])
        charted = pandas.read_sql(text("SELECT date_trunc('year', hiredat) AS year, count(*) AS n FROM employees WHERE age IS NOT NULL GROUP BY 1 ORDER BY 1"), connection)
        equal(int(charted.n.sum()), 24000)
    with engine.connect().execution_options(stream_results=True) as connection:
        parts = list(pandas.read_sql(text("SELECT * FROM employees"), connection, chunksize=5000))
        equal([len(part) for part in parts], [5000] * 9 + [3000])


@with_each_driver
def pandas_reads_tables(engine):
    with engine.connect() as connection:
        frame = pandas.read_sql_table("Departments", connection)
        equal((len(frame), list(frame.columns)), (12, ["PartitionKey", "RowKey", "Timestamp", "Region", "Budget", "EmployeeCount"]))
        keyed = pandas.read_sql_table("Departments", connection, index_col="RowKey", columns=["Region", "Budget"])
        equal(keyed.loc["Design"].Region, "Europe")
        empty = pandas.read_sql(text("SELECT * FROM departments WHERE false"), connection)
        equal((len(empty), len(empty.columns)), (0, 6))


@with_each_driver
def tables_are_made_and_dropped_in_transactions(engine):
    metadata = MetaData()
    made = Table("MadeThings", metadata, Column("PartitionKey", types.Text, primary_key=True),
                 Column("RowKey", types.Text, primary_key=True), Column("N", types.Integer), Column("At", types.TIMESTAMP(timezone=True)))
    Table("MadeOthers", metadata, Column("PartitionKey", types.Text, primary_key=True),
          Column("RowKey", types.Text, primary_key=True), Column("T", types.Text))
    metadata.create_all(engine)
    try:
        assert inspect(engine).has_table("MadeThings") and inspect(engine).has_table("MadeOthers")
        metadata.create_all(engine)
        with engine.begin() as connection:
            connection.execute(made.insert(), [{"PartitionKey": "p", "RowKey": str(i), "N": i} for i in range(5)])
            equal(connection.execute(select(func.sum(made.c.N))).scalar_one(), 10)
        with engine.connect() as connection:
            connection.execute(text('ALTER TABLE madethings ADD COLUMN "More" int'))
            connection.execute(text("DROP TABLE madeothers"))
            connection.execute(text("CREATE VIEW madeview AS SELECT n FROM madethings"))
            connection.rollback()
        inspector = inspect(engine)
        equal([found["name"] for found in inspector.get_columns("MadeThings")], ["PartitionKey", "RowKey", "Timestamp", "N", "At"])
        assert inspector.has_table("MadeOthers") and not inspector.get_view_names()
    finally:
        metadata.drop_all(engine)
    assert not inspect(engine).has_table("MadeThings") and not inspect(engine).has_table("MadeOthers")


@with_each_driver
def pandas_writes_tables(engine):
    frame = pandas.DataFrame({
        "PartitionKey": ["p"] * 100, "RowKey": [f"{i:03}" for i in range(100)], "n": range(100), "f": [i / 4 for i in range(100)],
        "t": [None if i % 7 == 0 else f"t{i}" for i in range(100)], "b": [i % 2 == 0 for i in range(100)],
        "at": pandas.date_range("2024-01-01", periods=100, tz="UTC")})
    try:
        for count in (100, 40):
            frame[:count].to_sql("Framed", engine, if_exists="replace", index=False)
            read = pandas.read_sql_table("Framed", engine).drop(columns="Timestamp")
            equal(len(read), count)
            equal(read.n.tolist(), frame.n[:count].tolist())
            equal(read.f.tolist(), frame.f[:count].tolist())
            equal([t for t in read.t if isinstance(t, str)], [t for t in frame.t[:count] if isinstance(t, str)])
            equal(read["at"].tolist(), frame["at"][:count].tolist())
        frame[40:].to_sql("Framed", engine, if_exists="append", index=False, method="multi", chunksize=30)
        equal(len(pandas.read_sql_table("Framed", engine)), 100)
        try:
            frame.to_sql("Framed", engine, if_exists="append", index=False)
            raise AssertionError("keys are there twice")
        except (sqlalchemy.exc.IntegrityError, pandas.errors.DatabaseError):
            pass
        equal(len(pandas.read_sql_table("Framed", engine)), 100)
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE IF EXISTS framed"))


run()
