//! Telling lines (NDJSON) from the other shapes.

use crate::json::ObjectScan;

/// True if the beginning of an input looks like one entity a line: the first line is one object, it
/// is not a page, and no line is a lone bracket (as in indented JSON). `complete` says that this is
/// the whole input, so its last line counts as well.
pub(super) fn looks_like_lines(beginning: &[u8], complete: bool, page: PageKey) -> bool {
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    let Some(end) = text.iter().rposition(|&b| b == b'\n').map(|at| at + 1).or(complete.then_some(text.len())) else {
        return false;
    };
    let text = if complete { text } else { &text[..end] };
    let mut lines = text.split(|&b| b == b'\n').map(trim_line).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return false };
    first.first() == Some(&b'{')
        && ObjectScan::default().advance(first) == Some(first.len())
        && !is_page(first, page)
        && !lines.any(|line| matches!(line, b"{" | b"}" | b"[" | b"]"))
}

/// A line without white space around it and without a comma at its end.
pub(super) fn trim_line(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    match line.split_last() {
        Some((b',', before)) => before.trim_ascii_end(),
        _ => line,
    }
}

/// True if an object is a page.
fn is_page(object: &[u8], page: PageKey) -> bool {
    let mut head = HeadScan::new(page);
    object.iter().any(|&byte| head.step(byte) == Some(HeadEvent::Value))
}

/// Which property of an object has an array of entities, which makes it a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKey {
    /// `value`, as the service has it.
    Value,
    /// `items`, as the Azure CLI has it.
    Items,
}

impl PageKey {
    fn text(self) -> &'static [u8] {
        match self {
            PageKey::Value => b"value",
            PageKey::Items => b"items",
        }
    }
}

/// Properties of a page that say where the next one begins.
const CONTINUATIONS: [&[u8]; 3] = [b"nextMarker", b"odata.nextLink", b"@odata.nextLink"];
/// The longest key that matters, and one byte more.
const KEY_BYTES_MAX: usize = 16;

/// What a byte of an object outside arrays means for its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadEvent {
    /// The array of the page's property begins. The scan goes on behind the array's end.
    Value,
    /// The object ends.
    End,
}

/// Reads an object byte by byte, from its opening brace, to see whether it is a page.
#[derive(Debug, Clone)]
pub(super) struct HeadScan {
    page: PageKey,
    depth: u64,
    in_string: bool,
    escaping: bool,
    /// True from a key's colon to the comma behind its value.
    in_value: bool,
    /// The key read last, as far as it matters.
    key: Vec<u8>,
    is_continued: bool,
}

impl HeadScan {
    pub(super) fn new(page: PageKey) -> Self {
        Self {
            page,
            depth: 0,
            in_string: false,
            escaping: false,
            in_value: false,
            key: Vec::new(),
            is_continued: false,
        }
    }

    /// True if the object said so far where the next page begins.
    pub(super) fn is_continued(&self) -> bool {
        self.is_continued
    }

    pub(super) fn step(&mut self, byte: u8) -> Option<HeadEvent> {
        if self.in_string {
            let reading_key = self.depth == 1 && !self.in_value;
            match byte {
                _ if self.escaping => self.escaping = false,
                b'\\' => self.escaping = true,
                b'"' => {
                    self.in_string = false;
                    return None;
                }
                _ => {}
            }
            if reading_key && self.key.len() < KEY_BYTES_MAX {
                self.key.push(byte);
            }
            return None;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && !self.in_value {
                    self.key.clear();
                } else if self.depth <= 2 && self.in_value && CONTINUATIONS.contains(&&self.key[..]) {
                    // A text, or an object that has something in it; null and {} say that there is
                    // no next page.
                    self.is_continued = true;
                }
            }
            b':' if self.depth == 1 => self.in_value = true,
            b',' if self.depth == 1 => self.in_value = false,
            b'[' if self.depth == 1 && self.in_value && self.key == self.page.text() => return Some(HeadEvent::Value),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Some(HeadEvent::End);
                }
            }
            _ => {}
        }
        None
    }
}
