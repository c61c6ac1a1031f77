//! `CREATE [OR REPLACE] VIEW name [(columns)] AS query`.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{CreateTableOptions, CreateView, Statement};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::Definition;
use super::column_types::{postgres_type, spoken};
use super::relation_name::{Relation, identifiers, name_in_public};
use crate::planner::{PUBLIC, StatementPlanner, literal_settings};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::ViewName;
use rowkey_postgres::functions::is_moment;
use rowkey_postgres::syntax::Source;
use rowkey_postgres::syntax::located;
use rowkey_postgres::syntax::{Request, parse, visit_expressions};
use rowkey_storage::{Edit, View, ViewColumn};

/// Words of literals that are read by the clock.
const MOMENTS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// The edit that makes a view. Its query is planned once, as it will be planned wherever the view
/// is read.
pub(super) async fn create_view(view: CreateView, text: &str, planner: &StatementPlanner) -> Result<Definition> {
    refuse_options(&view)?;
    let name = name_in_public(&identifiers(&view.name)?, planner)?.value.clone();
    let name = ViewName::parse(&name)?;
    let replaced = match Relation::named(planner.catalog(), planner.account(), name.as_str()) {
        Some(found) if view.if_not_exists => {
            let notice = format!("relation \"{}\" already exists, skipping", found.name());
            return Ok(Definition { notices: vec![notice.into()], ..Definition::default() });
        }
        Some(Relation::View(old)) if view.or_replace => Some(old),
        Some(Relation::Table(table)) if view.or_replace => {
            return Err(Error::new(SqlState::INVALID_STATEMENT, format!("\"{}\" is not a view", table.name)));
        }
        Some(_) => return Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))),
        None => None,
    };
    let sql = query_text(text)?;
    // What is kept is what is checked: the text, read again.
    // What is before the query; the last that reads the same is it.
    let before = text.rfind(sql).and_then(|at| text.get(..at)).unwrap_or_default().chars().count();
    let statement = parse(sql).map_err(|error| error.moved(before))?;
    let query = match &statement.request {
        Request::Query(query) if matches!(**query, Statement::Query(_)) => query,
        _ => return Err(Error::new(SqlState::INVALID_STATEMENT, "a view is made of a query")),
    };
    let planned = planner.view_query(&statement, query).await;
    let planned = planned.map_err(|error| located(error, &statement).moved(before))?;
    if !planned.parameters.is_empty() {
        return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
    }
    // Literals stand in quotes.
    let literals = match sql.contains(['\'', '$']) {
        true => literal_settings(planner.context(), &statement, query, &planned).await?,
        false => None,
    };
    let has_moment = visit_expressions(query, |expr| match is_moment(expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    let has_word = || MOMENTS.iter().any(|word| sql.to_ascii_lowercase().contains(word));
    let planning = planner.context();
    if has_moment.is_break() || has_word() && planning.reads_the_clock(&statement, query, &planned).await? {
        let message = "a view with a literal that is read by the clock, such as 'today', is not supported";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .with_hint("write now() or current_date, or the moment itself"));
    }
    let reads = relations_read(&planned.relations, planner);
    let given: Vec<&str> = view.columns.iter().map(|column| column.name.value.as_str()).collect();
    let fields = planned.columns.iter().map(|column| &column.field);
    let columns = columns(&given, fields.map(|field| (field.name().as_str(), postgres_type(field))))?;
    if let Some(old) = &replaced {
        refuse_other_columns(old, &columns)?;
        let circle = planner.catalog().dependents(old.id).iter().any(|dependent| reads.contains(&dependent.id));
        if circle || reads.contains(&old.id) {
            let message = format!("infinite recursion detected in rules for relation \"{}\"", old.name);
            return Err(Error::new(SqlState::INVALID_STATEMENT, message));
        }
    }
    let edit = Edit::CreateView {
        id: replaced.as_ref().map_or_else(|| planner.catalog().next_table_id(), |old| old.id),
        account: planner.account().as_str().to_owned(),
        name: replaced.as_ref().map_or_else(|| name.as_str().to_owned(), |old| old.name.clone()),
        sql: sql.to_owned(),
        columns,
        reads,
        literals,
        replaces: replaced.is_some(),
    };
    Ok(Definition { edits: vec![edit], ..Definition::default() })
}

