//! The arguments as written.

mod table_service;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::failure::Failure;
use super::output::Form;
use rowkey_formats::{Compression, ExportFormat, Format, KeyTemplate};
use rowkey_model::{AccountName, DateTime, Rejected, TableName};
use rowkey_sql::engine::Durability;
use rowkey_sql::engine::{OnReject, Options};
use rowkey_sql::session::memory_bytes_available;

pub(super) use table_service::{AccountArguments, AccountCommand, LogForm, RestArguments};

/// Where the data lies unless something else is said.
pub(super) const DATA_DEFAULT: &str = "./rowkey-data";
/// A database that is gone when the process ends.
pub(super) const DATA_MEMORY: &str = ":memory:";
/// A server with less for its queries gives memory back as soon as it is free.
const LITTLE_MEMORY_MIB: u64 = 1024;
const DATA_VARIABLE: &str = "ROWKEY_DATA";

/// Asks entity tables in SQL, and shows how each question is read.
#[derive(Debug, Parser)]
#[command(name = "rowkey", version)]
pub struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

impl Arguments {
    /// Reads the process's own. Prints help, or what is wrong with them, and ends the process if
    /// they ask for nothing that can be done.
    pub fn from_process() -> Self {
        Self::parse()
    }

    /// Whether the process serves until it is stopped, and its queries have less than a gibibyte.
    pub fn is_server_with_little_memory(&self) -> bool {
        let Command::Serve(serve) = &self.command else { return false };
        let memory_mib = serve.engine.memory_mib.or_else(|| memory_bytes_available().map(|bytes| (bytes / 2) >> 20));
        memory_mib.is_some_and(|mebibytes| mebibytes < LITTLE_MEMORY_MIB)
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Serve(ServeArguments),
    Sql(SqlArguments),
    Import(ImportArguments),
    Export(ExportArguments),
    Check(CheckArguments),
    Account(AccountArguments),
    Completions(CompletionsArguments),
    /// Print the manual pages of all commands
    Man,
}

/// Print what completes commands and options in a shell
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell: eval "$(rowkey completions bash)" completes from then on
    pub(super) shell: Shell,
}

/// Serve the PostgreSQL wire protocol, to which psql, drivers and BI tools connect, and the Table
/// service's REST protocol, which Azure's SDKs speak
#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    #[command(flatten)]
    pub(super) data: DataArguments,

    /// The address to listen on; a loopback address, since there is no authentication
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5433")]
    pub(super) pg: String,

    #[command(flatten)]
    pub(super) rest: RestArguments,

    /// Add the sample tables; without --data nothing is kept
    #[arg(long, conflicts_with = "read_only")]
    pub(super) sample: bool,

    /// Let COPY ... TO 'file' write files in this folder, which lies beside the data folder;
    /// without it no client writes any
    #[arg(long, value_name = "DIR")]
    pub(super) copy_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(super) engine: EngineArguments,
}

/// Ask in SQL
///
/// Statements are taken from the argument, from a file, or from standard input, run in order, and
/// the first error ends it. At a terminal and without a query there is a prompt: statements are
/// typed, \? tells what else it knows. With --sample and without a query, one question is asked in
/// four ways to show the four access paths.
#[derive(Debug, Args)]
pub(super) struct SqlArguments {
    #[command(flatten)]
    pub(super) data: DataArguments,

    /// Add the sample tables; without --data nothing is kept
    #[arg(long, conflicts_with = "read_only")]
    pub(super) sample: bool,

    #[command(flatten)]
    pub(super) engine: EngineArguments,

    /// Have a server that runs do it, over the Postgres wire and without TLS:
    /// postgresql://rowkey@127.0.0.1:5433/devstoreaccount1. For a prompt there is psql
    #[arg(long, value_name = "URL", conflicts_with_all = [
        "data", "spill_dir", "account", "sample", "read_only", "durability", "cache_mib", "memory_mib", "prompt",
    ])]
    pub(super) server: Option<String>,

    /// Type statements at a prompt, also with --sample
    #[arg(long, conflicts_with_all = ["query", "file"])]
    pub(super) prompt: bool,

    /// How to print results [default: table]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) output: Option<Form>,

    /// Statements, separated by semicolons, and the commands of the prompt, which begin with a
    /// backslash
    #[arg(value_name = "QUERY", conflicts_with = "file")]
    pub(super) query: Option<String>,

    /// Read the statements and commands from a file (- is standard input)
    #[arg(short, long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
}

