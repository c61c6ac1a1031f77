use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{cast, col, lit, not, try_cast};

use super::*;
use crate::access::dice::{PredicateDice, all_keys};
use crate::access::oracle::{Entity, call, evaluate, row_literal};
use rowkey_model::KeyRef;

const FLAGS: [Option<bool>; 3] = [Some(true), Some(false), None];

fn pk() -> Expr {
    col("\"PartitionKey\"")
}

fn rk() -> Expr {
    col("t.\"RowKey\"")
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

fn null() -> Expr {
    Expr::Literal(ScalarValue::Utf8(None), None)
}

fn like_pattern(expr: Expr, pattern: Expr, negated: bool) -> Expr {
    Expr::Like(Like::new(negated, Box::new(expr), Box::new(pattern), None, false))
}

/// Supersets hold every key they should, and exact ones no other.
fn assert_agrees(expr: &Expr, note: &str) {
    let verdict = verdict(expr);
    for key in all_keys() {
        let values = FLAGS.map(|flag| evaluate(expr, Entity { key, flag }));
        for (side, wanted) in [(&verdict.truth, Some(true)), (&verdict.falsehood, Some(false))] {
            let (may, must) = (values.contains(&wanted), values.iter().all(|value| *value == wanted));
            let within = side.region.contains(key);
            assert!(!may || within, "{note}: {expr} is {wanted:?} for {key:?}, which is missing");
            assert!(!side.exact || within == must, "{note}: {expr} is {values:?} for {key:?}, not exactly {wanted:?}");
        }
    }
}

fn assert_exact(expr: Expr) {
    assert_agrees(&expr, "exact");
    let verdict = verdict(&expr);
    assert!(verdict.truth.exact && verdict.falsehood.exact && verdict.keys_only, "{expr} is exact: {verdict:?}");
}

fn assert_inexact(expr: Expr) {
    assert_agrees(&expr, "inexact");
    assert!(!verdict(&expr).truth.exact, "{expr} is inexact");
}

fn assert_residual(expr: Expr) {
    let verdict = verdict(&expr);
    assert!(verdict.truth.region.is_all() && !verdict.truth.exact && !verdict.keys_only, "{expr} is residual");
    assert!(verdict.falsehood.region.is_all() && !verdict.falsehood.exact, "{expr} is residual");
}

#[test]
fn comparisons_with_a_text_on_either_side() {
    use Operator::*;
    for op in [Eq, NotEq, Lt, LtEq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom] {
        for text in ["", "a", "aa", "\u{E000}", "\u{10000}"] {
            assert_exact(binary(pk(), op, lit(text)));
            assert_exact(binary(lit(text), op, rk()));
        }
        assert_exact(binary(pk(), op, null()));
        assert_exact(binary(Expr::Literal(ScalarValue::Null, None), op, rk()));
        assert_exact(binary(pk(), op, pk()));
        assert_exact(binary(lit("a"), op, lit("b")));
        assert_inexact(binary(pk(), op, rk()));
    }
    assert_residual(binary(pk(), Plus, lit("a")));
    assert_residual(binary(pk(), RegexMatch, lit("^a")));
}

#[test]
fn keys_are_ordered_by_bytes_and_not_by_utf16() {
    let truth = verdict(&binary(pk(), Operator::Gt, lit("\u{FFFD}"))).truth.region;
    assert!(truth.contains(KeyRef { partition: "\u{10000}", row: "" }));
    assert!(!truth.contains(KeyRef { partition: "\u{E000}", row: "" }));
}

#[test]
fn literals_of_every_string_type_and_casts_between_them() {
    for value in [
        ScalarValue::Utf8(Some("a".to_owned())),
        ScalarValue::LargeUtf8(Some("a".to_owned())),
        ScalarValue::Utf8View(Some("a".to_owned())),
        ScalarValue::Dictionary(Box::new(DataType::Int32), Box::new(ScalarValue::Utf8(Some("a".to_owned())))),
    ] {
        assert_exact(binary(cast(pk(), value.data_type()), Operator::GtEq, Expr::Literal(value, None)));
    }
    assert_exact(binary(try_cast(pk(), DataType::Utf8View), Operator::Eq, cast(lit("a"), DataType::LargeUtf8)));
    assert_residual(binary(cast(pk(), DataType::Int64), Operator::Eq, lit(5_i64)));
    assert_residual(binary(cast(cast(pk(), DataType::Int64), DataType::Utf8), Operator::Eq, lit("5")));
    assert_residual(binary(pk(), Operator::Eq, lit(5_i64)));
    assert_residual(binary(pk(), Operator::Eq, Expr::Literal(ScalarValue::Binary(Some(b"a".to_vec())), None)));
    assert_residual(binary(col("partitionkey"), Operator::Eq, lit("a")));
}

#[test]
fn between() {
    for (low, high) in [("a", "b"), ("b", "a"), ("", ""), ("a", "a")] {
        assert_exact(rk().between(lit(low), lit(high)));
        assert_exact(rk().not_between(lit(low), lit(high)));
    }
    assert_exact(pk().between(null(), lit("b")));
    assert_exact(pk().not_between(null(), lit("b")));
    assert_exact(lit("aa").between(pk(), rk()));
    assert_residual(binary(col("\"Value\""), Operator::Lt, lit(3_i64)));
}

#[test]
fn in_lists() {
    assert_exact(pk().in_list(vec![lit("a"), lit("b"), lit("a")], false));
    assert_exact(pk().in_list(vec![lit("a"), lit("b")], true));
    assert_exact(rk().in_list(vec![lit("a"), null()], false));
    assert_exact(rk().in_list(vec![lit("a"), null()], true));
    assert_exact(rk().in_list(vec![], false));
    assert_exact(null().in_list(vec![lit("a")], false));
    assert_exact(lit("a").in_list(vec![pk(), rk()], false));
    let mixed = verdict(&pk().in_list(vec![lit("a"), col("\"Value\"")], true));
    assert!(!mixed.truth.region.contains(KeyRef { partition: "a", row: "" }) && !mixed.truth.exact);
    assert_residual(col("\"Value\"").in_list(vec![lit("a")], false));
}

#[test]
fn like_and_starts_with() {
    for pattern in ["", "a", "a%", "a%%", "%", r"a\%b", r"a\%%", "a\u{10FFFF}%", "\u{D7FF}%"] {
        assert_exact(like_pattern(pk(), lit(pattern), false));
        assert_exact(like_pattern(rk(), lit(pattern), true));
        assert_exact(call("starts_with", vec![pk(), lit(pattern)]));
    }
    assert_exact(like_pattern(pk(), null(), false));
    assert_exact(call("starts_with", vec![pk(), null()]));
    assert_exact(binary(pk(), Operator::LikeMatch, lit("a%")).is_true());
    for pattern in ["a_", "_", "%b", "a%b", r"a\"] {
        assert_inexact(like_pattern(pk(), lit(pattern), false));
        assert_inexact(like_pattern(pk(), lit(pattern), true));
    }
    let inner = verdict(&like_pattern(rk(), lit("a_%"), false)).truth.region;
    assert_eq!(inner, verdict(&like_pattern(rk(), lit("a%"), false)).truth.region);
    let ignoring_case = Expr::Like(Like::new(false, Box::new(pk()), Box::new(lit("a%")), None, true));
    assert_residual(ignoring_case);
    assert_residual(like_pattern(pk(), rk(), false));
    assert_residual(call("starts_with", vec![rk(), pk()]));
    assert_residual(call("ends_with", vec![rk(), lit("a")]));
    let escaped = Like::new(false, Box::new(pk()), Box::new(lit("a!%b")), Some('!'), false);
    assert_eq!(
        verdict(&Expr::Like(escaped)).truth.region,
        verdict(&binary(pk(), Operator::Eq, lit("a%b"))).truth.region
    );
}

#[test]
fn null_tests_and_truth_tests() {
    assert_exact(pk().is_null());
    assert_exact(rk().is_not_null());
    assert_exact(null().is_null());
    assert_exact(binary(pk(), Operator::Eq, null()).is_null());
    for inner in [
        binary(pk(), Operator::Eq, lit("a")),
        rk().in_list(vec![lit("a"), null()], false),
        Expr::Literal(ScalarValue::Boolean(None), None),
    ] {
        assert_exact(inner.clone().is_true());
        assert_exact(inner.clone().is_not_true());
        assert_exact(inner.clone().is_false());
        assert_exact(inner.clone().is_not_false());
        assert_exact(inner.clone().is_unknown());
        assert_exact(inner.clone().is_not_unknown());
        assert_exact(not(inner));
    }
    assert_residual(col("\"Flag\"").is_true());
    assert_residual(col("\"Value\"").is_null());
}

#[test]
fn kleene_logic_with_other_columns() {
    let flag = || col("\"Flag\"");
    let a = || binary(pk(), Operator::Eq, lit("a"));
    for expr in [a().and(flag()), a().or(flag()), not(a().and(flag())), not(a().or(flag())), a().and(flag()).is_true()]
    {
        assert_inexact(expr);
    }
    let both = verdict(&a().and(flag()));
    assert_eq!(both.truth.region, verdict(&a()).truth.region);
    // Constants decide without the rest, but the rest is still read.
    let never = verdict(&a().and(flag()).and(binary(pk(), Operator::Eq, lit("b"))));
    assert!(never.truth.exact && never.truth.region.is_empty() && !never.keys_only);
    let always = verdict(&flag().or(lit(true)));
    assert!(always.truth.exact && always.truth.region.is_all() && !always.keys_only);
}

#[test]
fn row_comparisons() {
    use Operator::*;
    let columns = || call("struct", vec![pk(), rk()]);
    for op in [Eq, NotEq, Lt, LtEq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom] {
        for (partition, row) in [("a", "b"), ("", ""), ("a", ""), ("\u{10000}", "\u{E000}")] {
            assert_exact(binary(columns(), op, row_literal(&[partition, row])));
            assert_exact(binary(call("struct", vec![lit(partition), lit(row)]), op, columns()));
            assert_exact(binary(call("struct", vec![rk(), pk()]), op, row_literal(&[partition, row])));
            assert_exact(binary(call("struct", vec![pk(), lit("a")]), op, row_literal(&[partition, row])));
        }
        let with_null = call("struct", vec![lit("a"), null()]);
        assert_agrees(&binary(columns(), op, with_null), "NULL member");
        assert_residual(binary(columns(), op, call("struct", vec![lit("a")])));
        assert_residual(binary(columns(), op, lit("a")));
    }
    assert_exact(columns().in_list(vec![row_literal(&["a", "b"]), row_literal(&["b", ""])], false));
    assert_exact(columns().between(row_literal(&["a", "b"]), row_literal(&["b", "a"])));
    assert_exact(columns().is_null());
    let nested = |inner| call("struct", vec![inner, rk()]);
    assert!(!verdict(&binary(nested(columns()), Eq, nested(row_literal(&["a", "b"])))).truth.exact);
}

#[test]
fn casts_of_rows_between_string_types() {
    let row_type = |names: [&str; 2], of: DataType| {
        let field = |name: &str| datafusion::arrow::datatypes::Field::new(name, of.clone(), true);
        DataType::Struct(names.map(field).to_vec().into())
    };
    let columns = call("struct", vec![pk(), rk()]);
    let compare = |to| {
        let columns = Expr::Cast(Cast::new(Box::new(columns.clone()), to));
        binary(columns, Operator::Gt, row_literal(&["a", "b"]))
    };
    assert_exact(compare(row_type(["c0", "c1"], DataType::Utf8View)));
    assert_residual(compare(row_type(["c0", "c1"], DataType::Int64)));
    assert_residual(compare(row_type(["c1", "c0"], DataType::Utf8View)));
    assert_residual(compare(DataType::Utf8));
}

#[test]
fn random_predicates_agree_with_the_oracle() {
    let (mut exact, mut narrowed) = (0, 0);
    for seed in 1..1_000 {
        let mut dice = PredicateDice::new(seed);
        let depth = dice.below(5);
        let expr = dice.predicate(depth);
        assert_agrees(&expr, &format!("seed {seed}"));
        let truth = verdict(&expr).truth;
        exact += usize::from(truth.exact);
        narrowed += usize::from(!truth.region.is_all() && !truth.region.is_empty());
    }
    assert!(exact > 200 && narrowed > 200, "{exact} exact, {narrowed} narrowed: the test has lost its point");
}

#[test]
fn deep_nesting_is_residual_and_long_chains_are_not() {
    // Dropping and building such expressions recurses too: leave room for that, not for the code
    // under test.
    let deep = std::thread::Builder::new().stack_size(64 << 20).spawn(|| {
        let mut nested = binary(pk(), Operator::Eq, lit("a"));
        for _ in 0..20_000 {
            nested = not(nested);
        }
        let mut alternating = binary(pk(), Operator::Eq, lit("a"));
        for _ in 0..5_000 {
            alternating = alternating.and(lit(true)).or(lit(false));
        }
        for deep in [nested, alternating] {
            std::thread::scope(|scope| {
                let small = std::thread::Builder::new().stack_size(2 << 20);
                small.spawn_scoped(scope, || assert!(!verdict(&deep).truth.exact)).unwrap().join().unwrap();
            });
        }
    });
    deep.unwrap().join().unwrap();

    let long = std::thread::Builder::new().stack_size(64 << 20).spawn(|| {
        let pair = |at: usize| {
            let partition = binary(pk(), Operator::Eq, lit(format!("p{at:05}")));
            partition.and(binary(rk(), Operator::Eq, lit("r")))
        };
        let chain = (0..2_000).map(pair).reduce(Expr::or).unwrap();
        let truth = verdict(&chain).truth;
        assert!(truth.exact);
        assert_eq!(truth.region.to_key_set().0.ranges().len(), 2_000);
    });
    long.unwrap().join().unwrap();
}

#[test]
fn very_long_lists_are_widened() {
    let list: Vec<Expr> = (0..100_000).map(|at| lit(format!("k{at:06}"))).collect();
    let within = verdict(&pk().in_list(list, false));
    assert!(!within.truth.exact && !within.falsehood.exact);
    assert!(within.truth.region.slabs().len() <= PIECES_MAX);
    assert!(within.truth.region.contains(KeyRef { partition: "k077777", row: "" }));
    assert!(!within.truth.region.contains(KeyRef { partition: "j", row: "" }));
}
