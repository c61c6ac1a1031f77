//! A data folder on an object store, for reading only.

use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};

use super::error::{Error, Operation, Result};
use super::memory::no_range;
use super::paths;
use super::store::{FileEntry, FileStore, OwnerLock, ReadFile, WriteFile};

/// The emulator's account and its key, which are public constants.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const SCHEMES: [&str; 8] = ["az", "azure", "adl", "abfs", "abfss", "https", "http", "file"];
/// The option that a shared access signature is.
const SAS_TOKEN: &str = "azure_storage_sas_token";

/// The files below a URL:
/// - `az://container/folder`, `abfs[s]://`, or
///   `https://account.blob.core.windows.net/container/folder` of Azure; with
///   `AZURE_STORAGE_USE_EMULATOR=true` the first is the emulator's;
/// - `http://127.0.0.1:10000/devstoreaccount1/container/folder`, the emulator's own form;
/// - `https://host/folder` of a server that speaks WebDAV, and `file:///folder`.
///
/// A shared access signature may stand in the URL's query. Every write is refused; the lock is
/// none, because nothing is written.
#[derive(Debug)]
pub struct RemoteStore {
    store: Arc<dyn ObjectStore>,
    root: Path,
    location: String,
    /// Of a `file://` URL.
    folder: Option<PathBuf>,
}

