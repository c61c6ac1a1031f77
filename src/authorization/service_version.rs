//! Versions of the Table service: dates, which are in order as texts.

/// Whether a text is a version, be it one that does not exist yet: a date of the form 2019-02-02.
pub fn is_service_version(text: &str) -> bool {
    let form = b"dddd-dd-dd";
    let is_formed = text.len() == form.len()
        && text.bytes().zip(form).all(|(byte, form)| if *form == b'd' { byte.is_ascii_digit() } else { byte == *form });
    // Days and months are read from digits only.
    is_formed && ("01"..="12").contains(&&text[5..7]) && ("01"..="31").contains(&&text[8..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_dates() {
        assert!(is_service_version("2019-02-02") && is_service_version("2030-12-31"));
        assert!(
            [
                "",
                "2019-2-02",
                "2019-02-0x",
                "x019-02-02",
                "2019_02_02",
                "2019-02-022",
                "2019-13-02",
                "2019-00-02",
                "2019-02-32"
            ]
            .iter()
            .all(|text| !is_service_version(text))
        );
    }
}
