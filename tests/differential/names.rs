//! Joins of tables whose columns have the same names, as those of all tables of entities do: what
//! is found out about one column while a statement runs must not be taken for another's.

use rowkey_base::testing::Dice;

/// Columns that are compared with each other, by their types.
const KEYS: &[&[&str]] = &[&["\"PartitionKey\"", "\"RowKey\"", "txt"], &["small", "small % 4"], &["big"], &["at"]];
const TABLES: &[&str] =
    &["items", "parts", "(SELECT * FROM items WHERE small > 0)", "(SELECT * FROM parts WHERE flag)"];
const SHOWN: &[&str] = &["small", "txt", "\"RowKey\"", "\"PartitionKey\"", "big"];

/// Three tables or more, the third joined, or asked for what the others have.
pub(crate) fn question(dice: &mut Dice) -> String {
    let mut on = |left: &str, right: &str| {
        let keys = dice.pick(KEYS);
        let (one, other) = (dice.pick(keys), dice.pick(keys));
        format!("{} = {}", of(left, one), of(right, other))
    };
    let (first, second, asked) = (on("a", "b"), on("b", "c"), on("b", "d"));
    let kind = dice.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"]);
    let [a, b, c, d] = [(); 4].map(|()| dice.pick(TABLES));
    let from = format!("FROM {a} a {kind} {b} b ON {first}");
    let from = match dice.below(5) {
        0 => format!("{from} JOIN {c} c ON {second}"),
        1 => format!("{from} WHERE EXISTS (SELECT 1 FROM {d} d WHERE {asked} AND d.small IS DISTINCT FROM a.small)"),
        2 => format!("{from} LEFT JOIN {c} c ON {second} WHERE EXISTS (SELECT 1 FROM {d} d WHERE {asked})"),
        3 => format!("{from} JOIN {c} c ON {second} WHERE NOT EXISTS (SELECT 1 FROM {d} d WHERE {asked})"),
        _ => {
            let key = dice.pick(SHOWN);
            let (of_b, of_c) = (of("b", key), of("c", key));
            format!("{from} WHERE {of_b} IN (SELECT {of_c} FROM {c} c WHERE c.small < 3)")
        }
    };
    let shown = [of("a", dice.pick(SHOWN)), of("b", dice.pick(SHOWN)), of("b", dice.pick(SHOWN))];
    match dice.below(4) {
        0 => {
            let [one, other, third] = &shown;
            format!("SELECT count(*), count({one}), min({other}), max({third}) {from}")
        }
        1 => format!("SELECT {} AS x, count(*) {from} GROUP BY 1 ORDER BY 1", shown[1]),
        _ => format!("SELECT {} {from} ORDER BY 1, 2, 3 LIMIT {}", shown.join(", "), 1 + dice.below(60)),
    }
}

fn of(alias: &str, key: &str) -> String {
    format!("{alias}.{key}")
}
