//! The commands of "Bring your data".

use std::path::Path;

use crate::readme::Outcome;
use crate::readme::page::Page;
use crate::readme::program::{ADDRESS, Server, run};
use rowkey_base::testing::Scratch;

/// The commands with their comments, in order.
fn commands(page: &Page) -> Outcome<Vec<(&str, &str)>> {
    let lines = page.section("Bring your data")?.block("sh")?;
    Ok(lines.iter().map(|line| line.split_once('#').unwrap_or((line, ""))).map(trim_both).collect())
}

fn trim_both<'a>((command, comment): (&'a str, &'a str)) -> (&'a str, &'a str) {
    (command.trim(), comment.trim())
}

/// One partition of the sample's Employees: as pages, and as one file.
fn employees(folder: &Path) -> Outcome<()> {
    run(folder, "rowkey sql --sample --data sample 'select 1'")?;
    let export = "rowkey export --data sample --table Employees --partition Sales";
    run(folder, &format!("mkdir pages && {export} --format json --pages -o pages/Employees"))?;
    run(folder, &format!("{export} -o whole.ndjson"))?;
    Ok(())
}

#[test]
fn the_commands_of_bring_your_data() -> Outcome<()> {
    let page = Page::read()?;
    let commands = commands(&page)?;
    let names: Vec<&str> = commands.iter().filter_map(|(command, _)| command.split(' ').nth(1)).collect();
    assert_eq!(names, ["import", "sql", "export", "serve"]);
    let scratch = Scratch::new("readme-commands")?;
    let folder = scratch.path();
    employees(folder)?;

    for (command, comment) in &commands[..3] {
        let out = run(folder, command)?;
        match *command {
            command if command.starts_with("rowkey sql") => assert!(out.contains(" Sales        |  4000"), "{out}"),
            command if command.starts_with("rowkey export") => exports(folder, command, comment)?,
            _ => imports(folder, command, comment)?,
        }
    }
    let (command, client) = commands[3];
    let server = Server::start(folder, command)?;
    assert_eq!(run(folder, "rowkey serve --help")?.matches(ADDRESS).count(), 1);
    let answered = server.psql("readme", client, "select count(*) from employees;\n")?;
    assert!(answered.is_none_or(|answered| answered.contains(" 4000\n")));
    Ok(())
}

/// The data folder is where README says; all kinds of inputs that the comment names are read.
fn imports(folder: &Path, command: &str, comment: &str) -> Outcome<()> {
    assert!(folder.join("rowkey-data/log").is_dir());
    assert_eq!(comment, "a file, a folder of pages, a glob, or - for standard input");
    let inputs = command.strip_suffix("pages/Employees").ok_or("it imports the folder pages/Employees")?;
    for input in ["whole.ndjson", "pages/Employees", "'pages/Employees/*.json'", "- < whole.ndjson"] {
        let report = run(folder, &format!("{inputs} --dry-run {input}"))?;
        let unchanged = report.lines().find_map(|line| line.trim().strip_prefix("unchanged"));
        assert_eq!(unchanged.map(str::trim), Some("4,000"), "{input}: {report}");
    }
    Ok(())
}

/// The endings and options that the comment names are taken.
fn exports(folder: &Path, command: &str, comment: &str) -> Outcome<()> {
    let (rest, file) = command.rsplit_once(' ').ok_or("it names a file")?;
    assert!(folder.join(file).is_file());
    let (endings, options) = comment.split_once(';').ok_or("endings; options")?;
    let endings: Vec<&str> = endings.split([' ', ',']).filter(|word| word.starts_with('.')).collect();
    assert!(endings.len() >= 3, "{comment}");
    for ending in endings {
        run(folder, &format!("{rest} other{ending}"))?;
    }
    let help = run(folder, "rowkey export --help")?;
    let options: Vec<&str> = options.split([' ', ',']).filter(|word| word.starts_with("--")).collect();
    assert!(options.len() >= 3 && options.iter().all(|option| help.contains(&format!("{option} <"))), "{options:?}");
    Ok(())
}
