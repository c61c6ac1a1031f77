//! An answer, alone or as a part of a batch's.

use rowkey_formats::entity_json::MetadataLevel;

/// Status, headers in their order, and a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Reply {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// One with the headers of every operation of OData (specification, section 2.1).
    pub(crate) fn odata(status: u16) -> Self {
        Self::new(status).with("X-Content-Type-Options", "nosniff").with("Cache-Control", "no-cache")
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn with_body(mut self, content_type: String, body: impl Into<Vec<u8>>) -> Self {
        self.headers.push(("Content-Type", content_type));
        self.body = body.into();
        self
    }

    pub(crate) fn without_body(self) -> Self {
        Self { body: Vec::new(), ..self }
    }

    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    pub(crate) fn headers(&self) -> &[(&'static str, String)] {
        &self.headers
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(crate) fn into_body(self) -> Vec<u8> {
        self.body
    }
}

/// The Content-Type of JSON.
pub(crate) fn json_type(level: MetadataLevel) -> String {
    format!("application/json;odata={};streaming=true;charset=utf-8", level.name())
}

/// What the service begins its XML with.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The words of a status line.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
