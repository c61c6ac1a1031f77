//! A PostgreSQL of the test's own: a new cluster in a temporary folder, reached over a Unix socket,
//! gone afterwards.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, Config, NoTls};

use crate::postgres::Outcome;

/// Names the folder of PostgreSQL's binaries, where it is not found by itself.
pub(crate) const BINARIES: &str = "ROWKEY_TEST_POSTGRES_BIN";

/// Where Debian keeps them, a folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The cluster's superuser, and the system's user that owns it when root runs the test (PostgreSQL
/// refuses root).
const USER: &str = "postgres";
const START_SECONDS_MAX: u64 = 60;

/// A running server. Dropping it stops it and removes its folder.
pub(crate) struct Postgres {
    binaries: PathBuf,
    folder: Folder,
    owner: Option<Owner>,
    server: Child,
}

/// A user and its group.
#[derive(Clone, Copy)]
struct Owner {
    user: u32,
    group: u32,
}

impl Postgres {
    /// A new, empty cluster; none where PostgreSQL is not installed.
    pub(crate) async fn start() -> Outcome<Option<Self>> {
        let Some(binaries) = binaries()? else { return Ok(None) };
        let owner = owner()?;
        let folder = Folder::new(owner)?;
        let initdb = command(&binaries, "initdb", &folder, owner)
            .args([
                "--username",
                USER,
                "--auth=trust",
                "--locale=C.UTF-8",
                "--lc-collate=C",
                "--encoding=UTF8",
                "--no-sync",
                "-D",
            ])
            .arg(folder.cluster())
            .output()?;
        if !initdb.status.success() {
            let said = String::from_utf8_lossy(&initdb.stderr).into_owned();
            return Err(format!("initdb of {} ended with {}: {said}", binaries.display(), initdb.status).into());
        }
        let log = fs::File::create(folder.log())?;
        let mut server = command(&binaries, "postgres", &folder, owner);
        server.arg("-D").arg(folder.cluster()).arg("-k").arg(&folder.0);
        for setting in ["listen_addresses=", "fsync=off", "full_page_writes=off", "autovacuum=off"] {
            server.args(["-c", setting]);
        }
        let server = server.stdout(log.try_clone()?).stderr(log).spawn()?;
        let mut started = Self { binaries, folder, owner, server };
        started.wait_until_it_answers().await?;
        Ok(Some(started))
    }

    /// A connection to a database: `postgres`, or one that was created.
    pub(crate) async fn connect(&self, database: &str) -> Outcome<Client> {
        let (client, connection) =
            Config::new().host_path(&self.folder.0).user(USER).dbname(database).connect(NoTls).await?;
        // It ends with the client; what breaks it, the client's calls report.
        tokio::spawn(connection);
        Ok(client)
    }

    /// The socket, for clients that are not the driver.
    #[allow(dead_code, reason = "the differential test, which shares this file, connects to it")]
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.0.join(".s.PGSQL.5432")
    }

    async fn wait_until_it_answers(&mut self) -> Outcome<()> {
        let started = Instant::now();
        loop {
            let error = match self.connect(USER).await {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            let ended = self.server.try_wait()?;
            if ended.is_some() || started.elapsed() > Duration::from_secs(START_SECONDS_MAX) {
                let log = fs::read_to_string(self.folder.log())?;
                return Err(format!("PostgreSQL did not start ({ended:?}): {error}\n{log}").into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let stopped = command(&self.binaries, "pg_ctl", &self.folder, self.owner)
            .args(["stop", "--silent", "--mode=immediate", "-D"])
            .arg(self.folder.cluster())
            .status();
        // Killed, it leaves its children to find out for themselves: only when it cannot be asked.
        if !stopped.is_ok_and(|status| status.success()) {
            drop(self.server.kill());
        }
        drop(self.server.wait());
    }
}

/// A folder in the system's own for temporary files: paths of sockets are short, and the cluster's
/// owner has to get there.
struct Folder(PathBuf);

impl Folder {
    fn new(owner: Option<Owner>) -> Outcome<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("rowkey-postgres-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        let folder = Self(path);
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700))?;
        if let Some(Owner { user, group }) = owner {
            chown(&folder.0, Some(user), Some(group))?;
        }
        Ok(folder)
    }

    fn cluster(&self) -> PathBuf {
        self.0.join("cluster")
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left lies in the system's folder for temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}

fn command(binaries: &Path, name: &str, folder: &Folder, owner: Option<Owner>) -> Command {
    let mut command = Command::new(binaries.join(name));
    command.current_dir(&folder.0).stdin(Stdio::null()).env("LC_ALL", "C").env_remove("PGDATA");
    if let Some(Owner { user, group }) = owner {
        command.uid(user).gid(group);
    }
    command
}

/// The folder that has both initdb and the server; a folder that was named and has not is an error.
fn binaries() -> Outcome<Option<PathBuf>> {
    let complete = |folder: &PathBuf| ["initdb", "postgres", "pg_ctl"].iter().all(|name| folder.join(name).is_file());
    if let Some(named) = env::var_os(BINARIES) {
        let named = PathBuf::from(named);
        return match complete(&named) {
            true => Ok(Some(named)),
            false => Err(format!("{BINARIES}={} has no initdb, postgres and pg_ctl", named.display()).into()),
        };
    }
    let mut versions: Vec<(u32, PathBuf)> = match fs::read_dir(DEBIAN) {
        Ok(entries) => entries
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
            .collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(format!("{DEBIAN}: {error}").into()),
    };
    // The newest first.
    versions.sort_by(|a, b| b.cmp(a));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = versions.into_iter().map(|(_, folder)| folder).chain(env::split_paths(&path));
    Ok(folders.find(complete))
}

/// The user to be while PostgreSQL is started: another one when this process is root, else nobody
/// else.
fn owner() -> Outcome<Option<Owner>> {
    let own = Command::new("id").arg("-u").output()?;
    if String::from_utf8_lossy(&own.stdout).trim() != "0" {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let named = |name: &str| {
        let fields: Vec<&str> =
            users.lines().map(|line| line.split(':').collect()).find(|of: &Vec<&str>| of[0] == name)?;
        Some(Owner { user: fields.get(2)?.parse().ok()?, group: fields.get(3)?.parse().ok()? })
    };
    match named(USER).or_else(|| named("nobody")) {
        Some(owner) => Ok(Some(owner)),
        None => Err("root cannot run PostgreSQL, and there is neither a user postgres nor nobody".into()),
    }
}
