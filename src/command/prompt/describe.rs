//! `\d` and the like: catalog queries, printed as by psql.

use std::io::Write;

use arrow::array::RecordBatch;

use super::super::output::{self, ResultColumns, ResultWriter, TableWriter};
use super::super::text::{counted, visible, width};
use super::execute::{Event, Runner, Wanted};
use super::meta::Listing;
use rowkey_sql::session::{Error, Result};

/// Most relations that one `\d PATTERN` describes.
const DESCRIBED_MAX: usize = 100;

const RELATIONS: &str = "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", \
    CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' ELSE c.relkind::text END AS \"Type\", \
    t.entities AS \"Entities\", t.range_partitions AS \"Range partitions\", t.files AS \"Files\", t.bytes AS \"Bytes\", \
    pg_catalog.obj_description(c.oid, 'pg_class') AS \"Description\" \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    LEFT JOIN rowkey.tables t ON n.nspname = 'public' AND t.table_name = c.relname";

/// A name as it is written after `\d`: which schema, which object; with `*` and `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    schema: Option<String>,
    name: String,
}

/// Prints a list of objects.
pub(super) fn list(
    runner: &mut Runner,
    listing: Listing,
    pattern: Option<&str>,
    out: &mut dyn Write,
) -> Result<(), DescribeError> {
    let pattern = pattern.map(parse);
    let (title, query) = listing_query(listing, pattern.as_ref());
    let rows = ask(runner, &query)?;
    if rows.batches.iter().all(|batch| batch.num_rows() == 0) {
        let message = match pattern {
            Some(pattern) => format!("Did not find any {} named \"{}\".", title.1, shown(&pattern)),
            None => format!("Did not find any {}.", title.1),
        };
        return Ok(writeln!(out, "{message}")?);
    }
    titled(title.0, rows, out)?;
    Ok(writeln!(out)?)
}

/// Prints the database and the user.
pub(super) fn connection(runner: &mut Runner, out: &mut dyn Write) -> Result<(), DescribeError> {
    for row in texts(&ask(runner, "SELECT current_database()::text, current_user::text")?)? {
        if let [Some(database), Some(user)] = &row[..] {
            let (database, user) = (visible(database), visible(user));
            writeln!(out, "You are connected to database \"{database}\" as user \"{user}\".")?;
        }
    }
    Ok(())
}

/// Prints the columns and facts of the relations that a pattern names.
pub(super) fn describe(runner: &mut Runner, pattern: &str, out: &mut dyn Write) -> Result<(), DescribeError> {
    let pattern = parse(pattern);
    let query = format!(
        "SELECT n.nspname, c.relname, c.relkind::text, c.oid::int8 FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v'){} \
         ORDER BY 1, 2 LIMIT {}",
        conditions(Some(&pattern), "n.nspname", "c.relname", Unnamed::Visible),
        DESCRIBED_MAX + 1,
    );
    let found = texts(&ask(runner, &query)?)?;
    if found.is_empty() {
        return Ok(writeln!(out, "Did not find any relation named \"{}\".", shown(&pattern))?);
    }
    for relation in found.iter().take(DESCRIBED_MAX) {
        if let [Some(schema), Some(name), Some(kind), Some(oid)] = &relation[..] {
            describe_one(runner, schema, name, kind, oid, out)?;
        }
    }
    if found.len() > DESCRIBED_MAX {
        writeln!(out, "... and more than {DESCRIBED_MAX} relations in all.")?;
    }
    Ok(())
}

