//! Where an export is read from.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compressed::{GZIP_MAGIC, GzipReader, Utf16Reader, ZSTD_MAGIC, utf16_order};
use super::error::Error;
use super::notes::Warning;
use super::property_types::PropertyTypes;
use super::section::Section;

/// How many bytes are looked at to tell the format: the first line of a table with very many
/// columns fits.
const FIRST_BYTES: usize = 64 << 10;
/// How often packed input may be packed again.
const LAYERS_MAX: usize = 3;
/// Temporary files of one process at a time.
const SPOOLS_MAX: u32 = 1000;

/// A named input. What is in gzip, zstd or UTF-16 is read as what it holds.
pub struct Source {
    name: Arc<str>,
    input: Input,
    /// True once gzip and UTF-16 were looked for.
    is_unpacked: bool,
    path: Option<PathBuf>,
    warnings: Vec<Warning>,
    /// Types of columns that another file says.
    column_types: Option<Arc<PropertyTypes>>,
}

enum Input {
    /// A regular file, which is opened when it is read: there may be more of them than can be open
    /// at once.
    Path(PathBuf),
    /// A pipe with a name, and the like.
    File(File),
    Stream(Box<dyn Read + Send>),
    /// A table in a file that holds several.
    Section(Section),
}

impl Source {
    fn new(name: impl Into<Arc<str>>, input: Input) -> Self {
        Self { name: name.into(), input, is_unpacked: false, path: None, warnings: Vec::new(), column_types: None }
    }

    /// A stream, such as standard input; `name` is what messages call it.
    pub fn stream(name: impl Into<Arc<str>>, input: Box<dyn Read + Send>) -> Self {
        Self::new(name, Input::Stream(input))
    }

    /// A file of the user's, named by its path.
    pub fn file(path: &Path) -> Result<Self, Error> {
        let name: Arc<str> = path.display().to_string().into();
        let opened = File::open(path).and_then(|file| {
            let is_regular = file.metadata()?.is_file();
            Ok(if is_regular { Input::Path(path.to_owned()) } else { Input::File(file) })
        });
        match opened {
            Ok(input) => Ok(Self { path: Some(path.to_owned()), ..Self::new(name, input) }),
            Err(source) => Err(Error::Read { input: name, source }),
        }
    }

    pub(super) fn section(name: impl Into<Arc<str>>, section: Section) -> Self {
        Self { is_unpacked: true, ..Self::new(name, Input::Section(section)) }
    }

    /// Adds something to tell about the input.
    pub fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    pub(super) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The same with types of columns that stand elsewhere; those beside the values go before them.
    pub(super) fn with_column_types(self, types: Arc<PropertyTypes>) -> Self {
        Self { column_types: Some(types), ..self }
    }

    pub(super) fn column_types(&self) -> Option<&Arc<PropertyTypes>> {
        self.column_types.as_ref()
    }

    /// PartitionKey and RowKey, where these are the names of the folder and of the file.
    pub(super) fn keys_of_path(&self) -> Result<(String, String), Error> {
        let fails = |reason| Error::KeysNotInPath { input: Arc::clone(&self.name), reason };
        let path = self.path.as_deref().ok_or_else(|| fails("no file"))?;
        let path = path.canonicalize().map_err(|source| Error::Read { input: Arc::clone(&self.name), source })?;
        let partition = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let row = path.file_stem().and_then(|stem| stem.to_str());
        let (partition, row) = partition.zip(row).ok_or_else(|| fails("a path that is not such"))?;
        Ok((partition.to_owned(), row.to_owned()))
    }

    /// True if this is one table of a file that holds several.
    pub fn is_one_table(&self) -> bool {
        matches!(self.input, Input::Section(_))
    }

    /// The name of the input in messages.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The first bytes, which stay to be read.
    pub(super) fn first_bytes(&mut self) -> Result<Vec<u8>, Error> {
        self.peek().map_err(|source| Error::Read { input: Arc::clone(&self.name), source })
    }

