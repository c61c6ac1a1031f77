//! Writing the payload of the service: pages with full metadata, and one entity a line with minimal
//! metadata.

use std::path::Path;
use std::sync::Arc;

use crate::export::Survey;
use crate::export::text::{push_json_string, push_shown, push_value};
use crate::output::{Compression, PartFolder, Sink, WriteError};
use rowkey_model::rows::{PropertyId, PropertyNames, RowRef, Rows, ValueRef};
use rowkey_model::{DateTime, KeyRef};

/// Entities of one page, as the service has it.
const PAGE_ENTITIES: u64 = 1000;
/// Text held before it is written.
const OUT_BYTES: usize = 256 << 10;

/// One page that holds any number of entities.
pub(crate) struct ServiceJsonWriter {
    sink: Sink,
    entities: EntityText,
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
        let metadata = Metadata::new(account, table);
        let mut head = b"{\"odata.metadata\":".to_vec();
        push_json_string(&mut head, &format!("{}$metadata#{table}", metadata.base));
        head.extend_from_slice(b",\"value\":[");
        sink.put(&head)?;
        Ok(Self { sink, entities: EntityText::new(names, Some(metadata)), out: Vec::new(), count: 0 })
    }

    pub(crate) fn write<'r>(&mut self, rows: impl Iterator<Item = RowRef<'r>>) -> Result<(), WriteError> {
        for row in rows {
            self.out.extend_from_slice(if self.count == 0 { b"\n" } else { b",\n" });
            self.entities.push(&mut self.out, row);
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
    entities: EntityText,
    out: Vec<u8>,
}

impl JsonLinesWriter {
    pub(crate) fn new(sink: Sink, names: &Arc<PropertyNames>) -> Self {
        Self { sink, entities: EntityText::new(names, None), out: Vec::new() }
    }

    pub(crate) fn write(&mut self, rows: &Rows) -> Result<(), WriteError> {
        self.out.clear();
        for row in rows.iter() {
            self.entities.push(&mut self.out, row);
            self.out.push(b'\n');
        }
        self.sink.put(&self.out)
    }

    pub(crate) fn finish(self) -> Result<(), WriteError> {
        self.sink.finish()
    }
}

/// What full metadata says of every entity.
struct Metadata {
    /// `"acct.Orders"`, in quotes.
    type_name: Vec<u8>,
    base: String,
    table: String,
}

impl Metadata {
    fn new(account: &str, table: &str) -> Self {
        let mut type_name = Vec::new();
        push_json_string(&mut type_name, &format!("{account}.{table}"));
        Self { type_name, base: format!("https://{account}.table.core.windows.net/"), table: table.to_owned() }
    }
}

/// Entities as JSON objects.
struct EntityText {
    names: Arc<PropertyNames>,
    metadata: Option<Metadata>,
    /// By number of the property: its name as it begins a member, `"Name`.
    members: Vec<Vec<u8>>,
}

impl EntityText {
    fn new(names: &Arc<PropertyNames>, metadata: Option<Metadata>) -> Self {
        Self { names: Arc::clone(names), metadata, members: Vec::new() }
    }

    fn push(&mut self, out: &mut Vec<u8>, row: RowRef<'_>) {
        out.push(b'{');
        let (key, timestamp) = (row.key(), row.timestamp());
        if let Some(metadata) = &self.metadata {
            out.extend_from_slice(b"\"odata.type\":");
            out.extend_from_slice(&metadata.type_name);
            let link = link(&metadata.table, key);
            out.extend_from_slice(b",\"odata.id\":");
            push_json_string(out, &format!("{}{link}", metadata.base));
            if let Some(at) = timestamp {
                out.extend_from_slice(b",\"odata.etag\":");
                push_json_string(out, &etag(at));
            }
            out.extend_from_slice(b",\"odata.editLink\":");
            push_json_string(out, &link);
            out.push(b',');
        }
        out.extend_from_slice(b"\"PartitionKey\":");
        push_json_string(out, key.partition);
        out.extend_from_slice(b",\"RowKey\":");
        push_json_string(out, key.row);
        if let Some(at) = timestamp {
            if self.metadata.is_some() {
                out.extend_from_slice(b",\"Timestamp@odata.type\":\"Edm.DateTime\"");
            }
            out.extend_from_slice(b",\"Timestamp\":\"");
            push_shown(out, at);
            out.push(b'"');
        }
        for (id, value) in row.properties() {
            out.push(b',');
            self.push_property(out, id, value);
        }
        out.push(b'}');
    }

    fn push_property(&mut self, out: &mut Vec<u8>, id: PropertyId, value: ValueRef<'_>) {
        if self.members.len() <= id.index() {
            self.members.resize(id.index() + 1, Vec::new());
        }
        let member = &mut self.members[id.index()];
        if member.is_empty() {
            push_json_string(member, &self.names.name(id));
            member.pop();
        }
        let is_text = match value {
            ValueRef::Boolean(_) | ValueRef::Int32(_) | ValueRef::String(_) => false,
            ValueRef::Double(number) => !number.is_finite(),
            ValueRef::Binary(_) | ValueRef::DateTime(_) | ValueRef::Guid(_) | ValueRef::Int64(_) => true,
        };
        if is_text {
            out.extend_from_slice(member);
            out.extend_from_slice(b"@odata.type\":\"Edm.");
            out.extend_from_slice(value.edm_type().name().as_bytes());
            out.extend_from_slice(b"\",");
        }
        out.extend_from_slice(member);
        out.extend_from_slice(b"\":");
        match value {
            ValueRef::String(text) => push_json_string(out, text),
            value if is_text => {
                out.push(b'"');
                push_value(out, value);
                out.push(b'"');
            }
            value => push_value(out, value),
        }
    }
}

/// `Orders(PartitionKey='eu',RowKey='0001')`: quotes doubled, and what a URL does not take in
/// percent signs.
fn link(table: &str, key: KeyRef<'_>) -> String {
    let mut link = format!("{table}(PartitionKey='");
    push_encoded(&mut link, key.partition);
    link.push_str("',RowKey='");
    push_encoded(&mut link, key.row);
    link.push_str("')");
    link
}

fn push_encoded(link: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => link.push(char::from(byte)),
            b'\'' => link.push_str("''"),
            byte => link.push_str(&format!("%{byte:02X}")),
        }
    }
}

fn etag(at: DateTime) -> String {
    format!("W/\"datetime'{}'\"", at.to_string().replace(':', "%3A"))
}
