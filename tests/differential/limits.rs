//! The first rows of a table in key order, which a scan ends after, below operators that find out
//! while they run which rows they want: those come from the first rows, not from all.

use rowkey_base::testing::Dice;

const TABLES: &[&str] = &["items", "parts"];
const CONDITIONS: &[&str] =
    &["", "", " WHERE small IS NOT NULL", " WHERE \"PartitionKey\" >= 'p1'", " WHERE txt LIKE '%a%'", " WHERE flag"];
/// What rows are compared by: `c` is a PartitionKey, `d` an integer.
const KEYS: &[(&str, &str)] = &[("\"PartitionKey\"", "c"), ("\"PartitionKey\"", "c"), ("small", "d")];

/// Rows by both keys, or by PartitionKey where nothing else is shown.
fn first_rows(dice: &mut Dice) -> String {
    let (table, condition) = (dice.pick(TABLES), dice.pick(CONDITIONS));
    let (direction, limit) = (dice.pick(&["", " DESC"]), 1 + dice.below(12));
    let offset = if dice.below(3) == 0 { format!(" OFFSET {}", dice.below(6)) } else { String::new() };
    match dice.below(4) {
        0 => format!(
            "SELECT a.\"PartitionKey\" AS c, NULL::int AS d FROM {table} a JOIN {} b ON a.small = b.small \
             ORDER BY 1{direction} LIMIT {limit}{offset}",
            dice.pick(TABLES)
        ),
        1 => format!(
            "SELECT \"PartitionKey\" AS c, NULL::int AS d FROM {table}{condition} ORDER BY \"PartitionKey\"{direction} \
             LIMIT {limit}{offset}"
        ),
        _ => format!(
            "SELECT \"PartitionKey\" AS c, small AS d FROM {table}{condition} ORDER BY \"PartitionKey\"{direction}, \
             \"RowKey\"{direction} LIMIT {limit}{offset}"
        ),
    }
}

pub(crate) fn question(dice: &mut Dice) -> String {
    let (rows, table) = (first_rows(dice), dice.pick(TABLES));
    let (column, of_rows) = dice.pick(KEYS);
    let few = format!("(SELECT * FROM {table}{})", dice.pick(&["", " WHERE small = 1", " WHERE \"RowKey\" < 'k2'"]));
    let direction = dice.pick(&["", " DESC"]);
    match dice.below(8) {
        0 => format!(
            "SELECT t.\"RowKey\", s.c, s.d FROM {few} t JOIN ({rows}) s ON t.{column} = s.{of_rows} ORDER BY 1, 2, 3"
        ),
        1 => format!(
            "SELECT t.\"RowKey\", s.c FROM {few} t LEFT JOIN ({rows}) s ON t.{column} = s.{of_rows} ORDER BY 1, 2"
        ),
        2 => format!("SELECT \"RowKey\" FROM {few} t WHERE {column} IN (SELECT {of_rows} FROM ({rows}) s) ORDER BY 1"),
        3 => format!(
            "SELECT \"RowKey\" FROM {few} t WHERE NOT EXISTS (SELECT 1 FROM ({rows}) s WHERE s.{of_rows} = t.{column}) \
             ORDER BY 1"
        ),
        4 => format!(
            "SELECT t.\"RowKey\", (SELECT count(*) FROM ({rows}) s WHERE s.{of_rows} = t.{column}) AS n FROM {few} t \
             ORDER BY 1, 2"
        ),
        5 => format!("SELECT min({of_rows}), max({of_rows}), count(*) FROM ({rows}) s"),
        6 => format!("SELECT {of_rows} FROM ({rows}) s ORDER BY 1{direction} LIMIT {}", 1 + dice.below(4)),
        _ => format!("SELECT {of_rows}, count(*) AS n FROM ({rows}) s GROUP BY 1 ORDER BY 1{direction} LIMIT 2"),
    }
}
