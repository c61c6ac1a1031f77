//! Compaction: run files become fewer, and without masked rows.
//!
//! It reads live rows only and needs the table's job, so that masks cannot change meanwhile: folds
//! need it too. Each step is a commit of its own, between which folds have their turn.

use std::sync::Arc;

use super::Maintenance;
use super::commit::{commit_job, remove_unnamed};
use super::plan::{Compaction, Rewrite, next_rewrite};
use crate::catalog::{Edit, Table};
use crate::error::{Error, Result};
use crate::ingest::{Cutter, Existing, RunWriterThread, WriterOptions, Written};
use crate::manifest::{RangePartition, RangeStart};
use rowkey_model::DateTime;
use rowkey_model::rows::PropertyNames;

/// Rows between two looks whether it is over.
const ROWS_BETWEEN_LOOKS: u64 = 4096;

/// What a compaction has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Files that are gone, and those that took their place.
    pub read: u64,
    pub written: u64,
    /// Live entities in them.
    pub entities: u64,
    /// Masked rows that are gone.
    pub dropped: u64,
}

impl CompactReport {
    pub(super) fn add(&mut self, other: CompactReport) {
        self.read += other.read;
        self.written += other.written;
        self.entities += other.entities;
        self.dropped += other.dropped;
    }
}

impl Maintenance {
    /// Takes the next step of a compaction, if one is due: files are cut at `file_bytes` encoded
    /// bytes. Blocks; the caller holds the table's job.
    pub(crate) fn compact_step(
        &self,
        table: u64,
        file_bytes: usize,
        compaction: Compaction,
    ) -> Result<Option<CompactReport>> {
        let base = self.table(table)?;
        let Some(rewrite) = next_rewrite(&base.manifest, file_bytes as u64, compaction) else { return Ok(None) };
        Ok(Some(self.rewrite(&base, &rewrite)?.0))
    }

    /// Replaces files by others with the same live rows; also gives the number of range partitions
    /// there are now in place of those replaced.
    pub(super) fn rewrite(&self, base: &Arc<Table>, rewrite: &Rewrite) -> Result<(CompactReport, usize)> {
        let mut report = CompactReport::default();
        let Some(first) = base.manifest.ranges().get(rewrite.ranges.start) else { return Ok((report, 0)) };
        let continues = matches!(first.start, RangeStart::Key(..));
        let cutter = Cutter::new(rewrite.cut_bytes.map_or(usize::MAX, |bytes| bytes as usize)).continuing(continues);
        let Written { mut ranges, columns } = self.write_anew(base, rewrite, cutter, &mut report)?;
        let mut written = ranges.remove(&0).unwrap_or_default();
        report.written = written.len() as u64;
        let new_files: Vec<_> = written.iter().flat_map(|range| &range.files).cloned().collect();
        if rewrite.cut_bytes.is_none() || written.is_empty() {
            let replaced = rewrite.files.iter().flatten();
            let replaced: std::collections::HashSet<u64> = replaced.map(|file| file.id).collect();
            let all = base.manifest.ranges()[rewrite.ranges.clone()].iter().flat_map(|range| &range.files);
            let mut files: Vec<_> = all.filter(|file| !replaced.contains(&file.id)).cloned().collect();
            files.extend(new_files.iter().cloned());
            written = vec![RangePartition { start: first.start.clone(), files }];
        }
        let places = written.len();
        let mut edits = Vec::new();
        if columns != base.columns {
            edits.push(Edit::SetColumns { table: base.id, columns });
        }
        let (from, to) = (rewrite.ranges.start, rewrite.ranges.end);
        edits.push(Edit::ReplaceRanges { table: base.id, from, to, ranges: written });
        match commit_job(&self.state, base, edits) {
            Ok(_) => Ok((report, places)),
            Err(error) => {
                remove_unnamed(self.state.files(), &error, new_files.iter());
                Err(error)
            }
        }
    }

    /// Writes the live rows of the files of a rewrite; nothing names what is written.
    fn write_anew(
        &self,
        base: &Arc<Table>,
        rewrite: &Rewrite,
        mut cutter: Cutter,
        report: &mut CompactReport,
    ) -> Result<Written> {
        let names = Arc::new(PropertyNames::new());
        let mut writer = RunWriterThread::start(WriterOptions {
            store: Arc::clone(self.state.files().store()),
            names: Arc::clone(&names),
            table: Arc::clone(base),
            ids: self.state.file_ids().clone(),
            timestamp: DateTime::MIN,
        });
        for files in &rewrite.files {
            report.read += files.len() as u64;
            report.dropped += files.iter().map(|file| file.masked_rows()).sum::<u64>();
            let mut rows = Existing::open(self.state.files(), files, &names)?;
            while let Some(row) = rows.peek() {
                if report.entities.is_multiple_of(ROWS_BETWEEN_LOOKS) && self.stalls.is_stopped() {
                    return Err(Error::Closing);
                }
                for cut in cutter.push(row) {
                    writer.write(0, cut)?;
                }
                report.entities += 1;
                rows.advance()?;
            }
        }
        for cut in cutter.finish() {
            writer.write(0, cut)?;
        }
        writer.finish()
    }
}
