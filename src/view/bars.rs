//! A table with a bar behind each row: one row or column of a matrix, or one pair over all lengths.

use std::io::{self, Write};

use super::{Colours, Scale, ScaleKind, Table};

/// Columns of the longest bar.
const LONGEST: usize = 30;

/// Rows of a table, with a value each that is drawn as a bar.
#[derive(Clone, Debug)]
pub struct Bars {
    table: Table,
    rows: Vec<(Vec<String>, f64)>,
}

impl Bars {
    /// Of an empty table with its headings.
    pub fn new(table: Table) -> Self {
        Self { table, rows: Vec::new() }
    }

    /// Appends a row. A value that is NaN or not positive has no bar.
    pub fn push<S: Into<String>>(&mut self, row: impl IntoIterator<Item = S>, value: f64) {
        self.rows.push((row.into_iter().map(Into::into).collect(), value));
    }

    /// Writes the table. Bars begin at 0: twice the value is twice the length.
    pub fn write(&self, colours: Colours, out: &mut dyn Write) -> io::Result<()> {
        let longest = self.rows.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        let scale = Scale::between(0.0, longest, ScaleKind::Linear);
        let ink = if colours == Colours::None { "#" } else { "█" };
        let mut table = self.table.clone();
        for (row, value) in &self.rows {
            let bar = ink.repeat((scale.place(*value) * LONGEST as f64).round() as usize);
            table.push(row.iter().cloned().chain([bar]));
        }
        table.write("  ", out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_begin_at_zero() {
        let mut bars = Bars::new(Table::new(["host", "time"]).left(0).left(2));
        bars.push(["a", "1"], 1.0);
        bars.push(["bb", "3"], 3.0);
        bars.push(["c", "missing"], f64::NAN);
        let mut text = Vec::new();
        bars.write(Colours::None, &mut text).unwrap();
        let expected = format!(
            "  host     time\n  a           1  {}\n  bb          3  {}\n  c     missing\n",
            "#".repeat(10),
            "#".repeat(30)
        );
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
