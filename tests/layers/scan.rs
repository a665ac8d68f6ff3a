//! Rust source to the paths that it mentions. Works on tokens, so that comments and strings cannot mislead it and the
//! arguments of macros are seen like any other code.
//!
//! A path is made absolute: `crate`, `self` and `super` are resolved, and names that the file has imported are replaced
//! by what they stand for. It knows no types: a method is seen by its name alone.

use std::collections::HashMap;

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// What kind of thing a [`Mention`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A path, in a `use` or in code.
    Path,
    /// Everything below a path: `use a::*`.
    Glob,
    /// A macro: the last segment ends in `!`.
    Macro,
    /// A method: one segment, which begins with a dot.
    Method,
    /// The keyword, or an attribute that allows it.
    Unsafe,
    /// `unsafe impl NcTypeDescriptor for`, and the attribute that expects it.
    CharType,
    /// `mod tests;` that is compiled into the program.
    OpenTests,
}

/// Something that a source file uses.
#[derive(Clone, Debug)]
pub struct Mention {
    /// Segments of the absolute path.
    pub path: Vec<String>,
    pub kind: Kind,
    /// Line in the file, from 1.
    pub line: usize,
    /// In code that is compiled for tests only.
    pub test: bool,
}

impl Mention {
    /// The path as it is written, or the bare name of a macro.
    pub fn name(&self) -> String {
        match self.kind {
            Kind::Macro => self.path.last().cloned().unwrap_or_default(),
            _ => self.path.join("::"),
        }
    }
}

