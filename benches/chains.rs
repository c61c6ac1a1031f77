//! How long statements take to plan as they grow: chains of operators, nested calls, CASE, lists,
//! joins, CTEs and unions of 10, 100 and 1,000 members, each as `EXPLAIN` over the wire, so that
//! nothing runs.
//!
//! `cargo bench --bench chains -- --server 'host=... port=... user=... dbname=...' [--postgres
//! CONFIG] [--members 10,100,1000] [--limit SECONDS] [--only TEXT]` prints milliseconds, of
//! PostgreSQL beside it if it is named, and of DataFusion for the same text. The servers get a
//! table `chains`, which is made anew. A second table has what takes longest within the limits of a
//! statement; `--worst false` leaves it out, `--members 0` the first one.

use std::time::{Duration, Instant};

use datafusion::prelude::{SessionConfig, SessionContext};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The best of so many.
const RUNS: usize = 3;
/// What takes longer is not run again.
const LONG: Duration = Duration::from_secs(1);

type Text = fn(usize) -> String;

const STATEMENTS: [(&str, Text); 25] = [
    ("n + n + ...", |members| format!("select {} as x from chains", vec!["n"; members].join(" + "))),
    ("n - 1 - 2 ...", |members| format!("select n - {} as x from chains", numbers(members, " - "))),
    ("n * n * ...", |members| format!("select {} as x from chains", vec!["n"; members].join(" * "))),
    ("1 + 1 + ...", |members| format!("select {} as x", vec!["1"; members].join(" + "))),
    ("t || t || ...", |members| format!("select {} as x from chains", vec!["t"; members].join(" || "))),
    ("n & n & ...", |members| format!("select {} as x from chains", vec!["n"; members].join(" & "))),
    ("f + n * 2 + ...", |members| format!("select {} as x from chains", vec!["f + n * 2"; members].join(" + "))),
    ("AND", |members| format!("select * from chains where {}", each(members, " and ", |at| format!("n <> {at}")))),
    ("OR of one column", |members| {
        format!("select * from chains where {}", each(members, " or ", |at| format!("n = {at}")))
    }),
    ("OR of ANDs", |members| {
        format!("select * from chains where {}", each(members, " or ", |at| format!("n = {at} and t = '{at}'")))
    }),
    ("abs(abs(...))", |members| format!("select {}n{} as x from chains", "abs(".repeat(members), ")".repeat(members))),
    ("coalesce(...(", |members| {
        format!("select {}n{} as x from chains", "coalesce(".repeat(members), ", 1)".repeat(members))
    }),
    ("((n::int8)::int8)...", |members| {
        format!("select {}n{} as x from chains", "(".repeat(members), "::int8)".repeat(members))
    }),
    ("CASE of WHENs", |members| {
        format!("select case {} end as x from chains", each(members, " ", |at| format!("when n = {at} then {at}")))
    }),
    ("CASE in CASE", |members| {
        let begin = each(members, " ", |at| format!("case when n = {at} then {at} else"));
        format!("select {begin} n {} as x from chains", "end ".repeat(members))
    }),
    ("IN list", |members| format!("select * from chains where n in ({})", numbers(members, ", "))),
    ("IN pairs of keys", |members| {
        let pairs = each(members, ", ", |at| format!("('p', '{at}')"));
        format!("select * from chains where (partitionkey, rowkey) in ({pairs})")
    }),
    ("IN list of keys", |members| {
        let keys = each(members, ", ", |at| format!("'{at}'"));
        format!("select * from chains where partitionkey = 'p' and rowkey in ({keys})")
    }),
    ("row < row", |members| {
        let row = each(members, ", ", |at| format!("n + {at}"));
        format!("select row({row}) < row({row}) as x from chains")
    }),
    ("joins", joins),
    ("CTEs", ctes),
    ("CTEs of aggregates", aggregates),
    ("CTEs of LATERAL", laterals),
    ("UNION ALL", |members| vec!["select n from chains"; members].join(" union all ")),
    ("select list", |members| format!("select {} from chains", each(members, ", ", |at| format!("n + {at} as c{at}")))),
];

