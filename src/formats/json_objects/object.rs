//! What the objects of an input are.

use crate::assumed::Typing;
use crate::entity_json::EntityJsonError;
use rowkey_model::rows::Rows;

/// Decodes the objects of one kind of input, on one thread.
pub(crate) trait ObjectDecoder {
    /// Appends the entity of an object to `rows`, if it is one; on an error nothing is appended.
    fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), EntityJsonError>;

    /// Which types the input names, as far as is known.
    fn typing(&self) -> Typing;
}
