//! Names in INSERT, UPDATE and DELETE.

use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, Delete, Expr, FromTable, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Insert, ObjectName, ObjectNamePart, OnConflictAction, OnInsert, Query, SelectItem,
    SetExpr, TableObject, TableWithJoins, Update, UpdateTableFromKind,
};

use super::Relation;
use super::column::{Output, Pick, fold, pick, quoted, rename};
use super::error::{NameError, Result, SqlState};
use super::from::named_alias;
use super::placement::Clause;
use super::scope::{Frame, Level, Resolver, Source, ambiguous, parts};
use super::select::written;

impl Resolver<'_> {
    pub(super) fn insert(&mut self, insert: &mut Insert) -> Result<Vec<Output>> {
        let TableObject::TableName(name) = &mut insert.table else {
            return Err(NameError::unsupported("INSERT into a function is not supported"));
        };
        if !insert.assignments.is_empty() || !insert.after_columns.is_empty() || insert.insert_alias.is_some() {
            return Err(NameError::new(SqlState::SYNTAX_ERROR, "INSERT takes a list of columns and VALUES or a query"));
        }
        let relation = self.target(name)?;
        let mut named: Vec<String> = Vec::with_capacity(insert.columns.len());
        for column in &mut insert.columns {
            let exact = assigned(column, &relation)?;
            if named.contains(&exact) {
                let message = format!("column \"{exact}\" specified more than once");
                return Err(NameError::new(SqlState::DUPLICATE_COLUMN, message).at_node(column));
            }
            named.push(exact);
        }
        if let Some(query) = &mut insert.source {
            self.inserted(query)?;
        }
        let mut taken = Vec::new();
        let mut alias = named_alias(&relation.name);
        let aliased = insert.table_alias.is_some();
        if let Some(given) = &mut insert.table_alias {
            alias.name = given.alias.clone();
            rename(&mut given.alias, &fold(&alias.name));
        }
        let frame = self.row(&relation, &mut alias, aliased, &mut taken)?;
        match &mut insert.on {
            None => {}
            Some(OnInsert::OnConflict(conflict)) => {
                if let Some(ConflictTarget::Columns(columns)) = &mut conflict.conflict_target {
                    let level = Level { frame: frame.clone(), ..Level::default() };
                    let columns = columns.iter_mut();
                    self.within(level, |resolver| {
                        for ident in columns {
                            let column = resolver.column(std::slice::from_ref(ident))?;
                            rename(ident, &column.name);
                        }
                        Ok(())
                    })?;
                }
                if let OnConflictAction::DoUpdate(update) = &mut conflict.action {
                    let mut both = frame.clone();
                    // Its columns are named with the qualifier alone.
                    both.sources.extend(self.row(&relation, &mut named_alias("excluded"), true, &mut taken)?.sources);
                    self.within(Level { frame: both, ..Level::default() }, |resolver| {
                        resolver.assignments(&mut update.assignments, &relation)?;
                        resolver.in_clause(Clause::Where, |resolver| resolver.exprs(update.selection.as_mut()))
                    })?;
                }
            }
            Some(other) => return Err(NameError::unsupported(format!("{other} is not supported"))),
        }
        self.returning(&mut insert.returning, frame)
    }

    /// VALUES of an INSERT may hold DEFAULT, which is no column.
    fn inserted(&mut self, query: &mut Query) -> Result<()> {
        match query.body.as_mut() {
            SetExpr::Values(values) if query.with.is_none() && query.order_by.is_none() => {
                let clause = if values.rows.len() == 1 { Clause::OneRow } else { Clause::Values };
                let exprs = values.rows.iter_mut().flat_map(|row| &mut row.content).filter(|expr| !is_default(expr));
                self.in_clause(clause, |resolver| resolver.exprs(exprs))
            }
            _ => self.subquery(query),
        }
    }

    pub(super) fn update(&mut self, update: &mut Update) -> Result<Vec<Output>> {
        if update.or.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
            return Err(NameError::unsupported("UPDATE with OR, ORDER BY or LIMIT is not supported"));
        }
        let mut taken = Vec::new();
        let (mut frame, relation) = self.written_table(std::slice::from_mut(&mut update.table), &mut taken)?;
        match &mut update.from {
            None => {}
            Some(UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from)) => {
                frame.append(self.other_tables(from, &mut taken)?);
            }
        }
        self.within(Level { frame: frame.clone(), ..Level::default() }, |resolver| {
            resolver.assignments(&mut update.assignments, &relation)?;
            resolver.in_clause(Clause::Where, |resolver| resolver.exprs(update.selection.as_mut()))
        })?;
        self.returning(&mut update.returning, frame)
    }

    pub(super) fn delete(&mut self, delete: &mut Delete) -> Result<Vec<Output>> {
        if !delete.tables.is_empty() || !delete.order_by.is_empty() || delete.limit.is_some() {
            return Err(NameError::unsupported("DELETE with several tables, ORDER BY or LIMIT is not supported"));
        }
        let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &mut delete.from;
        let mut taken = Vec::new();
        let (mut frame, _) = self.written_table(tables, &mut taken)?;
        if let Some(using) = &mut delete.using {
            frame.append(self.other_tables(using, &mut taken)?);
        }
        let level = Level { frame: frame.clone(), ..Level::default() };
        self.within(level, |resolver| {
            resolver.in_clause(Clause::Where, |resolver| resolver.exprs(delete.selection.as_mut()))
        })?;
        self.returning(&mut delete.returning, frame)
    }

    /// The one base relation that UPDATE or DELETE changes.
    fn written_table(
        &mut self,
        tables: &mut [TableWithJoins],
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<(Frame, Relation)> {
        let [table] = tables else {
            return Err(NameError::new(SqlState::SYNTAX_ERROR, "one table is changed at a time"));
        };
        if !table.joins.is_empty() {
            return Err(NameError::new(SqlState::SYNTAX_ERROR, "the table to change cannot be a join"));
        }
        let frame = self.factor(&mut table.relation, &Frame::default(), taken)?;
        let target = frame.sources.first().and_then(|source| source.relation.clone());
        let Some((schema, name)) = target else {
            let message = format!("{} cannot be changed: it is no table", table.relation);
            return Err(NameError::unsupported(message).at_node(&table.relation));
        };
        let relation = self.relation(&[Ident::with_quote('"', schema), Ident::with_quote('"', name)])?;
        Ok((frame, relation))
    }

    fn other_tables(&mut self, from: &mut [TableWithJoins], taken: &mut Vec<Rc<Source>>) -> Result<Frame> {
        let mut frame = Frame::default();
        for item in from {
            let found = self.joined(item, &frame, taken)?;
            frame.append(found);
        }
        Ok(frame)
    }

    /// Resolves and qualifies the table of an INSERT.
    fn target(&mut self, name: &mut ObjectName) -> Result<Relation> {
        let idents = parts(name)?;
        let relation = self.relation(&idents)?;
        let span =
            idents.last().map(|ident| ident.span).unwrap_or_else(datafusion::sql::sqlparser::tokenizer::Span::empty);
        *name = ObjectName::from(vec![quoted(&relation.schema, span), quoted(&relation.name, span)]);
        Ok(relation)
    }

    /// A row of a relation, under an alias.
    fn row(
        &mut self,
        relation: &Relation,
        alias: &mut datafusion::sql::sqlparser::ast::TableAlias,
        aliased: bool,
        taken: &mut Vec<Rc<Source>>,
    ) -> Result<Frame> {
        let outputs = self.outputs_of(relation);
        let base = Some((relation.schema.clone(), relation.name.clone()));
        self.add_source(alias, base, aliased, outputs, relation.system_columns, taken)
    }

    /// The table and columns of COPY; without a list it is all columns.
    pub(super) fn copied(&mut self, table: &mut ObjectName, columns: &mut [Ident]) -> Result<Vec<Output>> {
        let relation = self.target(table)?;
        let mut outputs = self.outputs_of(&relation);
        outputs.truncate(relation.columns.len().saturating_sub(relation.system_columns));
        if columns.is_empty() {
            return Ok(outputs);
        }
        let mut named: Vec<Output> = Vec::with_capacity(columns.len());
        for ident in columns {
            let exact = exact_column(ident, &relation)?;
            if named.iter().any(|output| *output.label == *exact) {
                let message = format!("column \"{exact}\" specified more than once");
                return Err(NameError::new(SqlState::DUPLICATE_COLUMN, message).at(ident));
            }
            rename(ident, &exact);
            named.extend(outputs.iter().find(|output| *output.label == *exact).cloned());
        }
        Ok(named)
    }

    pub(super) fn assignments(&mut self, assignments: &mut [Assignment], relation: &Relation) -> Result<()> {
        let mut named: Vec<String> = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let columns = match &mut assignment.target {
                AssignmentTarget::ColumnName(column) => std::slice::from_mut(column),
                AssignmentTarget::Tuple(columns) => columns.as_mut_slice(),
            };
            for column in columns {
                let exact = assigned(column, relation)?;
                if named.contains(&exact) {
                    let message = format!("multiple assignments to same column \"{exact}\"");
                    return Err(NameError::new(SqlState::SYNTAX_ERROR, message).at_node(column));
                }
                named.push(exact);
            }
            if let (AssignmentTarget::Tuple(_), Some(values)) = (&assignment.target, row_values(&assignment.value)) {
                assignment.value = Expr::Tuple(values);
            }
            match &mut assignment.value {
                Expr::Tuple(values) => {
                    let values = values.iter_mut().filter(|value| !is_default(value));
                    self.in_clause(Clause::Update, |resolver| resolver.exprs(values))?;
                }
                value if is_default(value) => {}
                value => self.in_clause(Clause::Update, |resolver| resolver.expr(value))?,
            }
        }
        Ok(())
    }

    fn returning(&mut self, returning: &mut Option<Vec<SelectItem>>, frame: Frame) -> Result<Vec<Output>> {
        let Some(list) = returning else { return Ok(Vec::new()) };
        let taken = std::mem::take(list);
        let items = self.within(Level { frame, ..Level::default() }, |resolver| {
            resolver.in_clause(Clause::Returning, |resolver| resolver.select_list(taken))
        })?;
        let (projection, outputs) = items.into_iter().map(written).unzip();
        *list = projection;
        Ok(outputs)
    }
}

