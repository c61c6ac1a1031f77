//! The keys by which `jsonb` is compared.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::kind::Kind;
use super::super::scalar::{Call, Function, immutable};
use super::documents::Trees;
use crate::types::json::sort_key;

/// Texts in PostgreSQL's order.
pub(in super::super) static KEY: Function = immutable(
    "jsonb_sort_key",
    1..=1,
    |arguments| match arguments.kind(0) {
        Kind::Jsonb | Kind::Null => Ok(DataType::Utf8View),
        _ => arguments.undefined(),
    },
    run,
);

fn run(call: &Call) -> Result<ArrayRef> {
    let documents = Trees::of(call, 0)?;
    let mut keys = StringViewBuilder::with_capacity(call.rows);
    let mut key = String::new();
    for row in 0..call.rows {
        match documents.get(row)? {
            Some(tree) => {
                key.clear();
                sort_key(&tree, &mut key);
                keys.append_value(&key);
            }
            None => keys.append_null(),
        }
    }
    Ok(Arc::new(keys.finish()))
}
