//! COPY TO STDOUT in a format of entities: an export that a client reads.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::sql::sqlparser::ast::{self, CopySource};
use tokio::sync::mpsc;

use super::copy_to_file::entity_format;
use super::entities_out::{EntitiesOut, Exported};
use super::export::{ExportOptions, ExportReport, write_rows};
use super::output_flow::OutputFlow;
use super::session::Session;
use crate::compiler::Prepared;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{Destination, ExportFormat};
use rowkey_postgres::syntax::CopyStatement;

/// What messages call the output.
const OUTPUT: &str = "STDOUT";

/// What an export in Parquet gathers until a row group is written, encoders and dictionaries among
/// it: no pool counts it.
const PARQUET_BYTES: usize = 16 << 20;

/// Where an export writes to.
struct Chunks {
    chunks: mpsc::UnboundedSender<Bytes>,
    flow: Arc<OutputFlow>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flow.give(bytes.len());
        self.chunks.send(Bytes::copy_from_slice(bytes)).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session {
    /// Begins the export of a COPY TO STDOUT; `None` if its format is one of PostgreSQL's.
    pub(super) async fn copy_entities_out(
        &mut self,
        prepared: &Arc<Prepared>,
        copy: &CopyStatement,
    ) -> Result<Option<EntitiesOut>> {
        let CopyStatement { statement: copy, options } = copy;
        let Some(format) = entity_format(options, &prepared.statement.source)? else { return Ok(None) };
        let ast::Statement::Copy { source, .. } = copy else {
            return Err(Error::new(SqlState::INTERNAL_ERROR, "no COPY"));
        };
        let memory = if format == ExportFormat::Parquet { Some(self.memory_of_parquet()?) } else { None };
        let (sender, chunks) = mpsc::unbounded_channel();
        let options = ExportOptions::new(format);
        let flow = Arc::clone(options.progress.flow());
        let output = Chunks { chunks: sender, flow: Arc::clone(&flow) };
        let destination = Destination::Stream(OUTPUT.into(), Box::new(output));
        let context = self.context();
        let signals = Arc::clone(&context.signals);
        let (compiler, executor) = (Arc::clone(self.compiler()), self.executor().clone());
        let compute = Arc::clone(self.compute());
        let export = if matches!(source, CopySource::Table { columns, .. } if columns.is_empty()) {
            let (_, _, target, _) = executor.copied_table(&context, prepared, copy)?;
            let name = target.name().to_owned();
            drop(target);
            compute.drop_apart(context);
            let export = self.table_export(&name)?;
            tokio::spawn(async move {
                let exported = async move { export.write_all(&options, destination).await };
                compute.run(&signals, exported).await.map(exported_of)
            })
        } else {
            let style = Arc::clone(context.session.settings.style());
            let rows = executor.copied_rows(context, prepared, copy).await?;
            tokio::spawn(async move {
                let written = async move { write_rows(rows, &style, &options, destination, &compiler).await };
                compute.run(&signals, written).await.map(exported_of)
            })
        };
        Ok(Some(EntitiesOut { chunks, export, flow, is_binary: memory.is_some(), _memory: memory }))
    }

    fn memory_of_parquet(&self) -> Result<MemoryReservation> {
        let memory = self.compiler().memory("COPY in Parquet");
        match memory.try_grow(PARQUET_BYTES) {
            Ok(()) => Ok(memory),
            Err(_) => {
                let message = format!("out of memory for {} MiB of a COPY in Parquet", PARQUET_BYTES >> 20);
                Err(Error::new(SqlState::OUT_OF_MEMORY, message)
                    .with_hint("run fewer at a time, copy in another format, or raise --memory-mib"))
            }
        }
    }

    /// Ends a COPY TO STDOUT of entities, all of which its client has; gives the tag.
    pub async fn finish_copy_out(&mut self, copy: EntitiesOut) -> Result<String> {
        let (count, notices) = copy.finish().await?;
        self.tell(notices);
        let tag = format!("COPY {count}");
        self.count_copied(&tag);
        Ok(tag)
    }
}

fn exported_of(report: ExportReport) -> Exported {
    (report.entities, report.notes)
}
