//! Exports that statements read as tables, without an import: `FROM 'export.ndjson'`.
//!
//! A file is read twice: first its properties and their types are found, which are its columns,
//! then each scan gives its entities. Only sessions of this process may, as its user.

mod batches;
mod file;
mod scan;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::ast::ObjectName;

pub(crate) use file::ExportFile;
use rowkey_base::Result;
use rowkey_postgres::cancellation::Signals;
pub(crate) use scan::ExportScanExec;
use scan::ExportTable;

/// The schema that they lie in while a statement is planned. No other has such a name.
pub(crate) const EXPORTS: &str = "(exports)";

/// The path of the export that a name in FROM is, if it is one: a single one in single quotes.
pub fn export_path(name: &ObjectName) -> Option<&str> {
    let [part] = name.0.as_slice() else { return None };
    part.as_ident().filter(|ident| ident.quote_style == Some('\'')).map(|ident| ident.value.as_str())
}

/// Files that a session has read, by path.
#[derive(Debug, Default)]
pub(crate) struct ExportFiles(Mutex<HashMap<String, Arc<ExportFile>>>);

impl ExportFiles {
    /// The file of a path as it is now.
    ///
    /// # Errors
    /// Those of an import that stops at the first entity that breaks a rule.
    fn open(&self, path: &str, signals: &Signals) -> Result<Arc<ExportFile>> {
        let known = self.find(path);
        if let Some(file) = known.filter(|file| file.is_unchanged()) {
            return Ok(file);
        }
        let file = Arc::new(ExportFile::open(path, signals)?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn find(&self, path: &str) -> Option<Arc<ExportFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}

/// The same for a statement, which may be interrupted.
#[derive(Debug, Clone)]
pub(crate) struct StatementExports {
    files: Arc<ExportFiles>,
    signals: Arc<Signals>,
}

impl StatementExports {
    pub(crate) fn new(files: &Arc<ExportFiles>, signals: &Arc<Signals>) -> Self {
        Self { files: Arc::clone(files), signals: Arc::clone(signals) }
    }

    /// See [`ExportFiles::open`].
    pub(crate) fn open(&self, path: &str) -> Result<Arc<ExportFile>> {
        self.files.open(path, &self.signals)
    }

    /// A file that was opened.
    pub(crate) fn find(&self, path: &str) -> Option<Arc<ExportFile>> {
        self.files.find(path)
    }
}

#[async_trait]
impl SchemaProvider for StatementExports {
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        Ok(self.find(name).map(|file| Arc::new(ExportTable(file)) as _))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}
