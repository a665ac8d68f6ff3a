//! Tokens of the DOT language: text in, tokens with their lines out. What they mean together is the parser's.

use super::TopologyError;

pub(super) fn wrong<T>(line: usize, reason: impl Into<String>) -> Result<T, TopologyError> {
    Err(TopologyError::Line { line, reason: reason.into() })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name without quotes, which may be a keyword.
    Word(String),
    /// A name in quotes, a number, or HTML.
    Name(String),
    /// `--` or `->`.
    Edge,
    /// One of `{}[]=;,:`.
    Sign(char),
}

impl Token {
    pub fn is_word(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Word(text) | Self::Name(text) => format!("`{text}`"),
            Self::Edge => "an edge (`--` or `->`)".to_owned(),
            Self::Sign(sign) => format!("`{sign}`"),
        }
    }
}

/// Cuts a text into tokens.
pub(super) struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { rest: text, line: 1 }
    }

    /// Takes the first `length` bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Up to the end of the line.
    fn skip_line(&mut self) {
        self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
    }

    /// Blanks and comments. A line that begins with `#` is one: a preprocessor's.
    fn skip(&mut self) -> Result<(), TopologyError> {
        loop {
            let blank =
                self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            if blank > 0 {
                self.take(blank);
            } else if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.skip_line();
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest[2..].find("*/") else {
                    return wrong(self.line, "the comment that begins here has no end: close it with `*/`");
                };
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    /// The next token with its line.
    pub fn next(&mut self) -> Result<Option<(usize, Token)>, TopologyError> {
        self.skip()?;
        let line = self.line;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
        let token = match first {
            '"' => self.quoted()?,
            '<' => self.html()?,
            '-' if self.rest.starts_with("--") || self.rest.starts_with("->") => {
                self.take(2);
                Token::Edge
            }
            '{' | '}' | '[' | ']' | '=' | ';' | ',' | ':' => {
                self.take(1);
                Token::Sign(first)
            }
            _ if is_letter(first) => {
                let end = self.rest.find(|c: char| !is_letter(c) && !c.is_ascii_digit()).unwrap_or(self.rest.len());
                let text = self.take(end);
                let is_edge = self.rest.starts_with("--") || self.rest.starts_with("->");
                if self.rest.starts_with(['.', '-']) && !is_edge {
                    return self.unquoted(line, text);
                }
                Token::Word(text.to_owned())
            }
            '0'..='9' | '.' | '-' => {
                let is_part = |(place, c): (usize, char)| is_letter(c) || c.is_ascii_digit() || c == '.' || place == 0;
                let end = self.rest.char_indices().find(|at| !is_part(*at)).map_or(self.rest.len(), |(place, _)| place);
                let text = self.take(end);
                if text.parse::<f64>().is_err() || text.contains(is_letter) {
                    return self.unquoted(line, text);
                }
                Token::Name(text.to_owned())
            }
            _ => {
                return wrong(
                    line,
                    format!(
                        "`{first}` does not belong here: names with other characters than letters, digits and _ need quotes"
                    ),
                );
            }
        };
        Ok(Some((line, token)))
    }

    /// A name that goes on with what may not stand in one: Graphviz would make two names of `n.1` and of `10.0.0.1`,
    /// which nobody means.
    fn unquoted<T>(&mut self, line: usize, begin: &str) -> Result<T, TopologyError> {
        let is_end = |c: char| c.is_whitespace() || "{}[]=;,:\"<>".contains(c);
        let text = format!("{begin}{}", self.take(self.rest.find(is_end).unwrap_or(self.rest.len())));
        wrong(line, format!("`{text}` is no name without quotes: write \"{text}\""))
    }

    /// A name in quotes, with those that `+` appends to it.
    fn quoted(&mut self) -> Result<Token, TopologyError> {
        let mut name = String::new();
        loop {
            let line = self.line;
            let mut is_escaped = false;
            let end = self.rest.char_indices().skip(1).find(|(_, c)| {
                let is_end = *c == '"' && !is_escaped;
                is_escaped = *c == '\\' && !is_escaped;
                is_end
            });
            let Some((end, _)) = end else {
                return wrong(line, "the name that begins here has no end: close it with a quote");
            };
            let text = self.take(end + 1);
            // A quote is all that needs the backslash; at the end of a line it joins lines; others are Graphviz's own.
            name += &text[1..end].replace("\\\r\n", "").replace("\\\n", "").replace("\\\"", "\"");
            self.skip()?;
            if !self.rest.starts_with('+') {
                return Ok(Token::Name(name));
            }
            self.take(1);
            self.skip()?;
            if !self.rest.starts_with('"') {
                return wrong(self.line, "`+` joins names in quotes, and there is none behind it");
            }
        }
    }

    /// Between brackets that may be nested.
    fn html(&mut self) -> Result<Token, TopologyError> {
        let mut depth = 0usize;
        for (place, c) in self.rest.char_indices() {
            match c {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let text = self.take(place + 1);
                return Ok(Token::Name(text[1..place].to_owned()));
            }
        }
        wrong(self.line, "the HTML that begins here has no end: every `<` needs its `>`")
    }
}
