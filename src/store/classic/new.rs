//! A new CDF-5 file without records, whose values are written in the order in which its variables are announced.
//!
//! In: dimensions, attributes and variables. Out: the header as bytes, behind which the values of every variable stand,
//! each filled up to a multiple of four bytes. Nothing is written here, so that files too large for memory can be
//! written part by part.

use super::Kind;

/// An attribute.
#[derive(Clone, Debug)]
pub(in crate::store) enum NewValue {
    Text(String),
    Double(f64),
    Int(i32),
    Ints(Vec<i32>),
    Bytes(Vec<i8>),
}

impl From<&str> for NewValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for NewValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A variable. Its values are written by whoever writes the file.
#[derive(Clone, Debug)]
pub(in crate::store) struct NewVariable {
    name: String,
    kind: Kind,
    /// Numbers of its dimensions.
    dimensions: Vec<usize>,
    attributes: Vec<(String, NewValue)>,
}

impl NewVariable {
    /// Adds an attribute.
    pub(in crate::store) fn with(&mut self, name: &str, value: impl Into<NewValue>) -> &mut Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }
}

/// A file to be written.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct NewFile {
    dimensions: Vec<(String, u64)>,
    attributes: Vec<(String, NewValue)>,
    variables: Vec<NewVariable>,
}

impl NewFile {
    /// Adds a dimension, which must not be empty: that would be the one of records. Its number.
    pub(in crate::store) fn dimension(&mut self, name: &str, length: usize) -> usize {
        debug_assert!(length > 0, "{name}");
        self.dimensions.push((name.to_owned(), length as u64));
        self.dimensions.len() - 1
    }

    /// Adds a global attribute.
    pub(in crate::store) fn attribute(&mut self, name: &str, value: impl Into<NewValue>) {
        self.attributes.push((name.to_owned(), value.into()));
    }

    /// Adds a variable, of which the values have to be written next.
    pub(in crate::store) fn variable(&mut self, name: &str, kind: Kind, dimensions: &[usize]) -> &mut NewVariable {
        let dimensions = dimensions.to_vec();
        self.variables.push(NewVariable { name: name.to_owned(), kind, dimensions, attributes: Vec::new() });
        let last = self.variables.len() - 1;
        &mut self.variables[last]
    }

    /// The header. Behind it the values of the variables follow in their order.
    pub(in crate::store) fn header(&self) -> Vec<u8> {
        // Offsets have a width of their own, so that the header is as long whatever they are.
        let mut begin = self.header_from(0).len() as u64;
        begin = begin.next_multiple_of(4);
        self.header_from(begin)
    }

    fn header_from(&self, mut begin: u64) -> Vec<u8> {
        let mut out = Bytes(b"CDF\x05".to_vec());
        out.count(0);
        out.list(10, &self.dimensions, |out, (name, length)| {
            out.text(name);
            out.count(*length);
        });
        out.attributes(&self.attributes);
        out.list(11, &self.variables, |out, variable| {
            out.text(&variable.name);
            out.count(variable.dimensions.len() as u64);
            variable.dimensions.iter().for_each(|id| out.count(*id as u64));
            out.attributes(&variable.attributes);
            out.0.extend(variable.kind.number().to_be_bytes());
            let items: u64 = variable.dimensions.iter().map(|id| self.dimensions[*id].1).product();
            let bytes = (items * variable.kind.size() as u64).next_multiple_of(4);
            out.count(bytes);
            out.count(begin);
            begin += bytes;
        });
        out.0
    }
}

/// A header in writing.
struct Bytes(Vec<u8>);

impl Bytes {
    fn count(&mut self, count: u64) {
        self.0.extend(count.to_be_bytes());
    }

    fn fill(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    fn text(&mut self, text: &str) {
        self.count(text.len() as u64);
        self.0.extend(text.bytes());
        self.fill();
    }

    fn list<T>(&mut self, tag: u32, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.0.extend(if items.is_empty() { 0 } else { tag }.to_be_bytes());
        self.count(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }

    fn attributes(&mut self, attributes: &[(String, NewValue)]) {
        self.list(12, attributes, |out, (name, value)| {
            out.text(name);
            let (kind, count, bytes) = match value {
                NewValue::Double(value) => (Kind::Double, 1, value.to_be_bytes().to_vec()),
                NewValue::Int(value) => (Kind::Int, 1, value.to_be_bytes().to_vec()),
                NewValue::Ints(values) => {
                    (Kind::Int, values.len(), values.iter().flat_map(|value| value.to_be_bytes()).collect())
                }
                NewValue::Bytes(values) => {
                    (Kind::Byte, values.len(), values.iter().map(|value| *value as u8).collect())
                }
                NewValue::Text(text) => (Kind::Char, text.len(), text.clone().into_bytes()),
            };
            out.0.extend(kind.number().to_be_bytes());
            out.count(count as u64);
            out.0.extend(bytes);
            out.fill();
        });
    }
}
