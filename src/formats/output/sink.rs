//! Bytes on their way into a file or a stream, compressed if that is wanted.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::write::GzEncoder;

use super::error::WriteError;
use super::file::PartFile;

const BUFFER_BYTES: usize = 256 << 10;
/// The default levels of the programs `gzip` and `zstd`.
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// How a text is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// All compressions.
    pub const ALL: [Compression; 2] = [Compression::Gzip, Compression::Zstd];

    /// What the user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    /// What the names of such files end in.
    pub fn extension(self) -> &'static str {
        match self {
            Compression::Gzip => "gz",
            Compression::Zstd => "zst",
        }
    }

    /// The compression of a [`name`](Self::name).
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compression| compression.name() == name)
    }

    /// By the end of a file's name.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|compression| compression.extension() == extension)
    }
}

/// Where an export goes.
pub enum Destination {
    /// A file, or a folder.
    Path(PathBuf),
    /// A stream such as standard output, and what messages call it.
    Stream(Arc<str>, Box<dyn Write + Send>),
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Destination::Stream(name, _) => f.debug_tuple("Stream").field(name).finish(),
        }
    }
}

/// What has been written, for other threads to read.
#[derive(Debug, Default)]
pub struct Written {
    bytes: AtomicU64,
    files: AtomicU64,
}

impl Written {
    /// Bytes handed to the operating system.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Files and streams begun.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }
}

/// One output.
pub(crate) struct Sink {
    name: Arc<str>,
    encoder: Encoder,
}

enum Encoder {
    Plain(Target),
    Gzip(GzEncoder<Target>),
    Zstd(zstd::stream::write::Encoder<'static, Target>),
}

struct Target {
    to: To,
    written: Arc<Written>,
}

enum To {
    File(BufWriter<PartFile>),
    Stream(BufWriter<Box<dyn Write + Send>>),
}

impl Sink {
    /// A file of its own, or a stream. What is neither a file nor a folder (a device, a pipe with a
    /// name) is written to as it is.
    pub(crate) fn open(
        destination: Destination,
        overwrite: bool,
        compression: Option<Compression>,
        written: &Arc<Written>,
    ) -> Result<Self, WriteError> {
        let (name, to): (Arc<str>, To) = match destination {
            Destination::Stream(name, stream) => (name, To::Stream(BufWriter::with_capacity(BUFFER_BYTES, stream))),
            Destination::Path(path) => {
                let name = path.display().to_string();
                let is_special = fs::metadata(&path).is_ok_and(|found| !found.is_file() && !found.is_dir());
                let to = if is_special {
                    let device = OpenOptions::new().write(true).open(&path);
                    let device = device.map_err(|error| WriteError::file(&path, "open", error))?;
                    To::Stream(BufWriter::with_capacity(BUFFER_BYTES, Box::new(device)))
                } else {
                    To::File(BufWriter::with_capacity(BUFFER_BYTES, PartFile::create(&path, overwrite)?))
                };
                (name.into(), to)
            }
        };
        Self::new(name, to, compression, written)
    }

    /// A file in a folder that is not published yet.
    pub(super) fn within(
        path: &Path,
        name: Arc<str>,
        compression: Option<Compression>,
        written: &Arc<Written>,
    ) -> Result<Self, WriteError> {
        let to = To::File(BufWriter::with_capacity(BUFFER_BYTES, PartFile::within(path)?));
        Self::new(name, to, compression, written)
    }

    fn new(
        name: Arc<str>,
        to: To,
        compression: Option<Compression>,
        written: &Arc<Written>,
    ) -> Result<Self, WriteError> {
        written.files.fetch_add(1, Ordering::Relaxed);
        let target = Target { to, written: Arc::clone(written) };
        let encoder = match compression {
            None => Encoder::Plain(target),
            Some(Compression::Gzip) => Encoder::Gzip(GzEncoder::new(target, flate2::Compression::new(GZIP_LEVEL))),
            Some(Compression::Zstd) => {
                let mut encoder = zstd::stream::write::Encoder::new(target, ZSTD_LEVEL)
                    .map_err(|source| WriteError::Stream { name: Arc::clone(&name), source })?;
                // Readers find damage by it.
                encoder
                    .include_checksum(true)
                    .map_err(|source| WriteError::Stream { name: Arc::clone(&name), source })?;
                Encoder::Zstd(encoder)
            }
        };
        Ok(Self { name, encoder })
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Writes all of `content`.
    pub(crate) fn put(&mut self, content: &[u8]) -> Result<(), WriteError> {
        self.write_all(content).map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> WriteError {
        let target = match &self.encoder {
            Encoder::Plain(target) => Some(target),
            Encoder::Gzip(encoder) => Some(encoder.get_ref()),
            Encoder::Zstd(encoder) => Some(encoder.get_ref()),
        };
        match target.map(|target| &target.to) {
            Some(To::File(_)) => WriteError::File { path: self.name.to_string(), action: "write to", source },
            _ => WriteError::Stream { name: Arc::clone(&self.name), source },
        }
    }

    /// Writes what is left; a file is then durable and has its name.
    pub(crate) fn finish(self) -> Result<(), WriteError> {
        let name = self.name;
        let stream = |source| WriteError::Stream { name: Arc::clone(&name), source };
        let target = match self.encoder {
            Encoder::Plain(target) => target,
            Encoder::Gzip(encoder) => encoder.finish().map_err(stream)?,
            Encoder::Zstd(encoder) => encoder.finish().map_err(stream)?,
        };
        match target.to {
            To::Stream(mut stream_to) => stream_to.flush().map_err(stream),
            To::File(file) => {
                let failed = |source| WriteError::File { path: name.to_string(), action: "write to", source };
                file.into_inner().map_err(|error| failed(error.into_error()))?.publish()
            }
        }
    }
}

impl Encoder {
    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(target) => target,
            Self::Gzip(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.encoder.inner().write(content)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.inner().flush()
    }
}

impl Write for Target {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let bytes = match &mut self.to {
            To::File(file) => file.write(content)?,
            To::Stream(stream) => stream.write(content)?,
        };
        self.written.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::File(file) => file.flush(),
            To::Stream(stream) => stream.flush(),
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("name", &self.name).finish_non_exhaustive()
    }
}
