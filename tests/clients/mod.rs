//! tokio-postgres against `rowkey serve`: typed queries, portals, cancelling, simple queries. The
//! other clients are in `run.sh`.

mod copying;
mod row_locks;
mod server;

use std::error::Error;
use std::time::{Duration, Instant, SystemTime};

use bytes::BytesMut;
use futures::{StreamExt, TryStreamExt, pin_mut};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use server::Server;

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Sixteen bytes, as the protocol has them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Uuid([u8; 16]);

impl<'a> FromSql<'a> for Uuid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw.try_into()?))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::UUID
    }
}

impl ToSql for Uuid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::UUID
    }

    to_sql_checked!();
}

async fn connect(server: &Server) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(&server.address("rowkey"), NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Seconds and microseconds before or after 1970.
fn at(seconds: i64, micros: u32) -> SystemTime {
    let since = Duration::from_secs(seconds.unsigned_abs());
    let second = if seconds < 0 { SystemTime::UNIX_EPOCH - since } else { SystemTime::UNIX_EPOCH + since };
    second + Duration::from_micros(micros.into())
}

/// The first of 1601 and the last second of 9999.
const FIRST: i64 = -11_644_473_600;
const LAST: i64 = 253_402_300_799;

fn code(error: &tokio_postgres::Error) -> Option<&SqlState> {
    error.code()
}

#[tokio::test]
async fn parameters_come_back_in_the_type_that_was_described() -> Result {
    let server = Server::start()?;
    let client = connect(&server).await?;
    let plain = client.prepare_typed("SELECT $1, $1 + 1, -$1, max($1)", &[Type::INT8]).await?;
    let described: Vec<_> = plain.columns().iter().map(|column| column.type_().clone()).collect();
    assert_eq!(described, vec![Type::INT8; 4]);
    let narrow = client.prepare_typed("SELECT nth_value($1, 1) OVER (), lead($1, 0) OVER ()", &[Type::INT4]).await?;
    let row = client.query_one(&narrow, &[&5_i32]).await?;
    assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (5, 5));
    let sum = client.prepare_typed("SELECT sum($1)::float8 FROM types", &[Type::INT8]).await?;
    let rows: i64 = client.query_one("SELECT count(*) FROM types", &[]).await?.get(0);
    // As often as it takes a driver to keep the statement on the server.
    for value in [5_i64, -5, 0, i64::from(i32::MAX), i64::from(i32::MIN), 1 << 40, 5, 5] {
        let row = client.query_one(&plain, &[&value]).await?;
        let read: Vec<i64> = (0..4).map(|at| row.get(at)).collect();
        assert_eq!(read, [value, value + 1, -value, value]);
        let total: f64 = client.query_one(&sum, &[&value]).await?.get(0);
        assert_eq!(total, (value * rows) as f64);
    }
    Ok(())
}

#[tokio::test]
async fn values_are_read_in_their_types() -> Result {
    let server = Server::start()?;
    let client = connect(&server).await?;
    let statement = client
        .prepare(
            "SELECT bin, bool, at, dbl, gid, i32, i64, str, mixed FROM types WHERE partitionkey = $1 AND rowkey = $2",
        )
        .await?;
    let types: Vec<_> = statement.columns().iter().map(|column| column.type_().clone()).collect();
    let wanted = [
        Type::BYTEA,
        Type::BOOL,
        Type::TIMESTAMPTZ,
        Type::FLOAT8,
        Type::UUID,
        Type::INT4,
        Type::INT8,
        Type::TEXT,
        Type::TEXT,
    ];
    assert_eq!(types, wanted);
    assert_eq!(statement.columns()[0].name(), "Bin");
    assert!(statement.columns()[0].table_oid().is_some_and(|oid| oid > 0));
    assert_eq!(statement.params(), [Type::TEXT, Type::TEXT]);

    let row = client.query_one(&statement, &[&"types", &"all"]).await?;
    assert_eq!(row.get::<_, &[u8]>(0), [0, 1, 2, 255]);
    assert!(row.get::<_, bool>(1));
    assert_eq!(row.get::<_, SystemTime>(2), at(1_714_550_400, 123_456));
    assert_eq!(row.get::<_, f64>(3), 12.5);
    assert_eq!(row.get::<_, Uuid>(4).0[..2], [0xc9, 0xda]);
    assert_eq!(row.get::<_, i32>(5), -7);
    assert_eq!(row.get::<_, i64>(6), -9_007_199_254_740_993);
    assert_eq!(row.get::<_, &str>(7), "text");
    assert_eq!(row.get::<_, Option<&str>>(8), None);
    let least = client.query_one(&statement, &[&"types", &"least"]).await?;
    assert_eq!(least.get::<_, SystemTime>("At"), at(FIRST, 0));
    assert_eq!(least.get::<_, i64>("I64"), i64::MIN);
    let most = client.query_one(&statement, &[&"types", &"most"]).await?;
    assert_eq!(most.get::<_, SystemTime>("At"), at(LAST, 999_999));
    assert_eq!(most.get::<_, Uuid>("Gid"), Uuid([255; 16]));
    assert_eq!(most.get::<_, i64>("I64"), i64::MAX);
    Ok(())
}