/// Module of a file, given as a path below src/, with its crate as the first segment.
pub fn module_of(file: &str) -> Vec<String> {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    let library = format!("netmatrix/{path}");
    let segments = path.strip_prefix("bin/").unwrap_or(&library).split('/');
    let mut module: Vec<String> = segments.map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// Everything that `source` mentions as the content of `file`. Files called tests.rs are test code.
pub fn mentions(file: &str, source: &str) -> Result<Vec<Mention>, LexError> {
    let tokens: TokenStream = source.parse()?;
    let test = file.ends_with("/tests.rs") || file.contains("/tests/");
    let mut scanner = Scanner { mentions: vec![], imported: HashMap::new() };
    scanner.walk(tokens, &Place { module: module_of(file), test });
    let Scanner { mut mentions, imported } = scanner;
    for mention in &mut mentions {
        // Twice: an imported name may itself have been imported under a name that the file has imported.
        for _ in 0..2 {
            if let (true, Some(original)) = (mention.path.len() > 1, imported.get(&mention.path[0])) {
                mention.path.splice(..1, original.iter().cloned());
            }
        }
    }
    Ok(mentions)
}

/// Where in the file the scanner is.
#[derive(Clone)]
struct Place {
    module: Vec<String>,
    test: bool,
}

struct Scanner {
    mentions: Vec<Mention>,
    /// Names that the file has imported, with what they stand for. One table for the whole file.
    imported: HashMap<String, Vec<String>>,
}

/// Tokens from some place on.
type Tokens<'a> = &'a [TokenTree];

impl Scanner {
    fn walk(&mut self, tokens: TokenStream, place: &Place) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = &tokens[..];
        // The attributes so far make the item that follows test code.
        let mut for_tests = false;
        while !rest.is_empty() {
            let here = Place { test: place.test || for_tests, ..place.clone() };
            let used = self.step(rest, &here, &mut for_tests);
            // An item ends with a semicolon or with its braces, a field with a comma.
            let last = &rest[used - 1];
            if is_punct(last, ';') || is_punct(last, ',') || group(Some(last), Delimiter::Brace).is_some() {
                for_tests = false;
            }
            rest = &rest[used..];
        }
    }

    /// Takes in what `tokens` begin with and returns how many of them that was.
    fn step(&mut self, tokens: Tokens, place: &Place, for_tests: &mut bool) -> usize {
        if let Some((used, attribute)) = attribute(tokens) {
            *for_tests |= without_spaces(&attribute.stream()) == "cfg(test)";
            self.attribute(attribute, place);
            return used;
        }
        match word(tokens.first()).as_deref() {
            Some("use") => self.import(tokens, place),
            Some("mod") => self.module(tokens, place),
            Some("unsafe") => self.unsafe_keyword(tokens, place),
            Some("extern") if word(tokens.get(1)).as_deref() == Some("crate") => {
                let name = word(tokens.get(2)).unwrap_or_default();
                self.add(vec![name], Kind::Path, &tokens[0], place);
                3
            }
            _ => self.code(tokens, place),
        }
    }

    fn attribute(&mut self, attribute: &Group, place: &Place) {
        let text = without_spaces(&attribute.stream());
        if text.contains("unsafe_code") && !text.starts_with("deny(") && !text.starts_with("forbid(") {
            let kind = if text.starts_with("expect(unsafe_code,") || text == "expect(unsafe_code)" {
                Kind::CharType
            } else {
                Kind::Unsafe
            };
            self.add_token(kind, &TokenTree::Group(attribute.clone()), place);
        }
        self.walk(attribute.stream(), place);
    }

    /// `mod name { ... }` or `mod name;`
    fn module(&mut self, tokens: Tokens, place: &Place) -> usize {
        let Some(name) = word(tokens.get(1)) else { return 1 };
        if let Some(body) = group(tokens.get(2), Delimiter::Brace) {
            let module = place.module.iter().cloned().chain([name]).collect();
            self.walk(body.stream(), &Place { module, test: place.test });
        } else if name == "tests" && !place.test {
            self.add_token(Kind::OpenTests, &tokens[0], place);
        }
        3.min(tokens.len())
    }

    fn unsafe_keyword(&mut self, tokens: Tokens, place: &Place) -> usize {
        let words: Vec<String> = tokens
            .iter()
            .take_while(|token| !matches!(token, TokenTree::Group(_)))
            .filter_map(|token| word(Some(token)))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let kind = match words[..] {
            ["unsafe", "impl", .., "NcTypeDescriptor", "for", _] => Kind::CharType,
            _ => Kind::Unsafe,
        };
        self.add_token(kind, &tokens[0], place);
        1
    }

    /// `use tree;`
    fn import(&mut self, tokens: Tokens, place: &Place) -> usize {
        let length = tokens.iter().position(|token| is_punct(token, ';')).unwrap_or(tokens.len() - 1);
        // In `impl Trait + use<'a>` nothing is imported.
        if !tokens.get(1).is_some_and(|token| is_punct(token, '<')) {
            self.tree(&tokens[1..length], &[], place);
            return length + 1;
        }
        1
    }

    /// Everything that a use tree imports, below `prefix` (as it is written).
    fn tree(&mut self, tokens: Tokens, prefix: &[String], place: &Place) {
        let mut path = prefix.to_vec();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some(branches) = group(Some(token), Delimiter::Brace) {
                let branches: Vec<TokenTree> = branches.stream().into_iter().collect();
                for branch in branches.split(|token| is_punct(token, ',')).filter(|branch| !branch.is_empty()) {
                    self.tree(branch, &path, place);
                }
                return;
            }
            match word(Some(token)).as_deref() {
                Some("as") => break,
                Some("self") if !path.is_empty() => {}
                Some(segment) => path.push(segment.to_owned()),
                None if is_punct(token, '*') => {
                    let path = absolute(&path, place);
                    return self.add(path, Kind::Glob, token, place);
                }
                None => {}
            }
            at += 1;
        }
        let name = word(tokens.get(at + 1)).or_else(|| path.last().cloned());
        let path = absolute(&path, place);
        if let Some(name) = name.filter(|name| path.len() > 1 || path.first() != Some(name)) {
            self.imported.insert(name, path.clone());
        }
        self.add(path, Kind::Path, &tokens[0], place);
    }

    /// A path, a macro, a method, a group, or a token that means nothing here.
    fn code(&mut self, tokens: Tokens, place: &Place) -> usize {
        if let TokenTree::Group(group) = &tokens[0] {
            self.walk(group.stream(), place);
            return 1;
        }
        if is_punct(&tokens[0], '.')
            && group(tokens.get(2), Delimiter::Parenthesis).is_some()
            && let Some(method) = word(tokens.get(1))
        {
            self.add(vec![format!(".{method}")], Kind::Method, &tokens[0], place);
            return 2;
        }
        let Some(first) = word(tokens.first()) else { return 1 };
        let (mut path, mut used) = (vec![first], 1);
        while let (true, Some(segment)) = (is_colons(&tokens[used..]), word(tokens.get(used + 2))) {
            path.push(segment);
            used += 3;
        }
        let is_macro = tokens.get(used).is_some_and(|token| is_punct(token, '!'))
            && tokens.get(used + 1).is_some_and(|token| matches!(token, TokenTree::Group(_)));
        if path.len() > 1 {
            self.add(absolute(&path, place), Kind::Path, &tokens[0], place);
        }
        if let (true, Some(last)) = (is_macro, path.last_mut()) {
            last.push('!');
            self.add(path, Kind::Macro, &tokens[0], place);
        }
        used
    }

    fn add(&mut self, path: Vec<String>, kind: Kind, token: &TokenTree, place: &Place) {
        self.mentions.push(Mention { path, kind, line: token.span().start().line, test: place.test });
    }

    /// Something that is no path but deserves a word.
    fn add_token(&mut self, kind: Kind, token: &TokenTree, place: &Place) {
        self.add(vec!["-".to_owned()], kind, token, place);
    }
}

/// Resolves `crate`, `self` and `super` at the beginning of a path.
fn absolute(path: &[String], place: &Place) -> Vec<String> {
    let mut base = match path.first().map(String::as_str) {
        Some("crate") => vec![place.module[0].clone()],
        Some("self" | "super") => place.module.clone(),
        _ => return path.to_vec(),
    };
    for (position, segment) in path.iter().enumerate() {
        match (position, segment.as_str()) {
            (0, "crate" | "self") => {}
            (_, "super") => drop(base.pop()),
            _ => base.push(segment.clone()),
        }
    }
    base
}

fn attribute(tokens: &[TokenTree]) -> Option<(usize, &Group)> {
    let inner = tokens.get(1).is_some_and(|token| is_punct(token, '!'));
    let at = if inner { 2 } else { 1 };
    let body = group(tokens.get(at), Delimiter::Bracket)?;
    is_punct(&tokens[0], '#').then_some((at + 1, body))
}

fn group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<&Group> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}

fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string().trim_start_matches("r#").to_owned()),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn is_colons(tokens: Tokens) -> bool {
    tokens.len() > 1 && is_punct(&tokens[0], ':') && is_punct(&tokens[1], ':')
}

fn without_spaces(tokens: &TokenStream) -> String {
    tokens.to_string().split_whitespace().collect()
}
