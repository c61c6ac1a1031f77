//! Reading entities (specification, sections 2.5, 2.7 and 2.8).

use std::sync::Arc;

use rowkey_formats::entity_json::{EntityEncoder, MetadataLevel, TableAddress};
use rowkey_model::Key;
use rowkey_model::columns::EntityView;
use rowkey_sql::engine::{EntityQuery, PAGE_ENTITIES_MAX};
use rowkey_sql::odata::{Filter, FilterKeys};

use super::call::Call;
use super::continuation::{encode, entity_continuation};
use super::select::Select;
use crate::address::QueryOptions;
use crate::errors::{Failure, failure};
use crate::reply::{Reply, json_type};
use crate::request::OperationRequest;

/// Options of OData that the service does not have (which status they get is unconfirmed).
const FOREIGN_OPTIONS: [&str; 6] = ["$orderby", "$skip", "$inlinecount", "$expand", "$count", "$apply"];

/// After so many entities the size of a page is estimated.
const ENTITIES_WEIGHED: usize = 64;
/// Reserved at once at most.
const BODY_BYTES_RESERVED_MAX: usize = 1 << 20;

/// One entity by its key.
pub(crate) async fn get_entity(
    call: &Call,
    request: &OperationRequest,
    table: &str,
    key: &Key,
) -> Result<Reply, Failure> {
    let level = request.level()?;
    let select = Select::parse(request.options.get("$select"))?;
    let id = call.table_to_read(table)?;
    let found = call.service.get(id, key.as_ref()).await.map_err(|error| failure(&error))?;
    let entity = found.ok_or_else(Failure::resource_not_found)?;
    let etag = entity.etag();
    let mut body = Vec::new();
    encoder(level, &call.address(table), select.as_ref()).encode(&entity, &etag, &mut body);
    let reply = Reply::odata(200).with("DataServiceVersion", "3.0;").with("ETag", etag);
    Ok(reply.with_body(json_type(level), body))
}

/// A page of the entities that a filter holds for.
pub(crate) async fn query_entities(call: &Call, request: &OperationRequest, table: &str) -> Result<Reply, Failure> {
    let options = &request.options;
    let level = request.level()?;
    refuse_foreign(options)?;
    let select = Select::parse(options.get("$select"))?;
    let query = EntityQuery {
        top: top(options)?,
        select: select.as_ref().map(|select| select.names.clone()),
        continuation: entity_continuation(options)?,
        ..filtered(options.get("$filter").unwrap_or_default())?
    };
    let id = call.table_to_read(table)?;
    let address = call.address(table);
    let encoder = encoder(level, &address, select.as_ref());
    let mut body = feed_start(level, &address, select.as_ref());
    let (mut shown, start) = (0, body.len());
    let mut show = |entity: &dyn EntityView| {
        let before = body.len();
        if shown > 0 {
            body.push(b',');
        }
        encoder.encode_in_feed(entity, &mut body);
        shown += 1;
        // The rest is likely to be as wide: the body is not moved again and again.
        if shown == ENTITIES_WEIGHED {
            let rest = (body.len() - start) / shown * (query.top.max(shown) - shown);
            body.reserve(rest.min(BODY_BYTES_RESERVED_MAX));
        }
        body.len() - before
    };
    let continuation = call.service.show_page(id, &query, &mut show).await.map_err(|error| failure(&error))?;
    body.extend_from_slice(b"]}");

    let mut reply = Reply::odata(200).with("DataServiceVersion", "3.0;");
    if let Some(next) = &continuation {
        reply = reply
            .with("x-ms-continuation-NextPartitionKey", encode(&next.partition))
            .with("x-ms-continuation-NextRowKey", encode(&next.row));
    }
    Ok(reply.with_body(json_type(level), body))
}

/// All entities that a filter holds for: where keys decide it, none is looked at.
fn filtered(text: &str) -> Result<EntityQuery, Failure> {
    let filter = Filter::parse(text).map_err(|error| failure(&error.into()))?;
    let FilterKeys { keys, are_exact } = filter.keys();
    let mut query = EntityQuery::new(keys);
    if !are_exact {
        query.filter = Some(Arc::new(move |entity| filter.matches(entity)));
    }
    Ok(query)
}

pub(super) fn refuse_foreign(options: &QueryOptions) -> Result<(), Failure> {
    match options.any_of(&FOREIGN_OPTIONS) {
        Some(_) => Err(Failure::not_implemented()),
        None => Ok(()),
    }
}

/// `$top`: 0 to 1000, which is also what a page has without it.
pub(super) fn top(options: &QueryOptions) -> Result<usize, Failure> {
    let Some(text) = options.given("$top") else { return Ok(PAGE_ENTITIES_MAX) };
    text.trim().parse().ok().filter(|top| *top <= PAGE_ENTITIES_MAX).ok_or_else(Failure::not_valid)
}

fn encoder(level: MetadataLevel, address: &TableAddress, select: Option<&Select>) -> EntityEncoder {
    match select {
        Some(select) => EntityEncoder::selecting(level, address, &select.names, &select.suffix),
        None => EntityEncoder::new(level, address),
    }
}

/// What stands before the entities of a feed.
fn feed_start(level: MetadataLevel, address: &TableAddress, select: Option<&Select>) -> Vec<u8> {
    let mut body = Vec::new();
    body.push(b'{');
    if level > MetadataLevel::None {
        let suffix = select.map(|select| select.suffix.as_str()).unwrap_or_default();
        let context = serde_json::Value::from(address.feed_context() + suffix);
        body.extend_from_slice(format!("\"odata.metadata\":{context},").as_bytes());
    }
    body.extend_from_slice(b"\"value\":[");
    body
}
