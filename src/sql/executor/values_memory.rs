//! Memory of the values that are bound to a statement.

use datafusion::execution::memory_pool::MemoryReservation;
use rowkey_base::{Error, Result, SqlState};

use crate::compiler::Compiler;

/// Values of fewer bytes are not counted.
const BYTES_COUNTED_MIN: usize = 64 << 10;
/// How often a value is there while its statement runs, at least: as it came, and as a constant
/// of the plan.
const COPIES: usize = 2;

/// The same of arrays, whose items are values of their own, and rows or keys once they are set out.
const COPIES_OF_ITEMS: usize = 20;

/// What large values take of the memory of queries, until their portal is closed.
#[derive(Debug)]
pub struct ValuesMemory {
    _reserved: MemoryReservation,
}

impl ValuesMemory {
    /// Takes memory for values of so many bytes, some of them in arrays; none for small ones.
    pub(crate) fn take(bytes: usize, in_arrays: usize, compiler: &Compiler) -> Result<Option<Self>> {
        if bytes < BYTES_COUNTED_MIN {
            return Ok(None);
        }
        let reserved = compiler.memory("parameters");
        let items = in_arrays.saturating_mul(COPIES_OF_ITEMS - COPIES);
        reserved.try_grow(bytes.saturating_mul(COPIES).saturating_add(items)).map_err(|_| {
            Error::new(SqlState::OUT_OF_MEMORY, format!("out of memory for {} kB of parameters", bytes >> 10))
                .with_hint("send fewer or shorter values at a time, use COPY for many rows, or raise --memory-mib")
        })?;
        Ok(Some(Self { _reserved: reserved }))
    }
}
