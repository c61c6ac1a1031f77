import java.io.*;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;

/** pgJDBC against a server with the sample tables and the table Types. The argument is the server's port. */
public class Jdbc {
    interface Check {
        void run() throws Exception;
    }

    static String url;
    static int checks = 0;
    static int failed = 0;

    public static void main(String[] arguments) throws Exception {
        url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/devstoreaccount1?user=rowkey&ApplicationName=checks";
        check("tables", Jdbc::tables);
        check("columns", Jdbc::columns);
        check("keys and indexes", Jdbc::keys);
        check("schemas, catalogs, types, functions", Jdbc::otherMetadata);
        check("stored values, text protocol", () -> storedValues("&prepareThreshold=0"));
        check("stored values, simple queries", () -> storedValues("&preferQueryMode=simple"));
        check("stored values, binary", () -> storedValues("&prepareThreshold=-1"));
        check("parameters of every type", () -> parameters(""));
        check("parameters of every type, prepared at once", () -> parameters("&prepareThreshold=-1"));
        check("parameters of every type, simple queries", () -> parameters("&preferQueryMode=simple"));
        check("result metadata", Jdbc::resultMetadata);
        check("parameter metadata", Jdbc::parameterMetadata);
        check("fetch size", Jdbc::fetchSize);
        check("scrolling", Jdbc::scrolling);
        check("timeout and cancel", Jdbc::timeoutAndCancel);
        check("transactions, savepoints, autosave", Jdbc::transactions);
        check("errors", Jdbc::errors);
        check("binary copies", Jdbc::binaryCopies);
        check("several results", Jdbc::severalResults);
        check("time zones", Jdbc::timeZones);
        check("statements are prepared on the server", Jdbc::serverPrepared);
        System.out.println((checks - failed) + " of " + checks + " checks passed");
        System.exit(failed == 0 ? 0 : 1);
    }

    static void check(String name, Check check) {
        checks++;
        try {
            check.run();
        } catch (Throwable error) {
            failed++;
            System.err.println("FAILED " + name);
            error.printStackTrace();
        }
    }

    static void equal(Object found, Object wanted) {
        boolean same = wanted instanceof byte[] bytes && found instanceof byte[] other
            ? Arrays.equals(bytes, other) : Objects.equals(found, wanted);
        if (!same) {
            throw new AssertionError("found " + shown(found) + ", wanted " + shown(wanted));
        }
    }

    static String shown(Object value) {
        if (value instanceof byte[] bytes) return Arrays.toString(bytes);
        return value == null ? "null" : value + " (" + value.getClass().getSimpleName() + ")";
    }

    static Connection connect(String options) throws SQLException {
        return DriverManager.getConnection(url + options);
    }