impl RemoteStore {
    /// Opens a URL. Credentials and endpoints come from the environment variables that object
    /// stores agree on (`AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`,
    /// `AZURE_STORAGE_SAS_TOKEN`, ...).
    pub fn open(url: &str) -> Result<Self> {
        let variables = std::env::vars_os();
        Self::open_with(
            url,
            variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// Opens a URL with these options, named as the environment variables are; unknown ones have no
    /// effect.
    pub fn open_with(url: &str, options: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let location = without_secrets(url);
        let failed = |error: &dyn Display| {
            let reason = reason(&error.to_string());
            Error::from_io(location.clone(), Operation::OpenStore, io::Error::new(io::ErrorKind::InvalidInput, reason))
        };
        let scheme = location.split("://").next().unwrap_or_default();
        if !SCHEMES.contains(&scheme) {
            return Err(failed(&format_args!(
                "a URL of a data folder begins with one of {}",
                SCHEMES.join(":// ") + "://"
            )));
        }
        let mut options: Vec<(String, String)> = options.into_iter().collect();
        if let Some(signature) = signature(url) {
            options.retain(|(name, _)| !is_credential(name));
            options.push((SAS_TOKEN.to_owned(), signature.to_owned()));
        }
        let (store, root) = if let Some(emulated) = Emulated::at(&location) {
            emulated.open(options).map_err(|error| failed(&error))?
        } else {
            match location.parse() {
                Ok(parsed) => object_store::parse_url_opts(&parsed, options).map_err(|error| failed(&error))?,
                Err(error) => return Err(failed(&error)),
            }
        };
        let folder = (scheme == "file").then(|| PathBuf::from("/").join(root.to_string()));
        Ok(Self { store: Arc::from(store), root, location, folder })
    }

    /// The files below `root` of a store that is open already; `location` is for messages.
    pub fn new(store: Arc<dyn ObjectStore>, root: Path, location: impl Into<String>) -> Self {
        Self { store, root, location: location.into(), folder: None }
    }

    /// How errors name a file: by its URL, but for a folder of this machine, whose place is not for
    /// clients of a server.
    fn named(&self, path: &str) -> String {
        if self.folder.is_some() {
            return if path.is_empty() { "./".to_owned() } else { path.to_owned() };
        }
        format!("{}/{path}", self.location.trim_end_matches('/'))
    }

    fn object(&self, path: &str, operation: Operation) -> Result<Path> {
        if path.is_empty() {
            return Ok(self.root.clone());
        }
        let inside = Path::parse(path).map_err(|_| Error::BadPath {
            path: path.to_owned(),
            operation,
            rule: "an object store takes only printable characters, and no empty, '.' or '..' parts",
        })?;
        Ok(self.root.parts().chain(inside.parts()).collect())
    }

    async fn open_object(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        paths::validate(path, Operation::Open)?;
        let object = self.object(path, Operation::Open)?;
        let named = self.named(path);
        let found = self.store.head(&object).await.map_err(|error| from_store(&named, Operation::Open, error))?;
        // A weak tag never matches; see RFC 9110, section 8.8.3.2.
        let tag = found.e_tag.filter(|tag| !tag.starts_with("W/"));
        let open = Open { store: Arc::clone(&self.store), object, path: named, bytes: found.size, tag };
        Ok(Arc::new(RemoteRead(Arc::new(open))))
    }

    async fn list_objects(&self, folder: &str) -> Result<Vec<FileEntry>> {
        paths::validate_folder(folder, Operation::List)?;
        let object = self.object(folder, Operation::List)?;
        let found: Vec<_> = match self.store.list(Some(&object)).try_collect().await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(from_store(&self.named(folder), Operation::List, error)),
        };
        let mut entries = Vec::with_capacity(found.len());
        for object in found {
            let Some(parts) = object.location.prefix_match(&self.root) else { continue };
            let path = Path::from_iter(parts).to_string();
            if path != paths::LOCK {
                entries.push(FileEntry { path, bytes: object.size });
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    fn unsupported<T>(&self, path: &str, operation: Operation) -> Result<T> {
        Err(Error::Unsupported { path: path.to_owned(), operation })
    }
}

impl FileStore for RemoteStore {
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>>> {
        self.open_object(path).boxed()
    }

    fn list<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<Vec<FileEntry>>> {
        self.list_objects(folder).boxed()
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        self.unsupported(path, Operation::Create)
    }

    fn open_for_write(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        self.unsupported(path, Operation::OpenForWrite)
    }

    fn rename(&self, from: &str, _to: &str) -> Result<()> {
        self.unsupported(from, Operation::Rename)
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.unsupported(path, Operation::Remove)
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        self.unsupported(folder, Operation::SyncFolder)
    }

    fn lock(&self) -> Result<Box<dyn OwnerLock>> {
        Ok(Box::new(ReaderLock))
    }

    fn location(&self) -> String {
        self.location.clone()
    }

    fn local_root(&self) -> Option<&std::path::Path> {
        self.folder.as_deref()
    }
}

/// The lock of a store that is only read: none.
#[derive(Debug)]
struct ReaderLock;

impl OwnerLock for ReaderLock {}

#[derive(Debug)]
struct Open {
    store: Arc<dyn ObjectStore>,
    object: Path,
    path: String,
    bytes: u64,
    /// Reads fail when the object has been replaced since it was opened.
    tag: Option<String>,
}

impl Open {
    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        if range.start > range.end {
            return Err(Error::from_io(self.path.clone(), Operation::Read, no_range(&range)));
        }
        if range.end > self.bytes {
            return Err(Error::ShortRead { path: self.path.clone(), range, bytes: self.bytes });
        }
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.tag.clone(),
            ..GetOptions::default()
        };
        let failed = |error| from_store(&self.path, Operation::Read, error);
        let answer = self.store.get_opts(&self.object, options).await.map_err(failed)?;
        let content = answer.bytes().await.map_err(failed)?;
        if content.len() as u64 != range.end - range.start {
            let bytes = range.start + content.len() as u64;
            return Err(Error::ShortRead { path: self.path.clone(), range, bytes });
        }
        Ok(content)
    }
}

#[derive(Debug)]
struct RemoteRead(Arc<Open>);

impl ReadFile for RemoteRead {
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    fn read(&self, range: Range<u64>) -> BoxFuture<'static, Result<Bytes>> {
        let file = Arc::clone(&self.0);
        async move { file.read(range).await }.boxed()
    }
}

/// The emulator's blob service names the account in the path, not in the host.
struct Emulated<'a> {
    /// Up to the account.
    endpoint: &'a str,
    container: &'a str,
    folder: &'a str,
}

impl<'a> Emulated<'a> {
    fn at(location: &'a str) -> Option<Self> {
        let host = location.strip_prefix("http://").or_else(|| location.strip_prefix("https://"))?;
        let (_, path) = host.split_once('/')?;
        let (account, path) = path.split_once('/').unwrap_or((path, ""));
        if account != EMULATOR_ACCOUNT {
            return None;
        }
        let (container, folder) = path.split_once('/').unwrap_or((path, ""));
        let endpoint_bytes = location.len() - path.len();
        Some(Self { endpoint: location[..endpoint_bytes].trim_end_matches('/'), container, folder })
    }

