//! What README shows and says: its commands are run, its answers compared, its example compiled.

mod access_paths;
mod commands;
mod embed;
mod page;
mod program;
mod session;

use std::fs;
use std::path::PathBuf;

use page::{Page, links, path};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const LINES_MAX: usize = 150;
const COLUMNS_MAX: usize = 120;

#[test]
fn a_page_to_read_in_one_go() -> Outcome<()> {
    let page = Page::read()?;
    assert!(page.lines().len() <= LINES_MAX, "{} lines, and {LINES_MAX} is the most", page.lines().len());
    let long: Vec<&String> = page.text().filter(|line| line.chars().count() > COLUMNS_MAX).collect();
    assert!(long.is_empty(), "lines beyond {COLUMNS_MAX} columns: {long:#?}");
    Ok(())
}

/// From README to every page that can be reached from it.
#[test]
fn relative_links_lead_to_files() -> Outcome<()> {
    let (mut pages, mut at, mut broken): (Vec<PathBuf>, _, _) = (vec![path()], 0, Vec::new());
    while let Some(page) = pages.get(at).cloned() {
        at += 1;
        let text = fs::read_to_string(&page)?;
        let folder = page.parent().ok_or("a page lies in a folder")?;
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { Ok(page.clone()) } else { folder.join(file).canonicalize() };
            let Ok(target) = target else {
                broken.push(format!("{}: {link}", page.display()));
                continue;
            };
            if target.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            if !anchor.is_empty() && !anchors(&fs::read_to_string(&target)?).any(|found| found == anchor) {
                broken.push(format!("{}: {link} has no such heading", page.display()));
            }
            if !pages.contains(&target) {
                pages.push(target);
            }
        }
    }
    assert!(pages.len() >= 5, "README leads to {pages:?} alone");
    assert!(broken.is_empty(), "{broken:#?}");
    Ok(())
}

/// Of the headings, as they are made on GitHub: small letters, hyphens for blanks, no punctuation.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| line.strip_prefix('#')).map(|heading| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        heading.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
    })
}
