//! What a source file refers to: paths, macros, modules.

use crate::tokens::{Token, tokens};

/// Something found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// A path's parts; the one name of a macro or module.
    pub path: Vec<String>,
    pub line: usize,
    /// In code for tests.
    pub test: bool,
    /// The modules written out in the file that it is in.
    pub inside: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Imports, with groups taken apart, and paths in code.
    pub paths: Vec<Found>,
    pub macros: Vec<Found>,
    /// Modules that lie in files of their own.
    pub modules: Vec<Found>,
    pub keywords_unsafe: Vec<Found>,
}

/// Where code for tests ends, as the number of open brackets around it.
#[derive(Clone, Copy, PartialEq)]
enum TestCode {
    No,
    /// Behind the attribute, before the body.
    Begins(usize),
    Body(usize),
    File,
}

struct Scanner {
    tokens: Vec<(Token, usize)>,
    at: usize,
    open: usize,
    test: TestCode,
    inside: Vec<(String, usize)>,
    found: Scan,
}

pub(crate) fn scan(text: &str) -> Scan {
    let mut scanner = Scanner {
        tokens: tokens(text),
        at: 0,
        open: 0,
        test: TestCode::No,
        inside: Vec::new(),
        found: Scan::default(),
    };
    while scanner.at < scanner.tokens.len() {
        scanner.step();
    }
    scanner.found
}

impl Scanner {
    fn token(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|(token, _)| token)
    }

    fn ident(&self, ahead: usize) -> Option<String> {
        match self.token(ahead) {
            Some(Token::Ident(name)) => Some(name.clone()),
            _ => None,
        }
    }

    fn is(&self, ahead: usize, punct: char) -> bool {
        self.token(ahead) == Some(&Token::Punct(punct))
    }

    fn found(&self, path: Vec<String>) -> Found {
        let line = self.tokens.get(self.at).map_or(0, |(_, line)| *line);
        let inside = self.inside.iter().map(|(name, _)| name.clone()).collect();
        Found { path, line, test: self.test != TestCode::No, inside }
    }

    fn step(&mut self) {
        match self.token(0).cloned() {
            Some(Token::Punct(punct)) => self.punct(punct),
            Some(Token::Ident(name)) => self.word(&name),
            _ => self.at += 1,
        }
    }

    fn punct(&mut self, punct: char) {
        match punct {
            '#' if self.is(1, '[') || (self.is(1, '!') && self.is(2, '[')) => return self.attribute(),
            '(' | '[' | '{' => {
                if punct == '{' && self.test == TestCode::Begins(self.open) {
                    self.test = TestCode::Body(self.open);
                }
                self.open += 1;
            }
            ')' | ']' | '}' => {
                self.open = self.open.saturating_sub(1);
                let ended = match self.test {
                    TestCode::Body(open) => open == self.open,
                    TestCode::Begins(open) => open > self.open,
                    _ => false,
                };
                if ended {
                    self.test = TestCode::No;
                }
                self.inside.retain(|(_, open)| *open < self.open);
            }
            ';' if self.test == TestCode::Begins(self.open) => self.test = TestCode::No,
            _ => {}
        }
        self.at += 1;
    }

    /// Steps over an attribute and sees whether what follows is for tests.
    fn attribute(&mut self) {
        let inner = self.is(1, '!');
        self.at += if inner { 3 } else { 2 };
        let (mut depth, mut idents) = (1, Vec::new());
        while depth > 0 && self.at < self.tokens.len() {
            match self.token(0) {
                Some(Token::Punct('[')) => depth += 1,
                Some(Token::Punct(']')) => depth -= 1,
                Some(Token::Ident(name)) => idents.push(name.clone()),
                _ => {}
            }
            self.at += 1;
        }
        let has = |name: &str| idents.iter().any(|ident| ident == name);
        if idents.first().is_some_and(|name| name == "cfg") && has("test") && !has("not") {
            match self.test {
                _ if inner => self.test = TestCode::File,
                TestCode::No => self.test = TestCode::Begins(self.open),
                _ => {}
            }
        }
    }

    fn word(&mut self, name: &str) {
        match name {
            "unsafe" => {
                let found = self.found(vec![name.to_owned()]);
                self.found.keywords_unsafe.push(found);
                self.at += 1;
            }
            // `impl Trait + use<'a>` is no import.
            "use" if !self.is(1, '<') => {
                self.at += 1;
                self.use_tree(&[]);
            }
            "mod" if self.ident(1).is_some() => {
                let module = self.ident(1).unwrap_or_default();
                if self.is(2, ';') {
                    let found = self.found(vec![module]);
                    self.found.modules.push(found);
                } else {
                    self.inside.push((module, self.open));
                }
                self.at += 2;
            }
            _ => self.path(name),
        }
    }

    /// A path in code, or a macro call.
    fn path(&mut self, first: &str) {
        let mut found = self.found(vec![first.to_owned()]);
        self.at += 1;
        while self.token(0) == Some(&Token::PathSeparator) {
            let Some(next) = self.ident(1) else { break };
            found.path.push(next);
            self.at += 2;
        }
        // `a != b` is no call.
        if self.is(0, '!') && !self.is(1, '=') {
            let name = found.path.last().cloned().into_iter().collect();
            self.found.macros.push(Found { path: name, ..found.clone() });
        }
        if found.path.len() > 1 {
            self.found.paths.push(found);
        }
    }

    /// One tree of an import, up to before the comma, brace or semicolon behind it.
    fn use_tree(&mut self, prefix: &[String]) {
        let mut found = self.found(prefix.to_vec());
        loop {
            match self.token(0).cloned() {
                Some(Token::PathSeparator) => self.at += 1,
                Some(Token::Ident(name)) if name == "as" => self.at += 2,
                Some(Token::Ident(name)) => {
                    found.path.push(name);
                    self.at += 1;
                }
                Some(Token::Punct('*')) => {
                    found.path.push("*".to_owned());
                    self.at += 1;
                }
                Some(Token::Punct('{')) => {
                    self.at += 1;
                    while !self.is(0, '}') && self.at < self.tokens.len() {
                        self.use_tree(&found.path);
                        if self.is(0, ',') {
                            self.at += 1;
                        } else if !self.is(0, '}') {
                            break;
                        }
                    }
                    self.at += 1;
                    return;
                }
                _ => break,
            }
        }
        if found.path.last().is_some_and(|name| name == "self") && found.path.len() > 1 {
            found.path.pop();
        }
        self.found.paths.push(found);
    }
}

