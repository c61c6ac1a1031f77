//! Deep and long statements take no more stack than a thread of the runtime has.

use super::{Fixture, NameError, Resolved, parse, resolve};
use rowkey_base::SqlState;

/// Stack of a thread that asks for no other.
const STACK_BYTES: usize = 2 << 20;

/// Enough to parse and to drop anything here.
const LARGE_STACK_BYTES: usize = 64 << 20;

/// Resolves on a small stack. Parsing, comparing and dropping are not what is measured.
fn on_a_small_stack(sql: &str) -> Result<Resolved, NameError> {
    let on = |bytes| std::thread::Builder::new().stack_size(bytes);
    std::thread::scope(|scope| {
        let parsing = on(LARGE_STACK_BYTES).spawn_scoped(scope, || parse(sql)).expect("a thread");
        let mut statement = parsing.join().expect("parses");
        let work = on(STACK_BYTES).spawn_scoped(scope, move || (resolve(&mut statement, &Fixture), statement));
        let (resolved, statement) = work.expect("a thread").join().expect("no panic");
        on(LARGE_STACK_BYTES).spawn_scoped(scope, move || drop(statement)).expect("a thread");
        resolved
    })
}

fn repeated(depth: usize, inner: &str, wrap: impl Fn(String) -> String) -> String {
    (0..depth).fold(inner.to_owned(), |inner, _| wrap(inner))
}

#[test]
fn chains_of_operators_are_long() {
    let chain = vec!["lastname = 'x'"; 2000].join(" OR ");
    let sum = vec!["age"; 2000].join(" + ");
    let casts = "::text".repeat(500);
    let sql = format!("SELECT {sum}, age{casts} FROM employees WHERE {chain} ORDER BY {sum}");
    let resolved = on_a_small_stack(&sql).expect("resolves");
    assert_eq!(resolved.output[0].label, "?column?");
    assert_eq!(resolved.output[1].label, "Age");
    let sql = format!("SELECT age FROM employees UNION SELECT {sum} FROM employees");
    assert_eq!(on_a_small_stack(&sql).expect("resolves").output.len(), 1);
}

#[test]
fn chains_of_unions_are_long() {
    let sql = vec!["SELECT age FROM employees"; 1000].join(" UNION ALL ");
    assert_eq!(on_a_small_stack(&sql).expect("resolves").output.len(), 1);
}

#[test]
fn queries_nest_up_to_a_limit() {
    let derived = |depth| repeated(depth, "SELECT age FROM employees", |inner| format!("SELECT age FROM ({inner}) t"));
    let scalar = |depth| {
        let inner = repeated(depth, "1", |inner| format!("(SELECT age + {inner})"));
        format!("SELECT {inner} FROM employees")
    };
    let exists = |depth| {
        repeated(depth, "SELECT age FROM employees", |inner| {
            format!("SELECT age FROM employees WHERE EXISTS ({inner})")
        })
    };
    let with =
        |depth| repeated(depth, "SELECT age FROM employees", |inner| format!("WITH t AS ({inner}) SELECT age FROM t"));
    let joined = |depth| {
        let inner = repeated(depth, "employees", |inner| {
            format!("({inner} CROSS JOIN archive.\"Employees\" x{})", inner.len())
        });
        format!("SELECT age FROM {inner}")
    };
    for (shape, sql) in [derived(49), scalar(10), exists(10), with(8), joined(49)].iter().enumerate() {
        assert_eq!(on_a_small_stack(sql).expect("resolves").output.len(), 1, "shape {shape}");
    }
    let error = on_a_small_stack(&with(9)).expect_err("is too deep");
    assert_eq!(error.sqlstate, SqlState::STATEMENT_TOO_COMPLEX);
    assert_eq!(error.message, "WITH queries are nested more than 8 deep");
    for (shape, sql) in [derived(50), joined(50)].iter().enumerate() {
        let error = on_a_small_stack(sql).expect_err("is too deep");
        assert_eq!(error.sqlstate, SqlState::STATEMENT_TOO_COMPLEX, "shape {shape}");
        assert_eq!(error.message, "queries are nested more than 50 deep");
    }
    for (shape, sql) in [scalar(11), exists(11)].iter().enumerate() {
        let error = on_a_small_stack(sql).expect_err("is too deep");
        assert_eq!(error.sqlstate, SqlState::STATEMENT_TOO_COMPLEX, "shape {shape}");
        assert_eq!(error.message, "subqueries in expressions are nested more than 10 deep");
    }
}

/// Each names the one before twice; what would double is computed once when it is planned.
#[test]
fn with_queries_count_as_often_as_they_are_named() {
    let doubled = |steps: usize| {
        let step = |step: usize| format!(", t{step} AS (SELECT a.age FROM t{} a, t{} b)", step - 1, step - 1);
        let steps_text: String = (1..=steps).map(step).collect();
        format!("WITH t0 AS (SELECT age FROM employees){steps_text} SELECT age FROM t{steps}")
    };
    for steps in [10, 60, 500] {
        assert_eq!(on_a_small_stack(&doubled(steps)).expect("resolves").output.len(), 1);
    }
    let error = on_a_small_stack(&doubled(2_600)).expect_err("is too large");
    assert_eq!(error.sqlstate, SqlState::STATEMENT_TOO_COMPLEX);
    assert!(error.message.contains("more than 5000 relations"), "{}", error.message);
}

#[test]
fn joins_and_windows_are_bounded() {
    let listed = |count: usize, text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<Vec<_>>();
    let joined = |relations| listed(relations, &|at| format!("employees e{at}"));
    let window = |keys| format!("SELECT count(*) OVER (PARTITION BY {}) FROM employees", vec!["age"; keys].join(", "));
    let joins = |relations| joined(relations).join(" CROSS JOIN ");
    for from in [joined(128).join(", "), joins(128)] {
        assert_eq!(on_a_small_stack(&format!("SELECT e0.age FROM {from}")).expect("resolves").output.len(), 1);
    }
    assert_eq!(on_a_small_stack(&window(64)).expect("resolves").output.len(), 1);
    let from = |from: String| format!("SELECT e0.age FROM {from}");
    for sql in [from(joined(129).join(", ")), from(joins(129)), window(65)] {
        let error = on_a_small_stack(&sql).expect_err("is too long");
        assert_eq!(error.sqlstate, SqlState::STATEMENT_TOO_COMPLEX);
    }
}

#[test]
fn select_lists_are_as_long_as_in_postgresql() {
    let list = |items: usize| format!("SELECT {} FROM employees", vec!["age"; items].join(", "));
    assert_eq!(on_a_small_stack(&list(1664)).expect("resolves").output.len(), 1664);
    let error = on_a_small_stack(&list(1665)).expect_err("is too long");
    assert_eq!(error.sqlstate, SqlState::TOO_MANY_COLUMNS);
}
