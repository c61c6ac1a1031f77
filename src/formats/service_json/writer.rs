//! Writing the payload of the service: pages with full metadata, and one entity a line with minimal
//! metadata.

use std::path::Path;
use std::sync::Arc;

use crate::entity_json::{RowEncoder, TableAddress};
use crate::json::push_string;
use crate::output::{Compression, PartFolder, Sink, WriteError};
use crate::survey::Survey;
use rowkey_model::rows::{PropertyNames, RowRef, Rows};

/// Entities of one page, as the service has it.
const PAGE_ENTITIES: u64 = 1000;
/// Text held before it is written.
const OUT_BYTES: usize = 256 << 10;

/// One page that holds any number of entities.
pub(crate) struct ServiceJsonWriter {
    sink: Sink,
    entities: RowEncoder,
    out: Vec<u8>,
    count: u64,
}

impl ServiceJsonWriter {
    pub(crate) fn new(
        mut sink: Sink,
        account: &str,
        table: &str,
        names: &Arc<PropertyNames>,
    ) -> Result<Self, WriteError> {
        let address = TableAddress::in_azure(account, table);
        let mut head = b"{\"odata.metadata\":".to_vec();
        push_string(&mut head, &address.feed_context());
        head.extend_from_slice(b",\"value\":[");
        sink.put(&head)?;
        Ok(Self { sink, entities: RowEncoder::full(names, address), out: Vec::new(), count: 0 })
    }

    pub(crate) fn write<'r>(&mut self, rows: impl Iterator<Item = RowRef<'r>>) -> Result<(), WriteError> {
        for row in rows {
            self.out.extend_from_slice(if self.count == 0 { b"\n" } else { b",\n" });
            self.entities.encode(row, &mut self.out);
            self.count += 1;
            if self.out.len() >= OUT_BYTES {
                self.sink.put(&self.out)?;
                self.out.clear();
            }
        }
        self.sink.put(&self.out)?;
        self.out.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        self.sink.put(b"]}\n")?;
        self.sink.finish()
    }
}

/// A folder of pages, `page-000001.json` and so on.
pub(crate) struct PageFolder {
    folder: PartFolder,
    account: String,
    table: String,
    compression: Option<Compression>,
    names: Arc<PropertyNames>,
    page: Option<ServiceJsonWriter>,
    pages: u64,
}

impl PageFolder {
    pub(crate) fn new(
        folder: PartFolder,
        account: &str,
        table: &str,
        compression: Option<Compression>,
        survey: &Survey,
    ) -> Self {
        let (account, table, names) = (account.to_owned(), table.to_owned(), Arc::clone(survey.names()));
        Self { folder, account, table, compression, names, page: None, pages: 0 }
    }

    /// Whether a file of a folder is a page of an earlier export.
    pub(crate) fn is_page(file: &Path) -> bool {
        let Some(name) = file.to_str().and_then(|name| name.strip_prefix("page-")) else { return false };
        let digits = name.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < name.len() && matches!(digits, ".json" | ".json.gz" | ".json.zst")
    }

    pub(crate) fn write(&mut self, rows: &Rows) -> Result<(), WriteError> {
        let mut rows = rows.iter().peekable();
        while rows.peek().is_some() {
            let mut page = match self.page.take() {
                Some(page) => page,
                None => self.next_page()?,
            };
            page.write(rows.by_ref().take((PAGE_ENTITIES - page.count) as usize))?;
            if page.count < PAGE_ENTITIES {
                self.page = Some(page);
            } else {
                page.finish()?;
            }
        }
        Ok(())
    }

    fn next_page(&mut self) -> Result<ServiceJsonWriter, WriteError> {
        self.pages += 1;
        let mut name = format!("page-{:06}.json", self.pages);
        if let Some(compression) = self.compression {
            name = format!("{name}.{}", compression.extension());
        }
        let sink = self.folder.file(None, &name, self.compression)?;
        ServiceJsonWriter::new(sink, &self.account, &self.table, &self.names)
    }

    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        // A table without entities is one empty page.
        if self.pages == 0 {
            self.page = Some(self.next_page()?);
        }
        if let Some(page) = self.page.take() {
            page.finish()?;
        }
        self.folder.publish()
    }
}

/// One entity a line.
pub(crate) struct JsonLinesWriter {
    sink: Sink,
    entities: RowEncoder,
    out: Vec<u8>,
}

impl JsonLinesWriter {
    pub(crate) fn new(sink: Sink, names: &Arc<PropertyNames>) -> Self {
        Self { sink, entities: RowEncoder::minimal(names), out: Vec::new() }
    }

    pub(crate) fn write(&mut self, rows: &Rows) -> Result<(), WriteError> {
        self.out.clear();
        for row in rows.iter() {
            self.entities.encode(row, &mut self.out);
            self.out.push(b'\n');
        }
        self.sink.put(&self.out)
    }

    pub(crate) fn finish(self) -> Result<(), WriteError> {
        self.sink.finish()
    }
}
