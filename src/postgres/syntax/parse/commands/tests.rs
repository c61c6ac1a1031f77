use super::{Command, Direction, Discard, Isolation, Modes};
use crate::syntax::{Request, parse};

fn command(text: &str) -> Command {
    match parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).into_request() {
        Request::Command(command) => command,
        other => panic!("{text} is no command: {other:?}"),
    }
}

fn refused(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn every_spelling_of_a_setting_is_read() {
    for (text, name, value, local) in [
        ("SET a TO b", "a", Some("b"), false),
        ("set session A = 'b c'", "a", Some("b c"), false),
        ("SET LOCAL a.b TO -5", "a.b", Some("-5"), true),
        ("SET search_path TO public, \"My Own\"", "search_path", Some("public, My Own"), false),
        ("SET TIME ZONE 'Europe/Berlin'", "timezone", Some("Europe/Berlin"), false),
        ("SET TIME ZONE -5", "timezone", Some("-5"), false),
        ("SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE", "timezone", Some("<+02>-02"), false),
        ("SET TIME ZONE LOCAL", "timezone", None, false),
        ("SET a = DEFAULT", "a", None, false),
        ("SET NAMES 'utf8'", "client_encoding", Some("utf8"), false),
        ("SET SESSION AUTHORIZATION DEFAULT", "session_authorization", None, false),
        ("SET ROLE NONE", "role", None, false),
    ] {
        let Command::Set { name: read, value: set, local: ends } = command(text) else { panic!("{text}") };
        assert_eq!((read.as_str(), set.as_deref(), ends), (name, value, local), "{text}");
    }
    assert!(matches!(command("RESET ALL"), Command::Reset(None)));
    assert!(matches!(command("RESET TIME ZONE"), Command::Reset(Some(name)) if name == "timezone"));
    assert!(
        matches!(command("SHOW TRANSACTION ISOLATION LEVEL"), Command::Show(name) if name == "transaction_isolation")
    );
    assert!(matches!(command("show all"), Command::ShowAll));
}

#[test]
fn transactions_have_modes_in_any_order() {
    let modes = Modes { isolation: Some(Isolation::RepeatableRead), read_only: Some(true), deferrable: Some(false) };
    for text in [
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY NOT DEFERRABLE",
        "START TRANSACTION READ ONLY, NOT DEFERRABLE, ISOLATION LEVEL REPEATABLE READ",
    ] {
        assert!(matches!(command(text), Command::Begin { modes: read, .. } if read == modes), "{text}");
    }
    assert!(matches!(command("begin work"), Command::Begin { modes, started: false } if modes == Modes::default()));
    assert!(matches!(command("END"), Command::Commit { chain: false }));
    assert!(matches!(command("COMMIT AND CHAIN"), Command::Commit { chain: true }));
    assert!(matches!(command("ABORT TRANSACTION AND NO CHAIN"), Command::Rollback { chain: false }));
    assert!(matches!(command("ROLLBACK TO a"), Command::RollbackTo(name) if name == "a"));
    assert!(matches!(command("ROLLBACK WORK TO SAVEPOINT \"A\""), Command::RollbackTo(name) if name == "A"));
    assert!(matches!(command("RELEASE x"), Command::Release(name) if name == "x"));
    assert_eq!(refused("PREPARE TRANSACTION 'x'"), "PREPARE TRANSACTION is not supported");
    assert_eq!(refused("COMMIT PREPARED 'x'"), "COMMIT PREPARED is not supported");
}

#[test]
fn cursors_go_in_every_direction() {
    for (text, wanted) in [
        ("FETCH c", Direction::Forward(Some(1))),
        ("FETCH NEXT FROM c", Direction::Forward(Some(1))),
        ("FETCH 7 IN c", Direction::Forward(Some(7))),
        ("FETCH -7 c", Direction::Backward(Some(7))),
        ("FETCH ALL FROM c", Direction::Forward(None)),
        ("FETCH FORWARD ALL c", Direction::Forward(None)),
        ("FETCH BACKWARD 2 FROM c", Direction::Backward(Some(2))),
        ("FETCH PRIOR FROM c", Direction::Backward(Some(1))),
        ("FETCH FIRST c", Direction::Absolute(1)),
        ("FETCH LAST c", Direction::Absolute(-1)),
        ("FETCH ABSOLUTE -3 c", Direction::Absolute(-3)),
        ("FETCH RELATIVE 0 c", Direction::Relative(0)),
    ] {
        let Command::Fetch { cursor, direction, rows: true } = command(text) else { panic!("{text}") };
        assert_eq!((cursor.as_str(), direction), ("c", wanted), "{text}");
    }
    assert!(matches!(command("MOVE 3 IN c"), Command::Fetch { rows: false, .. }));
    let Command::Declare { name, hold, scroll: false, statement } =
        command("DECLARE \"C\" NO SCROLL CURSOR WITH HOLD FOR SELECT 1")
    else {
        panic!("no cursor")
    };
    assert_eq!((name.as_str(), hold, statement.text()), ("C", true, "SELECT 1"));
    assert_eq!(refused("DECLARE c CURSOR FOR BEGIN"), "DECLARE CURSOR takes a query");
    assert_eq!(refused("FETCH ABSOLUTE c"), "syntax error at or near \"c\"");
    assert!(matches!(command("CLOSE ALL"), Command::CloseCursor(None)));
}

#[test]
fn prepared_statements_keep_their_types_and_text() {
    let Command::Prepare { name, types, statement } =
        command("PREPARE p (int, timestamp with time zone, numeric(10, 2), text[]) AS SELECT $1, $2;")
    else {
        panic!("not prepared")
    };
    assert_eq!((name.as_str(), statement.text()), ("p", "SELECT $1, $2"));
    assert_eq!(types, ["int", "timestamp with time zone", "numeric", "text[]"]);
    let Command::Execute { name, arguments } = command("EXECUTE p (1, 'a' || 'b')") else { panic!("not run") };
    assert_eq!((name.as_str(), arguments.len()), ("p", 2));
    assert!(matches!(command("DEALLOCATE PREPARE ALL"), Command::Deallocate(None)));
    assert!(matches!(command("DISCARD TEMP"), Command::Discard(Discard::Temporary)));
    assert!(matches!(command("UNLISTEN *"), Command::Unlisten));
}

#[test]
fn what_does_not_fit_is_a_syntax_error_at_its_place() {
    for (text, message, position) in [
        ("SET a b", "syntax error at or near \"b\"", 7),
        ("BEGIN; SET a", "syntax error at end of input", 13),
        ("SAVEPOINT", "syntax error at end of input", 10),
        ("DISCARD everything", "syntax error at or near \"everything\"", 9),
        ("SHOW a b", "syntax error at or near \"b\"", 8),
    ] {
        let error = crate::syntax::parse_all(text).expect_err(text);
        assert_eq!((error.to_string().as_str(), error.position()), (message, Some(position)), "{text}");
    }
}
