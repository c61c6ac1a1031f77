//! Names in MERGE.

use datafusion::sql::sqlparser::ast::{Ident, Merge, MergeAction, MergeClauseKind, MergeInsertKind};

use super::column::Output;
use super::error::{NameError, Result, SqlState};
use super::placement::Clause;
use super::scope::{Frame, Level, Resolver};
use super::write::{assigned, is_default};

impl Resolver<'_> {
    /// The condition and WHEN MATCHED see both relations, WHEN NOT MATCHED the source alone.
    pub(super) fn merge(&mut self, merge: &mut Merge) -> Result<Vec<Output>> {
        let mut taken = Vec::new();
        let target = self.factor(&mut merge.table, &Frame::default(), &mut taken)?;
        let changed = target.sources.first().and_then(|source| source.relation.clone());
        let Some((schema, name)) = changed else {
            let message = format!("{} cannot be changed: it is no table", merge.table);
            return Err(NameError::unsupported(message).at_node(&merge.table));
        };
        let relation = self.relation(&[Ident::with_quote('"', schema), Ident::with_quote('"', name)])?;
        let source = self.factor(&mut merge.source, &Frame::default(), &mut taken)?;
        let mut both = source.clone();
        both.append(target);
        let level = |frame: &Frame| Level { frame: frame.clone(), ..Level::default() };
        self.within(level(&both), |resolver| {
            resolver.in_clause(Clause::Join, |resolver| resolver.expr(&mut merge.on))
        })?;
        for clause in &mut merge.clauses {
            let matched = clause.clause_kind == MergeClauseKind::Matched;
            let seen = level(if matched { &both } else { &source });
            self.within(seen, |resolver| {
                let predicate = clause.predicate.as_mut();
                resolver.in_clause(Clause::MergeWhen, |resolver| resolver.exprs(predicate))?;
                match &mut clause.action {
                    MergeAction::Delete { .. } => Ok(()),
                    MergeAction::Update(update) => resolver.assignments(&mut update.assignments, &relation),
                    MergeAction::Insert(insert) => {
                        let mut named = Vec::with_capacity(insert.columns.len());
                        for column in &mut insert.columns {
                            let exact = assigned(column, &relation)?;
                            if named.contains(&exact) {
                                let message = format!("column \"{exact}\" specified more than once");
                                return Err(NameError::new(SqlState::DUPLICATE_COLUMN, message).at_node(column));
                            }
                            named.push(exact);
                        }
                        let MergeInsertKind::Values(values) = &mut insert.kind else { return Ok(()) };
                        let exprs = values.rows.iter_mut().flat_map(|row| &mut row.content);
                        let exprs = exprs.filter(|expr| !is_default(expr));
                        resolver.in_clause(Clause::OneRow, |resolver| resolver.exprs(exprs))
                    }
                }
            })?;
        }
        Ok(Vec::new())
    }
}