    fn open(&self, options: Vec<(String, String)>) -> object_store::Result<(Box<dyn ObjectStore>, Path)> {
        if self.container.is_empty() {
            let source = "a URL of the emulator names a container behind the account".into();
            return Err(object_store::Error::Generic { store: "emulator", source });
        }
        let mut builder = MicrosoftAzureBuilder::new();
        if !options.iter().any(|(name, _)| is_credential(name)) {
            builder = builder.with_access_key(EMULATOR_KEY);
        }
        for (name, value) in options {
            if let Ok(key) = name.to_ascii_lowercase().parse()
                && !matches!(key, AzureConfigKey::UseEmulator)
            {
                builder = builder.with_config(key, value);
            }
        }
        let store = builder
            .with_endpoint(self.endpoint.to_owned())
            .with_account(EMULATOR_ACCOUNT)
            .with_container_name(self.container)
            .with_allow_http(true)
            .build()?;
        Ok((Box::new(store), Path::from_url_path(self.folder)?))
    }
}

/// Whether an option is a credential.
fn is_credential(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().parse(),
        Ok(AzureConfigKey::AccessKey | AzureConfigKey::SasKey | AzureConfigKey::Token)
    )
}

/// The shared access signature in a URL: its whole query.
fn signature(url: &str) -> Option<&str> {
    let (_, query) = url.split('#').next().unwrap_or_default().split_once('?')?;
    query.split('&').any(|pair| pair.starts_with("sig=")).then_some(query)
}

fn from_store(path: &str, operation: Operation, error: object_store::Error) -> Error {
    if let Some(error) = file_error(&error) {
        return Error::from_io(path, operation, error);
    }
    let kind = match &error {
        object_store::Error::NotFound { .. } => io::ErrorKind::NotFound,
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        _ => io::ErrorKind::Other,
    };
    Error::from_io(path, operation, io::Error::new(kind, reason(&error.to_string())))
}

/// What the system says of a file of this machine; the words around it name its full path.
fn file_error(error: &object_store::Error) -> Option<io::Error> {
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && let Some(code) = error.raw_os_error()
        {
            return Some(io::Error::from_raw_os_error(code));
        }
        next = error.source();
    }
    None
}

/// What an object store's error says, on one line and without secrets: the service's own code and
/// sentence where it gave them, else everything but the queries of URLs, which may hold a
/// signature.
fn reason(text: &str) -> String {
    let between = |from: &str, to: &str| text.split_once(from)?.1.split(to).next().map(str::trim);
    if let Some(code) = between("<Code>", "</Code>") {
        let status = between("status code: ", ":").unwrap_or("an error");
        let message = between("<Message>", "\n").unwrap_or_default();
        let message = message.split("</Message>").next().unwrap_or_default();
        return format!("the service answered {status}, {code}: {message}").trim_end_matches([':', ' ']).to_owned();
    }
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(if word.contains("://") { word.split('?').next().unwrap_or_default() } else { word });
    }
    line
}