/// Import exports of a table, or a database of Azurite
///
/// Entities are added by key: a newer one replaces the one stored, an equal one changes nothing. A
/// failed import leaves the table as it was. Whatever is in gzip or in UTF-16 is read as what it
/// holds.
///
/// Exit status 0 when all entities were taken, or those rejected were to be skipped (--on-error
/// skip); 1 after an error, which leaves the table as it was; 3 when entities were rejected and
/// left out.
#[derive(Debug, Args)]
pub(super) struct ImportArguments {
    #[command(flatten)]
    pub(super) data: DataArguments,

    /// Import into a server that runs, over the Postgres wire and without TLS:
    /// postgresql://rowkey@127.0.0.1:5433/devstoreaccount1. Each file is imported as a whole, and
    /// an entity that breaks a rule ends it unless --on-error is skip
    #[arg(long, value_name = "URL", conflicts_with_all = [
        "data", "spill_dir", "account", "from_account", "rejects", "types", "types_file", "pk_column", "rk_column",
        "since", "dry_run", "strict",
    ])]
    pub(super) server: Option<String>,

    /// The table to import into; it is created if there is none. Only a database of Azurite
    /// (__azurite_db_table__.json) names its tables itself: without this all of them are imported,
    /// with it the one of this name
    #[arg(long, value_name = "NAME", value_parser = table_name)]
    pub(super) table: Option<TableName>,

    /// Of a database of Azurite, the account whose tables are imported [default: that of --account]
    #[arg(long, value_name = "ACCOUNT")]
    pub(super) from_account: Option<String>,

    /// The format of the input (csv is that of Storage Explorer, and any other with key columns);
    /// otherwise told from each input's first bytes
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub(super) format: Option<Format>,

    /// What to do with an entity that breaks a rule of the data model, or has the key of another
    /// one and differs without a Timestamp that says which is newer [default: skip, with exit
    /// status 3]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) on_error: Option<OnError>,

    /// Write entities that were rejected to a new file, as lines of JSON to correct and import
    /// again
    #[arg(long, value_name = "FILE")]
    pub(super) rejects: Option<PathBuf>,

    /// Types of properties, over what the input says: At=Edm.DateTime,Count=Edm.Int64
    #[arg(long, value_name = "NAME=TYPE,...")]
    pub(super) types: Vec<String>,

    /// A file of such types, also one on each line
    #[arg(long, value_name = "FILE")]
    pub(super) types_file: Option<PathBuf>,

    /// Make PartitionKey of a column, or of several and text between: '{Country}-{City}'
    #[arg(long, value_name = "COLUMN", value_parser = KeyTemplate::parse)]
    pub(super) pk_column: Option<KeyTemplate>,

    /// Make RowKey of a column, or of several and text between
    #[arg(long, value_name = "COLUMN", value_parser = KeyTemplate::parse)]
    pub(super) rk_column: Option<KeyTemplate>,

    /// Leave out entities with an earlier Timestamp: 2024-05-01, or 2024-05-01T08:00:00Z
    #[arg(long, value_name = "TIMESTAMP", value_parser = since)]
    pub(super) since: Option<DateTime>,

    /// Read and compare everything and report, without changing the table
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Refuse inputs that look incomplete (pages or files are missing, or entities by the input's
    /// own count, or there is nothing at all), --types of properties that no input has, and any
    /// entity that would be rejected
    #[arg(long)]
    pub(super) strict: bool,

    /// A file, a folder (its .json, .ndjson, .jsonl, .csv, .tsv and .parquet files, also with .gz
    /// behind, backups and AzCopy manifests), a glob, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub(super) paths: Vec<PathBuf>,
}