/// At the limits of a statement: operators in a row, calls, relations, windows and their keys, sort
/// keys, aggregates, items of a select list, steps of a plan, values of a query; operands that are
/// compared several times, as deep in one another as they are taken.
const WORST: [(&str, usize, Text); 30] = [
    ("n + n + ...", 2000, |members| format!("select {} as x from chains", vec!["n"; members].join(" + "))),
    ("t || t || ...", 2000, |members| format!("select {} as x from chains", vec!["t"; members].join(" || "))),
    ("n & n & ...", 2000, |members| format!("select {} as x from chains", vec!["n"; members].join(" & "))),
    ("AND", 2000, |members| {
        format!("select * from chains where {}", each(members, " and ", |at| format!("n <> {at}")))
    }),
    ("OR of ANDs", 1000, |members| {
        format!("select * from chains where {}", each(members, " or ", |at| format!("n = {at} and f = {at}")))
    }),
    ("abs(abs(...))", 16, |members| {
        format!("select {}n{} as x from chains", "abs(".repeat(members), ")".repeat(members))
    }),
    ("CASE of WHENs", 20_000, |members| {
        format!("select case {} end as x from chains", each(members, " ", |at| format!("when n = {at} then {at}")))
    }),
    ("joins", 128, joins),
    ("FROM list", 128, |members| format!("select 1 as x from {}", each(members, ", ", |at| format!("chains c{at}")))),
    ("PARTITION BY", 64, |members| {
        let keys = each(members, ", ", |at| format!("n + {at}"));
        format!("select count(*) over (partition by {keys}) as x from chains")
    }),
    ("windows", 250, |members| {
        format!("select {} from chains", each(members, ", ", |at| format!("sum(n) over (order by n + {at}) as c{at}")))
    }),
    ("ORDER BY", 1200, |members| {
        format!("select n from chains order by {}", each(members, ", ", |at| format!("n + {at}")))
    }),
    ("aggregates", 1200, |members| {
        format!("select {} from chains", each(members, ", ", |at| format!("sum(n + {at}) as c{at}")))
    }),
    ("select list", 1664, |members| {
        format!("select {} from chains", each(members, ", ", |at| format!("n + {at} as c{at}")))
    }),
    ("CTEs", 1200, ctes),
    ("CTEs of aggregates", 300, aggregates),
    ("CTEs of LATERAL", 299, laterals),
    ("UNION ALL", 1000, |members| vec!["select n from chains"; members].join(" union all ")),
    ("IN list", 149_000, |members| format!("select * from chains where n in ({})", numbers(members, ","))),
    ("IN pairs of keys", 45_000, |members| {
        let pairs = each(members, ",", |at| format!("('p','{at}')"));
        format!("select * from chains where (partitionkey, rowkey) in ({pairs})")
    }),
    ("VALUES", 75_000, |members| format!("select * from (values {}) v", each(members, ",", |at| format!("({at})")))),
    ("CASE in WHEN", 60, |depth| nested("case when # = 1 then n end", depth)),
    ("CASE in CASE of doubles", 60, |depth| nested("case # when 1.5 then f when 2.5 then f end", depth)),
    ("> ALL in > ALL", 40, |depth| nested("(# > all (array[1, n]))::int", depth)),
    ("= ANY in = ANY", 5, |depth| nested("(# = any (array[1, n]))::int", depth)),
    ("row < in row <", 6, |depth| nested("((#, 1) < (n, 1))::int", depth)),
    ("row IN in row IN", 6, |depth| nested("((#, 1) in ((1, 1), (n, 2)))::int", depth)),
    ("BETWEEN in BETWEEN", 6, |depth| nested("(#::float8 between 1.5 and n)::int", depth)),
    ("nullif in nullif", 8, |depth| nested("nullif(#, n)", depth)),
    ("> ALL of subqueries", 3, |depth| nested("(# > all (select n from chains))::int", depth)),
];

fn nested(level: &str, depth: usize) -> String {
    let value = (0..depth).fold("n".to_owned(), |inner, _| level.replace('#', &inner));
    format!("select {value} as x from chains")
}

fn joins(members: usize) -> String {
    let joined = each(members, " join ", |at| match at {
        0 => "chains c0".to_owned(),
        at => format!("chains c{at} on c{at}.rowkey = c{}.rowkey", at - 1),
    });
    format!("select count(*) from {joined}")
}

fn ctes(members: usize) -> String {
    let ctes = each(members, ", ", |at| match at {
        0 => "c0 as (select n from chains)".to_owned(),
        at => format!("c{at} as (select n from c{})", at - 1),
    });
    format!("with {ctes} select * from c{}", members - 1)
}

fn aggregates(members: usize) -> String {
    let ctes = each(members, ", ", |at| match at {
        0 => "c0 as (select n, t from chains)".to_owned(),
        at => format!("c{at} as (select n, max(t) as t from c{} group by n having count(*) > 0)", at - 1),
    });
    format!("with {ctes} select count(*) from c{}", members - 1)
}

fn laterals(members: usize) -> String {
    let ctes = each(members, ", ", |at| match at {
        0 => "c0 as (select n, t from chains)".to_owned(),
        at => {
            let before = at - 1;
            format!(
                "c{at} as (select c.n, l.t from c{before} c, lateral (select c.t || t as t from (values ('a')) q(t)) l)"
            )
        }
    });
    format!("with {ctes} select count(*) from c{}", members - 1)
}

fn each(members: usize, between: &str, text: impl Fn(usize) -> String) -> String {
    (0..members).map(text).collect::<Vec<_>>().join(between)
}

