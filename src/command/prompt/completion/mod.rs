//! What Tab offers.

mod catalog;
mod context;
mod words;

use std::fs;
use std::path::MAIN_SEPARATOR;
use std::time::Duration;

use rustyline::completion::Pair;
use tokio::runtime::Handle;

use super::super::text::visible;
use super::meta::COMMANDS;
use catalog::{Catalog, Relation};
use context::{KeyColumn, Named, Place, Wanted, named, place};
use rowkey_sql::engine::Engine;
use rowkey_sql::session::Settings;
use std::sync::Arc;

/// Files of a folder that are offered.
const FILES_MAX: usize = 200;

/// Knows what can stand where in a statement of this database.
pub(super) struct Completion {
    catalog: Catalog,
    settings: Vec<String>,
    functions: Vec<String>,
}

impl Completion {
    /// `patience` is how long each question to the database may take.
    pub(super) fn new(database: Arc<Engine>, threads: Handle, patience: Duration) -> rowkey_sql::session::Result<Self> {
        let settings = Settings::names().map(str::to_owned).collect();
        let functions = database.own_session()?.function_names();
        Ok(Self { catalog: Catalog::new(database, threads, patience), settings, functions })
    }

    /// What can replace the text from a byte up to the cursor.
    pub(super) fn candidates(&self, text: &str, cursor: usize) -> (usize, Vec<Pair>) {
        let at = place(&text[..cursor]);
        // The word at the cursor is left out: its open quote would hide the tables that are named
        // behind it.
        let after = &text[cursor..];
        let is_closed = after.starts_with('\'');
        let around = format!("{} {}", &text[..at.from], after.trim_start_matches(['\'', '"']));
        let tables = || named(&around, at.from);
        let found = match &at.wanted {
            Wanted::Nothing => Vec::new(),
            Wanted::Command => same(COMMANDS.iter().map(|(name, ..)| (*name).to_owned()), &at),
            Wanted::Argument { command } => self.arguments(command, &at),
            Wanted::Statement => keywords(words::STATEMENTS, &at),
            Wanted::Relation { schema } => self.relations(schema.as_deref(), &at),
            Wanted::Member { of } => self.members(of, &at, &tables()),
            Wanted::Expression => self.expressions(&at, &tables()),
            Wanted::Setting => same(self.settings.iter().cloned(), &at),
            Wanted::Key { column, qualifier, partition } => {
                self.keys(*column, qualifier.as_deref(), partition.as_deref(), &at, &tables(), is_closed)
            }
        };
        (at.from, found)
    }

    fn relations(&self, schema: Option<&str>, at: &Place) -> Vec<Pair> {
        let relations = self.catalog.relations();
        let is_meant = |relation: &&Relation| match schema {
            Some(schema) => relation.schema.eq_ignore_ascii_case(schema),
            None => relation.schema == "public" || relation.schema == "pg_catalog" && at.prefix.starts_with("pg_"),
        };
        let mut found = names(relations.iter().filter(is_meant).map(|relation| relation.name.as_str()), at);
        if schema.is_none() && !at.quoted {
            let mut schemas: Vec<&str> = relations.iter().map(|relation| relation.schema.as_str()).collect();
            schemas.dedup();
            found.extend(same(schemas.iter().map(|schema| format!("{schema}.")), at));
        }
        found
    }

    fn members(&self, of: &[String], at: &Place, tables: &[Named]) -> Vec<Pair> {
        let columns = match of {
            [schema, relation] => self.catalog.columns(Some(schema), relation),
            [qualifier] => match tables.iter().find(|table| table.is_called(qualifier)) {
                Some(table) => self.catalog.columns(table.schema.as_deref(), &table.name),
                None => return self.relations(Some(qualifier), at),
            },
            _ => Vec::new(),
        };
        names(columns.iter().map(String::as_str), at)
    }

