//! Arrays.

use bytes::{BufMut, BytesMut};

use super::{ColumnEncoder, Offsets, Values};
use crate::types::{Error, text};

impl Offsets {
    fn items(&self, row: usize) -> std::ops::Range<usize> {
        match self {
            // Offsets of an array never fall, and fit in memory.
            Offsets::Small(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Offsets::Large(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Offsets::Fixed(len) => row * len..(row + 1) * len,
        }
    }
}

impl<'a> ColumnEncoder<'a> {
    /// The items of the list of a row. None: the column has no lists.
    fn list(&self, row: usize) -> Option<(std::ops::Range<usize>, &ColumnEncoder<'a>)> {
        match &self.values {
            Values::List { offsets, items } => Some((offsets.items(row), items)),
            _ => None,
        }
    }

    /// Whether the items of this list are the next dimension of the same array.
    fn has_inner_dimension(&self, items: &ColumnEncoder<'_>) -> bool {
        items.ty.oid == self.ty.oid
    }

    /// Whether there is no element in any dimension.
    fn is_empty_array(&self, row: usize) -> bool {
        match self.list(row) {
            Some((mut range, items)) if self.has_inner_dimension(items) => range.all(|at| items.is_empty_array(at)),
            Some((range, _)) => range.is_empty(),
            None => false,
        }
    }

    pub(super) fn write_list_text(&self, row: usize, out: &mut BytesMut) -> Result<(), Error> {
        let Some((range, items)) = self.list(row) else { return Ok(()) };
        if self.ty.is_vector() {
            for at in range.clone() {
                if at > range.start {
                    out.put_u8(b' ');
                }
                items.write_text(at, out)?;
            }
            return Ok(());
        }
        if self.is_empty_array(row) {
            out.put_slice(b"{}");
            return Ok(());
        }
        if self.has_inner_dimension(items) {
            self.refuse_ragged(row, &self.extent(row))?;
        }
        self.write_items_text(row, out)
    }

    /// The items in braces; those of a dimension below without quotes.
    fn write_items_text(&self, row: usize, out: &mut BytesMut) -> Result<(), Error> {
        let Some((range, items)) = self.list(row) else { return Ok(()) };
        out.put_u8(b'{');
        for at in range.clone() {
            if at > range.start {
                out.put_u8(items.ty.delimiter as u8);
            }
            if items.is_null(at) {
                out.put_slice(b"NULL");
            } else if self.has_inner_dimension(items) {
                items.write_items_text(at, out)?;
            } else {
                let start = out.len();
                items.write_text(at, out)?;
                items.refuse_long_part(out.len() - start)?;
                text::quote_element(start, items.ty.delimiter, out);
            }
        }
        out.put_u8(b'}');
        Ok(())
    }

    /// Number of dimensions, whether there are NULLs, oid of the elements; length and lower bound
    /// of each dimension; the elements.
    pub(super) fn write_list_binary(&self, row: usize, out: &mut BytesMut) -> Result<(), Error> {
        let element_oid = self.ty.element_oid;
        if !self.ty.is_vector() && self.is_empty_array(row) {
            out.put_i32(0);
            out.put_i32(0);
            out.put_u32(element_oid);
            return Ok(());
        }
        let extent = self.extent(row);
        self.refuse_ragged(row, &extent)?;
        out.put_i32(extent.len() as i32);
        let has_nulls_at = out.len();
        out.put_i32(0);
        out.put_u32(element_oid);
        for len in &extent {
            out.put_i32(*len as i32);
            out.put_i32(if self.ty.is_vector() { 0 } else { 1 });
        }
        if self.write_elements(row, out)? {
            out[has_nulls_at + 3] = 1;
        }
        Ok(())
    }

    /// The lengths of the first list on each level.
    fn extent(&self, row: usize) -> Vec<usize> {
        let mut extent = Vec::new();
        let mut level = Some((self, row));
        while let Some((lists, at)) = level {
            let Some((range, items)) = lists.list(at) else { break };
            extent.push(range.len());
            level =
                if lists.has_inner_dimension(items) && !range.is_empty() { Some((items, range.start)) } else { None };
        }
        extent
    }

    /// An array has as many items in all lists of a level, and none of these is NULL.
    fn refuse_ragged(&self, row: usize, extent: &[usize]) -> Result<(), Error> {
        let (Some((mut range, items)), Some((len, inner))) = (self.list(row), extent.split_first()) else {
            return Err(ragged());
        };
        if self.is_null(row) || range.len() != *len {
            return Err(ragged());
        }
        if inner.is_empty() { Ok(()) } else { range.try_for_each(|at| items.refuse_ragged(at, inner)) }
    }

    /// Whether there was a NULL.
    fn write_elements(&self, row: usize, out: &mut BytesMut) -> Result<bool, Error> {
        let Some((range, items)) = self.list(row) else { return Ok(false) };
        let mut nulls = false;
        for at in range {
            if self.has_inner_dimension(items) {
                nulls |= items.write_elements(at, out)?;
            } else {
                nulls |= items.is_null(at);
                items.encode(at, out)?;
            }
        }
        Ok(nulls)
    }
}

fn ragged() -> Error {
    Error::unsupported("multidimensional arrays must have sub-arrays with matching dimensions")
}
