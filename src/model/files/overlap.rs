//! Whether a path leads into a data folder, by whatever links, mounts or further names.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::paths;

/// Links to what does not exist that are followed one by one, before they are taken for a circle.
const LINKS_MAX: u32 = 40;

/// How a path lies to a data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// It is the folder, or leads into it.
    Within,
    /// The folder lies in it.
    Contains,
}

/// How `path` lies to the data folder `root`; none if they have nothing in common. Neither needs to
/// exist.
///
/// What exists is compared by its identity on the disk as well, since one folder may be mounted
/// twice and one file may have two names. Folders of the store that are links to other places
/// belong to it there.
pub fn overlap(root: &Path, path: &Path) -> io::Result<Option<Overlap>> {
    let folders = folders_of(root)?;
    let target = resolve(path, LINKS_MAX)?;
    // A link is replaced where it lies, or followed to where it leads: neither may be in the
    // folder.
    let place = match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => resolve(above, LINKS_MAX)?.join(name),
        _ => target.clone(),
    };
    for folder in &folders {
        if lies_in(&target, folder)? || lies_in(&place, folder)? {
            return Ok(Some(Overlap::Within));
        }
    }
    if has_further_name_in(&target, &folders)? {
        return Ok(Some(Overlap::Within));
    }
    for folder in &folders {
        if lies_in(folder, &target)? {
            return Ok(Some(Overlap::Contains));
        }
    }
    Ok(None)
}

/// The data folder and the folders of its layout, without links.
fn folders_of(root: &Path) -> io::Result<Vec<PathBuf>> {
    let inner = [paths::LOG, paths::CHECKPOINT, paths::TABLES, paths::QUARANTINE, paths::SPILL];
    let inner = inner.iter().map(|name| resolve(&root.join(name), LINKS_MAX));
    std::iter::once(resolve(root, LINKS_MAX)).chain(inner).collect()
}

/// The path without links and `..`, also where its end does not exist yet.
fn resolve(path: &Path, links_left: u32) -> io::Result<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    // The working folder itself may be gone.
    let (above, resolved) = (path.parent().filter(|_| path != Path::new(".")), fs::canonicalize(path));
    let above = match (above, resolved) {
        (Some(above), Err(error)) if error.kind() == io::ErrorKind::NotFound => above,
        (_, resolved) => return resolved,
    };
    if let Ok(to) = fs::read_link(path) {
        let left = links_left.checked_sub(1).ok_or_else(|| io::Error::other("it leads through too many links"))?;
        return resolve(&above.join(to), left);
    }
    let mut resolved = resolve(above, links_left)?;
    match path.file_name() {
        Some(name) => resolved.push(name),
        None => {
            resolved.pop();
        }
    }
    Ok(resolved)
}

/// Whether a path is a folder or lies anywhere below it.
fn lies_in(path: &Path, folder: &Path) -> io::Result<bool> {
    if path.starts_with(folder) {
        return Ok(true);
    }
    let Some(wanted) = existing(folder)?.as_ref().map(identity) else { return Ok(false) };
    for above in path.ancestors() {
        if existing(above)?.as_ref().map(identity) == Some(wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file is also there under another name in one of the folders.
fn has_further_name_in(file: &Path, folders: &[PathBuf]) -> io::Result<bool> {
    let Some(found) = existing(file)?.filter(|found| found.is_file() && found.nlink() > 1) else { return Ok(false) };
    let wanted = identity(&found);
    let mut open = folders.to_vec();
    let mut seen = HashSet::new();
    while let Some(folder) = open.pop() {
        if existing(&folder)?.is_none_or(|found| !seen.insert(identity(&found))) {
            continue;
        }
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            match existing(&path)? {
                Some(found) if found.is_dir() => open.push(path),
                Some(found) if identity(&found) == wanted => return Ok(true),
                _ => {}
            }
        }
    }
    Ok(false)
}

fn existing(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::local::tests::Folder;
    use super::*;

    #[test]
    fn whatever_leads_into_the_folder_is_found() {
        let folder = Folder::new("overlap");
        let at = |path: &str| folder.path().join(path);
        for made in ["data/log", "data/tables/a/T.1", "moved/checkpoint", "beside"] {
            fs::create_dir_all(at(made)).unwrap();
        }
        symlink(at("moved/checkpoint"), at("data/checkpoint")).unwrap();
        symlink(at("data"), at("beside/link")).unwrap();
        symlink(at("data/log/new"), at("beside/dangling")).unwrap();
        symlink("dangling", at("beside/twice")).unwrap();
        symlink("../data/log", at("beside/relative")).unwrap();
        symlink(at("beside/out.csv"), at("data/leads-out")).unwrap();
        fs::write(at("data/log/1.log"), "").unwrap();
        fs::write(at("beside/single"), "").unwrap();
        fs::hard_link(at("data/log/1.log"), at("beside/hard")).unwrap();
        fs::hard_link(at("beside/single"), at("beside/single-too")).unwrap();
        let within = [
            "data",
            "data/",
            "data/.",
            "data/new.csv",
            "data/log/1.log",
            "data/no/such/folder/new.csv",
            "beside/../data/new.csv",
            "beside/missing/../../data/new.csv",
            "beside/link",
            "beside/link/new.csv",
            "beside/link/log/../new.csv",
            "beside/relative/new.csv",
            "beside/dangling",
            "beside/twice",
            "beside/hard",
            "data/leads-out",
            "moved/checkpoint/1.ckpt",
        ];
        for path in within {
            assert_eq!(overlap(&at("data"), &at(path)).unwrap(), Some(Overlap::Within), "{path}");
            assert_eq!(overlap(&at("beside/link"), &at(path)).unwrap(), Some(Overlap::Within), "{path}");
        }
        for path in [".", "beside/..", "moved"] {
            assert_eq!(overlap(&at("data"), &at(path)).unwrap(), Some(Overlap::Contains), "{path}");
        }
        for path in ["beside", "beside/out.csv", "beside/no/such", "data2", "dat", "beside/single", "/dev/null"] {
            assert_eq!(overlap(&at("data"), &at(path)).unwrap(), None, "{path}");
        }
        symlink("circle", at("beside/circle")).unwrap();
        overlap(&at("data"), &at("beside/circle")).unwrap_err();
    }

    #[test]
    fn the_folder_need_not_be_there() {
        let folder = Folder::new("overlap-new");
        fs::create_dir_all(folder.path().join("beside")).unwrap();
        symlink(folder.path().join("new"), folder.path().join("beside/link")).unwrap();
        let lies = |path: &str| overlap(&folder.path().join("new/data"), &folder.path().join(path)).unwrap();
        assert_eq!(lies("new/data/out.csv"), Some(Overlap::Within));
        assert_eq!(lies("beside/link/data/out.csv"), Some(Overlap::Within));
        assert_eq!((lies("new"), lies("beside/link")), (Some(Overlap::Contains), Some(Overlap::Contains)));
        assert_eq!((lies("new/out.csv"), lies("beside")), (None, None));
    }
}
