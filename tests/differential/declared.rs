//! Parameters whose types clients declare, beside each other, beside such without a type, and beside
//! what has one.

/// A statement, the types of its parameters, 0 for none, and their values.
pub(crate) type Question = (String, Vec<u32>, Vec<Option<String>>);

const UNDECLARED: u32 = 0;
/// Types of numbers, and a value of each.
const NUMBERS: &[(u32, &str)] = &[(21, "3"), (23, "7"), (20, "5"), (700, "1.5"), (701, "2.5"), (1700, "2.5")];

const OF_TWO: &[&str] = &[
    "$1 * $2",
    "$1 / $2",
    "$1 + $2",
    "$1 - $2",
    "$1 = $2",
    "$1 < $2",
    "nullif($1, $2)",
    "coalesce($1, $2)",
    "greatest($1, $2)",
    "CASE WHEN true THEN $1 ELSE $2 END",
];

/// Of two numbers and a third that is NULL.
const OF_THREE: &[&str] =
    &["coalesce($3, $1, $2)", "greatest($1, $3, $2)", "CASE WHEN false THEN $1 WHEN false THEN $3 ELSE $2 END"];

/// Types, and a value of each.
const TYPES: &[(u32, &str)] = &[
    (21, "3"),
    (20, "5"),
    (701, "2.5"),
    (1700, "2.5"),
    (16, "t"),
    (25, "a"),
    (17, "\\x6162"),
    (1082, "2024-02-29"),
    (1114, "2024-02-29 12:30:45.5"),
    (1184, "2024-02-29 12:30:45.5+00"),
    (2950, "01234567-89ab-cdef-0123-456789abcdef"),
];

/// Of two values of one type.
const OF_ALIKE: &[&str] = &[
    "SELECT e FROM (VALUES ($1), ($2)) v(e) ORDER BY e",
    "SELECT e, f FROM (VALUES ($1, 1), ($2, 2)) v(e, f) ORDER BY f",
    "SELECT ARRAY[$1, $2] AS e",
    "SELECT $1 AS e UNION ALL SELECT $2 ORDER BY e",
    "SELECT $1 AS e UNION SELECT $2 UNION SELECT $1 ORDER BY e",
    "SELECT $1 IS DISTINCT FROM $2 AS e",
    "SELECT $1 IS NOT DISTINCT FROM $2 AS e, $2 = $1 AS f",
    "SELECT coalesce($1, $2) AS e, nullif($2, $1) AS f",
];

/// Where a number stands beside what is none, or has a type.
const OF_ONE: &[&str] = &[
    "interval '1 day 02:00' * $1",
    "$1 * interval '1 day 02:00'",
    "interval '7 days' / $1",
    "timestamp '2020-01-01' + $1 * interval '1 hour'",
    "1.5 * $1",
    "$1 / 2",
    "7 - $1",
    "- $1",
    "abs($1)",
];

/// Statements of one parameter, its type and its value.
const OTHERS: &[(&str, u32, &str)] = &[
    ("SELECT timestamp '2020-01-01' + $1", UNDECLARED, "1 day"),
    ("SELECT $1 + timestamptz '2020-01-01 00:00+00'", UNDECLARED, "1 month"),
    ("SELECT x + $1 FROM (SELECT timestamp '2020-01-01' AS x) t", UNDECLARED, "2 hours"),
    ("SELECT x - $1 FROM (SELECT timestamp '2020-01-01' AS x) t", UNDECLARED, "2019-12-31"),
    ("SELECT date '2020-01-01' + $1", 23, "5"),
    ("SELECT date '2020-01-01' + $1", 1186, "5 days"),
    ("SELECT x = $1, x FROM (SELECT 'a'::char(3) AS x) t", UNDECLARED, "a  "),
    ("SELECT x = $1, x FROM (SELECT 'a'::char(3) AS x) t", 1042, "a  "),
    ("SELECT x = $1, x FROM (SELECT 'a'::char(3) AS x) t", 25, "a  "),
    ("SELECT x LIKE $1, x FROM (SELECT 'a'::char(3) AS x) t", UNDECLARED, "a  "),
    ("SELECT x IN ($1, 'b'), x FROM (SELECT 'a'::char(3) AS x) t", UNDECLARED, "a  "),
];

pub(crate) fn questions() -> Vec<Question> {
    let mut questions = Vec::new();
    let value = |value: &str| Some(value.to_owned());
    for (ty, number) in NUMBERS {
        for template in OF_TWO {
            for types in [[*ty, UNDECLARED], [UNDECLARED, *ty], [*ty, *ty]] {
                let parameters = vec![value(number), value("2")];
                questions.push((format!("SELECT {template} AS e"), types.to_vec(), parameters));
            }
        }
        let statements = OF_ONE.iter().map(|template| format!("SELECT {template} AS e"));
        questions.extend(statements.map(|statement| (statement, vec![*ty], vec![value(number)])));
    }
    for (ty, text) in TYPES {
        for template in OF_ALIKE {
            for types in [[*ty, UNDECLARED], [UNDECLARED, *ty], [*ty, *ty]] {
                for parameters in [[value(text), value(text)], [None, value(text)], [value(text), None]] {
                    questions.push(((*template).to_owned(), types.to_vec(), parameters.to_vec()));
                }
            }
        }
        questions.push(("SELECT $1 || 'x' AS e, $2 AS f".to_owned(), vec![*ty, 25], vec![value(text), value("y")]));
    }
    // Two of several types, beside one without a type elsewhere.
    for (left, number) in NUMBERS {
        for (right, other) in NUMBERS.iter().filter(|(right, _)| right != left) {
            let values = "SELECT * FROM (VALUES ($1, $3), ($2, 'b')) v(e, f) ORDER BY e".to_owned();
            questions.push((values, vec![*left, *right, 25], vec![value(number), value(other), value("a")]));
            let beside = OF_TWO.iter().map(|template| format!("SELECT $3 AS u, {template} AS e"));
            for statement in beside.chain(OF_THREE.iter().map(|template| format!("SELECT {template} AS e"))) {
                questions.push((statement, vec![*left, *right, UNDECLARED], vec![value(number), value(other), None]));
            }
        }
    }
    let others = OTHERS.iter().map(|(statement, ty, text)| ((*statement).to_owned(), vec![*ty], vec![value(text)]));
    questions.extend(others);
    questions
}