/// Makes the name of a column that is written to exact; returns it.
pub(super) fn assigned(name: &mut ObjectName, relation: &Relation) -> Result<String> {
    let idents = parts(name)?;
    let Some(first) = idents.first() else {
        return Err(NameError::new(SqlState::SYNTAX_ERROR, "a column without a name"));
    };
    let exact = exact_column(first, relation)?;
    if idents.len() > 1 {
        let message = format!("a part of the column \"{exact}\" cannot be assigned");
        return Err(NameError::unsupported(message).at(first));
    }
    *name = ObjectName::from(vec![quoted(&exact, first.span)]);
    Ok(exact)
}

/// The exact name of a relation's column.
fn exact_column(ident: &Ident, relation: &Relation) -> Result<String> {
    match pick(ident, relation.columns.iter(), |column| column) {
        Pick::One(column) => Ok(column.clone()),
        Pick::Several(names) => Err(ambiguous(ident, &names).at(ident)),
        Pick::None => {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", fold(ident), relation.name);
            Err(NameError::new(SqlState::UNDEFINED_COLUMN, message).at(ident))
        }
    }
}

/// The values of `ROW(a, b)`.
fn row_values(expr: &Expr) -> Option<Vec<Expr>> {
    let Expr::Function(call) = expr else { return None };
    let [ObjectNamePart::Identifier(name)] = call.name.0.as_slice() else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    if name.quote_style.is_some() || !name.value.eq_ignore_ascii_case("row") {
        return None;
    }
    let value = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    };
    list.args.iter().map(value).collect()
}

pub(super) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
