//! Small XML documents as trees.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::errors::Failure;
use crate::reply::BYTE_ORDER_MARK;

/// Elements within each other; documents of the service have five.
const DEPTH_MAX: usize = 16;
/// Elements of a document; five CORS rules and all the rest are far fewer.
const ELEMENTS_MAX: usize = 2000;

/// An element: its text and its children, each without their attributes and name spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub name: String,
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// Reads the root of a document.
    pub(super) fn parse(document: &[u8]) -> Result<Self, Failure> {
        let text = std::str::from_utf8(document).map_err(|_| not_valid())?;
        let mut reader = Reader::from_str(text.trim_start_matches(BYTE_ORDER_MARK));
        let mut open: Vec<Element> = Vec::new();
        let (mut root, mut elements) = (None, 0);
        loop {
            let closed = match reader.read_event().map_err(|_| not_valid())? {
                Event::Start(start) => {
                    elements += 1;
                    if open.len() == DEPTH_MAX || elements > ELEMENTS_MAX || root.is_some() {
                        return Err(not_valid());
                    }
                    open.push(named(&start)?);
                    None
                }
                Event::Empty(start) => {
                    elements += 1;
                    if elements > ELEMENTS_MAX || root.is_some() {
                        return Err(not_valid());
                    }
                    Some(named(&start)?)
                }
                // The reader has checked that it ends the last one.
                Event::End(_) => Some(open.pop().ok_or_else(not_valid)?),
                Event::Text(part) => {
                    let part = part.decode().map_err(|_| not_valid())?;
                    match open.last_mut() {
                        Some(element) => element.text.push_str(&part),
                        None if part.trim().is_empty() => {}
                        None => return Err(not_valid()),
                    }
                    None
                }
                Event::CData(part) => {
                    let part = part.decode().map_err(|_| not_valid())?;
                    open.last_mut().ok_or_else(not_valid)?.text.push_str(&part);
                    None
                }
                Event::GeneralRef(reference) => {
                    let element = open.last_mut().ok_or_else(not_valid)?;
                    match reference.resolve_char_ref().map_err(|_| not_valid())? {
                        Some(character) => element.text.push(character),
                        None => {
                            let name = reference.decode().map_err(|_| not_valid())?;
                            element.text.push_str(resolve_predefined_entity(&name).ok_or_else(not_valid)?);
                        }
                    }
                    None
                }
                Event::Decl(_) | Event::Comment(_) | Event::PI(_) => None,
                // Entities of its own are how small documents become large.
                Event::DocType(_) => return Err(not_valid()),
                Event::Eof => break,
            };
            if let Some(element) = closed {
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => root = Some(element),
                }
            }
        }
        if !open.is_empty() {
            return Err(not_valid());
        }
        root.ok_or_else(not_valid)
    }

    pub(super) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of a child, without the blanks around it; none where it is empty.
    pub(super) fn child_text(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim()).filter(|text| !text.is_empty())
    }
}

fn named(start: &BytesStart<'_>) -> Result<Element, Failure> {
    let name = std::str::from_utf8(start.local_name().into_inner()).map_err(|_| not_valid())?.to_owned();
    Ok(Element { name, ..Element::default() })
}

/// What is not XML, or not the document that is wanted.
pub(super) fn not_valid() -> Failure {
    Failure::new(400, "InvalidXmlDocument", "XML specified is not syntactically valid.")
}

/// A value that an element cannot have.
pub(super) fn bad_value(element: &str) -> Failure {
    let text = format!(
        "The value provided for one of the XML nodes in the request body was not in the correct format: {element}."
    );
    Failure::new(400, "InvalidXmlNodeValue", text)
}

/// A text as it stands in an element.
pub(super) fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_become_trees() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\n<a:r xmlns:a=\"x\"><b>1 &amp; &#x32;<!-- no --></b><c/><b><![CDATA[<>]]></b></a:r>\n";
        let root = Element::parse(text.as_bytes()).unwrap();
        assert_eq!((root.name.as_str(), root.children.len()), ("r", 3));
        assert_eq!((root.child_text("b"), root.child_text("c"), root.child_text("d")), (Some("1 & 2"), None, None));
        assert_eq!(root.children[2].text, "<>");
        assert_eq!(escaped("<a> & 'b'"), "&lt;a&gt; &amp; &apos;b&apos;");
    }

    #[test]
    fn what_is_no_document_is_refused() {
        let deep = "<a>".repeat(100_000);
        let many = format!("<a>{}</a>", "<b/>".repeat(5000));
        let bomb = "<!DOCTYPE a [<!ENTITY x \"yy\">]><a>&x;</a>";
        for bad in [
            "",
            "x",
            "<a>",
            "<a></b>",
            "</a>",
            "<a/><a/>",
            "<a>&none;</a>",
            "<a/>x",
            &deep,
            &many,
            bomb,
            "<a><b></a></b>",
        ] {
            let shown: String = bad.chars().take(40).collect();
            assert_eq!(
                Element::parse(bad.as_bytes()).map_err(|error| error.code()),
                Err("InvalidXmlDocument"),
                "{shown}"
            );
        }
        assert!(Element::parse(b"<a>\xff</a>").is_err());
    }
}
