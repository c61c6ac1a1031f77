//! The relations of the schema.

use std::sync::Arc;

use datafusion::common::Result;

use super::cells::{Column, Row};
use super::{Source, access_statistics, files, maintenance, partitions, properties, settings, tables};
use rowkey_storage::Table;

/// A relation of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Tables,
    Partitions,
    Properties,
    Files,
    Settings,
    Maintenance,
    AccessStatistics,
}

impl Relation {
    /// New ones come last: their oids follow from their places.
    pub(super) const ALL: [Relation; 7] = [
        Relation::Tables,
        Relation::Partitions,
        Relation::Properties,
        Relation::Files,
        Relation::Settings,
        Relation::Maintenance,
        Relation::AccessStatistics,
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|relation| relation.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Relation::Tables => "tables",
            Relation::Partitions => "partitions",
            Relation::Properties => "properties",
            Relation::Files => "files",
            Relation::Settings => "settings",
            Relation::Maintenance => "maintenance",
            Relation::AccessStatistics => "access_statistics",
        }
    }

    pub(super) fn columns(self) -> &'static [Column] {
        match self {
            Relation::Tables => &tables::COLUMNS,
            Relation::Partitions => &partitions::COLUMNS,
            Relation::Properties => &properties::COLUMNS,
            Relation::Files => &files::COLUMNS,
            Relation::Settings => &settings::COLUMNS,
            Relation::Maintenance => &maintenance::COLUMNS,
            Relation::AccessStatistics => &access_statistics::COLUMNS,
        }
    }

    /// Whether the rows are about tables, so that they can be made table by table.
    pub(super) fn is_by_table(self) -> bool {
        !matches!(self, Relation::Settings | Relation::AccessStatistics)
    }

    /// The rows of one that is not about tables.
    pub(super) fn rows(self, source: &Source) -> Vec<Row> {
        match self {
            Relation::Settings => settings::rows(&source.settings),
            Relation::AccessStatistics => access_statistics::rows(source.session.statements()),
            _ => Vec::new(),
        }
    }

    /// The rows about one table.
    pub(super) async fn rows_of(self, table: &Arc<Table>, source: &Source) -> Result<Vec<Row>> {
        match self {
            Relation::Tables => Ok(vec![tables::row(table, source).await?]),
            Relation::Partitions => Ok(partitions::rows(table, source)),
            Relation::Properties => properties::rows(table, source).await,
            Relation::Files => Ok(files::rows(table)),
            Relation::Settings | Relation::AccessStatistics => Ok(Vec::new()),
            Relation::Maintenance => Ok(vec![maintenance::row(table, source)]),
        }
    }
}