fn describe_one(
    runner: &mut Runner,
    schema: &str,
    name: &str,
    kind: &str,
    oid: &str,
    out: &mut dyn Write,
) -> Result<(), DescribeError> {
    let is_stored = schema == "public" && kind == "r";
    let key = match is_stored {
        true => "CASE a.attname WHEN 'PartitionKey' THEN 'partition' WHEN 'RowKey' THEN 'row' END AS \"Key\", ",
        false => "",
    };
    let columns = ask(
        runner,
        &format!(
            "SELECT a.attname AS \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) AS \"Type\", \
             CASE WHEN a.attnotnull THEN 'not null' END AS \"Nullable\", {key}\
             pg_catalog.col_description(a.attrelid, a.attnum) AS \"Description\" \
             FROM pg_catalog.pg_attribute a WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped \
             ORDER BY a.attnum"
        ),
    )?;
    let what = if kind == "v" { "View" } else { "Table" };
    titled_without_count(&format!("{what} \"{schema}.{name}\""), columns, out)?;

    let comment = ask(runner, &format!("SELECT pg_catalog.obj_description({oid}, 'pg_class')"))?;
    if let Some(comment) = texts(&comment)?.into_iter().flatten().flatten().next() {
        writeln!(out, "Comment: {}", visible(&comment))?;
    }
    if kind == "v" {
        let definition = ask(runner, &format!("SELECT pg_catalog.pg_get_viewdef({oid}, true)"))?;
        if let Some(definition) = texts(&definition)?.into_iter().flatten().flatten().next() {
            writeln!(out, "View definition:\n{}", visible(definition.trim_end()))?;
        }
    }
    if is_stored {
        let facts = ask(
            runner,
            &format!(
                "SELECT entities::text, range_partitions::text, files::text, bytes::text FROM rowkey.tables \
                 WHERE table_name = {}",
                literal(name)
            ),
        )?;
        for row in texts(&facts)? {
            let numbers: Vec<u64> = row.iter().flatten().filter_map(|number| number.parse().ok()).collect();
            if let [entities, ranges, files, bytes] = numbers[..] {
                writeln!(
                    out,
                    "Stored: {} in {}, {}, {}",
                    counted(entities, "entity", "entities"),
                    counted(ranges, "range partition", "range partitions"),
                    counted(files, "file", "files"),
                    counted(bytes, "byte", "bytes"),
                )?;
            }
        }
    }
    Ok(writeln!(out)?)
}

/// The title and what the objects are called, and the query.
fn listing_query(listing: Listing, pattern: Option<&Pattern>) -> ((&'static str, &'static str), String) {
    let relations = |kinds: &str| {
        let conditions = conditions(pattern, "n.nspname", "c.relname", Unnamed::Public);
        format!("{RELATIONS} WHERE c.relkind IN ({kinds}){conditions} ORDER BY 1, 2")
    };
    match listing {
        Listing::Relations => (("List of relations", "relations"), relations("'r', 'v'")),
        Listing::Tables => (("List of relations", "tables"), relations("'r'")),
        Listing::Views => (("List of relations", "views"), relations("'v'")),
        Listing::Schemas => (
            ("List of schemas", "schemas"),
            format!(
                "SELECT n.nspname AS \"Name\", pg_catalog.pg_get_userbyid(n.nspowner) AS \"Owner\" \
                 FROM pg_catalog.pg_namespace n WHERE true{} ORDER BY 1",
                name_condition(pattern, "n.nspname")
            ),
        ),
        Listing::Roles => (
            ("List of roles", "roles"),
            format!(
                "SELECT r.rolname AS \"Role name\", concat_ws(', ', CASE WHEN r.rolsuper THEN 'Superuser' END, \
                 CASE WHEN NOT r.rolcanlogin THEN 'Cannot login' END) AS \"Attributes\" \
                 FROM pg_catalog.pg_roles r WHERE true{} ORDER BY 1",
                name_condition(pattern, "r.rolname")
            ),
        ),
        Listing::Databases => (
            ("List of databases", "databases"),
            "SELECT d.datname AS \"Name\", pg_catalog.pg_get_userbyid(d.datdba) AS \"Owner\", \
             pg_catalog.pg_encoding_to_char(d.encoding) AS \"Encoding\", d.datcollate AS \"Collate\" \
             FROM pg_catalog.pg_database d ORDER BY 1"
                .to_owned(),
        ),
        Listing::Functions => (
            ("List of functions", "functions"),
            format!(
                "SELECT n.nspname AS \"Schema\", p.proname AS \"Name\", \
                 pg_catalog.pg_get_function_result(p.oid) AS \"Result data type\", \
                 pg_catalog.pg_get_function_arguments(p.oid) AS \"Argument data types\", \
                 CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END AS \"Type\" \
                 FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
                 WHERE true{} ORDER BY 1, 2, 4",
                conditions(pattern, "n.nspname", "p.proname", Unnamed::Visible)
            ),
        ),
    }
}

/// Which schemas are meant by a pattern without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unnamed {
    /// Those of tables and views.
    Public,
    /// Those that names are looked for in.
    Visible,
}

