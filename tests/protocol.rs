//! Messages of the wire protocol, by hand.

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What an ErrorResponse or a NoticeResponse says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Failure {
    pub sqlstate: String,
    pub message: String,
    /// In characters from 1.
    pub position: Option<usize>,
}

/// A startup message of protocol 3.0.
pub(crate) fn startup<'a>(settings: impl Iterator<Item = &'a (&'a str, &'a str)>) -> Vec<u8> {
    let mut body = (3_i32 << 16).to_be_bytes().to_vec();
    for (name, value) in settings {
        for text in [name, value] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    let length = 4 + body.len() as i32;
    [length.to_be_bytes().to_vec(), body].concat()
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = 4 + body.len() as i32;
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

pub(crate) fn query(sql: &str) -> Vec<u8> {
    message(b'Q', &[sql.as_bytes(), b"\0"].concat())
}

pub(crate) fn parse(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let mut body = [name.as_bytes(), b"\0", sql.as_bytes(), b"\0"].concat();
    body.extend_from_slice(&(types.len() as u16).to_be_bytes());
    types.iter().for_each(|oid| body.extend_from_slice(&oid.to_be_bytes()));
    message(b'P', &body)
}

/// All in text.
pub(crate) fn bind(portal: &str, statement: &str, values: &[&str]) -> Vec<u8> {
    bind_with_formats(portal, statement, values.iter().map(|value| Some(*value)), &[])
}

/// Values in text or NULL; the result's formats.
pub(crate) fn bind_with_formats<'a>(
    portal: &str,
    statement: &str,
    values: impl ExactSizeIterator<Item = Option<&'a str>>,
    formats: &[u16],
) -> Vec<u8> {
    let mut body = [portal.as_bytes(), b"\0", statement.as_bytes(), b"\0", &[0, 0]].concat();
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        body.extend_from_slice(&value.map_or(-1, |value| value.len() as i32).to_be_bytes());
        body.extend_from_slice(value.unwrap_or_default().as_bytes());
    }
    body.extend_from_slice(&(formats.len() as u16).to_be_bytes());
    formats.iter().for_each(|format| body.extend_from_slice(&format.to_be_bytes()));
    message(b'B', &body)
}

pub(crate) fn describe(what: u8, name: &str) -> Vec<u8> {
    message(b'D', &[&[what], name.as_bytes(), b"\0"].concat())
}

pub(crate) fn close(what: u8, name: &str) -> Vec<u8> {
    message(b'C', &[&[what], name.as_bytes(), b"\0"].concat())
}

pub(crate) fn execute(portal: &str, rows_max: i32) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), b"\0", &rows_max.to_be_bytes()[..]].concat())
}

pub(crate) fn sync() -> Vec<u8> {
    message(b'S', &[])
}

pub(crate) fn flush() -> Vec<u8> {
    message(b'H', &[])
}

/// What is left of a message's body.
pub(crate) struct Body<'a>(pub &'a [u8]);

impl<'a> Body<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Outcome<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(length).ok_or("a message ends early")?;
        self.0 = left;
        Ok(taken)
    }

    pub(crate) fn u16(&mut self) -> Outcome<u16> {
        Ok(u16::from_be_bytes(self.take(2)?.try_into()?))
    }

    pub(crate) fn u32(&mut self) -> Outcome<u32> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into()?))
    }

    pub(crate) fn text(&mut self) -> Outcome<String> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or("a text without an end")?;
        // PostgreSQL cuts characters of values that it quotes.
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    /// Of a row.
    pub(crate) fn values(&mut self) -> Outcome<Vec<Option<&'a [u8]>>> {
        let mut values = Vec::new();
        for _ in 0..self.u16()? {
            values.push(match self.u32()? {
                u32::MAX => None,
                length => Some(self.take(length as usize)?),
            });
        }
        Ok(values)
    }

    pub(crate) fn failure(&mut self) -> Outcome<Failure> {
        let mut failure = Failure::default();
        loop {
            let kind = self.take(1)?[0];
            if kind == 0 {
                return Ok(failure);
            }
            let value = self.text()?;
            match kind {
                b'C' => failure.sqlstate = value,
                b'M' => failure.message = value,
                b'P' => failure.position = Some(value.parse()?),
                _ => {}
            }
        }
    }
}
