//! Bringing rows of any order into key order in bounded memory.
//!
//! Most exports are already in key order, and must not pay for those that are not. So the sorter
//! can *stream*: as long as every chunk follows the one before, [`Sorter::push`] hands rows back to
//! be written at once, and nothing is spilled. It first holds back some input
//! ([`SorterOptions::stream_after_bytes`]), which shows the usual unsorted input to be so before
//! anything was handed out; a small input is always sorted as one.
//!
//! If the order breaks after rows were handed out (several sorted files one behind the other),
//! those are a sorted sequence of their own, the *head*, and [`Sorted::head_interrupted`] says so:
//! the rest comes out of [`Sorted`] as a second sequence, and the caller merges the two, for which
//! [`RowRef::replaces`](super::RowRef::replaces) is the rule. The cost is one more read of the
//! head. A caller that cannot merge switches streaming off; then everything comes out of [`Sorted`]
//! in one sequence, at the cost of writing and reading input beyond `memory_bytes_max` once (sorted
//! input makes a single run).
//!
//! What is not in order is held up to `memory_bytes_max`, then merged into a sorted run in a
//! temporary file; a run goes on as long as what follows is behind it. At the end the runs and what
//! is still held are merged, in several passes if there are very many runs. Rows with equal keys
//! all come out, in the order of the input: [`Deduplicator`](super::Deduplicator) selects one of
//! them.

use std::sync::Arc;

use super::arena::Rows;
use super::error::Result;
use super::merge::{Merge, Sequence};
use super::spill::{RunFile, RunWriter};
use crate::files::FileStore;

/// What a [`Sorter`] may use.
#[derive(Debug, Clone, Copy)]
pub struct SorterOptions {
    /// Most memory of rows held, in bytes. One chunk and one batch come on top.
    pub memory_bytes_max: usize,
    /// Input in order is handed on once this many bytes of it are held; `None` never hands on
    /// before the end.
    pub stream_after_bytes: Option<usize>,
}

/// Sorts rows that come in chunks; see the module.
#[derive(Debug)]
pub struct Sorter {
    store: Arc<dyn FileStore>,
    folder: String,
    options: SorterOptions,
    held: Vec<Rows>,
    held_bytes: usize,
    streaming: bool,
    handed_on: bool,
    open_run: Option<RunWriter>,
    runs: Vec<RunFile>,
    runs_created: usize,
    #[cfg(test)]
    spilled_bytes: u64,
}

/// Most runs merged at once.
const FAN_IN_MAX: usize = 128;
const BLOCK_BYTES_MIN: usize = 4 << 10;
const BLOCK_BYTES_MAX: usize = 1 << 20;

impl Sorter {
    /// `folder` is where runs are spilled to: a folder of temporary files that no other sorter uses
    /// at the time.
    pub fn new(store: Arc<dyn FileStore>, folder: impl Into<String>, options: SorterOptions) -> Self {
        Self {
            store,
            folder: folder.into(),
            options,
            held: Vec::new(),
            held_bytes: 0,
            streaming: options.stream_after_bytes.is_some(),
            handed_on: false,
            open_run: None,
            runs: Vec::new(),
            runs_created: 0,
            #[cfg(test)]
            spilled_bytes: 0,
        }
    }

