//! Aligned columns of text.

use std::io::{self, Write};

/// Rows of a table, to be written with columns as wide as their widest entry.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Numbers of the columns that are aligned to the left; the others have their units below each other on the right.
    left: Vec<usize>,
}

impl Table {
    /// With these headings.
    pub fn new<S: Into<String>>(headings: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![headings.into_iter().map(Into::into).collect()], left: Vec::new() }
    }

    /// Aligns a column to the left.
    pub fn left(mut self, column: usize) -> Self {
        self.left.push(column);
        self
    }

    /// Appends a row.
    pub fn push<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }

    /// Writes all rows, each after `indent` and without spaces at its end.
    pub fn write(&self, indent: &str, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|entry| entry.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (column, entry) in row.iter().enumerate() {
                let width = widths[column];
                let gap = if column == 0 { "" } else { "  " };
                line += &match self.left.contains(&column) {
                    true => format!("{gap}{entry:<width$}"),
                    false => format!("{gap}{entry:>width$}"),
                };
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let mut table = Table::new(["length", "host", "time"]).left(1);
        table.push(["64K", "node001", "1 us"]);
        table.push(["1", "a", "100 us"]);
        let mut text = Vec::new();
        table.write(" ", &mut text).unwrap();
        let expected = " length  host       time\n    64K  node001    1 us\n      1  a        100 us\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