#[cfg(test)]
fn paths(text: &str) -> Vec<String> {
    scan(text).paths.into_iter().map(|found| format!("{}:{}", found.line, found.path.join("::"))).collect()
}

#[test]
fn groups_of_imports_are_taken_apart() {
    let text = "use crate::{a::X, b::{self, c::*, D as E}};\npub(crate) use ::std::{fs, io::Read};";
    let expected = ["1:crate::a::X", "1:crate::b", "1:crate::b::c::*", "1:crate::b::D", "2:std::fs", "2:std::io::Read"];
    assert_eq!(paths(text), expected);
}

#[test]
fn paths_in_code_are_found_and_docs_are_not() {
    let text = "/// [`crate::no`]\nfn f<T>() -> crate::a::X<crate::b::Y> { if x != y { super::z::<T>() } else { self.g.h() } }";
    assert_eq!(paths(text), ["2:crate::a::X", "2:crate::b::Y", "2:super::z"]);
    assert_eq!(paths("fn f() -> impl Iterator + use<'_> { x }"), [""; 0]);
    assert_eq!(paths("macro_rules! m { () => { $crate::a::b() } }"), ["1:crate::a::b"]);
}

#[test]
fn macros_are_found_by_their_last_name() {
    let found = scan("fn f() { println!(\"{}\", todo!()); std::eprintln![\"\"]; a != b }");
    let names: Vec<_> = found.macros.iter().map(|found| found.path.join("")).collect();
    assert_eq!(names, ["println", "todo", "eprintln"]);
}

#[test]
fn code_for_tests_is_told_apart() {
    let text = "use a::b;\n#[cfg(test)]\nmod generated;\nuse a::c;\n#[cfg(test)]\n#[allow(x)]\nfn t(x: [u8; 2]) { use a::d; }\n\
                use a::e;\n#[cfg(test)]\nmod tests { use a::f; fn g() { { } } use a::g; }\n#[cfg(not(test))]\nuse a::h;";
    let found = scan(text);
    let tests: Vec<_> = found.paths.iter().map(|found| (found.path[1].as_str(), found.test)).collect();
    assert_eq!(tests, [("b", false), ("c", false), ("d", true), ("e", false), ("f", true), ("g", true), ("h", false)]);
    assert_eq!(
        found.modules.iter().map(|found| (found.path[0].as_str(), found.test)).collect::<Vec<_>>(),
        [("generated", true)]
    );
    assert!(scan("#![cfg(test)]\nfn f() {}\nuse a::b;").paths[0].test);
}

#[test]
fn modules_written_out_are_known() {
    let found = scan("mod a { mod b { use super::super::x::y; } use super::z; } use super::w;");
    let inside: Vec<_> = found.paths.iter().map(|found| found.inside.join("::")).collect();
    assert_eq!(inside, ["a::b", "a", ""]);
}

#[test]
fn the_keyword_unsafe_is_found_and_the_lint_is_not() {
    assert_eq!(scan("#![forbid(unsafe_code)]\nfn f() { unsafe { x() } }").keywords_unsafe[0].line, 2);
    assert!(scan("#![forbid(unsafe_code)]\nfn f() { \"unsafe\" }").keywords_unsafe.is_empty());
}
