use super::*;
use rowkey_base::testing::Scratch;

struct Folder(Scratch);

impl Folder {
    fn new(name: &str) -> Self {
        Self(Scratch::new(&format!("inputs-{name}")).unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

fn find_one(path: &Path) -> Result<Inputs, Failure> {
    find(&[path.to_owned()])
}

fn message(paths: impl IntoIterator<Item: Into<PathBuf>>) -> String {
    let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
    match find(&paths).unwrap_err() {
        Failure::Plain { message, .. } | Failure::Usage { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder() {
    let folder = Folder::new("folder");
    let pages =
        ["b/2.NDJSON", "b/a.jsonl", "c.parquet", "d.csv", "e/__azurite_db_table__.json", "page-10.json", "page-2.json"];
    for page in pages.iter().rev() {
        folder.write(page, "12345");
    }
    let notes = folder.write("notes.txt", "");
    let others = ["zz/__azurite_db_blob__.json", "zz.schema.csv"].map(|name| folder.write(name, ""));
    let inputs = find_one(folder.0.path()).unwrap();
    assert_eq!(inputs.found, pages.map(|page| Input::File(folder.0.path().join(page))));
    assert_eq!((inputs.skipped, inputs.bytes_total), ([&[notes][..], &others].concat(), Some(35)));
}

#[cfg(unix)]
#[test]
fn links() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("links");
    let page = folder.write("a.json", "1");
    let (loop_, linked, dangling) =
        (folder.0.path().join("loop"), folder.0.path().join("linked.json"), folder.0.path().join("none.json"));
    symlink(folder.0.path(), &loop_).unwrap();
    symlink(&page, &linked).unwrap();
    symlink(folder.0.path().join("nowhere"), &dangling).unwrap();
    let inputs = find_one(folder.0.path()).unwrap();
    assert_eq!(inputs.found, [page, linked].map(Input::File));
    assert_eq!(inputs.skipped, [loop_, dangling]);
}

#[test]
fn a_glob() {
    let folder = Folder::new("glob");
    let pages = ["page-1.json", "page-2.json"].map(|page| folder.write(page, "{}"));
    folder.write("other.json", "{}");
    let inputs = find_one(&folder.0.path().join("page-*.json")).unwrap();
    assert_eq!(inputs.found, pages.map(Input::File));
    assert!(message([folder.0.path().join("*.csv")]).ends_with("*.csv: no file has a name like this"));
    // A file that is called like a pattern is that file.
    let literal = folder.write("[x].json", "{}");
    assert_eq!(find_one(&literal).unwrap().found, [Input::File(literal)]);
}

#[test]
fn files_are_taken_whatever_their_name() {
    let folder = Folder::new("files");
    let (one, two) = (folder.write("export", "{}"), folder.write("a.txt", "{}"));
    let inputs = find(&[two.clone(), PathBuf::from("-"), one.clone()]).unwrap();
    assert_eq!(inputs.found, [Input::File(two), Input::Standard, Input::File(one)]);
    assert_eq!(inputs.bytes_total, None);
}

#[test]
fn paths_that_name_nothing() {
    let folder = Folder::new("nothing");
    let missing = folder.0.path().join("none.json");
    assert_eq!(message([&missing]), format!("{}: there is no such file or folder", missing.display()));
    assert!(message([folder.0.path()]).contains("the folder holds no .json"));
    assert!(message(["-", "-"]).contains("given twice"));
    assert!(message([folder.0.path().join("a[")]).contains("not a glob"));
}
