//! What concerns the Table service: where it is served, and the keys of its accounts.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use rowkey_model::AccountName;

use super::DataArguments;

#[derive(Debug, Args)]
pub(crate) struct RestArguments {
    /// The address to serve the Table service's REST protocol on, or off [default: 127.0.0.1:10002,
    /// left out with a warning where another program has the port]
    ///
    /// Its accounts are those of ROWKEY_ACCOUNTS (name:key;name:key1:key2), else those that rowkey
    /// account gave keys, else devstoreaccount1 with the key that everybody knows.
    #[arg(long, value_name = "ADDR")]
    pub(crate) rest: Option<String>,

    /// Let --rest be an address that other machines reach, without TLS, or with the key that
    /// everybody knows
    #[arg(long, requires = "rest")]
    pub(crate) insecure: bool,

    /// Serve --rest over TLS with the certificate of a PEM file, behind which may follow those that
    /// vouch for it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Serve --rest over TLS with a new certificate, which is written to a PEM file for clients to
    /// trust
    #[arg(long, value_name = "FILE", conflicts_with = "tls_cert")]
    pub(crate) tls_self_signed: Option<PathBuf>,

    /// Write a line for each request of --rest and each statement of --pg to standard error: when,
    /// its ids, what was asked, the status, how long it took
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) log_requests: Option<LogForm>,
}

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// For people
    Text,
    /// An object a line
    Json,
}

/// Give accounts of the Table service keys of their own
///
/// A data folder where no account has any is served as devstoreaccount1 with the key that everybody
/// knows. Each account has two keys, so that one can be exchanged while clients use the other one.
#[derive(Debug, Args)]
pub(crate) struct AccountArguments {
    #[command(subcommand)]
    pub(crate) command: AccountCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// Give an account two new keys, and print its connection string
    Add {
        #[command(flatten)]
        data: DataArguments,
        #[arg(value_parser = AccountName::parse)]
        name: AccountName,
    },
    /// Print the accounts that have keys
    List {
        #[command(flatten)]
        data: DataArguments,
        /// Print the keys too
        #[arg(long)]
        keys: bool,
    },
    /// Exchange a key of an account for a new one, which is printed
    Rotate {
        #[command(flatten)]
        data: DataArguments,
        #[arg(value_parser = AccountName::parse)]
        name: AccountName,
        /// Which of the two
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
        key: u8,
    },
    /// Take the keys of an account away; its tables stay
    Remove {
        #[command(flatten)]
        data: DataArguments,
        #[arg(value_parser = AccountName::parse)]
        name: AccountName,
    },
}
