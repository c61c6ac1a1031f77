use datafusion::logical_expr::{Expr, col, lit};

use crate::access::dice::{Dice, TEXTS, all_keys};
use crate::access::oracle::{Entity, call, evaluate, row_literal};
use crate::access::plan_access;
use crate::model::KeyRef;

fn pk() -> Expr {
    col("\"PartitionKey\"")
}

fn rk() -> Expr {
    col("\"RowKey\"")
}

fn key<'a>(partition: &'a str, row: &'a str) -> KeyRef<'a> {
    KeyRef { partition, row }
}

fn condition(filters: &[Expr], first: KeyRef<'_>, last: KeyRef<'_>) -> Option<String> {
    let condition = plan_access(filters).condition_within(filters, first, last, |text| lit(text));
    condition.map(|condition| condition.to_string().replace("Utf8(\"", "'").replace("\")", "'"))
}

#[test]
fn only_what_divides_the_file_is_checked() {
    let range = [pk().eq(lit("b")), rk().gt_eq(lit("3")), rk().lt(lit("7"))];
    let within = |first, last| condition(&range, first, last);
    assert_eq!(within(key("b", "3"), key("b", "6")), None);
    assert_eq!(within(key("b", "1"), key("b", "5")).unwrap(), "RowKey >= '3'");
    assert_eq!(within(key("b", "4"), key("b", "9")).unwrap(), "RowKey < '7'");
    assert_eq!(within(key("b", "1"), key("b", "9")).unwrap(), "RowKey >= '3' AND RowKey < '7'");
    assert_eq!(within(key("b", "4"), key("c", "1")).unwrap(), "PartitionKey = 'b' AND RowKey < '7'");
    assert_eq!(within(key("c", "1"), key("d", "1")).unwrap(), "Boolean(false)");

    let points = [pk().eq(lit("b")), rk().in_list(vec![lit("1"), lit("3"), lit("9")], false)];
    let within = |first, last| condition(&points, first, last);
    assert_eq!(within(key("b", "2"), key("b", "5")).unwrap(), "RowKey = '3'");
    assert_eq!(within(key("b", "2"), key("c", "")).unwrap(), "PartitionKey = 'b' AND RowKey IN (['3', '9'])");

    let partitions = [pk().in_list(vec![lit("a"), lit("c"), lit("e")], false)];
    let within = |first, last| condition(&partitions, first, last);
    assert_eq!(within(key("a", "1"), key("d", "1")).unwrap(), "PartitionKey IN (['a', 'c'])");
    assert_eq!(within(key("c", "1"), key("c", "9")), None);
    assert_eq!(within(key("c", "1"), key("d", "9")).unwrap(), "PartitionKey = 'c'");

    let after = [call("struct", vec![pk(), rk()]).gt(row_literal(&["b", "5"]))];
    let within = |first, last| condition(&after, first, last);
    assert_eq!(within(key("b", "1"), key("b", "9")).unwrap(), "RowKey > '5'");
    let across = "PartitionKey > 'b' OR PartitionKey = 'b' AND RowKey > '5'";
    assert_eq!(within(key("a", "1"), key("c", "9")).unwrap(), across);
}

#[test]
fn filters_that_are_no_ranges_are_checked_themselves() {
    let filters = [rk().eq(lit("1")), col("\"Value\"").eq(lit(1_i64))];
    assert_eq!(condition(&filters, key("a", "1"), key("a", "2")).unwrap(), "RowKey = '1'");
    assert_eq!(condition(&filters[1..], key("a", "1"), key("a", "2")), None);
}

#[test]
fn random_conditions_select_the_keys_of_the_file() {
    let (mut spared, mut cut_down) = (0, 0);
    for seed in 1..1_000 {
        let mut dice = Dice::new(seed);
        let filters: Vec<Expr> = (0..1 + dice.below(2)).map(|_| dice.predicate(2)).collect();
        let plan = plan_access(&filters);
        let mut text = || TEXTS[dice.below(TEXTS.len())];
        let (a, b) = (key(text(), text()), key(text(), text()));
        let (first, last) = (a.min(b), a.max(b));
        let condition = plan.condition_within(&filters, first, last, |text| lit(text));
        for key in all_keys().filter(|key| (first..=last).contains(key)) {
            let passes = |filter: &Expr| evaluate(filter, Entity { key, flag: None }) == Some(true);
            let selected = condition.as_ref().is_none_or(passes);
            let mut exact = filters.iter().zip(&plan.exact).filter(|(_, exact)| **exact);
            let pass_exact = exact.all(|(filter, _)| passes(filter));
            assert!(!selected || pass_exact, "seed {seed}: {filters:?} within {first:?}..{last:?} select {key:?}");
            let wanted = plan.admits(key) && pass_exact;
            assert!(selected || !wanted, "seed {seed}: {filters:?} within {first:?}..{last:?} lose {key:?}");
            assert!(!plan.keys_exact || selected == plan.keys.contains(key), "seed {seed}: {key:?}");
        }
        spared += usize::from(condition.is_none() && !plan.keys.is_all());
        cut_down += usize::from(condition.is_some() && plan.keys_exact && !plan.keys.is_empty());
    }
    assert!(spared > 25 && cut_down > 150, "{spared} spared, {cut_down} cut down");
}

#[test]
fn many_ranges_make_a_shallow_tree() {
    let pair = |at: usize| pk().eq(lit(format!("p{at:05}"))).and(rk().eq(lit("r")));
    let chain = [(0..1_000).map(pair).reduce(Expr::or).unwrap()];
    let plan = plan_access(&chain);
    let condition = plan.condition_within(&chain, key("", ""), key("z", ""), |text| lit(text)).unwrap();
    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryExpr(of) => 1 + depth(&of.left).max(depth(&of.right)),
            _ => 0,
        }
    }
    assert!(depth(&condition) < 16, "{}", depth(&condition));
}
