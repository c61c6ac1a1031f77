//! `x IN (a, b, ...)` as PostgreSQL compares its items.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, Operator};

use super::balanced::any_of;
use super::copies::is_leaf;
use super::keys;
use super::kind::{Kind, unknown_text};
use super::numeric_like::numeric_like;
use super::resolution::{Resolver, is_null, null_of_boolean};
use super::scalar::type_of;
use super::stored_types;

impl Resolver<'_> {
    /// Several constants have one type with the value beside them, which a single one has not: a
    /// real's is real, unless a double is among them.
    fn is_list_of_reals(&self, expr: &Expr, list: &[Expr]) -> bool {
        let mut constants = list.iter().filter(|item| !item.any_column_refs());
        self.kind(expr) == Some(Kind::Float4)
            && constants.clone().count() > 1
            && constants.all(|item| {
                self.kind(item).is_some_and(|kind| kind == Kind::Null || kind.is_number() && kind != Kind::Float8)
            })
    }

    /// An integer's is numeric if a constant among them is.
    fn is_list_of_numerics(&self, expr: &Expr, list: &[Expr]) -> bool {
        self.kind(expr).is_some_and(Kind::is_integer)
            && list.iter().any(|item| !item.any_column_refs() && self.kind(item) == Some(Kind::Numeric))
    }

    pub(super) fn in_list(&self, InList { expr, list, negated }: InList) -> Result<Expr> {
        if self.zone.is_some() && is_null(&expr) {
            return Ok(null_of_boolean());
        }
        let mut plain = Vec::with_capacity(list.len());
        let mut apart = Vec::new();
        let mut shared: Option<Expr> = None;
        let mut holds_null = false;
        let as_reals = self.is_list_of_reals(&expr, &list);
        let as_numerics = self.is_list_of_numerics(&expr, &list);
        for item in list {
            // DataFusion joins lists with each other as if they held no NULL.
            if matches!(&item, Expr::Literal(value, _) if value.is_null()) {
                holds_null = true;
                continue;
            }
            if let Some(exact) = stored_types::exact(&expr, Operator::Eq, &item, self.schema)? {
                apart.push(if is_leaf(&expr) { exact } else { self.counted(exact)? });
                continue;
            }
            let item = match as_reals && !item.any_column_refs() {
                true => {
                    let from = type_of(&item, self.schema)?;
                    self.to(item, &from, &DataType::Float32)?
                }
                false => item,
            };
            let item = match as_numerics && unknown_text(&item).is_some() {
                true => {
                    let from = type_of(&item, self.schema)?;
                    let wanted = numeric_like(&item, &from);
                    self.to(item, &from, &wanted)?
                }
                false => item,
            };
            let (compared, item) = self.pair(expr.as_ref().clone(), item, &|| "=".to_owned())?;
            match &shared {
                Some(shared) if *shared != compared => {
                    apart.push(self.compared(self.counted(compared)?, Operator::Eq, item));
                }
                _ if type_of(&compared, self.schema).is_ok_and(|data_type| keys::is_shown_apart(&data_type)) => {
                    apart.push(self.compared(self.counted(compared)?, Operator::Eq, item));
                }
                // Lists are searched by the bits of doubles.
                _ if matches!(item, Expr::Placeholder(_)) && self.kind(&item).is_some_and(Kind::is_float) => {
                    shared.get_or_insert_with(|| compared.clone());
                    apart.push(self.compared(self.counted(compared)?, Operator::Eq, item));
                }
                // What is no constant may be NULL.
                _ if !matches!(item, Expr::Literal(..) | Expr::Placeholder(_)) => {
                    shared.get_or_insert_with(|| compared.clone());
                    apart.push(self.comparison(self.counted(compared)?, Operator::Eq, item)?);
                }
                _ => {
                    shared = Some(compared);
                    plain.push(item);
                }
            }
        }
        let shared = shared.unwrap_or(*expr);
        // Lists are searched by the bits of doubles, to which the two zeros differ.
        let mut shared = shared;
        if self.kind(&shared).is_some_and(Kind::is_float) {
            if !(self.stored && matches!(shared, Expr::Column(_))) {
                shared = keys::key(shared, self.schema);
            }
            plain = plain.into_iter().flat_map(with_both_zeros).collect();
        }
        let in_list = (!plain.is_empty()).then(|| Expr::InList(InList::new(Box::new(shared), plain, false)));
        let unknown = holds_null.then(|| Expr::Literal(ScalarValue::Boolean(None), None));
        let any = any_of(in_list.into_iter().chain(apart).chain(unknown).collect());
        Ok(match any {
            Some(Expr::InList(list)) => Expr::InList(InList { negated, ..list }),
            Some(any) if negated => Expr::Not(Box::new(any)),
            Some(any) => any,
            None => Expr::Literal(ScalarValue::Boolean(Some(negated)), None),
        })
    }
}

fn with_both_zeros(item: Expr) -> Vec<Expr> {
    match &item {
        Expr::Literal(ScalarValue::Float64(Some(zero)), metadata) if *zero == 0.0 => {
            let other = Expr::Literal(ScalarValue::Float64(Some(-*zero)), metadata.clone());
            vec![item, other]
        }
        _ => vec![item],
    }
}
