//! How DataFusion's Parquet scan gets at run files: through the cache of open files.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{ParquetFileMetrics, ParquetFileReaderFactory};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

use super::pages_read::PagesRead;
use rowkey_storage::run::{RunFile, RunFileReader, RunFiles};

/// Carried by every file of a scan.
#[derive(Debug, Clone)]
pub(super) struct RunHandle(pub Arc<RunFile>);

/// The run file of a file of a scan.
pub(crate) fn file_of(file: &PartitionedFile) -> Option<&Arc<RunFile>> {
    file.extension::<RunHandle>().map(|RunHandle(run)| run)
}

/// Hands out cached metadata, always with its page index: row selections without a predicate need
/// it too, and the Parquet scan would not ask for it.
#[derive(Debug)]
pub(super) struct RunReaderFactory {
    files: Arc<RunFiles>,
    pages_read: Arc<PagesRead>,
}

impl RunReaderFactory {
    pub(super) fn new(files: Arc<RunFiles>, pages_read: Arc<PagesRead>) -> Self {
        Self { files, pages_read }
    }
}

impl ParquetFileReaderFactory for RunReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        _metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let Some(RunHandle(run)) = file.extension::<RunHandle>() else {
            return Err(internal_datafusion_err!("{} is no run file", file.path()));
        };
        Ok(Box::new(RunReader {
            files: Arc::clone(&self.files),
            pages_read: Arc::clone(&self.pages_read),
            run: Arc::clone(run),
            open: None,
            metrics: ParquetFileMetrics::new(partition_index, &run.path, metrics),
        }))
    }
}

/// Opens its file when it is first asked for something.
struct RunReader {
    files: Arc<RunFiles>,
    pages_read: Arc<PagesRead>,
    run: Arc<RunFile>,
    open: Option<RunFileReader>,
    metrics: ParquetFileMetrics,
}

impl RunReader {
    async fn open(&mut self) -> parquet::errors::Result<&mut RunFileReader> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let open = self.files.open(&self.run).await;
                open.map_err(|error| ParquetError::External(Box::new(rowkey_base::Error::from(error))))?.reader()
            }
        };
        Ok(self.open.insert(open))
    }
}

impl AsyncFileReader for RunReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        self.metrics.bytes_scanned.add((range.end - range.start) as usize);
        let pages_read = Arc::clone(&self.pages_read);
        async move {
            let reader = self.open().await?;
            pages_read.add(reader.run(), &range);
            reader.get_bytes(range).await.map_err(public)
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        async move { self.open().await?.get_metadata(options).await.map_err(public) }.boxed()
    }
}

/// An error of storage as the public one: DataFusion hands on what is inside without looking.
fn public(error: ParquetError) -> ParquetError {
    match error {
        ParquetError::External(inner) => match inner.downcast::<rowkey_storage::Error>() {
            Ok(error) => ParquetError::External(Box::new(rowkey_base::Error::from(*error))),
            Err(inner) => ParquetError::External(inner),
        },
        error => error,
    }
}
