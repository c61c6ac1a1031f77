//! Which row groups and pages of its files a scan reads.

use std::ops::Range;

use rowkey_storage::run::OpenRun;

/// Files that are listed one by one.
const FILES_LISTED_MAX: usize = 1_000;

/// Row groups and pages of keys of one file, by their places from 0, as stretches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePages {
    pub path: String,
    pub row_groups: Vec<Range<u64>>,
    pub pages: Vec<Range<u64>>,
}

/// What is read of the files of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PagesOfFiles {
    /// The first of them.
    pub listed: Vec<FilePages>,
    pub row_groups: u64,
    pub pages: u64,
}

impl FilePages {
    /// Pages of an open file; `None` if there are none.
    pub(super) fn of(open: &OpenRun, pages: Vec<Range<u64>>) -> Option<Self> {
        let mut row_groups: Vec<Range<u64>> = Vec::new();
        for page in pages.iter().cloned().flatten() {
            let Some(block) = open.blocks().get(page as usize) else { continue };
            add(&mut row_groups, block.row_group as u64);
        }
        let path = open.run.path.clone();
        (!pages.is_empty()).then_some(Self { path, row_groups, pages })
    }
}

impl PagesOfFiles {
    pub(super) fn add(&mut self, file: FilePages) {
        let count = |stretches: &[Range<u64>]| stretches.iter().map(|stretch| stretch.end - stretch.start).sum::<u64>();
        self.row_groups += count(&file.row_groups);
        self.pages += count(&file.pages);
        if self.listed.len() < FILES_LISTED_MAX {
            self.listed.push(file);
        }
    }

    /// The same with so many pages of each file at most, at its beginning or at its end.
    pub(super) fn keep(&mut self, pages_max: u64, at_end: bool) {
        for file in &mut self.listed {
            let pages: Vec<u64> = file.pages.iter().cloned().flatten().collect();
            let cut = pages.len().saturating_sub(pages_max as usize);
            let kept = if at_end { &pages[cut..] } else { &pages[..pages.len() - cut] };
            file.pages.clear();
            kept.iter().for_each(|page| add(&mut file.pages, *page));
        }
    }
}

/// Adds a place that is not below those before.
pub(super) fn add(stretches: &mut Vec<Range<u64>>, at: u64) {
    match stretches.last_mut() {
        Some(last) if last.contains(&at) => {}
        Some(last) if last.end == at => last.end = at + 1,
        _ => stretches.push(at..at + 1),
    }
}
