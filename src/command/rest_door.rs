//! The door of the Table service, as `rowkey serve` is asked for it.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::arguments::RestArguments;
use super::failure::{Failure, tell};
use super::listen_address::resolve;
use rowkey_authorization::parse_accounts;
use rowkey_rest::{Server, ServerOptions, TlsIdentity};
use rowkey_sql::engine::Engine;
use rowkey_sql::session::SqlState;

/// Accounts with their keys, as `AZURITE_ACCOUNTS` has them.
const ACCOUNTS_VARIABLE: &str = "ROWKEY_ACCOUNTS";

/// Where the Table service is served.
pub(super) enum RestDoor {
    Off,
    Open {
        options: ServerOptions,
        /// Nothing was said: it is left out where another program has the port.
        is_default: bool,
    },
}

impl RestDoor {
    pub(super) fn of(arguments: &RestArguments) -> Result<Self, Failure> {
        let mut options = ServerOptions { is_insecure_allowed: arguments.insecure, ..ServerOptions::default() };
        match arguments.rest.as_deref() {
            None => {}
            Some("off") => return Ok(RestDoor::Off),
            Some(text) => options.address = resolve("--rest", text)?,
        }
        if let Some(accounts) = env::var_os(ACCOUNTS_VARIABLE).filter(|accounts| !accounts.is_empty()) {
            let hint = format!("{ACCOUNTS_VARIABLE} has the form name:key;name:key1:key2");
            let text = accounts.into_string().map_err(|_| Failure::usage("accounts are written in UTF-8", &hint))?;
            options.accounts = parse_accounts(&text).map_err(|error| Failure::usage(error.to_string(), &hint))?;
        }
        options.tls = tls(arguments, options.address)?;
        Ok(RestDoor::Open { options, is_default: arguments.rest.is_none() })
    }

    pub(super) async fn bind(self, database: &Arc<Engine>) -> Result<Option<Server>, Failure> {
        let RestDoor::Open { options, is_default } = self else { return Ok(None) };
        match Server::bind(Arc::clone(database), &options).await {
            Err(error) if is_default && error.sqlstate() == SqlState::IO_ERROR => {
                tell(format_args!("warning: the Table service is left out: {error}"));
                tell("hint: choose another port with --rest 127.0.0.1:PORT, or say --rest off");
                Ok(None)
            }
            bound => Ok(Some(bound?)),
        }
    }
}

fn tls(arguments: &RestArguments, address: SocketAddr) -> Result<Option<TlsIdentity>, Failure> {
    if let Some(file) = &arguments.tls_self_signed {
        let identity = TlsIdentity::self_signed(vec!["localhost".to_owned(), address.ip().to_string()])?;
        let certificate = identity.certificate().unwrap_or_default();
        fs::write(file, certificate).map_err(|error| {
            let message = format!("cannot write the certificate to {}: {error}", file.display());
            Failure::plain(message, "name another file with --tls-self-signed")
        })?;
        return Ok(Some(identity));
    }
    let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) else { return Ok(None) };
    let read = |file: &Path| {
        fs::read(file).map_err(|error| {
            let message = format!("cannot read {}: {error}", file.display());
            Failure::plain(message, "--tls-cert and --tls-key name files in PEM")
        })
    };
    Ok(Some(TlsIdentity::from_pem(&read(certificate)?, &read(key)?)?))
}