fn conditions(pattern: Option<&Pattern>, schema: &str, name: &str, unnamed: Unnamed) -> String {
    let of_schema = match pattern.and_then(|pattern| pattern.schema.as_deref()) {
        Some(pattern) => format!(" AND {schema} ILIKE {}", literal(&like(pattern))),
        None if unnamed == Unnamed::Public => format!(" AND {schema} = 'public'"),
        None => format!(" AND {schema} IN ('public', 'pg_catalog')"),
    };
    of_schema + &name_condition(pattern, name)
}

fn name_condition(pattern: Option<&Pattern>, name: &str) -> String {
    pattern.map_or(String::new(), |pattern| format!(" AND {name} ILIKE {}", literal(&like(&pattern.name))))
}

/// Names are found in any case, with quotes or without.
fn parse(text: &str) -> Pattern {
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    for char in text.chars() {
        match char {
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(std::mem::take(&mut part)),
            _ => part.push(char),
        }
    }
    Pattern { schema: parts.pop(), name: part }
}

fn shown(pattern: &Pattern) -> String {
    let name = visible(&pattern.name);
    pattern.schema.as_ref().map_or(name.clone(), |schema| format!("{}.{name}", visible(schema)))
}

fn like(pattern: &str) -> String {
    let mut like = String::new();
    for char in pattern.chars() {
        match char {
            '*' => like.push('%'),
            '?' => like.push('_'),
            '%' | '_' | '\\' => like.extend(['\\', char]),
            _ => like.push(char),
        }
    }
    like
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Why a description cannot be shown.
#[derive(Debug)]
pub(super) enum DescribeError {
    Statement(Error),
    Output(output::Error),
}

impl From<Error> for DescribeError {
    fn from(error: Error) -> Self {
        DescribeError::Statement(error)
    }
}

impl From<output::Error> for DescribeError {
    fn from(error: output::Error) -> Self {
        DescribeError::Output(error)
    }
}

impl From<std::io::Error> for DescribeError {
    fn from(error: std::io::Error) -> Self {
        DescribeError::Output(error.into())
    }
}

/// The rows of a catalog query.
#[derive(Default)]
struct CatalogRows {
    columns: ResultColumns,
    batches: Vec<RecordBatch>,
}

fn ask(runner: &mut Runner, query: &str) -> Result<CatalogRows> {
    let mut rows = CatalogRows::default();
    runner.run(query, &mut |event| {
        match event {
            Event::Rows(columns) => rows.columns = columns,
            Event::Batch(batch) => rows.batches.push(batch),
            Event::Done(_) | Event::Notice(_) => {}
        }
        Wanted::More
    })?;
    Ok(rows)
}

fn texts(rows: &CatalogRows) -> Result<Vec<Vec<Option<String>>>, output::Error> {
    let mut texts = Vec::new();
    for batch in &rows.batches {
        texts.extend(rows.columns.text(batch)?.rows()?);
    }
    Ok(texts)
}

fn titled(title: &str, rows: CatalogRows, out: &mut dyn Write) -> Result<(), output::Error> {
    let table = printed(rows)?;
    Ok(out.write_all((centered(title, &table) + &table).as_bytes())?)
}

fn titled_without_count(title: &str, rows: CatalogRows, out: &mut dyn Write) -> Result<(), output::Error> {
    let table = printed(rows)?;
    let without_count = table.trim_end().rfind('\n').map_or("", |at| &table[..=at]);
    Ok(out.write_all((centered(title, &table) + without_count).as_bytes())?)
}

fn printed(rows: CatalogRows) -> Result<String, output::Error> {
    let mut text = Vec::new();
    let mut writer = TableWriter::new(rows.columns, "");
    for batch in &rows.batches {
        writer.batch(batch, &mut text)?;
    }
    ResultWriter::finish(&mut writer, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The title above the middle of a table.
fn centered(title: &str, table: &str) -> String {
    let columns = table.lines().nth(1).map_or(0, width);
    let title = visible(title);
    let blanks = columns.saturating_sub(width(&title)) / 2;
    format!("{:blanks$}{title}\n", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let pattern =
            |schema: Option<&str>, name: &str| Pattern { schema: schema.map(str::to_owned), name: name.to_owned() };
        assert_eq!(parse("Employees"), pattern(None, "Employees"));
        assert_eq!(parse("rowkey.*"), pattern(Some("rowkey"), "*"));
        assert_eq!(parse("public.\"a.b\""), pattern(Some("public"), "a.b"));
        assert_eq!(like("a_b*?%"), "a\\_b%_\\%");
        assert_eq!(literal("it's"), "'it''s'");
    }
}
