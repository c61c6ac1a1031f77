//! The formats and how they are told apart.

/// A format of exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The service's JSON in any metadata level: pages with a `value` array, arrays, or entities one after another.
    ServiceJson,
    /// Parquet with key columns.
    Parquet,
}

impl Format {
    pub const ALL: [Format; 2] = [Format::ServiceJson, Format::Parquet];

    /// The name by which a user asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Format::ServiceJson => "json",
            Format::Parquet => "parquet",
        }
    }

    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Tells the format from the first bytes (a few hundred are plenty); the file's name only helps to say what is
    /// wrong. The error is the reason, without the name.
    pub fn detect(first: &[u8], name: &str) -> Result<Format, String> {
        if first.starts_with(b"PAR1") {
            return Ok(Format::Parquet);
        }
        if first.starts_with(&[0xff, 0xfe]) || first.starts_with(&[0xfe, 0xff]) {
            return Err("the text is UTF-16; convert it to UTF-8".to_owned());
        }
        if first.starts_with(&[0x1f, 0x8b]) || first.starts_with(b"PK\x03\x04") {
            return Err("the file is compressed; unpack it first".to_owned());
        }
        if first.starts_with(b"PARE") {
            return Err("encrypted Parquet cannot be read".to_owned());
        }
        if name.ends_with(".parquet") {
            return Err("this is not Parquet, which begins with PAR1".to_owned());
        }
        let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
        match text.iter().find(|b| !b.is_ascii_whitespace()) {
            None | Some(b'{' | b'[') => Ok(Format::ServiceJson),
            Some(_) => {
                let shown: String = String::from_utf8_lossy(text).trim_start().chars().take(20).collect();
                Err(format!("neither the service's JSON nor Parquet begins with \"{}\"", shown.escape_debug()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
