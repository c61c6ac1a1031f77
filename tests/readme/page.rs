//! README taken apart: sections with their text, code blocks and tables.

use std::path::{Path, PathBuf};

use crate::readme::Outcome;

pub(crate) struct Page {
    lines: Vec<String>,
    sections: Vec<Section>,
}

pub(crate) struct Section {
    title: String,
    /// Lines outside of code blocks and tables.
    pub text: Vec<String>,
    blocks: Vec<Block>,
    tables: Vec<Vec<Vec<String>>>,
}

struct Block {
    /// What stands behind the fence; empty for a session or a picture.
    language: String,
    lines: Vec<String>,
}

pub(crate) fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

impl Page {
    pub(crate) fn read() -> Outcome<Self> {
        Self::parse(&std::fs::read_to_string(path())?)
    }

    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let mut page = Self { lines: text.lines().map(str::to_owned).collect(), sections: Vec::new() };
        let mut open: Option<Block> = None;
        let mut in_table = false;
        for line in text.lines() {
            let fence = line.strip_prefix("```");
            if let Some(mut block) = open.take() {
                if fence.is_some() {
                    page.last()?.blocks.push(block);
                } else {
                    block.lines.push(line.to_owned());
                    open = Some(block);
                }
                continue;
            }
            if let Some(language) = fence {
                open = Some(Block { language: language.trim().to_owned(), lines: Vec::new() });
            } else if let Some(title) = line.strip_prefix("# ").or_else(|| line.strip_prefix("## ")) {
                page.sections.push(Section::new(title));
            } else if let Some(cells) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) {
                let row = cells.split('|').map(|cell| cell.trim().to_owned()).collect();
                let tables = &mut page.last()?.tables;
                match tables.last_mut() {
                    Some(table) if in_table => table.push(row),
                    _ => tables.push(vec![row]),
                }
            } else {
                page.last()?.text.push(line.to_owned());
            }
            in_table = line.starts_with('|');
        }
        if open.is_some() {
            return Err("the last code block has no end".into());
        }
        Ok(page)
    }

    fn last(&mut self) -> Outcome<&mut Section> {
        Ok(self.sections.last_mut().ok_or("text before the title")?)
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Lines outside of code blocks and tables.
    pub(crate) fn text(&self) -> impl Iterator<Item = &String> {
        self.sections.iter().flat_map(|section| &section.text)
    }

    pub(crate) fn section(&self, title: &str) -> Outcome<&Section> {
        let found = self.sections.iter().find(|section| section.title == title);
        Ok(found.ok_or_else(|| format!("no section \"{title}\""))?)
    }
}

impl Section {
    fn new(title: &str) -> Self {
        Self { title: title.to_owned(), text: Vec::new(), blocks: Vec::new(), tables: Vec::new() }
    }

    /// The lines of the section's only code block in a language.
    pub(crate) fn block(&self, language: &str) -> Outcome<&[String]> {
        let mut found = self.blocks.iter().filter(|block| block.language == language);
        match (found.next(), found.next()) {
            (Some(block), None) => Ok(&block.lines),
            _ => Err(format!("\"{}\" must have one code block of \"{language}\"", self.title).into()),
        }
    }

    /// The rows of the section's only table, without its head, which must be `columns`.
    pub(crate) fn table(&self, columns: &[&str]) -> Outcome<&[Vec<String>]> {
        match &self.tables[..] {
            [table] if table.first().is_some_and(|head| head == columns) => Ok(table.get(2..).unwrap_or_default()),
            _ => Err(format!("\"{}\" must have one table, of {columns:?}", self.title).into()),
        }
    }
}

/// The targets of links in Markdown text.
pub(crate) fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

#[test]
fn what_is_expected_and_gone_is_an_error() -> Outcome<()> {
    let page = Page::parse("# T\ntext\n## A\n```sh\nls\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx\n```\n")?;
    let section = page.section("A")?;
    assert_eq!(section.block("sh")?, ["ls"]);
    assert_eq!(section.block("")?, ["x"]);
    assert_eq!(section.table(&["a", "b"])?, [["1", "2"]]);
    assert!(section.block("rust").is_err() && section.table(&["a"]).is_err() && page.section("B").is_err());
    assert!(page.section("T")?.table(&["a", "b"]).is_err());
    assert!(Page::parse("# T\n```sh\nls\n").is_err());
    assert!(Page::parse("# T\n```sh\na\n```\n```sh\nb\n```\n")?.section("T")?.block("sh").is_err());
    Ok(())
}

#[test]
fn links_are_found_behind_one_another() {
    assert_eq!(links("a [b](c.md), [`d`](../e/f.md#g) [h] (i)"), ["c.md", "../e/f.md#g"]);
}
