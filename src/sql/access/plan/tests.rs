use datafusion::logical_expr::{col, lit, not};

use super::*;
use crate::access::dice::{PredicateDice, TEXTS, all_keys};
use crate::access::oracle::{Entity, call, evaluate};

fn pk() -> Expr {
    col("\"PartitionKey\"")
}

fn rk() -> Expr {
    col("\"RowKey\"")
}

fn value() -> Expr {
    col("\"Value\"").gt(lit(3_i64))
}

fn plan(filters: &[Expr]) -> (&'static str, Vec<bool>, bool) {
    let plan = plan_access(filters);
    (plan.path.label(), plan.exact, plan.keys_exact)
}

#[test]
fn without_filters_the_table_is_read() {
    let plan = plan_access(&[]);
    assert!(plan.keys.is_all() && plan.keys_exact && plan.exact.is_empty() && plan.residual.is_empty());
    assert_eq!(plan.path, AccessPath::Table);
}

#[test]
fn decisions() {
    let exact = |n: usize| vec![true; n];
    let a = || pk().eq(lit("a"));
    assert_eq!(plan(&[a(), rk().eq(lit("1"))]), ("point", exact(2), true));
    assert_eq!(plan(&[a(), rk().eq(lit("1")).or(rk().eq(lit("2")))]), ("point", exact(2), true));
    assert_eq!(plan(&[a(), rk().eq(lit("1")), rk().eq(lit("2"))]), ("point", exact(3), true));
    assert_eq!(plan(&[a(), rk().gt(lit("1"))]), ("range", exact(2), true));
    assert_eq!(plan(&[a(), rk().not_eq(lit("1"))]), ("range", exact(2), true));
    assert_eq!(plan(&[a()]), ("partition", exact(1), true));
    assert_eq!(plan(&[pk().in_list(vec![lit("a"), lit("b")], false)]), ("partition", exact(1), true));
    assert_eq!(plan(&[pk().gt_eq(lit("a")), pk().lt(lit("b"))]), ("partition", exact(2), true));
    assert_eq!(plan(&[call("starts_with", vec![pk(), lit("a")])]), ("partition", exact(1), true));
    assert_eq!(plan(&[pk().gt_eq(lit("a"))]), ("table", exact(1), true));
    assert_eq!(plan(&[pk().not_eq(lit("a"))]), ("table", exact(1), true));
    assert_eq!(plan(&[lit(true)]), ("table", exact(1), true));
    assert_eq!(plan(&[lit(false)]), ("point", exact(1), true));
    // Bounded RowKeys in many partitions are no ranges: the scan has to look at each.
    assert_eq!(plan(&[rk().eq(lit("1"))]), ("table", exact(1), false));
    assert_eq!(plan(&[pk().between(lit("a"), lit("b")), rk().eq(lit("1"))]), ("partition", exact(2), false));
    // Residuals narrow or leave the keys, and are never claimed.
    assert_eq!(plan(&[a(), value()]), ("partition", vec![true, false], true));
    assert_eq!(plan(&[a().and(value())]), ("partition", vec![false], true));
    assert_eq!(plan(&[a().or(value())]), ("table", vec![false], true));
    assert_eq!(plan(&[a(), rk().like(lit("1_"))]), ("range", vec![true, false], true));
    // Decided by its keys, but it reads another column.
    assert_eq!(plan(&[value().or(lit(true))]), ("table", vec![false], true));
    assert_eq!(plan(&[value().and(a()).and(pk().eq(lit("b")))]), ("point", vec![false], true));
    // A claimed filter that is no ranges, inside a residual one that widens nothing.
    assert_eq!(plan(&[rk().eq(lit("1")), a().and(value())]), ("point", vec![true, false], true));
    assert_eq!(plan(&[pk().lt(lit("b")), rk().eq(lit("1")).and(value())]), ("table", vec![true, false], true));
}

#[test]
fn residual_names_what_is_not_exact() {
    let plan = plan_access(&[value(), pk().eq(lit("a")), value(), rk().like(lit("%x"))]);
    assert_eq!((plan.exact, plan.residual), (vec![false, true, false, false], vec![0, 2, 3]));
}

#[test]
fn large_key_sets_are_widened() {
    let names = |count| (0..count).map(|at| lit(format!("k{at:06}"))).collect::<Vec<_>>();
    let within = plan_access(&[pk().in_list(names(RANGES_MAX), false)]);
    assert!(within.keys_exact && within.keys.ranges().len() == RANGES_MAX);
    let beyond = plan_access(&[pk().in_list(names(RANGES_MAX + 1), false)]);
    assert!(!beyond.keys_exact && beyond.keys.ranges().len() <= RANGES_MAX);
    assert_eq!((beyond.exact, beyond.path), (vec![true], AccessPath::Partition));
    let product = plan_access(&[pk().in_list(names(5_000), false), rk().in_list(names(5_000), false)]);
    assert!(!product.keys_exact && product.keys.ranges().len() <= RANGES_MAX);
    assert!(product.keys.contains(KeyRef { partition: "k004999", row: "k000000" }));
    assert!(!product.keys.contains(KeyRef { partition: "j", row: "k000000" }));
}

#[test]
fn random_conjunctions_lose_no_entity() {
    let (mut claimed, mut spared, mut paths) = (0, 0, [0; 4]);
    for seed in 1..400 {
        let mut dice = PredicateDice::new(seed);
        let mut filters: Vec<Expr> = (0..1 + dice.below(3)).map(|_| dice.predicate(2)).collect();
        if dice.chance(2) {
            filters.push(pk().eq(lit(TEXTS[dice.below(TEXTS.len())])));
        }
        let plan = plan_access(&filters);
        for key in all_keys() {
            let passes = |flag, filter: &Expr| evaluate(filter, Entity { key, flag }) == Some(true);
            for flag in [Some(true), Some(false), None] {
                if filters.iter().all(|filter| passes(flag, filter)) {
                    assert!(plan.keys.contains(key) && plan.admits(key), "seed {seed}: {filters:?} lost {key:?}");
                }
                let exact = filters.iter().zip(&plan.exact).filter(|(_, exact)| **exact);
                let pass_exact = exact.clone().all(|(filter, _)| passes(flag, filter));
                assert!(!plan.admits(key) || pass_exact, "seed {seed}: {filters:?} admit {key:?}");
                let spared = plan.keys_exact && plan.keys.contains(key);
                assert!(!spared || pass_exact, "seed {seed}: {filters:?} do not spare {key:?}");
            }
        }
        claimed += plan.exact.iter().filter(|exact| **exact).count();
        spared += usize::from(plan.keys_exact && !plan.keys.is_all() && !plan.keys.is_empty());
        paths[plan.path as usize] += 1;
        assert_eq!(plan.residual.len(), plan.exact.iter().filter(|exact| !**exact).count());
    }
    assert!(claimed > 100 && spared > 25 && paths.iter().all(|n| *n > 10), "{claimed} {spared} {paths:?}");
}

#[test]
fn a_filter_and_its_negation_share_no_key() {
    for seed in 1..500 {
        let filter = PredicateDice::new(seed).predicate(3);
        let plan = plan_access(&[filter.clone(), not(filter.clone())]);
        if plan.exact == [true, true] {
            assert!(plan.keys.is_empty(), "seed {seed}: {filter}");
        }
    }
}
