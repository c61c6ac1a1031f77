//! PostgreSQL's built-in types and how they are named.

mod table;
#[cfg(test)]
mod tests;

pub use table::TYPES;

/// One row of `pg_type`. Names of functions are those of `pg_proc`; an empty name or `-` is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostgresType {
    pub oid: u32,
    /// `pg_type.typname`: `timestamptz`, `_int4`.
    pub name: &'static str,
    /// As `format_type` prints it: `timestamp with time zone`, `integer[]`.
    pub sql_name: &'static str,
    /// Bytes of a value; -1 for varying length, -2 for C strings.
    pub len: i16,
    pub by_value: bool,
    pub category: char,
    pub preferred: bool,
    /// The array type with this element, or 0.
    pub array_oid: u32,
    /// `pg_type.typelem`: also set for types that are no arrays but can be subscripted (`name`,
    /// `point`, `int2vector`).
    pub element_oid: u32,
    /// `pg_type.typtype`: b(ase), p(seudo), r(ange), m(ultirange).
    pub kind: char,
    pub delimiter: char,
    pub input: &'static str,
    pub output: &'static str,
    pub receive: &'static str,
    pub send: &'static str,
    pub alignment: char,
    pub storage: char,
    pub collation: u32,
    pub typmod_input: &'static str,
    pub subscript: &'static str,
}

impl PostgresType {
    /// The type of the elements of a true array or of `int2vector`, `oidvector`.
    pub fn element(&self) -> Option<&'static PostgresType> {
        if self.subscript == "array_subscript_handler" { type_by_oid(self.element_oid) } else { None }
    }

    /// The array type over this one.
    pub fn array(&self) -> Option<&'static PostgresType> {
        if self.array_oid == 0 { None } else { type_by_oid(self.array_oid) }
    }

    /// `int2vector` and `oidvector`: arrays that count from 0 and print as `1 2 3`.
    pub fn is_vector(&self) -> bool {
        self.oid == oid::INT2VECTOR || self.oid == oid::OIDVECTOR
    }

    /// `pg_type.typmodout`, or empty.
    pub fn typmod_output(&self) -> String {
        self.typmod_input.strip_suffix("in").map(|stem| format!("{stem}out")).unwrap_or_default()
    }
}

/// Oids of the types that code here and elsewhere names.
pub mod oid {
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const CHAR: u32 = 18;
    pub const NAME: u32 = 19;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT2VECTOR: u32 = 22;
    pub const INT4: u32 = 23;
    pub const REGPROC: u32 = 24;
    pub const TEXT: u32 = 25;
    pub const OID: u32 = 26;
    pub const XID: u32 = 28;
    pub const CID: u32 = 29;
    pub const OIDVECTOR: u32 = 30;
    pub const JSON: u32 = 114;
    pub const PG_NODE_TREE: u32 = 194;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const UNKNOWN: u32 = 705;
    pub const ACLITEM: u32 = 1033;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const DATE: u32 = 1082;
    pub const TIME: u32 = 1083;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const INTERVAL: u32 = 1186;
    pub const NUMERIC: u32 = 1700;
    pub const REFCURSOR: u32 = 1790;
    pub const REGPROCEDURE: u32 = 2202;
    pub const REGOPER: u32 = 2203;
    pub const REGOPERATOR: u32 = 2204;
    pub const REGCLASS: u32 = 2205;
    pub const REGTYPE: u32 = 2206;
    pub const RECORD: u32 = 2249;
    pub const CSTRING: u32 = 2275;
    pub const VOID: u32 = 2278;
    pub const UUID: u32 = 2950;
    pub const REGCONFIG: u32 = 3734;
    pub const REGDICTIONARY: u32 = 3769;
    pub const JSONB: u32 = 3802;
    pub const REGNAMESPACE: u32 = 4089;
    pub const REGROLE: u32 = 4096;
    pub const REGCOLLATION: u32 = 4191;
    pub const XID8: u32 = 5069;
}

/// The type of an oid.
pub fn type_by_oid(oid: u32) -> Option<&'static PostgresType> {
    TYPES.binary_search_by_key(&oid, |ty| ty.oid).ok().map(|at| &TYPES[at])
}

/// SQL's other spellings, as the grammar of PostgreSQL resolves them. Words of a name are separated
/// by one blank.
const ALIASES: &[(&str, u32)] = &[
    ("int", oid::INT4),
    ("integer", oid::INT4),
    ("smallint", oid::INT2),
    ("bigint", oid::INT8),
    ("real", oid::FLOAT4),
    ("float", oid::FLOAT8),
    ("double precision", oid::FLOAT8),
    ("decimal", oid::NUMERIC),
    ("dec", oid::NUMERIC),
    ("boolean", oid::BOOL),
    ("character varying", oid::VARCHAR),
    ("char varying", oid::VARCHAR),
    ("national character varying", oid::VARCHAR),
    ("nchar varying", oid::VARCHAR),
    ("character", oid::BPCHAR),
    ("char", oid::BPCHAR),
    ("nchar", oid::BPCHAR),
    ("national character", oid::BPCHAR),
    ("\"char\"", oid::CHAR),
    ("timestamp with time zone", oid::TIMESTAMPTZ),
    ("timestamp without time zone", oid::TIMESTAMP),
    ("time without time zone", oid::TIME),
];

/// The type of a name: `typname` (`int4`, `_int4`, `char` meaning `"char"`), or as SQL spells it
/// (`integer`, `character varying`, `timestamp with time zone`), each also with `[]`, and with
/// `pg_catalog.` before it. Unquoted names ignore case. A type modifier, as of `numeric(10,2)`, is
/// not part of a name.
///
/// SQL reads a bare `char` as `character`, the catalog as the one-byte `"char"`: here it is the
/// catalog's, [`type_by_sql_name`] has SQL's.
pub fn type_by_name(name: &str) -> Option<&'static PostgresType> {
    find(name, |name| by_typname(name).or_else(|| by_alias(name)))
}

/// As [`type_by_name`], where a bare `char` is `character`, as in a cast.
pub fn type_by_sql_name(name: &str) -> Option<&'static PostgresType> {
    find(name, |name| by_alias(name).or_else(|| by_typname(name)))
}

fn find(name: &str, base: impl Fn(&str) -> Option<&'static PostgresType>) -> Option<&'static PostgresType> {
    let mut words = name.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    if let Some(bare) = words.strip_prefix("pg_catalog.") {
        words = bare.to_owned();
    }
    let element = words.trim_end_matches(['[', ']', ' ']).to_owned();
    let brackets: String = words[element.len()..].chars().filter(|c| *c != ' ').collect();
    if brackets.is_empty() {
        return base(&words);
    }
    // PostgreSQL has one array type for all numbers of dimensions.
    if brackets.replace("[]", "").is_empty() { base(&element)?.array() } else { None }
}

fn by_typname(name: &str) -> Option<&'static PostgresType> {
    let bare = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    TYPES.iter().find(|ty| ty.name == bare)
}

fn by_alias(name: &str) -> Option<&'static PostgresType> {
    match ALIASES.iter().find(|(alias, _)| *alias == name) {
        Some((_, oid)) => type_by_oid(*oid),
        None => TYPES.iter().find(|ty| ty.sql_name == name),
    }
}
