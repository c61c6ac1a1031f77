//! A status, a code that SDKs act on, and a text.

/// Why a request fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    status: u16,
    code: &'static str,
    message: String,
    /// Of an entity group transaction, the operation that failed, from 0.
    operation: Option<usize>,
    /// The value of `Preference-Applied`, where the answer has it all the same.
    preference: Option<&'static str>,
}

impl Failure {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), operation: None, preference: None }
    }

    pub(crate) fn at_operation(self, index: usize) -> Self {
        Self { operation: Some(self.operation.unwrap_or(index)), ..self }
    }

    /// The failure of an operation that is no part of a transaction: its text names no place.
    pub(crate) fn alone(self) -> Self {
        Self { operation: None, ..self }
    }

    /// The failure of an operation that said which answer it prefers.
    pub(crate) fn with_preference(self, preference: Option<&'static str>) -> Self {
        Self { preference, ..self }
    }

    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn operation(&self) -> Option<usize> {
        self.operation
    }

    pub(crate) fn preference(&self) -> Option<&'static str> {
        self.preference
    }

    pub(crate) fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(400, "InvalidInput", message)
    }

    /// The text for what has none of its own.
    pub(crate) fn not_valid() -> Self {
        Self::invalid_input("One of the request inputs is not valid.")
    }

    /// The text for JSON and values that cannot be read.
    pub(crate) fn not_processed() -> Self {
        Self::invalid_input("An error occurred while processing this request.")
    }

    pub(crate) fn query_syntax() -> Self {
        Self::invalid_input("Bad Request - Error in query syntax.")
    }

    pub(crate) fn invalid_uri() -> Self {
        Self::new(400, "InvalidUri", "The requested URI is invalid: it does not represent any resource on the server.")
    }

    pub(crate) fn media_type() -> Self {
        Self::new(415, "MediaTypeNotSupported", "None of the provided media types are supported")
    }

    pub(crate) fn method() -> Self {
        Self::new(405, "MethodNotAllowed", "The requested method is not allowed on the specified resource.")
    }

    pub(crate) fn not_implemented() -> Self {
        let text = "The requested operation is not implemented on the specified resource.";
        Self::new(501, "NotImplemented", text)
    }

    pub(crate) fn header_value(name: &str) -> Self {
        let text = format!("The value for one of the HTTP headers is not in the correct format: {name}.");
        Self::new(400, "InvalidHeaderValue", text)
    }

    pub(crate) fn query_parameter(name: &str) -> Self {
        let text = format!("Value for one of the query parameters specified in the request URI is invalid: {name}.");
        Self::new(400, "InvalidQueryParameterValue", text)
    }

    pub(crate) fn resource_not_found() -> Self {
        Self::new(404, "ResourceNotFound", "The specified resource does not exist.")
    }

    pub(crate) fn table_not_found() -> Self {
        Self::new(404, "TableNotFound", "The table specified does not exist.")
    }

    pub(crate) fn table_exists() -> Self {
        Self::new(409, "TableAlreadyExists", "The table specified already exists.")
    }

    /// The signature, or what it says, is not right; it is not told what.
    pub(crate) fn authentication() -> Self {
        let text = "Server failed to authenticate the request. Make sure the value of Authorization header is formed \
                    correctly including the signature.";
        Self::new(403, "AuthenticationFailed", text)
    }

    pub(crate) fn authorization() -> Self {
        Self::new(403, "AuthorizationFailure", "This request is not authorized to perform this operation.")
    }

    /// Another letter is needed.
    pub(crate) fn permission() -> Self {
        let text = "This request is not authorized to perform this operation using this permission.";
        Self::new(403, "AuthorizationPermissionMismatch", text)
    }

    /// A write where there are only reads.
    pub(crate) fn secondary() -> Self {
        Self::new(403, "InsufficientAccountPermissions", "Write operations are not allowed.")
    }

    pub(crate) fn busy() -> Self {
        Self::new(503, "ServerBusy", "The server is busy.")
    }

    pub(crate) fn body_too_large() -> Self {
        Self::new(
            413,
            "RequestBodyTooLarge",
            "The request body is too large and exceeds the maximum permissible limit.",
        )
    }

    pub(crate) fn invalid_md5() -> Self {
        Self::new(
            400,
            "InvalidMd5",
            "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64-encoded.",
        )
    }

    pub(crate) fn md5_mismatch() -> Self {
        Self::new(
            400,
            "Md5Mismatch",
            "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
        )
    }

    pub(crate) fn timed_out(status: u16) -> Self {
        Self::new(status, "OperationTimedOut", "The operation could not be completed within the permitted time.")
    }
}
