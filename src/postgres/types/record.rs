//! Records without names: `ROW(1, 2)`.

use arrow::datatypes::Fields;

/// Whether the fields are those of `ROW(...)`: DataFusion's names of them are `c0`, `c1`, ...,
/// PostgreSQL's `f1`, `f2`, ...
pub(crate) fn is_unnamed(fields: &Fields) -> bool {
    fields.iter().enumerate().all(|(at, field)| field.name().strip_prefix('c') == Some(at.to_string().as_str()))
}

/// DataFusion's name of a field of `ROW(...)`.
pub(crate) fn unnamed_field(fields: &Fields, name: &str) -> Option<String> {
    let place: usize = name.strip_prefix('f')?.parse().ok()?;
    (is_unnamed(fields) && (1..=fields.len()).contains(&place)).then(|| format!("c{}", place - 1))
}
