//! WITH.

use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{
    Cte as CteClause, SelectItem, SetExpr, SetOperator, Table, TableAlias, TableAliasColumnDef, TableFactor,
    TableWithJoins, WildcardAdditionalOptions, With,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::column::{Output, fold, quoted, rename, unique};
use super::error::{NameError, Result, SqlState};
use super::query::{same_width, start_of};
use super::scope::{Cte, Resolver};
use crate::syntax::{plain_query, plain_select};

impl Resolver<'_> {
    /// Resolves the names of the queries of a WITH clause and brings them into scope.
    pub(super) fn with(&mut self, with: &mut With) -> Result<()> {
        let names: Vec<String> = with.cte_tables.iter().map(|cte| fold(&cte.alias.name)).collect();
        for (index, cte) in with.cte_tables.iter().enumerate() {
            if names[..index].contains(&names[index]) {
                let message = format!("WITH query name \"{}\" specified more than once", names[index]);
                return Err(NameError::new(SqlState::DUPLICATE_ALIAS, message).at(&cte.alias.name));
            }
        }
        let to_come = self.ctes_to_come.len();
        for (index, cte) in with.cte_tables.iter_mut().enumerate() {
            if with.recursive {
                self.ctes_to_come.truncate(to_come);
                let known = self.ctes.len();
                self.ctes_to_come.extend(names[index + 1..].iter().map(|name| (name.clone(), known)));
            }
            let plan_name = self.plan_name(&names[index]);
            let outputs = match (with.recursive, cte.query.body.as_ref()) {
                (true, SetExpr::SetOperation { op: SetOperator::Union, .. }) => {
                    self.within_with(|resolver| resolver.recursive(cte, &names[index], &plan_name))?
                }
                _ => {
                    if with.recursive {
                        self.ctes_to_come.push((names[index].clone(), self.ctes.len()));
                    }
                    let outputs = self.within_with(|resolver| resolver.query(&mut cte.query))?;
                    renamed_cte(outputs, &mut cte.alias)?
                }
            };
            rename(&mut cte.alias.name, &plan_name);
            let materialized = cte.materialized.take();
            self.ctes.push(Cte {
                name: names[index].clone(),
                plan_name,
                outputs,
                named: false,
                recursive: None,
                materialized,
            });
        }
        self.ctes_to_come.truncate(to_come);
        Ok(())
    }

    /// A UNION in WITH RECURSIVE, whose right side may name the query itself.
    fn recursive(&mut self, cte: &mut CteClause, name: &str, plan_name: &str) -> Result<Vec<Output>> {
        let known = self.ctes.len();
        let to_come = self.ctes_to_come.len();
        if let Some(with) = &mut cte.query.with {
            self.with(with)?;
        }
        let SetExpr::SetOperation { op, left, right, .. } = cte.query.body.as_mut() else {
            return Err(NameError::new(SqlState::INVALID_RECURSION, "a recursive query is a UNION"));
        };
        self.ctes_to_come.push((name.to_owned(), self.ctes.len()));
        let found = self.set_expr(left)?;
        self.ctes_to_come.truncate(to_come);
        let width = found.len();
        let mut outputs = renamed_cte(found, &mut cte.alias)?;
        outputs.iter_mut().for_each(|output| output.origin = None);
        let own = self.ctes.len();
        let (name, plan_name) = (name.to_owned(), plan_name.to_owned());
        let cte_here = Cte {
            name: name.clone(),
            plan_name,
            outputs: outputs.clone(),
            named: false,
            recursive: Some(self.subqueries),
            materialized: None,
        };
        self.ctes.push(cte_here);
        let start = start_of(right);
        let found = self.set_expr(right)?;
        same_width(*op, width, found.len()).map_err(|error| error.at_span(start))?;
        let recursive = self.ctes.get(own).is_some_and(|cte| cte.named);
        self.ctes.remove(own);
        if recursive {
            for (is_there, clause) in [
                (cte.query.order_by.is_some(), "ORDER BY"),
                (cte.query.limit_clause.is_some() || cte.query.fetch.is_some(), "LIMIT"),
            ] {
                if is_there {
                    let message = format!("{clause} in a recursive query is not implemented");
                    return Err(NameError::unsupported(message).at(&cte.alias.name));
                }
            }
        } else {
            if let Some(order_by) = &mut cte.query.order_by {
                self.order_set_operation(order_by, &outputs)?;
            }
            self.around(&mut cte.query)?;
            self.hide_union(cte);
        }
        self.ctes.truncate(known);
        Ok(outputs)
    }

    /// The planner drops ORDER BY and LIMIT of any UNION in WITH RECURSIVE: one that is not
    /// recursive goes one level down.
    fn hide_union(&mut self, cte: &mut CteClause) {
        let alias = TableAlias {
            explicit: true,
            name: quoted(&self.plan_name("subquery"), Span::empty()),
            columns: Vec::new(),
            at: None,
        };
        let inner = std::mem::replace(
            &mut *cte.query,
            plain_query(SetExpr::Table(Box::new(Table { table_name: None, schema_name: None }))),
        );
        let relation =
            TableFactor::Derived { lateral: false, subquery: Box::new(inner), alias: Some(alias), sample: None };
        let select = plain_select(
            vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())],
            vec![TableWithJoins { relation, joins: Vec::new() }],
        );
        *cte.query.body = SetExpr::Select(Box::new(select));
    }
}

fn renamed_cte(outputs: Vec<Output>, alias: &mut TableAlias) -> Result<Vec<Output>> {
    let what = format!("WITH query \"{}\"", fold(&alias.name));
    renamed(outputs, &what, alias)
}

/// Gives outputs the names of an alias's column list, which may be shorter; the planner gets a full
/// one.
pub(super) fn renamed(outputs: Vec<Output>, what: &str, alias: &mut TableAlias) -> Result<Vec<Output>> {
    if alias.columns.is_empty() {
        return Ok(outputs);
    }
    if alias.columns.len() > outputs.len() {
        let (available, specified) = (outputs.len(), alias.columns.len());
        let message = format!("{what} has {available} columns available but {specified} columns specified");
        return Err(NameError::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(&alias.name));
    }
    let given = alias.columns.iter().map(|column| Rc::from(fold(&column.name)));
    let labels: Vec<Rc<str>> =
        given.chain(outputs.iter().skip(alias.columns.len()).map(|output| output.label.clone())).collect();
    let names = unique(&labels);
    for (index, name) in names.iter().enumerate() {
        match alias.columns.get_mut(index) {
            Some(column) => rename(&mut column.name, name),
            None => alias.columns.push(TableAliasColumnDef { name: quoted(name, Span::empty()), data_type: None }),
        }
    }
    let renamed = outputs.into_iter().zip(labels.into_iter().zip(names));
    Ok(renamed.map(|(output, (label, name))| Output { label, name, origin: output.origin }).collect())
}
