use super::*;
use rowkey_postgres::syntax::{Request, parse};

fn options(csv: bool, more: &str) -> CopyOptions {
    let statement = parse(&format!("copy t from stdin (format {}{more})", if csv { "csv" } else { "text" })).unwrap();
    let Request::Copy(copy) = &statement.request else { panic!("{more}") };
    CopyOptions::of(&copy.options, false, &statement.source).unwrap()
}

/// The fields of all lines, however the bytes are cut; NULL is `None`.
fn read(bytes: &[u8], options: &CopyOptions) -> Result<Vec<Vec<Option<String>>>> {
    let mut all = None;
    for piece in [1, 2, 3, 7, bytes.len().max(1)] {
        let mut lines = Lines::default();
        let mut fields = Fields::default();
        let mut rows = Vec::new();
        let mut row = |fields: &mut Fields, line: &[u8]| -> Result<()> {
            fields.read(line, options)?;
            rows.push((0..fields.len()).map(|at| Ok(fields.get(at)?.map(str::to_owned))).collect::<Result<Vec<_>>>()?);
            Ok(())
        };
        for piece in bytes.chunks(piece) {
            lines.push(piece);
            while let Some(line) = lines.next(options)? {
                row(&mut fields, lines.bytes(line))?;
            }
        }
        if let Some(line) = lines.rest()? {
            row(&mut fields, lines.bytes(line))?;
        }
        match &all {
            None => all = Some(rows),
            Some(before) => assert_eq!(*before, rows, "cut into pieces of {} bytes", piece),
        }
    }
    Ok(all.unwrap_or_default())
}

fn row(fields: &[Option<&str>]) -> Vec<Option<String>> {
    fields.iter().map(|field| field.map(str::to_owned)).collect()
}

#[test]
fn text_has_escapes_and_null() {
    let options = options(false, "");
    let read = read(b"a\t\\N\tb\\tc\n\\\\N\t\\x41\\102\t\n\tx\\\ny\t\\N\\N\r\nlast", &options).unwrap();
    assert_eq!(
        read,
        [
            row(&[Some("a"), None, Some("b\tc")]),
            row(&[Some("\\N"), Some("AB"), Some("")]),
            row(&[Some(""), Some("x\ny"), Some("NN")]),
            row(&[Some("last")]),
        ]
    );
}

#[test]
fn csv_has_quotes_and_null_is_not_quoted() {
    let read_csv = |bytes: &[u8], more| read(bytes, &options(true, more)).unwrap();
    assert_eq!(
        read_csv(b"a,,\"\",\"x\"\"y\"\n\"1,2\",\"line\nend\",z\r\nlast,", ""),
        [
            row(&[Some("a"), None, Some(""), Some("x\"y")]),
            row(&[Some("1,2"), Some("line\nend"), Some("z")]),
            row(&[Some("last"), None]),
        ]
    );
    let more = ", delimiter ';', null 'nil', quote '''', escape '\\'";
    assert_eq!(
        read_csv(b"nil;'nil';'it\\'s';'a\\\\b';'c\\d'\n", more),
        [row(&[None, Some("nil"), Some("it's"), Some("a\\b"), Some("c\\d")])]
    );
    assert_eq!(read(b"a,\"b\n", &options(true, "")).unwrap_err().to_string(), "unterminated CSV quoted field");
}
