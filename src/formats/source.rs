//! Where an export is read from.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::azurite::{self, Section, StoredTable};
use super::error::Error;
use super::format::Format;

/// How many bytes are looked at to tell the format: the first line of a table with very many columns fits.
const FIRST_BYTES: usize = 64 << 10;

/// A named input.
pub struct Source {
    name: Arc<str>,
    input: Input,
}

enum Input {
    File(File),
    Stream(Box<dyn Read + Send>),
    /// A table in a file that holds several.
    Section(Section),
}

impl Source {
    /// A stream, such as standard input; `name` is what messages call it.
    pub fn stream(name: impl Into<Arc<str>>, input: Box<dyn Read + Send>) -> Self {
        Self { name: name.into(), input: Input::Stream(input) }
    }

    /// A file of the user's, named by its path.
    pub fn file(path: &Path) -> Result<Self, Error> {
        let name: Arc<str> = path.display().to_string().into();
        match File::open(path) {
            Ok(file) => Ok(Self { name, input: Input::File(file) }),
            Err(source) => Err(Error::Read { input: name, source }),
        }
    }

    pub(super) fn section(name: impl Into<Arc<str>>, section: Section) -> Self {
        Self { name: name.into(), input: Input::Section(section) }
    }

    /// The tables of a database of Azurite ([`Format::AzuriteDatabase`]), in the order of the file. Reads all of it once, and is
    /// an error if it is incomplete.
    pub fn tables(self) -> Result<Vec<StoredTable>, Error> {
        let (input, file) = self.into_file("the tables of an Azurite database are read one after another")?;
        azurite::tables(input, file)
    }

    /// True if this is one table of a file that holds several.
    pub fn is_one_table(&self) -> bool {
        matches!(self.input, Input::Section(_))
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Tells the format from the first bytes, which stay to be read.
    pub fn detect(&mut self) -> Result<Format, Error> {
        if self.is_one_table() {
            return Ok(Format::AzuriteDatabase);
        }
        let first = self.peek().map_err(|source| Error::Read { input: Arc::clone(&self.name), source })?;
        Format::detect(&first, &self.name)
            .map_err(|reason| Error::UnknownFormat { input: Arc::clone(&self.name), reason })
    }

    fn peek(&mut self) -> io::Result<Vec<u8>> {
        let mut first = Vec::with_capacity(FIRST_BYTES);
        match &mut self.input {
            // A file that cannot seek (a pipe with a name) is read as a stream.
            Input::File(file) if (&*file).stream_position().is_ok() => {
                file.by_ref().take(FIRST_BYTES as u64).read_to_end(&mut first)?;
                file.seek(SeekFrom::Start(0))?;
                Ok(first)
            }
            _ => {
                let mut stream = std::mem::replace(&mut self.input, Input::Stream(Box::new(io::empty()))).into_read();
                stream.by_ref().take(FIRST_BYTES as u64).read_to_end(&mut first)?;
                self.input = Input::Stream(Box::new(io::Cursor::new(first.clone()).chain(stream)));
                Ok(first)
            }
        }
    }

    /// The bytes from the beginning.
    pub(super) fn into_read(self) -> (Arc<str>, Box<dyn Read + Send>) {
        (self.name, self.input.into_read())
    }

    /// The file, for a format that is not read from front to end.
    pub(super) fn into_file(self, reason: &'static str) -> Result<(Arc<str>, File), Error> {
        match self.input {
            Input::File(file) => Ok((self.name, file)),
            Input::Stream(_) | Input::Section(_) => Err(Error::NeedsFile { input: self.name, reason }),
        }
    }

    /// The table, if this is one of a file that holds several.
    pub(super) fn into_section(self) -> Result<(Arc<str>, Section), Error> {
        match self.input {
            Input::Section(section) => Ok((self.name, section)),
            Input::File(_) | Input::Stream(_) => Err(Error::SeveralTables { input: self.name }),
        }
    }
}

impl Input {
    fn into_read(self) -> Box<dyn Read + Send> {
        match self {
            Input::File(file) => Box::new(file),
            Input::Stream(stream) => stream,
            Input::Section(section) => Box::new(section),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}