fn numbers(members: usize, between: &str) -> String {
    each(members, between, |at| at.to_string())
}

struct Options {
    server: String,
    postgres: Option<String>,
    members: Vec<usize>,
    limit_seconds: u64,
    only: String,
    worst: bool,
}

fn main() -> Result<(), Failure> {
    let mut options = Options {
        server: String::new(),
        postgres: None,
        members: vec![10, 100, 1000],
        limit_seconds: 30,
        only: String::new(),
        worst: true,
    };
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} takes a value"))?;
        match name.as_str() {
            "--server" => options.server = value,
            "--postgres" => options.postgres = Some(value),
            "--members" => options.members = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--limit" => options.limit_seconds = value.parse()?,
            "--only" => options.only = value,
            "--worst" => options.worst = value.parse()?,
            other => return Err(format!("{other} is no option").into()),
        }
    }
    // DataFusion walks deep plans by recursion.
    let run = std::thread::Builder::new().stack_size(1 << 30).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(measure(&options))
    })?;
    run.join().map_err(|_| "the run panicked")?
}

async fn measure(options: &Options) -> Result<(), Failure> {
    if options.server.is_empty() {
        return Err("--server names the server to ask".into());
    }
    let ours = connect(&options.server, options.limit_seconds).await?;
    let columns = r#"n int, t text, f float8"#;
    ours.batch_execute("drop table if exists chains").await?;
    ours.batch_execute(&format!("create table chains ({columns})")).await?;
    let postgres = match &options.postgres {
        Some(config) => {
            let client = connect(config, options.limit_seconds).await?;
            client.batch_execute("drop table if exists chains").await?;
            let keys = "partitionkey text, rowkey text, primary key (partitionkey, rowkey)";
            client.batch_execute(&format!("create table chains ({keys}, {columns})")).await?;
            Some(client)
        }
        None => None,
    };
    let datafusion = SessionContext::new_with_config(SessionConfig::new().with_information_schema(false));
    datafusion.sql("create table chains (partitionkey text, rowkey text, n int, t text, f double)").await?;
    let servers = Servers { ours, postgres, datafusion, limit: Duration::from_secs(options.limit_seconds) };
    let wanted = |name: &str| name.contains(&options.only);
    if options.members != [0] {
        println!("| chain | members | rowkey ms | postgres ms | datafusion ms |\n|---|---:|---:|---:|---:|");
        for (name, text) in STATEMENTS.iter().filter(|(name, _)| wanted(name)) {
            for &members in &options.members {
                servers.print(name, members, &text(members)).await;
            }
        }
    }
    if options.worst {
        println!("\n| at the limit | members | rowkey ms | postgres ms | datafusion ms |\n|---|---:|---:|---:|---:|");
        for (name, members, text) in WORST.iter().filter(|(name, ..)| wanted(name)) {
            servers.print(name, *members, &text(*members)).await;
        }
    }
    Ok(())
}

/// Who is asked.
struct Servers {
    ours: Client,
    postgres: Option<Client>,
    datafusion: SessionContext,
    limit: Duration,
}

impl Servers {
    async fn print(&self, name: &str, members: usize, text: &str) {
        let ours = explained(&self.ours, text).await;
        let theirs = match &self.postgres {
            Some(client) => explained(client, text).await,
            None => "-".to_owned(),
        };
        let datafusion = planned(&self.datafusion, text, self.limit).await;
        println!("| {name} | {members} | {ours} | {theirs} | {datafusion} |");
    }
}

async fn connect(config: &str, limit_seconds: u64) -> Result<Client, Failure> {
    let (client, connection) = tokio_postgres::connect(config, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(&format!("set statement_timeout = '{limit_seconds}s'")).await?;
    Ok(client)
}

/// Milliseconds of the fastest, or what is wrong.
async fn explained(client: &Client, text: &str) -> String {
    let text = format!("explain {text}");
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        let begun = Instant::now();
        match client.simple_query(&text).await {
            Ok(answer) if answer.iter().any(|message| matches!(message, SimpleQueryMessage::Row(_))) => {}
            Ok(_) => return "no plan".to_owned(),
            Err(error) => return error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned()),
        }
        fastest = fastest.min(begun.elapsed());
        if fastest > LONG {
            break;
        }
    }
    format!("{:.1}", fastest.as_secs_f64() * 1000.0)
}

/// The same of DataFusion's own plan.
async fn planned(context: &SessionContext, text: &str, limit: Duration) -> String {
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        let begun = Instant::now();
        let plan = async { context.sql(text).await?.create_physical_plan().await };
        match tokio::time::timeout(limit, plan).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => return "fails".to_owned(),
            Err(_) => return "too long".to_owned(),
        }
        fastest = fastest.min(begun.elapsed());
        if fastest > LONG.min(limit) {
            break;
        }
    }
    format!("{:.1}", fastest.as_secs_f64() * 1000.0)
}
