//! The session of psql that README begins with, and "Try it", which starts its server.

use crate::readme::Outcome;
use crate::readme::page::Page;
use crate::readme::program::{ADDRESS, Server};
use rowkey_base::testing::Scratch;

/// What a terminal shows.
struct Session {
    command: String,
    statements: String,
    answers: Vec<String>,
}

impl Session {
    fn parse(lines: &[String]) -> Outcome<Self> {
        let (first, rest) = lines.split_first().ok_or("an empty block")?;
        let command = first.strip_prefix("$ ").ok_or("a session begins with a command")?;
        let database = command.rsplit(' ').next().unwrap_or_default();
        let (mut statements, mut answers) = (String::new(), Vec::new());
        for line in rest {
            let typed = ["=> ", "-> "].iter().find_map(|prompt| line.strip_prefix(&format!("{database}{prompt}")));
            match typed {
                Some(typed) => statements.extend([typed, "\n"]),
                None => answers.push(line.clone()),
            }
        }
        Ok(Self { command: command.to_owned(), statements, answers })
    }
}

/// Without blanks at the ends of lines, which README does not keep, and empty lines at the end.
fn trimmed<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut lines: Vec<&str> = lines.map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

/// The command of "Try it" that starts a server, without cargo and its comment.
fn serve(page: &Page) -> Outcome<(String, String)> {
    let lines = page.section("Try it")?.block("sh")?;
    let mut found = lines.iter().filter_map(|line| line.strip_prefix("cargo run --release -- "));
    let (Some(line), None) = (found.next(), found.next()) else {
        return Err("\"Try it\" must start one program".into());
    };
    let (arguments, comment) = line.split_once('#').ok_or("it says what happens")?;
    Ok((format!("rowkey {}", arguments.trim()), comment.trim().to_owned()))
}

#[test]
fn the_first_session() -> Outcome<()> {
    let page = Page::read()?;
    let scratch = Scratch::new("readme-session")?;
    let server = Server::start(scratch.path(), &serve(&page)?.0)?;
    let session = Session::parse(page.section("Rowkey")?.block("")?)?;
    assert_eq!(session.statements.matches(';').count(), 2, "{}", session.statements);
    let Some(answered) = server.psql("readme", &session.command, &session.statements)? else { return Ok(()) };
    let shown = trimmed(session.answers.iter().map(String::as_str));
    assert_eq!(trimmed(answered.lines()).join("\n"), shown.join("\n"));
    Ok(())
}

/// The server says how to connect, as README does, and queries, each with an answer.
#[test]
fn a_server_to_try() -> Outcome<()> {
    let page = Page::read()?;
    let scratch = Scratch::new("readme-try")?;
    let (command, comment) = serve(&page)?;
    let server = Server::start(scratch.path(), &command)?;
    let has_announced = |text: &str| server.announced().iter().any(|line| line.trim() == server.here(text));

    let session = Session::parse(page.section("Rowkey")?.block("")?)?;
    assert!(has_announced(&session.command), "{:?}", server.announced());
    let text = page.section("Try it")?.text.join("\n");
    let address = text.split('`').find(|code| code.starts_with("postgresql://")).ok_or("an address to connect to")?;
    assert!(address.contains(ADDRESS) && has_announced(address), "{address}: {:?}", server.announced());

    let queries: Vec<&str> =
        server.announced().iter().map(|line| line.trim()).filter(|line| line.ends_with(';')).collect();
    assert_eq!(queries.len(), 4, "{queries:?}");
    assert!(comment.contains("four queries to try"), "{comment}");
    let Some(answered) = server.psql("readme", &session.command, &queries.join("\n"))? else { return Ok(()) };
    assert_eq!(answered.matches(" rows)\n").count(), queries.len(), "{answered}");
    Ok(())
}
