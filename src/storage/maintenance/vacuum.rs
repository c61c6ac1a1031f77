//! VACUUM: what the background would do sooner or later, now.

use super::Maintenance;
use super::compact::CompactReport;
use super::fold::FoldReport;
use super::jobs::Work;
use super::plan::{Compaction, Rewrite};
use super::pressure::is_due;
use crate::error::Result;

/// What a VACUUM has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VacuumReport {
    pub fold: FoldReport,
    pub compaction: CompactReport,
}

/// Full files that a step of VACUUM FULL reads, so that neither the space it takes nor the time
/// until the next fold grows with the table.
const FULL_FILES_A_STEP: u64 = 4;

impl Maintenance {
    /// Folds a table, and compacts what is due; with `full` all of it is written anew, one file a
    /// range partition. Waits for jobs of the background. Blocks.
    pub(crate) fn vacuum(&self, table: u64, full: bool, file_bytes: usize) -> Result<VacuumReport> {
        let _job = {
            let named = self.table(table)?;
            self.claim(&named.account, &named.name, Work::Vacuum, true)?
        };
        let mut report = VacuumReport { fold: self.fold(table)?, ..VacuumReport::default() };
        if full {
            self.write_table_anew(table, file_bytes, &mut report)?;
        } else {
            while let Some(step) = self.compact_step(table, file_bytes, Compaction::Thorough)? {
                report.compaction.add(step);
                self.fold_between(table, &mut report)?;
            }
        }
        self.state.reclaim();
        Ok(report)
    }

    fn write_table_anew(&self, table: u64, file_bytes: usize, report: &mut VacuumReport) -> Result<()> {
        let step_bytes = FULL_FILES_A_STEP.saturating_mul(file_bytes as u64);
        let mut from = 0;
        loop {
            let base = self.table(table)?;
            let ranges = base.manifest.ranges();
            let (mut to, mut bytes) = (from, 0);
            while to < ranges.len() && (to == from || bytes < step_bytes) {
                bytes += ranges[to].files.iter().map(|file| file.live_encoded_bytes()).sum::<u64>();
                to += 1;
            }
            if to == from {
                return Ok(());
            }
            let rewrite = Rewrite::whole(&base.manifest, from..to, Some(file_bytes as u64));
            let (step, places) = self.rewrite(&base, &rewrite)?;
            report.compaction.add(step);
            let is_last = to == ranges.len();
            drop(base);
            if is_last {
                return Ok(());
            }
            // The last file of a step may be small: it goes into the next one.
            let again = places > 1;
            from += places - usize::from(again);
            self.fold_between(table, report)?;
        }
    }

    /// Folds what was written meanwhile, if it is much.
    fn fold_between(&self, table: u64, report: &mut VacuumReport) -> Result<()> {
        if self.state.snapshot().deltas.get(&table).is_some_and(is_due) {
            let fold = self.fold(table)?;
            report.fold.written += fold.written;
            report.fold.masked += fold.masked;
            report.fold.files += fold.files;
            self.stalls.folded(table, Ok(()), self.state.clock().now());
        }
        Ok(())
    }
}