/// Export a table, some of its entities, or the rows of a query
///
/// What is written appears under its name when all of it is there. Formats: parquet (typed
/// columns), csv (Storage Explorer's, a type beside every value), json (the service's payload with
/// full metadata), ndjson (one entity a line) keep everything and are imported again as they were;
/// plain-csv has no types.
#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    pub(super) data: DataArguments,

    /// Export from a server that runs, over the Postgres wire and without TLS:
    /// postgresql://rowkey@127.0.0.1:5433/devstoreaccount1
    #[arg(long, value_name = "URL", conflicts_with_all = [
        "data", "spill_dir", "account", "partition", "condition", "pages", "partition_by_key", "compress", "read_only",
    ])]
    pub(super) server: Option<String>,

    /// The table to export
    #[arg(long, value_name = "NAME", value_parser = table_name, required_unless_present = "query")]
    pub(super) table: Option<TableName>,

    /// Only the entities of this PartitionKey
    #[arg(long, value_name = "KEY", conflicts_with_all = ["query", "condition"])]
    pub(super) partition: Option<String>,

    /// Of the partition, only the entities from this RowKey on
    #[arg(long, value_name = "KEY", requires = "partition")]
    pub(super) from_row: Option<String>,

    /// Of the partition, only the entities below this RowKey
    #[arg(long, value_name = "KEY", requires = "partition")]
    pub(super) to_row: Option<String>,

    /// Only the entities that a condition in SQL is true of
    #[arg(long = "where", value_name = "CONDITION", conflicts_with = "query")]
    pub(super) condition: Option<String>,

    /// Instead of a table, the rows of a query, with the columns and types that SQL shows; csv and
    /// json want the keys among them
    #[arg(long, value_name = "SQL", conflicts_with = "table")]
    pub(super) query: Option<String>,

    /// The format [default: by the name of the file]
    #[arg(long, value_name = "FORMAT", value_parser = export_format_parser())]
    pub(super) format: Option<ExportFormat>,

    /// json: a folder of pages of 1,000 entities, as the service hands them out
    #[arg(long, conflicts_with = "partition_by_key")]
    pub(super) pages: bool,

    /// parquet: a folder PartitionKey=<value> for each PartitionKey, as Hive has it
    #[arg(long)]
    pub(super) partition_by_key: bool,

    /// Compress the output; of parquet, the pages in it [default: by the name of the file, .gz or
    /// .zst; zstd in parquet]
    #[arg(long, value_name = "HOW", value_parser = compression_parser())]
    pub(super) compress: Option<Compression>,

    /// Replace the file, or the folder of an earlier export
    #[arg(long)]
    pub(super) overwrite: bool,

    #[command(flatten)]
    pub(super) read_only: ReadOnlyArguments,

    /// The file or the folder to write, or - for standard output
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: PathBuf,
}

/// Check the stored files: checksums, bounds, order, uniqueness, counts and statistics
///
/// Exit status 0 only when nothing is wrong, and nothing was.
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    pub(super) data: DataArguments,

    /// Take damaged files out of use, and cut a damaged log before the damage; nothing is deleted,
    /// everything taken away is moved to the folder quarantine in the data folder
    #[arg(long, conflicts_with = "read_only")]
    pub(super) repair: bool,

    #[command(flatten)]
    pub(super) read_only: ReadOnlyArguments,
}

#[derive(Debug, Args)]
pub(super) struct ReadOnlyArguments {
    /// Change nothing in the data folder, which others may read at the same time; writes are
    /// refused. A folder without permission to write is always opened so
    #[arg(long)]
    read_only: bool,
}

impl ReadOnlyArguments {
    /// The options with what was asked for.
    pub(super) fn applied_to(&self, options: Options) -> Options {
        Options { read_only: self.read_only, ..options }
    }
}

#[derive(Debug, Args)]
pub(super) struct EngineArguments {
    #[command(flatten)]
    pub(super) read_only: ReadOnlyArguments,

    /// When a write is acknowledged; imports, definitions and folds are always on disk first
    #[arg(long, value_enum, value_name = "WHEN", default_value = "sync")]
    durability: WhenDurable,

    /// Memory for what is cached of files [default: an eighth of the machine's]
    #[arg(long, value_name = "MIB")]
    cache_mib: Option<u64>,