/// A URL as messages may show it: without the query, which may hold a signature.
fn without_secrets(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use object_store::PutPayload;
    use object_store::memory::InMemory;

    use super::*;

    async fn store() -> RemoteStore {
        let memory = InMemory::new();
        for (path, content) in [("data/log/1.log", "0123456789"), ("data/a.txt", "abc"), ("other/b.txt", "no")] {
            memory.put(&Path::from(path), PutPayload::from_static(content.as_bytes())).await.unwrap();
        }
        RemoteStore::new(Arc::new(memory), Path::from("data"), "test://data")
    }

    #[tokio::test]
    async fn reads_ranges_and_lists_below_the_root() {
        let store = store().await;
        let listed = store.list("").await.unwrap();
        assert_eq!(
            listed.iter().map(|entry| (entry.path.as_str(), entry.bytes)).collect::<Vec<_>>(),
            [("a.txt", 3), ("log/1.log", 10)]
        );
        assert_eq!(store.list("log").await.unwrap().len(), 1);
        assert!(store.list("nothing").await.unwrap().is_empty());
        let file = store.open("log/1.log").await.unwrap();
        assert_eq!(file.bytes(), 10);
        assert_eq!(&file.read(3..6).await.unwrap()[..], b"345");
        assert!(file.read(4..4).await.unwrap().is_empty());
        let error = file.read(8..11).await.unwrap_err();
        assert!(matches!(error, Error::ShortRead { bytes: 10, .. }), "{error}");
        let error = store.open("log/2.log").await.unwrap_err();
        assert!(error.is_not_found() && error.to_string().contains("test://data/log/2.log"), "{error}");
    }

    #[tokio::test]
    async fn writing_is_refused_by_name() {
        let store = store().await;
        let errors = [
            store.create("x").map(drop),
            store.open_for_write("a.txt").map(drop),
            store.rename("a.txt", "b.txt"),
            store.remove("a.txt"),
            store.sync_folder(""),
        ];
        for error in errors.map(Result::unwrap_err) {
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            assert!(error.to_string().ends_with("the data folder is open for reading only"), "{error}");
        }
        store.lock().unwrap();
    }

    #[tokio::test]
    async fn a_replaced_object_is_noticed() {
        let memory = Arc::new(InMemory::new());
        let path = Path::from("a");
        memory.put(&path, PutPayload::from_static(b"first")).await.unwrap();
        let store = RemoteStore::new(memory.clone(), Path::default(), "test://");
        let file = store.open("a").await.unwrap();
        memory.put(&path, PutPayload::from_static(b"again")).await.unwrap();
        assert!(matches!(file.read(0..5).await.unwrap_err(), Error::Io { .. }));
    }

    #[test]
    fn a_url_is_opened_or_named() {
        for url in ["no url", "gopher://host/path", "az://"] {
            let error = RemoteStore::open_with(url, []).unwrap_err();
            assert!(error.to_string().contains(url), "{error}");
        }
        let error = RemoteStore::open_with("gopher://host/path?sig=secret", []).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        let options = [("AZURE_STORAGE_ACCOUNT_NAME", "a"), ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(
            RemoteStore::open_with("az://container/folder", options).unwrap().location(),
            "az://container/folder"
        );
        RemoteStore::open_with("https://example.com/folder", []).unwrap();
    }

    #[test]
    fn urls_of_the_emulator_name_account_and_container() {
        for (url, expected) in [
            ("http://127.0.0.1:10000/devstoreaccount1/data/a/b", Some(("data", "a/b"))),
            ("http://localhost:10000/devstoreaccount1/data", Some(("data", ""))),
            ("http://localhost:10000/devstoreaccount1", Some(("", ""))),
            ("http://localhost:10000/other/data", None),
            ("az://devstoreaccount1/data", None),
        ] {
            let found = Emulated::at(url);
            assert_eq!(found.as_ref().map(|found| (found.container, found.folder)), expected, "{url}");
            if let Some(found) = found {
                assert_eq!(found.endpoint, &url[..url.find("devstoreaccount1").unwrap() + 16]);
            }
        }
        RemoteStore::open_with("http://127.0.0.1:10000/devstoreaccount1/data/a?sv=1&sig=x%3D", []).unwrap();
        let error = RemoteStore::open_with("http://127.0.0.1:10000/devstoreaccount1", []).unwrap_err();
        assert!(error.to_string().ends_with("names a container behind the account"), "{error}");
    }

    #[test]
    fn reasons_are_one_line_without_secrets() {
        let answered = "Error performing GET http://h/c?sig=secret in 5ms - Server returned non-2xx status code: 404 Not Found: \
                        <?xml version=\"1.0\"?>\n<Error>\n  <Code>ContainerNotFound</Code>\n  <Message>It does not exist.\nTime:1</Message></Error>";
        assert_eq!(reason(answered), "the service answered 404 Not Found, ContainerNotFound: It does not exist.");
        assert_eq!(reason("GET https://h/c?sig=secret\nfailed"), "GET https://h/c failed");
        assert_eq!(signature("az://c/f?sv=1&sig=a%3D#x"), Some("sv=1&sig=a%3D"));
        assert_eq!(signature("az://c/f?sv=1"), None);
    }

    #[tokio::test]
    async fn a_local_folder_is_read_by_url() {
        let folder = std::env::temp_dir().join(format!("rowkey-remote-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("log")).unwrap();
        std::fs::write(folder.join("log/1.log"), "0123456789").unwrap();
        let store = RemoteStore::open_with(&format!("file://{}", folder.display()), []).unwrap();
        assert_eq!(store.local_root(), Some(folder.as_path()));
        let listed = store.list("").await.unwrap();
        let read = store.open("log/1.log").await.unwrap().read(0..4).await.unwrap();
        std::os::unix::fs::symlink("loop", folder.join("loop")).unwrap();
        for (path, told) in [("loop", "cannot open loop: "), ("log/2.log", "cannot open log/2.log: ")] {
            let error = store.open(path).await.unwrap_err().to_string();
            assert!(error.starts_with(told) && !error.contains("rowkey-remote"), "{error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(listed, [FileEntry { path: "log/1.log".to_owned(), bytes: 10 }]);
        assert_eq!(&read[..], b"0123");
    }
}