    fn peek(&mut self) -> io::Result<Vec<u8>> {
        let mut first = self.peek_input()?;
        // Gzip of zstd, or gzip of UTF-16, is unpacked as well.
        for _ in 0..LAYERS_MAX {
            if self.is_unpacked {
                break;
            }
            if first.starts_with(&GZIP_MAGIC) {
                let packed = self.take_input().into_read()?;
                self.input = Input::Stream(Box::new(GzipReader::new(packed)));
            } else if first.starts_with(&ZSTD_MAGIC) {
                let packed = self.take_input().into_read()?;
                self.input = Input::Stream(Box::new(zstd::Decoder::new(packed)?));
            } else if let Some(order) = utf16_order(&first) {
                let text = self.take_input().into_read()?;
                self.input = Input::Stream(Box::new(Utf16Reader::new(text, order)));
            } else {
                break;
            }
            first = self.peek_input()?;
        }
        self.is_unpacked = true;
        Ok(first)
    }

    fn take_input(&mut self) -> Input {
        std::mem::replace(&mut self.input, Input::Stream(Box::new(io::empty())))
    }

    fn peek_input(&mut self) -> io::Result<Vec<u8>> {
        let mut first = Vec::with_capacity(FIRST_BYTES);
        match &mut self.input {
            Input::Path(path) => {
                File::open(path)?.take(FIRST_BYTES as u64).read_to_end(&mut first)?;
            }
            _ => {
                let mut stream = self.take_input().into_read()?;
                stream.by_ref().take(FIRST_BYTES as u64).read_to_end(&mut first)?;
                self.input = Input::Stream(Box::new(io::Cursor::new(first.clone()).chain(stream)));
            }
        }
        Ok(first)
    }

    /// The bytes from the beginning, unpacked.
    pub(super) fn into_read(mut self) -> Result<(Arc<str>, Box<dyn Read + Send>), Error> {
        let unpacked = if self.is_unpacked { Ok(()) } else { self.peek().map(drop) };
        match unpacked.and_then(|()| self.input.into_read()) {
            Ok(reader) => Ok((self.name, reader)),
            Err(source) => Err(Error::Read { input: self.name, source }),
        }
    }

    /// The file, for a format that is not read from front to end. What is no file is written to a
    /// temporary one, which has no name and is gone when it is closed.
    pub(super) fn into_file(mut self, reason: &'static str) -> Result<(Arc<str>, File), Error> {
        if let Input::Section(_) = self.input {
            return Err(Error::NeedsFile { input: self.name, reason });
        }
        let unpacked = if self.is_unpacked { Ok(()) } else { self.peek().map(drop) };
        let file = unpacked.and_then(|()| match self.input {
            Input::Path(path) => File::open(path),
            input => spooled(input.into_read()?),
        });
        match file {
            Ok(file) => Ok((self.name, file)),
            Err(source) => Err(Error::Read { input: self.name, source }),
        }
    }

    /// The table, if this is one of a file that holds several.
    pub(super) fn into_section(self) -> Result<(Arc<str>, Section), Error> {
        match self.input {
            Input::Section(section) => Ok((self.name, section)),
            Input::Path(_) | Input::File(_) | Input::Stream(_) => Err(Error::SeveralTables { input: self.name }),
        }
    }
}

impl Input {
    fn into_read(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Input::Path(path) => Box::new(File::open(path)?),
            Input::File(file) => Box::new(file),
            Input::Stream(stream) => stream,
            Input::Section(section) => Box::new(section),
        })
    }
}

/// Writes a stream to a temporary file without a name.
fn spooled(mut stream: Box<dyn Read + Send>) -> io::Result<File> {
    let folder = std::env::temp_dir();
    let process = std::process::id();
    for number in 0..SPOOLS_MAX {
        let path = folder.join(format!("rowkey-{process}-{number}.input"));
        let mut file = match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        fs::remove_file(&path)?;
        io::copy(&mut stream, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        return Ok(file);
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("no name is free for a temporary file in {}", folder.display()),
    ))
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}
