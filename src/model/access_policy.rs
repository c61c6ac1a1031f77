//! What a table grants to the holders of signatures.

use serde::{Deserialize, Serialize};

use crate::DateTime;

/// A stored access policy of a table, which shared access signatures name instead of saying all of
/// it (Table service specification, section 4.4). What is absent the signature has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessPolicy {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<DateTime>,
    /// Letters, as signatures have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
}
