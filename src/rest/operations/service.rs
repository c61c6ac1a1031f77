//! Properties and statistics of an account's service (specification, sections 5.2 and 5.3).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rowkey_base::DateTime;
use rowkey_model::AccountName;

use super::call::Call;
use crate::document::{CorsRule, ServiceProperties};
use crate::errors::{Failure, failure};
use crate::reply::{BYTE_ORDER_MARK, Reply};
use crate::request::OperationRequest;
use crate::time::http_date;
use rowkey_sql::engine::EntityService;

/// What was set last.
fn properties(service: &EntityService) -> ServiceProperties {
    service.service_properties().map(|text| read(&text)).unwrap_or_default()
}

/// The text was written by us, so that it reads back.
fn read(text: &str) -> ServiceProperties {
    ServiceProperties::default().changed_by(text.as_bytes()).unwrap_or_default()
}

/// The CORS rules of accounts, which every answer asks for: read once after each change.
#[derive(Debug, Default)]
pub(crate) struct CorsRules {
    kept: Mutex<BTreeMap<AccountName, KeptRules>>,
}

#[derive(Debug)]
struct KeptRules {
    /// What they were read from; another one is there once they are set again.
    text: Arc<str>,
    rules: Arc<[CorsRule]>,
}

impl CorsRules {
    /// Those of the service's account as they are now.
    pub(crate) fn of(&self, service: &EntityService) -> Arc<[CorsRule]> {
        let Some(text) = service.service_properties() else { return Arc::default() };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = kept.get(service.account())
            && Arc::ptr_eq(&read.text, &text)
        {
            return Arc::clone(&read.rules);
        }
        let rules: Arc<[CorsRule]> = read(&text).cors.into();
        kept.insert(service.account().clone(), KeptRules { text, rules: Arc::clone(&rules) });
        rules
    }
}

pub(crate) fn get_properties(call: &Call) -> Reply {
    Reply::new(200).with_body("application/xml".to_owned(), properties(&call.service).to_xml())
}

/// Keeps the properties durably. Of them only CORS has an effect: no logs or metrics are written.
pub(crate) async fn put_properties(call: &Call, request: &OperationRequest) -> Result<Reply, Failure> {
    let changed = properties(&call.service).changed_by(&request.body)?;
    call.service.set_service_properties(changed.to_xml()).await.map_err(|error| failure(&error))?;
    Ok(Reply::new(202))
}

/// There is one copy, which is always up to date.
pub(crate) fn get_statistics(is_secondary: bool, now: DateTime) -> Result<Reply, Failure> {
    if !is_secondary {
        return Err(Failure::query_parameter("comp"));
    }
    let body = format!(
        "{BYTE_ORDER_MARK}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication>\
         <Status>live</Status><LastSyncTime>{}</LastSyncTime></GeoReplication></StorageServiceStats>",
        http_date(now)
    );
    Ok(Reply::new(200).with_body("application/xml".to_owned(), body))
}
