//! The operations of a batch.

use bytes::Bytes;

use super::parts::{boundary, headers, is_closed, split};
use crate::address::{Address, QueryOptions};
use crate::errors::Failure;
use crate::request::{Headers, OperationRequest, is_read, tunnelled};

/// An operation as it lies in a batch: the text of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'b> {
    text: &'b str,
}

/// What a batch asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Batch<'b> {
    ChangeSet(Vec<Part<'b>>),
    /// One read, and nothing else.
    Query(Part<'b>),
}

/// Finds the operations of the body of a POST to `$batch`.
pub(super) fn read<'b>(content_type: &str, body: &'b [u8]) -> Result<Batch<'b>, Failure> {
    let outer = boundary(content_type).ok_or_else(Failure::not_valid)?;
    let body = std::str::from_utf8(body).map_err(|_| Failure::not_valid())?;
    let parts = split(body, outer);
    // One change set or one query; a second one, or both, is refused.
    let [part] = parts.as_slice() else { return Err(Failure::not_valid()) };
    let (part_headers, content) = headers(part.trim_start());
    let kind = part_headers.get("content-type").unwrap_or_default();
    if let Some(inner) = boundary(kind) {
        if !is_closed(content, inner) {
            return Err(Failure::not_valid());
        }
        let operations: Vec<Part<'_>> = split(content, inner)
            .into_iter()
            // The headers of each say that it is a request; a Content-ID among them is not echoed.
            .map(|part| Part { text: headers(part.trim_start()).1 })
            .collect();
        return if operations.is_empty() { Err(Failure::not_valid()) } else { Ok(Batch::ChangeSet(operations)) };
    }
    if kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/http") {
        return Ok(Batch::Query(Part { text: content }));
    }
    Err(Failure::not_valid())
}

impl Part<'_> {
    /// Reads the request, and the Content-ID among its headers, which is echoed.
    pub(super) fn to_request(self, outer: &Address) -> Result<(OperationRequest, Option<String>), Failure> {
        let (line, rest) = self.text.trim_start().split_once('\n').ok_or_else(Failure::not_valid)?;
        let (method, rest_of_line) = line.trim().split_once(' ').ok_or_else(Failure::not_valid)?;
        // Keys in a URL may have blanks.
        let (target, version) = rest_of_line.trim().rsplit_once(' ').ok_or_else(Failure::not_valid)?;
        if !version.starts_with("HTTP/") {
            return Err(Failure::not_valid());
        }
        let (found, body) = headers(rest);
        let content_id = found.get("content-id").map(str::to_owned);
        let request = request(method, target.trim(), found, body, outer)?;
        Ok((request, content_id))
    }
}

fn request(
    method: &str,
    target: &str,
    headers: Headers,
    body: &str,
    outer: &Address,
) -> Result<OperationRequest, Failure> {
    let target = match target.split_once("://") {
        Some(("http" | "https", rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        _ => target,
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (method, address) = (tunnelled(method, &headers)?, outer.parse_inner(path)?);
    if address.is_secondary && !is_read(&method) {
        return Err(Failure::secondary());
    }
    Ok(OperationRequest {
        method,
        resource: address.resource,
        options: QueryOptions::parse(query)?,
        headers,
        // It may begin with a blank line, and what is behind it belongs to the boundary.
        body: Bytes::copy_from_slice(body.trim().as_bytes()),
    })
}
