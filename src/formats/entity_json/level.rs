//! How much metadata JSON has.

/// A metadata level of JSON, as `odata=` of a media type names it (Table service specification,
/// section 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetadataLevel {
    /// Properties alone. A reader takes Int64, DateTime, Guid, Binary, and NaN and the infinities
    /// of Double, as String.
    None,
    /// With the ETag, and with the types that JSON does not tell.
    Minimal,
    /// With the type, id and link of the entity, and the type of Timestamp, as well.
    Full,
}

impl MetadataLevel {
    /// From the least to the most.
    pub const ALL: [MetadataLevel; 3] = [MetadataLevel::None, MetadataLevel::Minimal, MetadataLevel::Full];

    /// The value of `odata=`: `nometadata` and so on.
    pub fn name(self) -> &'static str {
        match self {
            MetadataLevel::None => "nometadata",
            MetadataLevel::Minimal => "minimalmetadata",
            MetadataLevel::Full => "fullmetadata",
        }
    }

    /// Reads the value of `odata=`, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }
}
