//! Running a batch: its rules, and what becomes of a failure (sections 3.1 and 3.4).

use std::collections::HashSet;

use rowkey_formats::entity_json::EntityDecoder;
use rowkey_model::ENTITY_GROUP_OPERATIONS_MAX;

use super::failures::is_of_all;
use super::request::{Batch, Part, read};
use super::{answer, query};
use crate::address::Address;
use crate::errors::{Failure, failure};
use crate::operations::{Call, EntityWrite, answer_of, read_write};
use crate::reply::Reply;
use crate::request::OperationRequest;

/// Runs the batch of a request. `id` makes the boundaries of the answer unique; `told` answers with
/// a failure.
///
/// # Errors
/// A body that is no batch, what a signature does not permit, and what is to be tried again: that
/// is the answer of the whole request. Everything else is told in the place of the change set's
/// answers.
pub(crate) async fn run(
    call: &Call,
    request: &OperationRequest,
    address: &Address,
    id: &str,
    told: impl Fn(&Failure) -> Reply,
) -> Result<Reply, Failure> {
    let content_type = request.headers.get("content-type").unwrap_or_default();
    let parts = match read(content_type, &request.body)? {
        Batch::ChangeSet(parts) => parts,
        Batch::Query(part) => return query::run(call, &part.to_request(address)?.0, id, told).await,
    };
    match change(call, &parts, address).await {
        Ok(replies) => Ok(answer::change_set(&replies, id)),
        Err(failure) if is_of_all(&failure) => Err(failure),
        Err(failure) => Ok(answer::change_set(&[told(&failure.at_operation(0))], id)),
    }
}

async fn change(call: &Call, parts: &[Part<'_>], address: &Address) -> Result<Vec<Reply>, Failure> {
    if parts.len() > ENTITY_GROUP_OPERATIONS_MAX {
        let text = "The batch request operation exceeds the maximum 100 changes per change set.";
        return Err(Failure::invalid_input(text).at_operation(ENTITY_GROUP_OPERATIONS_MAX - 1));
    }
    let mut decoder = EntityDecoder::for_requests();
    let (mut writes, mut content_ids) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
    for (index, part) in parts.iter().enumerate() {
        let read = part.to_request(address).and_then(|(request, id)| match request.method.as_str() {
            // Reads and writes do not mix.
            "GET" => Err(Failure::not_valid()),
            _ => Ok((read_write(&request, &mut decoder)?, id)),
        });
        let (write, id) = read.map_err(|failure| failure.at_operation(index))?;
        writes.push(write);
        content_ids.push(id);
    }
    check_group(&writes)?;
    let Some(first) = writes.first() else { return Err(Failure::not_valid()) };
    let table = call.table_to_write(&first.table, writes.iter().map(|write| &write.operation))?;
    let operations: Vec<_> = writes.iter().map(|write| write.operation.clone()).collect();
    let at = call.service.operate_group(table, &operations).await.map_err(|error| {
        let failure = failure(&error);
        // Recorded of inserts within batches only (section 2.3).
        let failed = failure.operation().and_then(|index| writes.get(index));
        let preference = failed.and_then(EntityWrite::preference);
        failure.with_preference(preference)
    })?;
    let answers = writes.iter().zip(content_ids).map(|(write, id)| {
        let reply = answer_of(call, write, at);
        match id {
            Some(id) => reply.with("Content-ID", id),
            None => reply,
        }
    });
    Ok(answers.collect())
}

/// One table, one partition, every entity once.
fn check_group(writes: &[EntityWrite]) -> Result<(), Failure> {
    let Some(first) = writes.first() else { return Ok(()) };
    let mut rows = HashSet::with_capacity(writes.len());
    for (index, write) in writes.iter().enumerate() {
        let key = write.operation.key();
        let is_elsewhere = !write.table.eq_ignore_ascii_case(&first.table);
        // That another table is told as another partition is unconfirmed.
        if is_elsewhere || key.partition != first.operation.key().partition {
            let text = "All commands in a batch must operate on same entity group.";
            return Err(Failure::new(400, "CommandsInBatchActOnDifferentPartitions", text).at_operation(index));
        }
        if !rows.insert(&key.row) {
            let text = "The batch request contains multiple changes with same row key. An entity can appear only once \
                        in a batch request.";
            return Err(Failure::new(400, "InvalidDuplicateRow", text).at_operation(index));
        }
    }
    Ok(())
}
