//! Properties and statistics of an account's service (specification, sections 5.2 and 5.3).

use rowkey_base::DateTime;

use super::call::Call;
use crate::document::{CorsRule, ServiceProperties};
use crate::errors::{Failure, failure};
use crate::reply::{BYTE_ORDER_MARK, Reply};
use crate::request::OperationRequest;
use crate::time::http_date;
use rowkey_sql::engine::EntityService;

/// What was set last; it was written by us, so that it reads back.
fn properties(service: &EntityService) -> ServiceProperties {
    let fresh = ServiceProperties::default();
    match service.service_properties() {
        Some(text) => ServiceProperties::default().changed_by(text.as_bytes()).unwrap_or(fresh),
        None => fresh,
    }
}

/// The CORS rules of an account.
pub(crate) fn rules_of(service: &EntityService) -> Vec<CorsRule> {
    match service.service_properties() {
        Some(_) => properties(service).cors,
        None => Vec::new(),
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
        let text = "Value for one of the query parameters specified in the request URI is invalid: comp.";
        return Err(Failure::new(400, "InvalidQueryParameterValue", text));
    }
    let body = format!(
        "{BYTE_ORDER_MARK}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication>\
         <Status>live</Status><LastSyncTime>{}</LastSyncTime></GeoReplication></StorageServiceStats>",
        http_date(now)
    );
    Ok(Reply::new(200).with_body("application/xml".to_owned(), body))
}
