//! Joins of tables whose columns have the same names, as those of all tables of entities do: what
//! is found out about one column while a statement runs must not be taken for another's.

use rowkey_base::testing::Dice;

/// Columns that are compared with each other, by their types.
const KEYS: &[&[&str]] = &[&["\"PartitionKey\"", "\"RowKey\"", "txt"], &["small", "small % 4"], &["big"], &["at"]];
const TABLES: &[&str] = &["items", "parts", "(SELECT * FROM items WHERE small > 0)"];
/// Few rows, whose keys are far from being all.
const FEW: &[&str] = &[
    "(SELECT * FROM items WHERE small = 1)",
    "(SELECT * FROM parts WHERE small BETWEEN 1 AND 2)",
    "(SELECT * FROM items WHERE \"RowKey\" < 'k2')",
    "(SELECT * FROM parts WHERE big < 3)",
    "parts",
];
const SHOWN: &[&str] = &["small", "txt", "\"RowKey\"", "\"PartitionKey\"", "big"];

/// Three tables or more, the third joined, or asked for what the second has.
pub(crate) fn question(dice: &mut Dice) -> String {
    let key = dice.pick(SHOWN);
    let keys = dice.pick(KEYS);
    let (one, other) = (of("a", dice.pick(keys)), of("b", dice.pick(keys)));
    let kind = dice.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"]);
    let from = format!("FROM {} a {kind} {} b ON {one} = {other}", dice.pick(TABLES), dice.pick(TABLES));
    let (c, d) = (dice.pick(FEW), dice.pick(FEW));
    let [of_a, of_b, of_c, of_d] = ["a", "b", "c", "d"].map(|alias| of(alias, key));
    let from = match dice.below(6) {
        0 => format!("{from} JOIN {c} c ON {of_c} = {of_b}"),
        1 => format!("{from} WHERE EXISTS (SELECT 1 FROM {d} d WHERE {of_d} = {of_b} AND d.at IS DISTINCT FROM a.at)"),
        2 => format!("{from} LEFT JOIN {c} c ON {of_c} = {of_a} WHERE {of_b} IN (SELECT {of_d} FROM {d} d)"),
        3 => {
            format!("{from} JOIN {c} c ON {of_c} = {of_b} WHERE NOT EXISTS (SELECT 1 FROM {d} d WHERE {of_d} = {of_a})")
        }
        4 => format!("{from} JOIN {c} c ON c.flag = a.flag WHERE EXISTS (SELECT 1 FROM {d} d WHERE {of_d} = {of_b})"),
        _ => format!("{from} WHERE {of_b} IN (SELECT {of_c} FROM {c} c)"),
    };
    let third = of("b", dice.pick(SHOWN));
    match dice.below(4) {
        0 => format!("SELECT count(*), count({of_a}), min({of_b}), max({third}) {from}"),
        1 => format!("SELECT {of_a} AS x, {of_b} AS y, count(*) {from} GROUP BY 1, 2 ORDER BY 1, 2"),
        _ => format!("SELECT {of_a}, {of_b}, {third} {from} ORDER BY 1, 2, 3 LIMIT {}", 1 + dice.below(60)),
    }
}

fn of(alias: &str, key: &str) -> String {
    format!("{alias}.{key}")
}
