//! Functions, operators, casts, access methods and languages.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::contents::Contents;
use super::super::oid;
use super::super::recorded::{
    CASTS, FUNCTIONS, FUNCTIONS_BY_NAME, Function, OPERATOR_CLASSES, OPERATORS, function_by_oid, function_oid,
};
use super::super::session_info::{FunctionKind, FunctionRow};
use rowkey_postgres::types::{TYPES, type_by_name};

/// The language of functions that are part of the server.
const INTERNAL: u32 = 12;

/// A function as `pg_proc` shows it.
#[derive(Debug, Clone)]
pub(crate) struct ListedFunction {
    pub name: Arc<str>,
    pub function: Function,
}

/// The functions that there are: those that types, operators, casts and access methods name, and
/// those that a statement may call.
#[derive(Debug)]
pub(crate) struct Functions {
    by_oid: BTreeMap<u32, ListedFunction>,
}

impl Functions {
    pub(crate) fn of(contents: &Contents) -> Self {
        let mut by_oid = BTreeMap::new();
        for oid in referenced() {
            if let Some(function) = function_by_oid(oid) {
                by_oid.insert(oid, ListedFunction { name: function.name.into(), function: function.clone() });
            }
        }
        for (name, kind) in contents.session.function_names() {
            let places = FUNCTIONS_BY_NAME.get(name.as_str()).into_iter().flatten();
            for function in
                places.filter_map(|place| FUNCTIONS.get(*place)).filter(|function| is_callable(function, *kind))
            {
                by_oid.insert(function.oid, ListedFunction { name: function.name.into(), function: function.clone() });
            }
        }
        // In one order on all servers, so that those that want the same oid always get the same
        // ones.
        let mut callable = contents.session.functions();
        callable.sort_by_key(signature);
        callable.dedup();
        for row in &callable {
            let function = recorded(row).cloned().or_else(|| unknown_to_postgresql(row, &by_oid));
            if let Some(function) = function {
                by_oid.insert(function.oid, ListedFunction { name: row.name.as_str().into(), function });
            }
        }
        Self { by_oid }
    }

    pub(crate) fn by_oid(&self, oid: u32) -> Option<&ListedFunction> {
        self.by_oid.get(&oid)
    }

    /// In the order of their oids.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ListedFunction> {
        self.by_oid.values()
    }

    pub(crate) fn into_all(self) -> impl Iterator<Item = ListedFunction> {
        self.by_oid.into_values()
    }
}

/// Functions that other rows of the catalog name.
fn referenced() -> HashSet<u32> {
    let by_type = TYPES.iter().flat_map(|ty| [ty.input, ty.output, ty.receive, ty.send, ty.typmod_input, ty.subscript]);
    let mut oids: HashSet<u32> = by_type.map(function_oid).collect();
    oids.extend(TYPES.iter().map(|ty| function_oid(&ty.typmod_output())));
    let others = [
        "domain_in",
        "domain_recv",
        "array_typanalyze",
        "range_typanalyze",
        "multirange_typanalyze",
        "ts_typanalyze",
        "int4range_canonical",
        "int4range_subdiff",
        "numrange_subdiff",
        "tsrange_subdiff",
        "tstzrange_subdiff",
        "daterange_canonical",
        "daterange_subdiff",
        "int8range_canonical",
        "int8range_subdiff",
        "bthandler",
        "heap_tableam_handler",
    ];
    oids.extend(others.map(function_oid));
    oids.extend(OPERATORS.iter().map(|operator| operator.function));
    oids.extend(CASTS.iter().map(|cast| cast.function));
    oids
}

/// Types that expressions may have here.
const TYPES_KNOWN: [&str; 45] = [
    "bool",
    "bytea",
    "name",
    "int8",
    "int2",
    "int4",
    "text",
    "oid",
    "json",
    "jsonb",
    "float4",
    "float8",
    "varchar",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "numeric",
    "uuid",
    "char",
    "regclass",
    "regtype",
    "regproc",
    "regprocedure",
    "regnamespace",
    "regrole",
    "record",
    "void",
    "any",
    "anyarray",
    "anyelement",
    "anynonarray",
    "anycompatible",
    "anycompatiblearray",
    "anycompatiblenonarray",
    "_bool",
    "_int2",
    "_int4",
    "_int8",
    "_text",
    "_name",
    "_oid",
    "_float8",
    "_numeric",
];

/// Whether a function of PostgreSQL is one of this kind over types that there are here.
fn is_callable(function: &Function, kind: FunctionKind) -> bool {
    let of_kind = match kind {
        FunctionKind::Scalar | FunctionKind::Set => function.kind == 'f',
        FunctionKind::Aggregate => function.kind == 'a',
        FunctionKind::Window => function.kind == 'w',
    };
    let known = |oid: &u32| TYPES_KNOWN.iter().any(|name| type_by_name(name).is_some_and(|ty| ty.oid == *oid));
    of_kind && known(&function.result) && function.arguments.iter().all(known)
}

