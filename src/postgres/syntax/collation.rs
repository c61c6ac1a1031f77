//! Collations: there is one, the order of bytes.

use datafusion::sql::sqlparser::ast::ObjectName;

/// Whether a collation orders texts by their bytes.
pub(crate) fn is_byte_order(collation: &ObjectName) -> bool {
    let word = collation.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.as_str());
    matches!(word, Some("default" | "C" | "POSIX" | "ucs_basic" | "C.UTF-8" | "C.utf8"))
        || word.is_some_and(|word| word.eq_ignore_ascii_case("default"))
}
