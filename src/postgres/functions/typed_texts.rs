//! Texts of a type that Arrow cannot tell from `text`, and arrays of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;

use super::cast::PostgresCast;
use crate::types::{POSTGRES_TYPE, arrow_type, type_by_name};

/// A text as one of another type of texts, by its name in `pg_type`; the same text.
pub(super) fn as_text_of_type(text: Expr, name: &str) -> Expr {
    let metadata = HashMap::from([(POSTGRES_TYPE.to_owned(), name.to_owned())]);
    let field = Arc::new(Field::new("", DataType::Utf8View, true).with_metadata(metadata));
    Expr::ScalarFunction(ScalarFunction::new_udf(PostgresCast::udf(field), vec![text]))
}

/// An array of texts as `varchar[]`.
pub(super) fn as_varchars(array: Expr) -> Expr {
    const NAME: &str = "_varchar";
    let Some(data_type) = type_by_name(NAME).and_then(arrow_type) else { return array };
    let metadata = HashMap::from([(POSTGRES_TYPE.to_owned(), NAME.to_owned())]);
    let field = Arc::new(Field::new("", data_type, true).with_metadata(metadata));
    Expr::ScalarFunction(ScalarFunction::new_udf(PostgresCast::udf(field), vec![array]))
}