#[tokio::test]
async fn parameters_have_the_types_of_their_context() -> Result {
    let server = Server::start()?;
    let client = connect(&server).await?;
    let count = async |query: &str, values: &[&(dyn ToSql + Sync)]| -> Result<i64> {
        let row = client.query_one(query, values).await.map_err(|error| format!("{query}: {error:?}"))?;
        Ok(row.get(0))
    };
    assert_eq!(count("SELECT count(*) FROM types WHERE i32 = $1", &[&-7_i32]).await?, 1);
    assert_eq!(count("SELECT count(*) FROM types WHERE i64 = $1", &[&-9_007_199_254_740_993_i64]).await?, 1);
    assert_eq!(count("SELECT count(*) FROM types WHERE dbl = $1", &[&12.5_f64]).await?, 1);
    assert_eq!(count("SELECT count(*) FROM types WHERE bool = $1", &[&true]).await?, 2);
    assert_eq!(count("SELECT count(*) FROM types WHERE bin = $1", &[&&[0_u8, 1, 2, 255][..]]).await?, 1);
    assert_eq!(count("SELECT count(*) FROM types WHERE gid = $1", &[&Uuid([0; 16])]).await?, 1);
    assert_eq!(count("SELECT count(*) FROM types WHERE at = $1", &[&at(FIRST, 0)]).await?, 1);
    assert_eq!(count("SELECT count(*) FROM types WHERE at = $1", &[&at(LAST, 999_999)]).await?, 1);
    assert_eq!(count("SELECT count(*) FROM types WHERE i32 = ANY($1)", &[&vec![-7_i32, i32::MAX]]).await?, 2);
    assert_eq!(count("SELECT count(*) FROM types WHERE i64 = ANY($1)", &[&vec![i64::MIN, i64::MAX]]).await?, 2);
    assert_eq!(count("SELECT count(*) FROM types WHERE rowkey = ANY($1)", &[&vec!["all", "most"]]).await?, 2);
    assert_eq!(count("SELECT count(*) FROM types WHERE gid = ANY($1)", &[&vec![Uuid([0; 16])]]).await?, 1);
    assert_eq!(count("SELECT count(*) FROM types WHERE i32 = $1", &[&None::<i32>]).await?, 0);
    assert_eq!(count("SELECT count(*) FROM (SELECT 1 FROM types LIMIT $1 OFFSET $2) t", &[&5_i64, &20_i64]).await?, 2);
    assert_eq!(count("SELECT count(*) FROM types WHERE i32 BETWEEN $1 AND $2", &[&-10_i32, &0_i32]).await?, 1);
    assert_eq!(
        count("SELECT count(*) FROM types WHERE (partitionkey, rowkey) = ($1, $2)", &[&"types", &"all"]).await?,
        1
    );
    let texts = vec!["a", "b"];
    let row =
        client.query_one("SELECT $1, $2::int2, $3::float4, $4::text[]", &[&"x", &7_i16, &0.5_f32, &texts]).await?;
    assert_eq!((row.get::<_, &str>(0), row.get::<_, i16>(1), row.get::<_, f32>(2)), ("x", 7, 0.5));
    assert_eq!(row.get::<_, Vec<&str>>(3), ["a", "b"]);
    Ok(())
}

