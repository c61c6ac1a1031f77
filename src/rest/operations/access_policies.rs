//! Stored access policies of a table (specification, section 5.1). They are durable.

use super::call::Call;
use crate::document::{read_policies, write_policies};
use crate::errors::{Failure, failure};
use crate::reply::Reply;
use crate::request::OperationRequest;

pub(crate) fn get_policies(call: &Call, table: &str) -> Result<Reply, Failure> {
    let id = call.table(table)?;
    let policies = call.service.access_policies(id).map_err(|error| failure(&error))?;
    Ok(Reply::new(200).with_body("application/xml".to_owned(), write_policies(&policies)))
}

pub(crate) async fn put_policies(call: &Call, request: &OperationRequest, table: &str) -> Result<Reply, Failure> {
    let id = call.table(table)?;
    let policies = read_policies(&request.body)?;
    call.service.set_access_policies(id, policies).await.map_err(|error| failure(&error))?;
    Ok(Reply::new(204))
}