fn refuse_options(view: &CreateView) -> Result<()> {
    let refused = |what: &str| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported")));
    if view.materialized {
        return refused("CREATE MATERIALIZED VIEW");
    }
    if view.temporary {
        return refused("CREATE TEMPORARY VIEW");
    }
    if view.options != CreateTableOptions::None {
        return refused("CREATE VIEW ... WITH (...)");
    }
    let foreign = view.or_alter
        || view.secure
        || view.copy_grants
        || view.with_no_schema_binding
        || view.to.is_some()
        || view.comment.is_some()
        || view.params.is_some()
        || !view.cluster_by.is_empty();
    if foreign {
        return refused("an option of this CREATE VIEW, which PostgreSQL does not have,");
    }
    if let Some(column) = view.columns.iter().find(|column| column.data_type.is_some() || column.options.is_some()) {
        return refused(&format!("more than a name for column \"{}\" of a view", column.name.value));
    }
    Ok(())
}

/// The query of a CREATE VIEW as it was written: what follows the first AS outside parentheses.
pub(super) fn query_text(text: &str) -> Result<&str> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .tokenize_with_location()
        .map_err(|error| Error::new(SqlState::INVALID_STATEMENT, format!("syntax error: {error}")))?;
    let source = Source::new(text);
    let (mut depth, mut from, mut to) = (0_usize, None, text.len());
    for token in &tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word)
                if from.is_none() && depth == 0 && word.quote_style.is_none() && word.keyword == Keyword::AS =>
            {
                from = Some(source.offset(token.span.start) + "AS".len());
            }
            // The end of the statement; parsing made sure that nothing follows.
            Token::SemiColon => to = to.min(source.offset(token.span.start)),
            _ => {}
        }
    }
    from.and_then(|from| text.get(from..to))
        .map(str::trim)
        .ok_or_else(|| Error::new(SqlState::INVALID_STATEMENT, "syntax error: CREATE VIEW without AS"))
}

/// Ids of the tables and views that a query names, each once.
fn relations_read(relations: &[(String, String)], planner: &StatementPlanner) -> Vec<u64> {
    let mut reads: Vec<u64> = relations
        .iter()
        .filter(|(schema, _)| schema == PUBLIC)
        .filter_map(|(_, name)| Relation::named(planner.catalog(), planner.account(), name))
        .map(|relation| relation.id())
        .collect();
    reads.sort_unstable();
    reads.dedup();
    reads
}

/// The columns of a view: those of the query, the first of them under the names given.
fn columns<'a>(given: &[&str], query: impl ExactSizeIterator<Item = (&'a str, String)>) -> Result<Vec<ViewColumn>> {
    if given.len() > query.len() {
        return Err(Error::new(SqlState::INVALID_STATEMENT, "CREATE VIEW specifies more column names than columns"));
    }
    let given = given.iter().copied().map(Some).chain(std::iter::repeat(None));
    let column = |((source, postgres_type), given): ((&str, String), Option<&str>)| ViewColumn {
        name: given.unwrap_or(source).to_owned(),
        postgres_type,
        source: given.filter(|given| *given != source).map(|_| source.to_owned()),
    };
    let columns: Vec<ViewColumn> = query.zip(given).map(column).collect();
    let mut seen = HashSet::new();
    if let Some(twice) = columns.iter().find(|column| !seen.insert(column.name.as_str())) {
        return Err(Error::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column \"{}\" specified more than once", twice.name),
        ));
    }
    Ok(columns)
}

/// A view that is replaced keeps its columns; new ones come behind them.
fn refuse_other_columns(old: &View, columns: &[ViewColumn]) -> Result<()> {
    if columns.len() < old.columns.len() {
        return Err(Error::new(SqlState::INVALID_STATEMENT, "cannot drop columns from view"));
    }
    for (was, is) in old.columns.iter().zip(columns) {
        if was.name != is.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", was.name, is.name);
            return Err(Error::new(SqlState::INVALID_STATEMENT, message).with_hint("drop the view and create it again"));
        }
        if was.postgres_type != is.postgres_type {
            let message = format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                was.name,
                spoken(&was.postgres_type),
                spoken(&is.postgres_type)
            );
            return Err(Error::new(SqlState::INVALID_STATEMENT, message));
        }
    }
    Ok(())
}