#[tokio::test]
async fn portals_give_their_rows_in_turns() -> Result {
    let server = Server::start()?;
    let mut client = connect(&server).await?;
    let transaction = client.transaction().await?;
    let statement = transaction.prepare("SELECT rowkey FROM types ORDER BY partitionkey, rowkey").await?;
    let (one, other) = (transaction.bind(&statement, &[]).await?, transaction.bind(&statement, &[]).await?);
    let (mut from_one, mut from_other) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        from_one.extend(transaction.query_portal(&one, 3).await?.iter().map(|row| row.get::<_, String>(0)));
        from_other.extend(transaction.query_portal(&other, 5).await?.iter().map(|row| row.get::<_, String>(0)));
    }
    assert_eq!(from_one.len(), 22);
    assert_eq!(from_one, from_other);
    transaction.commit().await?;

    // More rows than fit in memory: only those that are fetched are made.
    let product = "SELECT a.rowkey FROM types a, types b, types c, types d, types e, types f, types g";
    let rows = client.query_raw(product, std::iter::empty::<&str>()).await?;
    pin_mut!(rows);
    let first: Vec<_> = rows.take(100_000).try_collect().await?;
    assert_eq!(first.len(), 100_000);
    Ok(())
}

#[tokio::test]
async fn cancelling_stops_a_statement() -> Result {
    let server = Server::start()?;
    let client = connect(&server).await?;
    let token = client.cancel_token();
    let cancel = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await
    });
    let began = Instant::now();
    let error = client.query("SELECT pg_sleep(60)", &[]).await.err().ok_or("not cancelled")?;
    assert_eq!(code(&error), Some(&SqlState::QUERY_CANCELED));
    assert!(began.elapsed() < Duration::from_secs(10));
    cancel.await??;
    client.batch_execute("SET statement_timeout = 200").await?;
    let error = client.query("SELECT pg_sleep(60)", &[]).await.err().ok_or("no timeout")?;
    assert_eq!(code(&error), Some(&SqlState::QUERY_CANCELED));
    assert_eq!(client.query_one("SELECT 1", &[]).await?.get::<_, i32>(0), 1);
    Ok(())
}

#[tokio::test]
async fn simple_queries_have_several_results() -> Result {
    let server = Server::start()?;
    let client = connect(&server).await?;
    let messages = client
        .simple_query("SELECT 1 AS a; SET application_name = 'x'; SELECT i64, bin FROM types WHERE rowkey = 'all'")
        .await?;
    let texts: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).unwrap_or("NULL")).collect::<Vec<_>>().join(" "))
            }
            SimpleQueryMessage::CommandComplete(rows) => Some(format!("{rows} rows")),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["1", "1 rows", "0 rows", "-9007199254740993 \\x000102ff", "1 rows"]);
    Ok(())
}

#[tokio::test]
async fn errors_leave_the_connection_usable() -> Result {
    let server = Server::start()?;
    let mut client = connect(&server).await?;
    for (query, wanted) in [
        ("SELECT nosuch FROM types", SqlState::UNDEFINED_COLUMN),
        ("SELECT 1 FROM nosuch", SqlState::UNDEFINED_TABLE),
        ("SELECT nosuch(1)", SqlState::UNDEFINED_FUNCTION),
        ("SELEC 1", SqlState::SYNTAX_ERROR),
        ("SELECT 1/0", SqlState::DIVISION_BY_ZERO),
        ("SELECT rowkey, count(*) FROM types", SqlState::GROUPING_ERROR),
        ("SELECT 1; SELECT 2", SqlState::SYNTAX_ERROR),
        ("CREATE INDEX i ON types (i32)", SqlState::FEATURE_NOT_SUPPORTED),
        ("COPY types TO STDOUT (FORMAT nosuch)", SqlState::INVALID_PARAMETER_VALUE),
    ] {
        let error = client.query(query, &[]).await.err().ok_or(query)?;
        assert_eq!(code(&error), Some(&wanted), "{query}: {error:?}");
        assert_eq!(client.query_one("SELECT 1", &[]).await?.get::<_, i32>(0), 1);
    }
    let transaction = client.build_transaction().read_only(true).start().await?;
    assert!(transaction.query("SELECT 1/0", &[]).await.is_err());
    let error = transaction.query("SELECT 1", &[]).await.err().ok_or("in a failed transaction")?;
    assert_eq!(code(&error), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    transaction.rollback().await?;
    assert_eq!(client.query_one("SELECT 1", &[]).await?.get::<_, i32>(0), 1);
    Ok(())
}
