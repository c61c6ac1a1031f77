//! `rowkey account`: the keys of the Table service's accounts.

use std::io::{self, Write};
use std::sync::Arc;

use super::arguments::{AccountArguments, AccountCommand, DATA_MEMORY, DataArguments};
use super::failure::{ExitStatus, Failure};
use rowkey_authorization::generate_key;
use rowkey_model::AccountName;
use rowkey_sql::engine::{Engine, EntityService, Principal};

pub(super) async fn run(arguments: AccountArguments) -> Result<ExitStatus, Failure> {
    let mut out = io::stdout();
    match arguments.command {
        AccountCommand::Add { data, name } => {
            let service = service_of(&data, &name).await?;
            if keys_of(&service)?.is_some() {
                let hint = format!("exchange one of its keys with rowkey account rotate {name}");
                return Err(Failure::plain(format!("account {name} has keys"), hint));
            }
            let keys = vec![generate_key()?, generate_key()?];
            let first = keys[0].clone();
            service.set_account_keys(keys).await?;
            let endpoint = format!("http://127.0.0.1:10002/{name}");
            write!(out, "DefaultEndpointsProtocol=http;AccountName={name};AccountKey={first};")?;
            writeln!(out, "TableEndpoint={endpoint};")?;
        }
        AccountCommand::List { data, keys: with_keys } => {
            for (name, keys) in open(&data).await?.entities().account_keys()? {
                let keys = if with_keys { keys.join(" ") } else { String::new() };
                writeln!(out, "{}", format!("{name} {keys}").trim_end())?;
            }
        }
        AccountCommand::Rotate { data, name, key } => {
            let service = service_of(&data, &name).await?;
            let mut keys = keys_of(&service)?.ok_or_else(|| unknown(&name))?;
            let new = generate_key()?;
            keys.resize(2, new.clone());
            if let Some(place) = keys.get_mut(usize::from(key - 1)) {
                place.clone_from(&new);
            }
            service.set_account_keys(keys).await?;
            writeln!(out, "{new}")?;
        }
        AccountCommand::Remove { data, name } => {
            let service = service_of(&data, &name).await?;
            keys_of(&service)?.ok_or_else(|| unknown(&name))?;
            service.set_account_keys(Vec::new()).await?;
        }
    }
    Ok(ExitStatus::Well)
}

async fn open(data: &DataArguments) -> Result<Arc<Engine>, Failure> {
    let location = data.location()?;
    if location == DATA_MEMORY {
        let hint = "name a folder with --data DIR, or give rowkey serve its accounts in ROWKEY_ACCOUNTS";
        return Err(Failure::usage(":memory: keeps no keys", hint));
    }
    super::open(&location, data).await
}

async fn service_of(data: &DataArguments, name: &AccountName) -> Result<EntityService, Failure> {
    Ok(open(data).await?.entities_of(name, &Principal::process()))
}

fn keys_of(service: &EntityService) -> Result<Option<Vec<String>>, Failure> {
    Ok(service.own_keys()?.filter(|keys| !keys.is_empty()))
}

fn unknown(name: &AccountName) -> Failure {
    Failure::plain(format!("account {name} has no keys"), format!("give it some with rowkey account add {name}"))
}
