//! The oids of everything in the catalog: the same on every connection and after every restart.
//!
//! What a data folder holds is numbered from its durable ids, eight oids for each table or view;
//! what every server has keeps PostgreSQL's own oids, which lie below [`FIRST`].

/// The first oid of a relation of the data folder.
pub(super) const FIRST: u32 = 16_384;
/// Oids set aside for each table or view.
const STRIDE: u64 = 8;

/// The role of the session, which owns everything.
pub(super) const ROLE: u32 = 10;
pub(super) const PG_CATALOG: u32 = 11;
pub(super) const PUBLIC: u32 = 2200;
pub(super) const INFORMATION_SCHEMA: u32 = 13_207;
pub(super) const ROWKEY: u32 = 16_000;
pub(super) const TABLESPACE: u32 = 1663;
pub(super) const TABLESPACE_SHARED: u32 = 1664;
pub(super) const HEAP: u32 = 2;
pub(super) const BTREE: u32 = 403;
/// The operator class of indexed text.
pub(super) const TEXT_OPS: u32 = 3126;
pub(super) const COLLATION: u32 = 100;

/// Catalog relations whose oids say what kind of object another oid is.
pub(super) const PG_CLASS: u32 = 1259;
pub(super) const PG_TYPE: u32 = 1247;
pub(super) const PG_ATTRDEF: u32 = 2604;
pub(super) const PG_CONSTRAINT: u32 = 2606;
pub(super) const PG_REWRITE: u32 = 2618;
pub(super) const PG_NAMESPACE: u32 = 2615;
pub(super) const PG_DATABASE: u32 = 1262;

/// What belongs to a table or a view and has an oid of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Relation,
    /// The index of its primary key.
    KeyIndex,
    RowType,
    ArrayType,
    KeyConstraint,
    /// The default of Timestamp.
    TimestampDefault,
    /// The rule that makes a relation a view.
    ViewRule,
}

const PARTS: [Part; 7] = [
    Part::Relation,
    Part::KeyIndex,
    Part::RowType,
    Part::ArrayType,
    Part::KeyConstraint,
    Part::TimestampDefault,
    Part::ViewRule,
];

/// The oid of a part of the table or view with a durable id; none when ids have outgrown oids.
pub(super) fn of(id: u64, part: Part) -> Option<u32> {
    let place = PARTS.iter().position(|each| *each == part)? as u64;
    let oid = id.checked_mul(STRIDE)?.checked_add(u64::from(FIRST) + place)?;
    u32::try_from(oid).ok()
}

/// The durable id of a table or view, and which part of it an oid names.
pub(super) fn part_of(oid: u32) -> Option<(u64, Part)> {
    let offset = u64::from(oid.checked_sub(FIRST)?);
    let part = PARTS.get((offset % STRIDE) as usize)?;
    Some((offset / STRIDE, *part))
}

/// The oid of a database, which is told from its name: positive also as a signed integer.
pub(super) fn of_database(name: &str) -> u32 {
    0x4000_0000 | (fnv(&name.to_ascii_lowercase()) & 0x3fff_ffff)
}

/// Where the search for a free oid begins for a function that PostgreSQL does not have: the range
/// that it leaves to others.
pub(super) const FUNCTIONS: std::ops::Range<u32> = 8000..10_000;

pub(super) fn of_function(signature: &str) -> u32 {
    FUNCTIONS.start + fnv(signature) % (FUNCTIONS.end - FUNCTIONS.start)
}

/// FNV-1a, folded to 32 bits: a hash that is the same everywhere and for ever.
fn fnv(text: &str) -> u32 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash ^ (hash >> 32)) as u32
}

#[test]
fn parts_are_told_apart_and_found_again() {
    for id in [0, 1, 77, 500_000_000] {
        for part in PARTS {
            let oid = of(id, part).unwrap();
            assert_eq!(part_of(oid), Some((id, part)));
        }
    }
    assert_eq!(of(3, Part::KeyIndex), Some(16_384 + 24 + 1));
    assert_eq!(part_of(16_391), None);
    assert_eq!(part_of(1259), None);
    assert_eq!(of(u64::from(u32::MAX), Part::Relation), None);
}

#[test]
fn databases_keep_their_oids() {
    assert_eq!(of_database("devstoreaccount1"), of_database("DevStoreAccount1"));
    assert_eq!(of_database("devstoreaccount1"), 1_108_295_656);
    assert!(of_database("other") < 1 << 31);
}