    /// Takes the next chunk of the input, which need not be sorted itself. Returns the batches that
    /// can be written now: they are in ascending order, within and across calls.
    pub fn push(&mut self, mut rows: Rows) -> Result<Vec<Rows>> {
        rows.sort();
        if self.streaming {
            self.check_order(&rows);
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.held_bytes += rows.memory_bytes();
        self.held.push(rows);
        if let (true, Some(stream_after_bytes)) = (self.streaming, self.options.stream_after_bytes) {
            if self.held_bytes <= stream_after_bytes.min(self.options.memory_bytes_max) {
                return Ok(Vec::new());
            }
            // The last chunk stays, for the next one to be compared with.
            let mut ready: Vec<Rows> = self.held.drain(..self.held.len() - 1).collect();
            ready.retain(|rows| !rows.is_empty());
            self.handed_on |= !ready.is_empty();
            self.held_bytes = self.held.iter().map(Rows::memory_bytes).sum();
            return Ok(ready);
        }
        if self.held_bytes > self.options.memory_bytes_max {
            self.spill()?;
        }
        Ok(Vec::new())
    }

    /// Ends the input.
    pub fn finish(mut self) -> Result<Sorted> {
        let runs_max = (self.options.memory_bytes_max / self.block_bytes() / 2).clamp(2, FAN_IN_MAX);
        if let Some(run) = self.open_run.take() {
            self.close(run)?;
        }
        if !self.runs.is_empty() && self.held_bytes > self.options.memory_bytes_max / 2 {
            self.spill()?;
            if let Some(run) = self.open_run.take() {
                self.close(run)?;
            }
        }
        while self.runs.len() > runs_max {
            self.merge_pass(runs_max)?;
        }
        let mut sequences = Vec::new();
        for run in self.runs.drain(..) {
            sequences.push(Sequence::Run(run.read()?));
        }
        sequences.extend(ascending_sequences(std::mem::take(&mut self.held)));
        Ok(Sorted {
            merge: Merge::start(sequences, self.block_bytes())?,
            head_interrupted: self.handed_on && !self.streaming,
            #[cfg(test)]
            head_handed_on: self.handed_on,
            #[cfg(test)]
            spilled_bytes: self.spilled_bytes,
        })
    }

    /// Ends the streaming if the first of `rows` comes before the last held row.
    fn check_order(&mut self, rows: &Rows) {
        if let (Some(last), Some(first)) = (self.held.last().and_then(Rows::last), rows.first())
            && first.key_bytes() < last.key_bytes()
        {
            self.streaming = false;
        }
    }

    /// Merges all that is held into the open run, or into a new one if it begins before the open
    /// one's end.
    fn spill(&mut self) -> Result<()> {
        let block_bytes = self.block_bytes();
        self.held_bytes = 0;
        let mut merge = Merge::start(ascending_sequences(std::mem::take(&mut self.held)), block_bytes)?;
        let Some(first) = merge.peek_key() else { return Ok(()) };
        let mut run = match self.open_run.take() {
            Some(run) if run.accepts(first) => run,
            open => {
                if let Some(run) = open {
                    self.close(run)?;
                }
                self.create_run()?
            }
        };
        while let Some(batch) = merge.next_batch()? {
            run.push(&batch)?;
        }
        self.open_run = Some(run);
        Ok(())
    }

    /// Merges neighbouring runs in groups of at most `runs_max`.
    fn merge_pass(&mut self, runs_max: usize) -> Result<()> {
        let mut runs = std::mem::take(&mut self.runs).into_iter().peekable();
        while runs.peek().is_some() {
            let mut group = Vec::new();
            for run in runs.by_ref().take(runs_max) {
                group.push(Sequence::Run(run.read()?));
            }
            let mut merge = Merge::start(group, self.block_bytes())?;
            let mut merged = self.create_run()?;
            while let Some(batch) = merge.next_batch()? {
                merged.push(&batch)?;
            }
            self.close(merged)?;
        }
        Ok(())
    }

    fn create_run(&mut self) -> Result<RunWriter> {
        self.runs_created += 1;
        let path = format!("{}/run-{:06}", self.folder, self.runs_created);
        RunWriter::create(&self.store, path, self.block_bytes())
    }

    fn close(&mut self, run: RunWriter) -> Result<()> {
        let run = run.finish()?;
        #[cfg(test)]
        {
            self.spilled_bytes += run.bytes();
        }
        self.runs.push(run);
        Ok(())
    }

    /// Bytes of a block of a run: one of each run is in memory while they are merged.
    fn block_bytes(&self) -> usize {
        (self.options.memory_bytes_max / (2 * FAN_IN_MAX)).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)
    }
}

/// Chunks that follow one another become one sequence.
fn ascending_sequences(chunks: Vec<Rows>) -> Vec<Sequence> {
    let mut sequences: Vec<Vec<Rows>> = Vec::new();
    for chunk in chunks {
        let follows = |sequence: &Vec<Rows>| match (sequence.last().and_then(Rows::last), chunk.first()) {
            (Some(last), Some(first)) => last.key_bytes() <= first.key_bytes(),
            _ => true,
        };
        match sequences.last_mut() {
            Some(sequence) if follows(sequence) => sequence.push(chunk),
            _ => sequences.push(vec![chunk]),
        }
    }
    sequences.into_iter().map(|chunks| Sequence::Chunks(chunks.into_iter())).collect()
}

/// What [`Sorter::finish`] gives: the rows not yet handed on, in ascending order. Runs go with it.
#[derive(Debug)]
pub struct Sorted {
    merge: Merge,
    head_interrupted: bool,
    #[cfg(test)]
    head_handed_on: bool,
    #[cfg(test)]
    spilled_bytes: u64,
}

impl Sorted {
    /// The next batch, of about a megabyte; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<Rows>> {
        self.merge.next_batch()
    }

    /// True if the order broke after [`Sorter::push`] had handed rows on: these batches are then a
    /// sequence of their own, to be merged with the rows handed on. False if they continue them.
    pub fn head_interrupted(&self) -> bool {
        self.head_interrupted
    }

    /// True if [`Sorter::push`] handed on any rows.
    #[cfg(test)]
    pub fn head_handed_on(&self) -> bool {
        self.head_handed_on
    }

    /// Bytes written to temporary files, all passes together.
    #[cfg(test)]
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes
    }
}

impl Iterator for Sorted {
    type Item = Result<Rows>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

#[cfg(test)]
mod tests;
