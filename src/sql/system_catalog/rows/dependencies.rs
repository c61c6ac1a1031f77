//! What depends on what: parts of tables and views on each other, and views on what they read.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::contents::{Contents, KEY_COLUMNS, TIMESTAMP_NUMBER};
use super::super::oid::{self, Part, of};

/// An object: the catalog that it is a row of, its oid, and the number of a column of it.
#[derive(Debug, Clone, Copy)]
struct Object {
    class: u32,
    oid: u32,
    column: i32,
}

/// The first depends on the second in the way that `kind` says: `n` and `a` are dependencies that
/// DROP asks about and that it does not, `i` is between an object and what it was made with.
type Dependency = (Object, Object, char);

pub(super) fn pg_depend(contents: &Arc<Contents>) -> Rows {
    let mut dependencies = Vec::new();
    for table in contents.tables() {
        dependencies.extend(of_table(table.id).into_iter().flatten());
    }
    for view in contents.views() {
        dependencies.extend(of_view(view.id, &view.reads).into_iter().flatten());
    }
    rows!(dependencies, |(dependent, referenced, kind)| {
        classid: dependent.class, objid: dependent.oid, objsubid: dependent.column,
        refclassid: referenced.class, refobjid: referenced.oid, refobjsubid: referenced.column, deptype: kind,
    })
}

fn object(class: u32, oid: u32) -> Object {
    Object { class, oid, column: 0 }
}

/// What every relation with rows of its own depends on, and its row type on it.
fn of_relation(id: u64) -> Option<(Object, Vec<Dependency>)> {
    let relation = object(oid::PG_CLASS, of(id, Part::Relation)?);
    let row_type = object(oid::PG_TYPE, of(id, Part::RowType)?);
    let array_type = object(oid::PG_TYPE, of(id, Part::ArrayType)?);
    let dependencies = vec![
        (relation, object(oid::PG_NAMESPACE, oid::PUBLIC), 'n'),
        (row_type, relation, 'i'),
        (array_type, row_type, 'i'),
    ];
    Some((relation, dependencies))
}

fn of_table(id: u64) -> Option<Vec<Dependency>> {
    let (table, mut dependencies) = of_relation(id)?;
    let column = |number| Object { column: number, ..table };
    let constraint = object(oid::PG_CONSTRAINT, of(id, Part::KeyConstraint)?);
    let index = object(oid::PG_CLASS, of(id, Part::KeyIndex)?);
    let default = object(oid::PG_ATTRDEF, of(id, Part::TimestampDefault)?);
    dependencies.extend((1..).take(KEY_COLUMNS.len()).map(|number| (constraint, column(number), 'a')));
    dependencies.push((index, constraint, 'i'));
    dependencies.push((default, column(i32::from(TIMESTAMP_NUMBER)), 'a'));
    Some(dependencies)
}

fn of_view(id: u64, reads: &[u64]) -> Option<Vec<Dependency>> {
    let (view, mut dependencies) = of_relation(id)?;
    let rule = object(oid::PG_REWRITE, of(id, Part::ViewRule)?);
    dependencies.extend([(rule, view, 'i'), (rule, view, 'n')]);
    let read = reads.iter().filter_map(|read| of(*read, Part::Relation));
    dependencies.extend(read.map(|read| (rule, object(oid::PG_CLASS, read), 'n')));
    Some(dependencies)
}