    fn expressions(&self, at: &Place, tables: &[Named]) -> Vec<Pair> {
        let mut columns: Vec<String> = Vec::new();
        for table in tables {
            for column in self.catalog.columns(table.schema.as_deref(), &table.name) {
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
        let mut found = names(columns.iter().map(String::as_str), at);
        if at.quoted {
            return found;
        }
        found.extend(names(tables.iter().filter_map(|table| table.alias.as_deref()), at));
        // Without a letter there would be too many to be of use.
        if !at.prefix.is_empty() {
            found.extend(same(self.functions.iter().map(|function| format!("{function}(")), at));
        }
        found.extend(keywords(words::INSIDE, at));
        found
    }

    fn keys(
        &self,
        column: KeyColumn,
        qualifier: Option<&str>,
        partition: Option<&str>,
        at: &Place,
        tables: &[Named],
        is_closed: bool,
    ) -> Vec<Pair> {
        let table = match qualifier {
            Some(qualifier) => tables.iter().find(|table| table.is_called(qualifier)),
            None => tables.first(),
        };
        let Some(table) = table else { return Vec::new() };
        let keys = match (column, partition) {
            (KeyColumn::Partition, _) => self.catalog.partition_keys(&table.name, &at.prefix),
            (KeyColumn::Row, Some(partition)) => self.catalog.row_keys(&table.name, partition, &at.prefix),
            (KeyColumn::Row, None) => Vec::new(),
        };
        let end = if is_closed { "" } else { "'" };
        let keys = keys.into_iter().filter(|key| !key.contains(char::is_control));
        keys.map(|key| Pair { display: visible(&key), replacement: format!("'{}{end}", key.replace('\'', "''")) })
            .collect()
    }

    fn arguments(&self, command: &str, at: &Place) -> Vec<Pair> {
        let words = |words: &[&str]| same(words.iter().map(|word| (*word).to_owned()), at);
        match command {
            "\\x" => words(&["on", "off", "auto"]),
            "\\timing" => words(&["on", "off"]),
            "\\pset" => words(&["null"]),
            "\\h" => words(words::STATEMENTS),
            "\\d" | "\\dt" | "\\dv" => match at.prefix.rsplit_once('.') {
                Some((schema, name)) => {
                    let place = Place { prefix: name.to_owned(), ..at.clone() };
                    let mut found = self.relations(Some(schema), &place);
                    found.iter_mut().for_each(|pair| pair.replacement = format!("{schema}.{}", pair.replacement));
                    found
                }
                None => self.relations(None, at),
            },
            "\\dn" => same(["public", "pg_catalog", "information_schema", "rowkey"].map(str::to_owned).into_iter(), at),
            "\\i" | "\\o" => files(&at.prefix),
            _ => Vec::new(),
        }
    }
}

/// Words that begin with what is written, in any case, as they are.
fn same(words: impl Iterator<Item = String>, at: &Place) -> Vec<Pair> {
    let found = words.filter(|word| begins(word, &at.prefix));
    found.map(|word| Pair { display: word.clone(), replacement: word }).collect()
}

fn keywords(words: &[&str], at: &Place) -> Vec<Pair> {
    if at.quoted {
        return Vec::new();
    }
    let found = words.iter().filter(|word| begins(word, &at.prefix)).map(|word| words::cased(word, &at.prefix));
    found.map(|word| Pair { display: word.clone(), replacement: word }).collect()
}

/// Names that begin with what is written, in any case; two that differ only in case need quotes.
fn names<'a>(names: impl Iterator<Item = &'a str>, at: &Place) -> Vec<Pair> {
    let all: Vec<&str> = names.collect();
    let alike = |name: &str| all.iter().filter(|other| other.eq_ignore_ascii_case(name)).count() > 1;
    let found = all.iter().filter(|name| begins(name, &at.prefix));
    let written = |name: &&str| words::name(name, at.quoted || alike(name));
    found.map(|name| Pair { display: visible(name), replacement: written(name) }).collect()
}

fn begins(word: &str, prefix: &str) -> bool {
    word.to_lowercase().starts_with(&prefix.to_lowercase())
}

/// Files and folders whose path begins so.
fn files(prefix: &str) -> Vec<Pair> {
    let (folder, name) = match prefix.rfind(MAIN_SEPARATOR) {
        Some(at) => prefix.split_at(at + 1),
        None => ("", prefix),
    };
    // A folder that cannot be read has nothing to offer.
    let Ok(entries) = fs::read_dir(if folder.is_empty() { "." } else { folder }) else { return Vec::new() };
    let mut found: Vec<Pair> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let file = entry.file_name().into_string().ok()?;
            let is_meant = file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.'));
            let end = if entry.path().is_dir() { "/" } else { "" };
            is_meant.then(|| Pair {
                display: format!("{}{end}", visible(&file)),
                replacement: format!("{folder}{file}{end}"),
            })
        })
        .take(FILES_MAX)
        .map(|mut pair| {
            if pair.replacement.contains([' ', '\'']) {
                pair.replacement = format!("'{}", pair.replacement.replace('\'', "''"));
            }
            pair
        })
        .collect();
    found.sort_by(|a, b| a.display.cmp(&b.display));
    found
}

#[cfg(test)]
mod tests;
