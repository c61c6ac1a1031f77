//! The version of the service that is assumed.

/// The first version that echoes `x-ms-client-request-id`, which is what current SDKs send; also
/// what is assumed of a request that says none.
pub(crate) const DEFAULT: &str = "2019-02-02";
