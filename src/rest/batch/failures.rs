//! Where the failure of an operation is told.

use crate::errors::Failure;

/// Whether a failure is the answer of the whole request: SDKs look there for what they authenticate
/// by, and for what they try again.
pub(super) fn is_of_all(failure: &Failure) -> bool {
    matches!(failure.status(), 401 | 403 | 408 | 500 | 503)
}