    /** The values of the named columns, rows joined by "; ". */
    static String listed(ResultSet rows, String... columns) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            List<String> row = new ArrayList<>();
            for (String column : columns) row.add(rows.getString(column));
            found.add(String.join(" ", row));
        }
        rows.close();
        return String.join("; ", found);
    }

    static void tables() throws Exception {
        try (Connection c = connect("")) {
            DatabaseMetaData m = c.getMetaData();
            equal(m.getDatabaseMajorVersion(), 15);
            equal(m.getDatabaseProductName(), "PostgreSQL");
            equal(listed(m.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE"),
                "public Departments TABLE; public EmployeeReviews TABLE; public Employees TABLE; public Events TABLE; public Logins TABLE; public Types TABLE");
            equal(listed(m.getTables(null, null, "Employees", null), "TABLE_NAME"), "Employees");
            String all = listed(m.getTables("devstoreaccount1", null, "%", new String[] {"TABLE", "VIEW", "SYSTEM TABLE", "INDEX"}), "TABLE_NAME", "TABLE_TYPE");
            if (!all.contains("pg_class SYSTEM TABLE") || !all.contains("Employees_pkey INDEX")) throw new AssertionError(all);
            equal(listed(m.getTableTypes(), "TABLE_TYPE").contains("MATERIALIZED VIEW"), true);
            m.getTablePrivileges(null, "public", "Employees").close();
            m.getSuperTables(null, "public", "%");
        } catch (SQLFeatureNotSupportedException unsupported) {
            // The driver's own: getSuperTables.
        }
    }

    static void columns() throws Exception {
        try (Connection c = connect("")) {
            DatabaseMetaData m = c.getMetaData();
            equal(listed(m.getColumns(null, "public", "Employees", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "NULLABLE", "ORDINAL_POSITION"),
                "PartitionKey 12 text 0 1; RowKey 12 text 0 2; Timestamp 93 timestamptz 0 3; FirstName 12 text 1 4; LastName 12 text 1 5; "
                + "EmailAddress 12 text 1 6; Age 4 int4 1 7; HiredAt 93 timestamptz 1 8; Salary 8 float8 1 9; BadgeNumber -5 int8 1 10; "
                + "Id 1111 uuid 1 11; Remote -7 bool 1 12; BadgePhoto -2 bytea 1 13; EmployeeId 12 text 1 14");
            equal(listed(m.getColumns(null, "public", "Employees", "Timestamp"), "COLUMN_DEF", "IS_NULLABLE", "IS_AUTOINCREMENT"), "now() NO NO");
            equal(listed(m.getColumns(null, null, "Types", "Mixed:%"), "COLUMN_NAME").split("; ").length, 8);
            m.getColumnPrivileges(null, "public", "Employees", "%").close();
            m.getVersionColumns(null, "public", "Employees").close();
            equal(listed(m.getBestRowIdentifier(null, "public", "Employees", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME"), "PartitionKey; RowKey");
        }
    }

    static void keys() throws Exception {
        try (Connection c = connect("")) {
            DatabaseMetaData m = c.getMetaData();
            equal(listed(m.getPrimaryKeys(null, "public", "Employees"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"),
                "PartitionKey 1 Employees_pkey; RowKey 2 Employees_pkey");
            equal(listed(m.getIndexInfo(null, "public", "Employees", true, false), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE", "ORDINAL_POSITION", "ASC_OR_DESC"),
                "Employees_pkey PartitionKey f 1 A; Employees_pkey RowKey f 2 A");
            equal(listed(m.getImportedKeys(null, "public", "Employees"), "FKCOLUMN_NAME"), "");
            equal(listed(m.getExportedKeys(null, "public", "Employees"), "FKCOLUMN_NAME"), "");
            equal(listed(m.getCrossReference(null, "public", "Employees", null, "public", "Departments"), "FKCOLUMN_NAME"), "");
        }
    }

    static void otherMetadata() throws Exception {
        try (Connection c = connect("")) {
            DatabaseMetaData m = c.getMetaData();
            String schemas = listed(m.getSchemas(), "TABLE_SCHEM");
            equal(schemas, "information_schema; pg_catalog; public; rowkey");
            equal(listed(m.getSchemas(null, "pub%"), "TABLE_SCHEM"), "public");
            equal(listed(m.getCatalogs(), "TABLE_CAT"), "devstoreaccount1");
            String types = listed(m.getTypeInfo(), "TYPE_NAME", "DATA_TYPE");
            for (String type : List.of("int8 -5", "uuid 1111", "timestamptz 93", "bytea -2", "text 12")) {
                if (!types.contains(type)) throw new AssertionError(type + " is missing from " + types);
            }
            m.getFunctions(null, null, "%").close();
            equal(listed(m.getFunctions(null, "pg_catalog", "now"), "FUNCTION_NAME"), "now");
            m.getFunctionColumns(null, null, "now", "%").close();
            m.getProcedures(null, null, "%").close();
            m.getProcedureColumns(null, null, "x", "%").close();
            m.getUDTs(null, null, "%", null).close();
            m.getClientInfoProperties().close();
            equal(m.getMaxColumnNameLength() > 0, true);
            equal(m.getMaxColumnsInIndex() > 0, true);
            equal(m.getUserName(), "rowkey");
            if (!m.getSQLKeywords().contains("ilike") && !m.getSQLKeywords().contains("analyse")) throw new AssertionError(m.getSQLKeywords());
            equal(c.getSchema(), "public");
            equal(c.getCatalog(), "devstoreaccount1");
            equal(c.isValid(5), true);
            c.setSchema("rowkey");
            equal(c.getSchema(), "rowkey");
            c.setClientInfo("ApplicationName", "other");
            equal(c.getTransactionIsolation(), Connection.TRANSACTION_READ_COMMITTED);
        }
    }

    static void storedValues(String options) throws Exception {
        try (Connection c = connect(options); PreparedStatement s = c.prepareStatement("SELECT * FROM types WHERE partitionkey = 'types' AND rowkey = ?")) {
            s.setString(1, "all");
            try (ResultSet r = s.executeQuery()) {
                equal(r.next(), true);
                equal(r.getBytes("Bin"), new byte[] {0, 1, 2, -1});
                equal(r.getBoolean("Bool"), true);
                equal(r.getObject("At", OffsetDateTime.class).toInstant(), Instant.parse("2024-05-01T08:00:00.123456Z"));
                equal(r.getDouble("Dbl"), 12.5);
                equal(r.getObject("Gid"), UUID.fromString("c9da6455-213d-42c9-9a79-3e9149a57833"));
                equal(r.getInt("I32"), -7);
                equal(r.getLong("I64"), -9007199254740993L);
                equal(r.getObject("I64"), -9007199254740993L);
                equal(r.getBigDecimal("I64"), new BigDecimal("-9007199254740993"));
                equal(r.getString("Str"), "text");
                equal(r.getString("Mixed"), null);
                equal(r.wasNull(), true);
                equal(r.next(), false);
            }
            s.setString(1, "least");
            try (ResultSet r = s.executeQuery()) {
                r.next();
                equal(r.getBytes("Bin").length, 0);
                equal(r.getTimestamp("At").toInstant(), Instant.parse("1601-01-01T00:00:00Z"));
                equal(r.getObject("At", OffsetDateTime.class).toInstant(), Instant.parse("1601-01-01T00:00:00Z"));
                equal(r.getDouble("Dbl"), Double.NEGATIVE_INFINITY);
                equal(r.getInt("I32"), Integer.MIN_VALUE);
                equal(r.getLong("I64"), Long.MIN_VALUE);
                equal(r.getString("Str"), "");
            }
            s.setString(1, "most");
            try (ResultSet r = s.executeQuery()) {
                r.next();
                equal(r.getTimestamp("At").toInstant(), Instant.parse("9999-12-31T23:59:59.999999Z"));
                equal(r.getDouble("Dbl"), Double.MAX_VALUE);
                equal(r.getLong("I64"), Long.MAX_VALUE);
                equal(r.getString("Str"), new String(Character.toChars(0x10ffff)));
            }
            s.setString(1, "no number");
            try (ResultSet r = s.executeQuery()) {
                r.next();
                equal(Double.isNaN(r.getDouble("Dbl")), true);
            }
        }
    }

    /** A statement that has to find so many. */
    static void counts(Connection c, String query, long wanted, Object... values) throws Exception {
        try (PreparedStatement s = c.prepareStatement(query)) {
            for (int at = 0; at < values.length; at++) {
                Object value = values[at];
                if (value instanceof byte[] bytes) s.setBytes(at + 1, bytes);
                else if (value instanceof java.util.Date && !(value instanceof Timestamp)) s.setTimestamp(at + 1, new Timestamp(((java.util.Date) value).getTime()));
                else if (value instanceof Object[] array) s.setArray(at + 1, c.createArrayOf(array[0] instanceof String ? "text" : array[0] instanceof UUID ? "uuid" : "int8", array));
                else if (value == null) s.setNull(at + 1, Types.INTEGER);
                else s.setObject(at + 1, value);
            }
            for (int run = 0; run < 2; run++) {
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    if (r.getLong(1) != wanted) throw new AssertionError(query + ": found " + r.getLong(1) + ", wanted " + wanted);
                }
            }
        } catch (SQLException error) {
            throw new AssertionError(query + " " + Arrays.deepToString(values), error);
        }
    }

    static void parameters(String options) throws Exception {
        try (Connection c = connect(options)) {
            counts(c, "SELECT count(*) FROM types WHERE i32 = ?", 1, -7);
            counts(c, "SELECT count(*) FROM types WHERE i32 = ?", 1, -7L);
            counts(c, "SELECT count(*) FROM types WHERE i32 = ?", 1, (short) -7);
            counts(c, "SELECT count(*) FROM types WHERE i32 = ?", 0, new Object[] {null});
            counts(c, "SELECT count(*) FROM types WHERE i64 = ?", 1, -9007199254740993L);
            counts(c, "SELECT count(*) FROM types WHERE i64 = ?", 1, new BigDecimal("-9007199254740993"));
            counts(c, "SELECT count(*) FROM types WHERE dbl = ?", 1, 12.5);
            counts(c, "SELECT count(*) FROM types WHERE dbl = ?", 1, 12.5f);
            counts(c, "SELECT count(*) FROM types WHERE dbl = ?", 1, new BigDecimal("12.50"));
            counts(c, "SELECT count(*) FROM types WHERE bool = ?", 2, true);
            counts(c, "SELECT count(*) FROM types WHERE str = ?", 1, "text");
            // The driver writes no bytes into simple queries.
            boolean bytes = !options.contains("simple");
            if (bytes) counts(c, "SELECT count(*) FROM types WHERE bin = ?", 1, new byte[] {0, 1, 2, -1});
            counts(c, "SELECT count(*) FROM types WHERE gid = ?", 1, UUID.fromString("c9da6455-213d-42c9-9a79-3e9149a57833"));
            counts(c, "SELECT count(*) FROM types WHERE at = ?", 1, Timestamp.from(Instant.parse("1601-01-01T00:00:00Z")));
            counts(c, "SELECT count(*) FROM types WHERE at = ?", 1, Timestamp.from(Instant.parse("9999-12-31T23:59:59.999999Z")));
            counts(c, "SELECT count(*) FROM types WHERE at = ?", 1, OffsetDateTime.parse("1601-01-01T02:00:00+02:00"));
            counts(c, "SELECT count(*) FROM types WHERE at < ?", 1, LocalDateTime.parse("1700-01-01T00:00:00"));
            counts(c, "SELECT count(*) FROM types WHERE at < ?", 1, LocalDate.parse("1700-01-01"));
            counts(c, "SELECT count(*) FROM types WHERE at < ?", 1, java.sql.Date.valueOf("1700-01-01"));
            counts(c, "SELECT count(*) FROM types WHERE i64 = ANY (?)", 2, new Object[] {new Long[] {Long.MAX_VALUE, Long.MIN_VALUE}});
            counts(c, "SELECT count(*) FROM types WHERE rowkey = ANY (?)", 2, new Object[] {new String[] {"all", "most", "a,\"b"}});
            if (bytes) counts(c, "SELECT count(*) FROM types WHERE gid = ANY (?)", 1, new Object[] {new UUID[] {new UUID(0, 0)}});
            counts(c, "SELECT count(*) FROM (SELECT * FROM types LIMIT ? OFFSET ?) t", 2, 5, 20);
            counts(c, "SELECT count(*) FROM types WHERE partitionkey = ? AND rowkey >= ? AND rowkey < ?", 3, "types", "m", "o");
            try (PreparedStatement s = c.prepareStatement("SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?")) {
                s.setString(1, "ä'\\");
                s.setInt(2, 5);
                s.setLong(3, Long.MIN_VALUE);
                s.setDouble(4, 0.1);
                s.setBoolean(5, true);
                s.setBigDecimal(6, new BigDecimal("1234567890123456789.000100"));
                if (bytes) s.setBytes(7, new byte[] {0, -1}); else s.setNull(7, Types.BINARY);
                s.setNull(8, Types.VARCHAR);
                s.setObject(9, LocalDate.parse("9999-12-31"));
                s.setObject(10, OffsetDateTime.parse("1601-01-01T00:00:00Z"));
                s.setObject(11, LocalTime.parse("23:59:59.999999"));
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    equal(r.getString(1), "ä'\\");
                    equal(r.getInt(2), 5);
                    equal(r.getLong(3), Long.MIN_VALUE);
                    equal(r.getDouble(4), 0.1);
                    equal(r.getBoolean(5), true);
                    equal(r.getBigDecimal(6), new BigDecimal("1234567890123456789.000100"));
                    if (bytes) equal(r.getBytes(7), new byte[] {0, -1});
                    equal(r.getString(8), null);
                    equal(r.getObject(9, LocalDate.class), LocalDate.parse("9999-12-31"));
                    equal(r.getObject(10, OffsetDateTime.class).toInstant(), Instant.parse("1601-01-01T00:00:00Z"));
                    equal(r.getObject(11, LocalTime.class), LocalTime.parse("23:59:59.999999"));
                }
            }
        }
    }

    static void resultMetadata() throws Exception {
        try (Connection c = connect(""); Statement s = c.createStatement();
             ResultSet r = s.executeQuery("SELECT partitionkey, age AS years, age + 1, count(*) OVER () FROM employees LIMIT 1")) {
            ResultSetMetaData m = r.getMetaData();
            equal(m.getColumnLabel(1) + " " + m.getColumnLabel(2) + " " + m.getColumnLabel(3) + " " + m.getColumnLabel(4), "PartitionKey years ?column? count");
            org.postgresql.PGResultSetMetaData p = (org.postgresql.PGResultSetMetaData) m;
            equal(p.getBaseTableName(1) + "." + p.getBaseColumnName(2) + " in " + p.getBaseSchemaName(1), "Employees.Age in public");
            equal(p.getBaseTableName(3), "");
            equal(m.isNullable(1), ResultSetMetaData.columnNoNulls);
            equal(m.isNullable(2), ResultSetMetaData.columnNullable);
            equal(m.isNullable(3), ResultSetMetaData.columnNullableUnknown);
            equal(m.isAutoIncrement(1), false);
            equal(m.getColumnTypeName(3), "int4");
            equal(m.getColumnClassName(4), "java.lang.Long");
        }
    }

    static void parameterMetadata() throws Exception {
        try (Connection c = connect(""); PreparedStatement s = c.prepareStatement(
            "SELECT 1 FROM employees WHERE partitionkey = ? AND age > ? AND id = ? AND hiredat < ? AND salary >= ? AND remote = ? AND badgenumber IN (?) LIMIT ?")) {
            ParameterMetaData m = s.getParameterMetaData();
            List<String> found = new ArrayList<>();
            for (int at = 1; at <= m.getParameterCount(); at++) found.add(m.getParameterTypeName(at));
            equal(String.join(" ", found), "text int4 uuid timestamptz float8 bool int8 int8");
            equal(s.getMetaData().getColumnLabel(1), "?column?");
        }
    }

    static void fetchSize() throws Exception {
        try (Connection c = connect("")) {
            c.setAutoCommit(false);
            try (PreparedStatement s = c.prepareStatement("SELECT e.rowkey, f.rowkey FROM employees e, employees f WHERE e.partitionkey > ?")) {
                s.setString(1, "");
                s.setFetchSize(100);
                long began = System.nanoTime();
                try (ResultSet r = s.executeQuery()) {
                    for (int row = 0; row < 250; row++) equal(r.next(), true);
                }
                if (System.nanoTime() - began > 20_000_000_000L) throw new AssertionError("2.3 billion rows were made before the first came");
            }
            try (Statement s = c.createStatement()) {
                s.setFetchSize(1000);
                int count = 0;
                try (ResultSet r = s.executeQuery("SELECT partitionkey, rowkey FROM employees ORDER BY 1, 2")) {
                    // Another statement between two fetches.
                    while (r.next()) {
                        if (count++ % 10000 == 0) counts(c, "SELECT count(*) FROM departments", 12);
                    }
                }
                equal(count, 48000);
                s.setMaxRows(7);
                count = 0;
                try (ResultSet r = s.executeQuery("SELECT 1 FROM employees")) {
                    while (r.next()) count++;
                }
                equal(count, 7);
            }
            c.commit();
        }
    }

    static void scrolling() throws Exception {
        try (Connection c = connect(""); Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
             ResultSet r = s.executeQuery("SELECT rowkey FROM departments ORDER BY rowkey")) {
            r.last();
            equal(r.getRow(), 12);
            r.first();
            equal(r.getString(1), "Accounting");
            r.absolute(-12);
            equal(r.getString("rowkey"), "Accounting");
            equal(r.previous(), false);
        }
        try (Connection c = connect("")) {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE);
                 ResultSet r = s.executeQuery("SELECT * FROM \"Departments\" ORDER BY rowkey")) {
                r.next();
                r.updateDouble("Budget", 1);
                r.updateRow();
            }
            try (Statement s = c.createStatement();
                 ResultSet r = s.executeQuery("SELECT count(*) FROM departments WHERE budget = 1")) {
                r.next();
                equal(r.getLong(1), 1L);
            }
            c.rollback();
        }
    }

    static final String ENDLESS = "SELECT pg_sleep(60)";

    static void timeoutAndCancel() throws Exception {
        try (Connection c = connect(""); Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            try {
                s.executeQuery(ENDLESS);
                throw new AssertionError("no timeout");
            } catch (SQLException error) {
                equal(error.getSQLState(), "57014");
            }
            s.setQueryTimeout(0);
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    s.cancel();
                } catch (Exception error) {
                    error.printStackTrace();
                }
            });
            canceller.start();
            try {
                s.executeQuery(ENDLESS);
                throw new AssertionError("not cancelled");
            } catch (SQLException error) {
                equal(error.getSQLState(), "57014");
            }
            canceller.join();
            counts(c, "SELECT 1", 1);
        }
    }

    static void transactions() throws Exception {
        try (Connection c = connect("&autosave=always")) {
            c.setAutoCommit(false);
            counts(c, "SELECT 1", 1);
            try (Statement s = c.createStatement()) {
                s.executeQuery("SELECT * FROM nosuch");
                throw new AssertionError("found");
            } catch (SQLException error) {
                equal(error.getSQLState(), "42P01");
            }
            counts(c, "SELECT 2", 2);
            c.commit();
        }
        try (Connection c = connect("")) {
            c.setReadOnly(true);
            c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            c.setAutoCommit(false);
            counts(c, "SELECT 1", 1);
            Savepoint point = c.setSavepoint("point");
            try (Statement s = c.createStatement()) {
                s.executeQuery("SELECT 1/0");
                throw new AssertionError("divided");
            } catch (SQLException error) {
                equal(error.getSQLState(), "22012");
            }
            try {
                counts(c, "SELECT 1", 1);
                throw new AssertionError("in a failed transaction");
            } catch (AssertionError error) {
                equal(((SQLException) error.getCause()).getSQLState(), "25P02");
            }
            c.rollback(point);
            counts(c, "SELECT 3", 3);
            c.releaseSavepoint(point);
            c.rollback();
            c.setAutoCommit(true);
            equal(c.isReadOnly(), true);
        }
    }

    static void binaryCopies() throws Exception {
        try (Connection c = connect(""); Statement s = c.createStatement()) {
            org.postgresql.copy.CopyManager manager = c.unwrap(org.postgresql.PGConnection.class).getCopyAPI();
            s.execute("CREATE TABLE Managed (n int, t text)");
            s.execute("INSERT INTO managed (partitionkey, rowkey, n, t) VALUES ('p', '1', 5, 'é'), ('p', '2', NULL, NULL)");
            ByteArrayOutputStream written = new ByteArrayOutputStream(), again = new ByteArrayOutputStream();
            equal(manager.copyOut("COPY managed TO STDOUT (FORMAT binary)", written), 2L);
            s.execute("DELETE FROM managed");
            equal(manager.copyIn("COPY managed FROM STDIN WITH BINARY", new ByteArrayInputStream(written.toByteArray())), 2L);
            equal(manager.copyOut("COPY BINARY managed TO STDOUT", again), 2L);
            equal(again.toByteArray(), written.toByteArray());
            org.postgresql.copy.CopyOut out = manager.copyOut("COPY (SELECT 1) TO STDOUT (FORMAT binary)");
            equal(out.getFormat() + " " + out.getFieldFormat(0), "1 1");
            while (out.readFromCopy() != null) {}
            s.execute("DELETE FROM managed");
            org.postgresql.copy.CopyIn in = manager.copyIn("COPY managed FROM STDIN (FORMAT binary)");
            in.writeToCopy(written.toByteArray(), 0, 30);
            in.cancelCopy();
            try {
                manager.copyIn("COPY managed FROM STDIN (FORMAT binary)", new ByteArrayInputStream("a,b".getBytes()));
                throw new AssertionError("it worked");
            } catch (org.postgresql.util.PSQLException error) {
                equal(error.getSQLState(), "22P04");
            }
            try (ResultSet rows = s.executeQuery("SELECT count(*) FROM managed")) {
                rows.next();
                equal(rows.getInt(1), 0);
            }
            s.execute("DROP TABLE managed");
        }
    }

    static void errors() throws Exception {
        try (Connection c = connect("")) {
            for (String[] wanted : new String[][] {
                {"SELECT nosuch FROM employees", "42703", "8"}, {"SELECT 1 FROM nosuch", "42P01", "15"}, {"SELECT 1 FROM", "42601", "14"},
                {"SELECT 1/0", "22012", null}, {"SELECT 'x'::uuid", "22P02", null}, {"SELECT nosuch(1)", "42883", "8"},
                {"COPY departments TO STDOUT (FORMAT binary, HEADER)", "0A000", null}, {"CREATE INDEX i ON departments (budget)", "0A000", null},
            }) {
                try (Statement s = c.createStatement()) {
                    s.execute(wanted[0]);
                    throw new AssertionError(wanted[0] + " worked");
                } catch (org.postgresql.util.PSQLException error) {
                    equal(wanted[0] + " " + error.getSQLState(), wanted[0] + " " + wanted[1]);
                    if (wanted[2] != null) equal(wanted[0] + " " + error.getServerErrorMessage().getPosition(), wanted[0] + " " + wanted[2]);
                }
                counts(c, "SELECT 4", 4);
            }
        }
    }

    static void severalResults() throws Exception {
        try (Connection c = connect(""); Statement s = c.createStatement()) {
            equal(s.execute("SELECT 1; SET application_name = 'a;b'; SELECT 'x', 2"), true);
            s.getResultSet().next();
            equal(s.getResultSet().getInt(1), 1);
            equal(s.getMoreResults(), false);
            equal(s.getUpdateCount(), 0);
            equal(s.getMoreResults(), true);
            s.getResultSet().next();
            equal(s.getResultSet().getInt(2), 2);
            equal(s.getMoreResults(), false);
            equal(s.getUpdateCount(), -1);
            s.addBatch("SET application_name = 'b'");
            s.addBatch("SET statement_timeout = 0");
            equal(Arrays.toString(s.executeBatch()), "[0, 0]");
            counts(c, "SELECT 5", 5);
        }
    }

    static void timeZones() throws Exception {
        TimeZone before = TimeZone.getDefault();
        try {
            for (String zone : List.of("America/New_York", "Asia/Kolkata", "UTC")) {
                TimeZone.setDefault(TimeZone.getTimeZone(zone));
                try (Connection c = connect("")) {
                    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SHOW TimeZone")) {
                        r.next();
                        equal(r.getString(1), zone);
                    }
                    try (Statement s = c.createStatement();
                         ResultSet r = s.executeQuery("SELECT at FROM types WHERE rowkey = 'all'")) {
                        r.next();
                        equal(r.getTimestamp(1).toInstant(), Instant.parse("2024-05-01T08:00:00.123456Z"));
                    }
                    counts(c, "SELECT count(*) FROM types WHERE at = ?", 1, Timestamp.from(Instant.parse("2024-05-01T08:00:00.123456Z")));
                }
            }
        } finally {
            TimeZone.setDefault(before);
        }
    }

    static void serverPrepared() throws Exception {
        try (Connection c = connect("&prepareThreshold=2"); PreparedStatement s = c.prepareStatement("SELECT ?::int4 + 1")) {
            for (int run = 0; run < 6; run++) {
                s.setInt(1, run);
                try (ResultSet r = s.executeQuery()) {
                    r.next();
                    equal(r.getInt(1), run + 1);
                }
            }
            try (Statement once = c.createStatement(); ResultSet r = once.executeQuery("SELECT count(*) FROM pg_prepared_statements")) {
                r.next();
                equal(r.getLong(1), 1L);
            }
            try (Statement other = c.createStatement()) {
                other.execute("DISCARD ALL");
            }
        }
    }
}
