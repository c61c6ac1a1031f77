//! What the records of the log mean: their kinds, and how their payloads are encoded.

mod writes;

use crate::catalog::Edit;
use crate::error::{Error, Result};
pub(crate) use writes::{TableWriter, TableWrites, decode, encode};

/// Records of this kind hold a list of catalog edits in JSON, all of tables.
pub(crate) const CATALOG_EDITS: u8 = 1;
/// The same with edits of views and comments among them. Programs that know none refuse the kind by
/// its number.
pub(crate) const DEFINITION_EDITS: u8 = 2;
/// The same with edits of what the Table service keeps beside entities among them. Programs that
/// know nothing of it refuse the kind by its number.
pub(crate) const SERVICE_EDITS: u8 = 4;
/// Records of this kind hold entity writes, and the catalog edits that they bring along.
pub(crate) const ENTITY_WRITES: u8 = 3;

/// Kind and payload of a record of catalog edits alone.
pub(crate) fn encode_edits(edits: &[Edit]) -> Result<(u8, Vec<u8>)> {
    let failed = |error| Error::corrupt("catalog edits", error);
    if edits.iter().any(Edit::concerns_writes) {
        return Ok((ENTITY_WRITES, encode(edits, [].iter()).map_err(failed)?));
    }
    let kind = if edits.iter().any(Edit::is_of_service) {
        SERVICE_EDITS
    } else if edits.iter().all(Edit::is_of_tables) {
        CATALOG_EDITS
    } else {
        DEFINITION_EDITS
    };
    Ok((kind, serde_json::to_vec(edits).map_err(failed)?))
}
