//! Values compared with the column of a subquery: IN, ANY and ALL.

use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, Projection};

use super::keys;
use super::kind::Kind;
use super::resolution::Resolver;
use super::scalar::type_of;
use crate::types::POSTGRES_TYPE;

/// The column of a subquery before and after its type is settled: what the subquery is correlated
/// by may stand beside it later, under the name that it had.
const MEMBER: &str = "__member_before";
const TYPED_MEMBER: &str = "__typed_member";

/// Both sides in the type in which PostgreSQL compares them.
///
/// # Errors
/// There is no such type.
pub(super) fn paired(expr: Expr, subquery: Subquery, op: Operator, resolver: &Resolver) -> Result<(Expr, Subquery)> {
    let schema = Arc::clone(subquery.subquery.schema());
    let (Some(column), Ok(from)) = (schema.columns().into_iter().next(), type_of(&expr, resolver.schema)) else {
        return Ok((expr, subquery));
    };
    let member = schema.field(0).data_type();
    let kinds = [&from, member].map(Kind::of);
    if let Some(wanted) = keys::in_one_type(&from, member) {
        if from == wanted && *member == wanted {
            return Ok((expr, subquery));
        }
        let members = vec![keys::cast_to(Expr::Column(column), member, &wanted).alias(TYPED_MEMBER)];
        let members = LogicalPlan::Projection(Projection::try_new(members, Arc::clone(&subquery.subquery))?);
        let subquery = Subquery { subquery: Arc::new(members), ..subquery };
        return Ok((keys::cast_to(expr, &from, &wanted), subquery));
    }
    // Two types of texts may compare with and without blanks at their ends.
    let name = schema.field(0).metadata().get(POSTGRES_TYPE).map(String::as_str);
    let is_character = matches!(name, Some("bpchar" | "varchar"));
    if resolver.zone.is_none() || (kinds[0] == kinds[1] && !is_character) || schema.fields().len() != 1 {
        return Ok((expr, subquery));
    }
    let member = vec![Expr::Column(column).alias(MEMBER)];
    let members = LogicalPlan::Projection(Projection::try_new(member, Arc::clone(&subquery.subquery))?);
    let mut both = resolver.schema.clone();
    both.merge(members.schema());
    let pairing = Resolver { schema: &both, ..*resolver };
    let member = Expr::Column(Column::new_unqualified(MEMBER));
    let (expr, member) = pairing.pair(expr, member, &|| op.to_string())?;
    if matches!(member, Expr::Column(_)) {
        return Ok((expr, subquery));
    }
    let members = Projection::try_new(vec![member.alias(TYPED_MEMBER)], Arc::new(members))?;
    Ok((expr, Subquery { subquery: Arc::new(LogicalPlan::Projection(members)), ..subquery }))
}