/// The types of a function's arguments; none if one has no oid.
fn arguments(row: &FunctionRow) -> Option<Vec<u32>> {
    row.argument_types.iter().map(|name| type_by_name(name).map(|ty| ty.oid)).collect()
}

fn signature(row: &FunctionRow) -> String {
    format!("{}({})", row.name, row.argument_types.join(","))
}

fn recorded(row: &FunctionRow) -> Option<&'static Function> {
    let arguments = arguments(row)?;
    let places = FUNCTIONS_BY_NAME.get(row.name.as_str())?;
    places.iter().filter_map(|place| FUNCTIONS.get(*place)).find(|function| function.arguments == arguments)
}

fn unknown_to_postgresql(row: &FunctionRow, taken: &BTreeMap<u32, ListedFunction>) -> Option<Function> {
    let result = type_by_name(&row.result_type).map(|ty| ty.oid)?;
    let arguments = arguments(row)?;
    let first = oid::of_function(&signature(row));
    let oids = (first..oid::FUNCTIONS.end).chain(oid::FUNCTIONS.start..first);
    Some(Function {
        oid: oids.into_iter().find(|oid| !taken.contains_key(oid) && function_by_oid(*oid).is_none())?,
        name: "",
        kind: match row.kind {
            FunctionKind::Scalar | FunctionKind::Set => 'f',
            FunctionKind::Aggregate => 'a',
            FunctionKind::Window => 'w',
        },
        result,
        returns_set: row.kind == FunctionKind::Set,
        volatility: 'v',
        strict: false,
        variadic: 0,
        defaults: 0,
        arguments,
    })
}

pub(super) fn pg_proc(contents: &Arc<Contents>) -> Rows {
    rows!(Functions::of(contents).into_all(), |ListedFunction { name, function }| {
        oid: function.oid, proname: Arc::clone(&name), pronamespace: oid::PG_CATALOG, proowner: oid::ROLE,
        prolang: INTERNAL, procost: 1.0_f32, prorows: if function.returns_set { 1000.0_f32 } else { 0.0 },
        provariadic: function.variadic, prosupport: 0_u32, prokind: function.kind, prosecdef: false, proleakproof: false,
        proisstrict: function.strict, proretset: function.returns_set, provolatile: function.volatility,
        proparallel: 's', pronargs: i16::try_from(function.arguments.len()).ok()?, pronargdefaults: function.defaults,
        prorettype: function.result, proargtypes: function.arguments, prosrc: name,
    })
}

pub(super) fn pg_operator() -> Rows {
    rows!(OPERATORS.iter(), |operator| {
        oid: operator.oid, oprname: operator.name, oprnamespace: oid::PG_CATALOG, oprowner: oid::ROLE,
        oprkind: operator.kind, oprcanmerge: operator.can_merge, oprcanhash: operator.can_hash,
        oprleft: operator.left, oprright: operator.right, oprresult: operator.result, oprcom: operator.commutator,
        oprnegate: operator.negator, oprcode: operator.function, oprrest: operator.restriction, oprjoin: operator.join,
    })
}

pub(super) fn pg_cast() -> Rows {
    rows!(CASTS.iter(), |cast| {
        oid: cast.oid, castsource: cast.source, casttarget: cast.target, castfunc: cast.function,
        castcontext: cast.context, castmethod: cast.method,
    })
}

pub(super) fn pg_opclass() -> Rows {
    rows!(OPERATOR_CLASSES.iter(), |class| {
        oid: class.oid, opcmethod: class.method, opcname: class.name, opcnamespace: oid::PG_CATALOG,
        opcowner: oid::ROLE, opcfamily: class.family, opcintype: class.input, opcdefault: class.default,
        opckeytype: class.key,
    })
}

pub(super) fn pg_opfamily() -> Rows {
    let families: BTreeMap<u32, _> = OPERATOR_CLASSES.iter().map(|class| (class.family, class)).collect();
    rows!(families, |(oid, class)| {
        oid: oid, opfmethod: class.method, opfname: class.family_name, opfnamespace: oid::PG_CATALOG,
        opfowner: oid::ROLE,
    })
}

pub(super) fn pg_am() -> Rows {
    let methods = [(oid::HEAP, "heap", "heap_tableam_handler", 't'), (oid::BTREE, "btree", "bthandler", 'i')];
    rows!(methods, |(oid, name, handler, kind)| {
        oid: oid, amname: name, amhandler: function_oid(handler), amtype: kind,
    })
}

pub(super) fn pg_language() -> Rows {
    rows!([(INTERNAL, "internal", false), (13, "c", false), (14, "sql", true)], |(oid, name, trusted)| {
        oid: oid, lanname: name, lanowner: oid::ROLE, lanispl: false, lanpltrusted: trusted, lanplcallfoid: 0_u32,
        laninline: 0_u32, lanvalidator: 0_u32,
    })
}
