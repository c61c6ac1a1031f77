//! Writing one entity, alone or within a group (specification, sections 2.2, 2.3 and 2.6).

use rowkey_formats::entity_json::{EntityDecoder, EntityEncoder, MetadataLevel};
use rowkey_model::{DateTime, Entity, Key, KeyRef};
use rowkey_sql::engine::EntityOperation;

use super::call::Call;
use super::etag::if_match;
use crate::address::Resource;
use crate::errors::{Failure, failure, json_failure};
use crate::reply::{Reply, json_type};
use crate::request::{OperationRequest, Prefer};

/// What is written, and how it is answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EntityWrite {
    pub table: String,
    pub operation: EntityOperation,
    prefer: Prefer,
    level: MetadataLevel,
}

impl EntityWrite {
    /// What is said to have been preferred, of an insert.
    pub(crate) fn preference(&self) -> Option<&'static str> {
        matches!(self.operation, EntityOperation::Insert(_)).then(|| self.prefer.applied()).flatten()
    }
}

/// Reads what a request writes.
pub(crate) fn read_write(request: &OperationRequest, decoder: &mut EntityDecoder) -> Result<EntityWrite, Failure> {
    let header = |name| request.headers.get(name);
    let (table, key) = match &request.resource {
        Resource::Entities(table) => (table, None),
        Resource::Entity(table, key) => (table, Some(key)),
        _ => return Err(Failure::method()),
    };
    if header("if-none-match").is_some() {
        return Err(Failure::not_valid());
    }
    // Two headers are one with a list, of which none is an ETag.
    let etags: Vec<&str> = request.headers.all("if-match").collect();
    let given = if etags.is_empty() { None } else { Some(if_match(&etags.join(", "))?) };
    let mut entity = |key: Option<KeyRef<'_>>| decoded(request, key, decoder);
    let (operation, level) = match (request.method.as_str(), key) {
        // An insert with If-Match is unconfirmed.
        ("POST", None) if given.is_some() => return Err(Failure::not_valid()),
        ("POST", None) => (EntityOperation::Insert(entity(None)?), request.level()?),
        ("PUT", Some(key)) => {
            let entity = entity(Some(key.as_ref()))?;
            let operation = match given {
                Some(given) => EntityOperation::Replace(entity, given),
                None => EntityOperation::InsertOrReplace(entity),
            };
            (operation, request.level_or_minimal())
        }
        ("PATCH" | "MERGE", Some(key)) => {
            let entity = entity(Some(key.as_ref()))?;
            let operation = match given {
                Some(given) => EntityOperation::Merge(entity, given),
                None => EntityOperation::InsertOrMerge(entity),
            };
            (operation, request.level_or_minimal())
        }
        ("DELETE", Some(key)) => {
            // Which code a delete without it gets is unconfirmed.
            let given = given.ok_or_else(Failure::not_valid)?;
            (EntityOperation::Delete(Key::clone(key), given), request.level_or_minimal())
        }
        _ => return Err(Failure::method()),
    };
    Ok(EntityWrite { table: table.clone(), operation, prefer: request.prefer(), level })
}

/// The entity of a body. Where the URL names the key, that is the one (it is unconfirmed which goes
/// before where they differ).
fn decoded(
    request: &OperationRequest,
    key: Option<KeyRef<'_>>,
    decoder: &mut EntityDecoder,
) -> Result<Entity, Failure> {
    request.expect_json()?;
    let text = std::str::from_utf8(&request.body).map_err(|_| Failure::not_processed())?;
    decoder.decode(text, key).map_err(|error| json_failure(&error))
}

/// Writes, and answers.
pub(crate) async fn run_write(call: &Call, write: &EntityWrite) -> Result<Reply, Failure> {
    let table = call.table_to_write(&write.table, [&write.operation]).map_err(Failure::alone)?;
    let at = call.service.operate(table, &write.operation).await.map_err(|error| failure(&error).alone())?;
    Ok(answer_of(call, write, at))
}

/// The answer to what was written at a time.
pub(crate) fn answer_of(call: &Call, write: &EntityWrite, at: DateTime) -> Reply {
    let etag = Entity::etag_of(at);
    match &write.operation {
        EntityOperation::Insert(entity) => answer_of_insert(call, write, entity, at, etag),
        EntityOperation::Delete(..) => Reply::odata(204).with("DataServiceVersion", "1.0;"),
        EntityOperation::Replace(..)
        | EntityOperation::Merge(..)
        | EntityOperation::InsertOrReplace(_)
        | EntityOperation::InsertOrMerge(_) => Reply::odata(204).with("DataServiceVersion", "1.0;").with("ETag", etag),
    }
}

fn answer_of_insert(call: &Call, write: &EntityWrite, entity: &Entity, at: DateTime, etag: String) -> Reply {
    let address = call.address(&write.table);
    let url = address.entity_url(entity.key.as_ref());
    let mut reply = Reply::odata(if write.prefer == Prefer::NoContent { 204 } else { 201 });
    if let Some(applied) = write.preference() {
        reply = reply.with("Preference-Applied", applied);
    }
    reply = reply.with("DataServiceVersion", "3.0;").with("Location", url.clone());
    if write.prefer == Prefer::NoContent {
        return reply.with("DataServiceId", url).with("ETag", etag);
    }
    let mut body = Vec::new();
    let mut entity = entity.clone();
    entity.timestamp = at;
    EntityEncoder::new(write.level, &address).encode(&entity, &etag, &mut body);
    reply.with("ETag", etag).with_body(json_type(write.level), body)
}