    /// Memory that queries use before they spill to disk; beside it, messages of clients that are
    /// not complete yet have a fourth as much, and 64 MiB at least; a server with less than 1024
    /// gives back at once what is freed, which makes some queries slower [default: half of the
    /// machine's]
    #[arg(long, value_name = "MIB")]
    memory_mib: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum WhenDurable {
    /// When it is on disk
    Sync,
    /// When the operating system has it: a crash of the machine may lose the last writes
    Os,
}

impl EngineArguments {
    /// The options with what was asked for.
    pub(super) fn applied_to(&self, options: Options) -> Options {
        let bytes = |mebibytes: u64| mebibytes.saturating_mul(1 << 20);
        let durability = match self.durability {
            WhenDurable::Sync => Durability::Sync,
            WhenDurable::Os => Durability::Os,
        };
        Options {
            durability,
            cache_bytes: self.cache_mib.map(bytes).or(options.cache_bytes),
            memory_bytes: self.memory_mib.map(bytes).or(options.memory_bytes),
            ..self.read_only.applied_to(options)
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct DataArguments {
    /// The data folder, or :memory: to keep nothing [env: ROWKEY_DATA] [default: ./rowkey-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,

    /// The folder for what does not fit into memory; others may use it as well [default: in the
    /// data folder]
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,

    /// The account whose tables are meant, which is the name of the database; a data folder holds
    /// any number of them [default: devstoreaccount1]
    #[arg(long, value_name = "NAME", value_parser = AccountName::parse)]
    account: Option<AccountName>,
}

impl DataArguments {
    /// The options with what was asked for.
    pub(super) fn applied_to(&self, options: Options) -> Options {
        Options {
            spill_folder: self.spill_dir.clone().or(options.spill_folder),
            account: self.account.clone().unwrap_or(options.account),
            ..options
        }
    }

    /// The location to open: as given, else from the environment, else the default.
    pub(super) fn location(&self) -> Result<String, Failure> {
        self.location_within(env::var_os(DATA_VARIABLE))
    }

    /// The location for sample data: `--data`, else memory. The environment variable names a folder
    /// of real data, which samples must not mix with.
    pub(super) fn location_of_sample(&self) -> String {
        self.data.clone().unwrap_or_else(|| DATA_MEMORY.to_owned())
    }

    fn location_within(&self, variable: Option<OsString>) -> Result<String, Failure> {
        let location = match (&self.data, variable) {
            (Some(data), _) => data.clone(),
            (None, Some(variable)) if !variable.is_empty() => variable.into_string().map_err(|variable| {
                Failure::usage(
                    format!("{DATA_VARIABLE} is not UTF-8: {}", variable.display()),
                    "name the folder with --data DIR",
                )
            })?,
            (None, _) => DATA_DEFAULT.to_owned(),
        };
        if location.is_empty() {
            return Err(Failure::usage(
                "--data names no folder",
                "for example --data ./rowkey-data, or --data :memory:",
            ));
        }
        Ok(location)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnError {
    /// End the import; the table stays as it was
    Stop,
    /// Leave the entity out and report it; the exit status is 0 if others were taken
    Skip,
}

impl OnError {
    pub(super) fn on_reject(self) -> OnReject {
        match self {
            OnError::Stop => OnReject::Stop,
            OnError::Skip => OnReject::Skip,
        }
    }
}

/// A date stands for its first moment.
fn since(text: &str) -> Result<DateTime, Rejected> {
    DateTime::parse(text).or_else(|rejected| DateTime::parse(&format!("{text}T00:00:00Z")).map_err(|_| rejected))
}

fn table_name(text: &str) -> Result<TableName, Rejected> {
    TableName::parse(text)
}

/// Takes the names of the formats, and lists them in the help.
fn format_parser() -> impl clap::builder::TypedValueParser<Value = Format> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::parse(&name).ok_or_else(|| format!("there is no format {name}")))
}

/// The same for the formats of exports.
fn export_format_parser() -> impl clap::builder::TypedValueParser<Value = ExportFormat> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(ExportFormat::ALL.map(ExportFormat::name))
        .try_map(|name| ExportFormat::parse(&name).ok_or_else(|| format!("there is no format {name}")))
}

/// The same for compressions.
fn compression_parser() -> impl clap::builder::TypedValueParser<Value = Compression> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Compression::ALL.map(Compression::name))
        .try_map(|name| Compression::parse(&name).ok_or_else(|| format!("there is no compression {name}")))
}

#[cfg(test)]
mod tests;
