//! A batch of one read.

use super::answer;
use super::failures::is_of_all;
use crate::address::Resource;
use crate::errors::Failure;
use crate::operations::{Call, get_entity, query_entities};
use crate::reply::Reply;
use crate::request::OperationRequest;

/// Runs it; what goes wrong is the answer's single part, but for what is the whole request's.
pub(super) async fn run(
    call: &Call,
    request: &OperationRequest,
    id: &str,
    told: impl Fn(&Failure) -> Reply,
) -> Result<Reply, Failure> {
    if request.method != "GET" {
        return Err(Failure::not_valid());
    }
    let outcome = match &request.resource {
        Resource::Entity(table, key) => get_entity(call, request, table, key).await,
        Resource::Entities(table) => query_entities(call, request, table).await,
        _ => return Err(Failure::not_valid()),
    };
    match outcome {
        Err(failure) if is_of_all(&failure) => Err(failure),
        outcome => Ok(answer::query(&outcome.unwrap_or_else(|failure| told(&failure)), id)),
    }
}
