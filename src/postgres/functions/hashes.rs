//! Digests of texts and bytes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable};

pub(super) static FUNCTIONS: [Function; 5] = [
    immutable("md5", 1..=1, returns_md5, run_md5),
    sha("sha224", digests::<Sha224>),
    sha("sha256", digests::<Sha256>),
    sha("sha384", digests::<Sha384>),
    sha("sha512", digests::<Sha512>),
];

const fn sha(name: &'static str, run: fn(&Call) -> Result<ArrayRef>) -> Function {
    immutable(name, 1..=1, returns_sha, run)
}

fn returns_md5(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        Kind::Text | Kind::Bytea | Kind::Null => Ok(DataType::Utf8View),
        _ => arguments.undefined(),
    }
}

/// Of bytes only.
fn returns_sha(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        Kind::Bytea | Kind::Null => Ok(DataType::BinaryView),
        Kind::Text if arguments.is_unknown(0) => Ok(DataType::BinaryView),
        _ => arguments.undefined(),
    }
}

fn run_md5(call: &Call) -> Result<ArrayRef> {
    let mut built = StringViewBuilder::with_capacity(call.rows);
    let hex = |bytes: &[u8]| Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if call.kind(0) == Kind::Bytea {
        let bytes = call.as_type(0, &DataType::BinaryView)?;
        bytes.as_binary_view().iter().for_each(|bytes| built.append_option(bytes.map(hex)));
    } else {
        call.text(0)?.iter().for_each(|text| built.append_option(text.map(|text| hex(text.as_bytes()))));
    }
    Ok(Arc::new(built.finish()))
}

fn digests<D: Digest>(call: &Call) -> Result<ArrayRef> {
    let bytes = call.as_type(0, &DataType::BinaryView)?;
    let mut built = BinaryViewBuilder::with_capacity(bytes.len());
    bytes.as_binary_view().iter().for_each(|bytes| built.append_option(bytes.map(D::digest)));
    Ok(Arc::new(built.finish()))
}
