//! Which pages of its files a scan has read.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rowkey_storage::run::{OpenRun, RunFile};

/// Pages of keys of which values were read, of each file.
#[derive(Debug, Default)]
pub(crate) struct PagesRead {
    by_file: Mutex<HashMap<u64, Vec<Page>>>,
}

/// What was read of the rows of a page of keys.
#[derive(Debug, Clone, Copy, Default)]
struct Page {
    /// Values of a column whose pages are as short.
    own: bool,
    /// Values of a column whose pages are longer: perhaps for other rows.
    with_others: bool,
}

impl PagesRead {
    /// Counts bytes of a file.
    pub(super) fn add(&self, open: &OpenRun, bytes: &Range<u64>) {
        let mut by_file = self.by_file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = by_file.entry(open.run.id).or_insert_with(|| vec![Page::default(); open.blocks().len()]);
        open.blocks_in_bytes(bytes, |blocks, own| {
            for page in read.get_mut(blocks).unwrap_or_default() {
                page.own |= own;
                page.with_others |= !own;
            }
        });
    }

    /// The pages of a file, by their places, as stretches: those of columns with longer pages alone
    /// only where there are no others.
    pub(crate) fn of(&self, run: &RunFile) -> Vec<Range<usize>> {
        let by_file = self.by_file.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = by_file.get(&run.id).map(Vec::as_slice).unwrap_or_default();
        let own = pages.iter().any(|page| page.own);
        let read = |page: &Page| if own { page.own } else { page.with_others };
        let mut stretches: Vec<Range<usize>> = Vec::new();
        for at in (0..).zip(pages).filter_map(|(at, page)| read(page).then_some(at)) {
            match stretches.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                _ => stretches.push(at..at + 1),
            }
        }
        stretches
    }
}
