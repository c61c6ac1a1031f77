//! Importing files that hold several tables.

use super::CancelOnDrop;
use super::named_types::NamedTypes;
use super::options::ImportOptions;
use super::report::ImportReport;
use crate::entity_service::EntityService;
use crate::entity_service::service::blocking;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{Format, Source, StoredTable};
use rowkey_model::TableName;

/// Tables that a message names; of more there is a count.
const LISTED_MAX: usize = 20;

/// Tables that were left out because they belong to an account that was not asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedAccount {
    pub input: String,
    pub account: String,
    pub tables: Vec<String>,
}

impl EntityService {
    /// Imports every table of an account ([`ImportOptions::from_account`]) that the databases of
    /// Azurite in `sources` hold, each into the table of its name. Each table is imported as
    /// [`EntityService::import`] does it: all of it becomes visible at once, or nothing. `done`
    /// gets the report of each; after an error no further table is imported. Names are checked
    /// before anything is. Dropping the future cancels the table that is being imported.
    pub async fn import_tables(
        &self,
        sources: Vec<Source>,
        options: &ImportOptions,
        mut done: impl FnMut(&str, ImportReport) + Send + 'static,
    ) -> Result<Vec<SkippedAccount>> {
        let (service, run) = (self.clone(), options.clone());
        let cancelled = CancelOnDrop::of(options);
        let skipped = blocking(move || service.import_tables_blocking(sources, &run, &mut done)).await;
        cancelled.disarm();
        skipped
    }

    /// The same on the caller's thread, which may block.
    pub fn import_tables_blocking(
        &self,
        sources: Vec<Source>,
        options: &ImportOptions,
        done: &mut dyn FnMut(&str, ImportReport),
    ) -> Result<Vec<SkippedAccount>> {
        self.principal().expect_owner()?;
        let account = self.account_of(options);
        let mut skipped: Vec<SkippedAccount> = Vec::new();
        let mut chosen = Vec::new();
        for mut source in sources {
            let input = source.name().to_string();
            let format = match options.format {
                Some(format) => format,
                None => source.detect()?,
            };
            if format != Format::AzuriteDatabase {
                let message =
                    format!("{input}: only a database of Azurite names its tables; this is {}", format.name());
                return Err(Error::new(SqlState::INVALID_STATEMENT, message).with_hint("name the table to import into"));
            }
            let tables = source.tables()?;
            if !tables.iter().any(|stored| stored.account == account) {
                return Err(no_table(&input, account, None, &tables));
            }
            for stored in tables {
                if stored.account == account {
                    TableName::parse(&stored.table)?;
                    chosen.push(stored);
                    continue;
                }
                match skipped.iter_mut().find(|skipped| skipped.input == input && skipped.account == stored.account) {
                    Some(skipped) => skipped.tables.push(stored.table),
                    None => skipped.push(SkippedAccount {
                        input: input.clone(),
                        account: stored.account,
                        tables: vec![stored.table],
                    }),
                }
            }
        }
        let options = ImportOptions { format: None, ..options.clone() };
        let mut types = NamedTypes::of(&options.types);
        let last = chosen.len().saturating_sub(1);
        for (at, StoredTable { table, source, .. }) in chosen.into_iter().enumerate() {
            let report = self.import_as_one_of(&table, vec![source], &options, &mut types, at == last)?;
            done(&table, report);
        }
        Ok(skipped)
    }

    /// The table of this name in a database of Azurite.
    pub(super) fn stored_table(&self, source: Source, table: &TableName, options: &ImportOptions) -> Result<Source> {
        let account = self.account_of(options);
        let input = source.name().to_string();
        let mut tables = source.tables()?;
        let wanted =
            |stored: &StoredTable| stored.account == account && stored.table.eq_ignore_ascii_case(table.as_str());
        match tables.iter().position(wanted) {
            Some(at) => Ok(tables.swap_remove(at).source),
            None => Err(no_table(&input, account, Some(table), &tables)),
        }
    }

    fn account_of<'a>(&'a self, options: &'a ImportOptions) -> &'a str {
        options.from_account.as_deref().unwrap_or(self.account.as_str())
    }
}

/// What a database holds instead of what was asked for.
fn no_table(input: &str, account: &str, table: Option<&TableName>, tables: &[StoredTable]) -> Error {
    let missing = match table {
        Some(table) => format!("table {table} of account {account}"),
        None => format!("table of account {account}"),
    };
    let mut names: Vec<String> = tables
        .iter()
        .map(|stored| match stored.account == account {
            true => stored.table.clone(),
            false => format!("{} (of account {})", stored.table, stored.account),
        })
        .collect();
    let more = names.len().saturating_sub(LISTED_MAX);
    names.truncate(LISTED_MAX);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let there_are = match names.is_empty() {
        true => "there is none at all".to_owned(),
        false => format!("there are: {}", names.join(", ")),
    };
    Error::new(SqlState::INVALID_STATEMENT, format!("{input}: there is no {missing}; {there_are}"))
}
