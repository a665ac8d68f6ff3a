//! The table of fields: what stands in the header of a variable, said once for every kind of file.
//!
//! In: what a run is. Out: [`Field`]s, which are defined in files of a result set ([`Field::define`]) and announced in
//! files that are written as a whole ([`Field::announce`]): one file of all statistics, archives, operations. Values are
//! written by whoever has them; those of cells are encoded by [`Statistic`] and [`Companion`], whose names are the columns
//! of CSV and the tables of text as well.

use std::borrow::Cow;

use netcdf::{
    AttributeValue, FileMut,
    types::{FloatType, IntType, NcVariableType},
};

use super::{
    classic::{Kind, NewFile, NewValue, NewVariable},
    companion::Companion,
    schema::*,
};
use crate::{
    plan::{Mode, Partners},
    record::{Header, State, Statistic},
};

type Text = Cow<'static, str>;

/// A variable: name, type, unit and what it says. Dimensions are those of its file.
#[derive(Clone, Debug)]
pub(super) struct Field {
    name: Text,
    kind: Kind,
    unit: Text,
    long_name: Text,
    description: Text,
    /// What its numbers stand for.
    flags: Option<(Vec<i32>, String)>,
    /// What stands where nothing is.
    fill: Option<Fill>,
    /// Further attributes.
    more: Vec<(&'static str, String)>,
    /// The value itself where the type is too narrow for it.
    exact: Option<String>,
}

#[derive(Clone, Copy, Debug)]
enum Fill {
    Nan,
    Int(i32),
}

impl Field {
    /// A variable; of [`Kind::Char`]: a text, which has no unit.
    pub(super) fn new(
        name: impl Into<Text>,
        kind: Kind,
        unit: impl Into<Text>,
        [long_name, description]: [Text; 2],
    ) -> Self {
        let (name, unit) = (name.into(), unit.into());
        Self { name, kind, unit, long_name, description, flags: None, fill: None, more: Vec::new(), exact: None }
    }

    /// NaN means that nothing is there.
    pub(super) fn filled(self) -> Self {
        Self { fill: Some(Fill::Nan), ..self }
    }

    /// This number means that nothing is there.
    pub(super) fn filled_with(self, number: i32) -> Self {
        Self { fill: Some(Fill::Int(number)), ..self }
    }

    /// A further attribute.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.more.push((name, value.into()));
        self
    }

    fn flagged<'a>(self, numbers: impl Iterator<Item = i32>, names: impl Iterator<Item = &'a str>) -> Self {
        Self { flags: Some((numbers.collect(), names.collect::<Vec<_>>().join(" "))), ..self }
    }

    /// Of all files: message lengths. `place`: `length[n]`, or nothing where it is its own dimension.
    pub(super) fn length(kind: Kind, description: &'static str) -> Self {
        Self::new(LENGTH, kind, "byte", ["message length".into(), description.into()])
    }

    /// Of all files: host names.
    pub(super) fn host() -> Self {
        let texts = ["host of every rank", "host[rank]; the same for rows (x) and columns (y)"];
        Self::new(HOST, Kind::Char, "", texts.map(Cow::from))
    }

    /// [`SOURCE`] or [`DESTINATION`]: what a row or a column belongs to.
    pub(super) fn label(name: &'static str) -> Self {
        let rows = ["who sends, or begins: the rank of a row", "who receives: the rank of a column"];
        let description = "a host, or host:0 for the first rank of a host with several";
        Self::new(name, Kind::Char, "", [rows[usize::from(name == DESTINATION)].into(), description.into()])
    }

    /// [`PARTNER`].
    pub(super) fn partner() -> Self {
        let description = "partner[k][x]: the rank y of the cell (x, y) that data[n][k][x] holds; -1: rank x sits out, and \
                           the cell means nothing. All other pairs were not scheduled: they have no cell, and a matrix \
                           data[n][x][y] has NaN there and 0 at (x, x)";
        Self::new(PARTNER, Kind::Int, "1", ["whom every rank meets".into(), description.into()])
    }

    /// [`DATA`] of a file of one statistic, over these dimensions.
    pub(super) fn data(header: &Header, statistic: Statistic, cells: [&str; 3]) -> Self {
        let [place, to] =
            if cells[1] == K { ["data[n][k][x]", "rank partner[k][x]"] } else { ["data[n][x][y]", "rank y"] };
        let meaning = statistic.meaning();
        let texts = [
            format!("{}: {}", statistic.name(), header.mode.meaning()),
            format!("{place}: {meaning}, from rank x to {to}, at message length length[n]; NaN: missing"),
        ];
        let field = Self::new(DATA, Kind::Double, statistic.unit(), texts.map(Cow::from)).filled();
        field.with("coordinates", coordinates(cells))
    }

    /// A statistic by its own name, where all are in one file.
    pub(super) fn statistic(header: &Header, statistic: Statistic) -> Self {
        let description = format!("{}, from source to destination; NaN: missing", header.mode.meaning());
        let texts = [statistic.meaning().into(), description.into()];
        Self::new(statistic.name(), Kind::Double, statistic.unit(), texts).filled()
    }

    /// What stands next to the statistics of a cell. `kind`: the type that its numbers have in this file; `cells`: its
    /// dimensions where they have no labels of their own.
    pub(super) fn companion(companion: Companion, kind: Kind, cells: Option<[&str; 3]>) -> Self {
        let description = "of the cell at the same place, whatever the statistic";
        let texts = [companion.meaning(), description].map(Cow::from);
        let field = Self::new(companion.name(), kind, companion.unit(), texts);
        let field = match cells {
            Some(cells) => field.with("coordinates", coordinates(cells)),
            None => field,
        };
        if companion != Companion::State {
            return field;
        }
        field.flagged(State::all().map(|state| state.id().into()), State::all().map(State::name))
    }

    /// Adds the variable to a file of a result set.
    pub(super) fn define(&self, file: &mut FileMut, dimensions: &[&str]) -> netcdf::Result<()> {
        let kind = match self.kind {
            Kind::Byte => NcVariableType::Int(IntType::I8),
            Kind::Char => NcVariableType::Char,
            Kind::Short => NcVariableType::Int(IntType::I16),
            Kind::Int => NcVariableType::Int(IntType::I32),
            Kind::Float => NcVariableType::Float(FloatType::F32),
            Kind::Double => NcVariableType::Float(FloatType::F64),
            Kind::UByte => NcVariableType::Int(IntType::U8),
            Kind::UShort => NcVariableType::Int(IntType::U16),
            Kind::UInt => NcVariableType::Int(IntType::U32),
            Kind::Int64 => NcVariableType::Int(IntType::I64),
            Kind::UInt64 => NcVariableType::Int(IntType::U64),
        };
        let mut variable = file.add_variable_with_type(&self.name, dimensions, &kind)?;
        for (name, value) in self.attributes() {
            let value = match value {
                NewValue::Text(text) => AttributeValue::Str(text),
                NewValue::Double(number) => AttributeValue::Double(number),
                NewValue::Int(number) => AttributeValue::Int(number),
                NewValue::Ints(numbers) => AttributeValue::Ints(numbers),
                NewValue::Bytes(numbers) => AttributeValue::Schars(numbers),
            };
            variable.put_attribute(name, value)?;
        }
        Ok(())
    }

    /// Adds the variable to a file that is written as a whole: its values come next.
    pub(super) fn announce<'a>(&self, file: &'a mut NewFile, dimensions: &[usize]) -> &'a mut NewVariable {
        let variable = file.variable(&self.name, self.kind, dimensions);
        for (name, value) in self.attributes() {
            variable.with(name, value);
        }
        variable
    }

    fn attributes(&self) -> Vec<(&'static str, NewValue)> {
        let text = |text: &Text| NewValue::Text(text.clone().into_owned());
        let mut all = vec![("long_name", text(&self.long_name))];
        all.push(if self.kind == Kind::Char { ("_Encoding", "utf-8".into()) } else { ("units", text(&self.unit)) });
        all.push(("description", text(&self.description)));
        all.extend(self.exact.clone().map(|value| (EXACT, value.into())));
        if let Some((numbers, names)) = &self.flags {
            // Flags have the type of the variable.
            let numbers = match self.kind {
                Kind::Byte => NewValue::Bytes(numbers.iter().map(|number| *number as i8).collect()),
                _ => NewValue::Ints(numbers.clone()),
            };
            all.extend([("flag_values", numbers), ("flag_meanings", names.clone().into())]);
        }
        all.extend(self.fill.map(|fill| match fill {
            Fill::Nan => ("_FillValue", NewValue::Double(f64::NAN)),
            Fill::Int(number) => ("_FillValue", NewValue::Int(number)),
        }));
        all.extend(self.more.iter().map(|(name, value)| (*name, value.clone().into())));
        all
    }
}

/// Dimensions of a variable with a value per cell.
pub(super) fn cells(partners: Option<&Partners>) -> [&'static str; 3] {
    if partners.is_some() { [N, K, X] } else { [N, X, Y] }
}

/// Names of the variables that label cells of these dimensions.
fn coordinates(cells: [&str; 3]) -> String {
    if cells == [N, X, Y] { format!("{LENGTH} {SOURCE} {DESTINATION}") } else { format!("{LENGTH} {HOST}") }
}

/// One of network_tests2's numbers, which all files of runs have.
pub(super) struct Scalar {
    pub(super) name: &'static str,
    pub(super) value: u64,
    unit: &'static str,
    texts: [&'static str; 2],
}

impl Scalar {
    /// As the variable that it is in all but [`super::one`].
    pub(super) fn field(&self, kind: Kind) -> Field {
        let field = Field::new(self.name, kind, self.unit, self.texts.map(Cow::from));
        let exact = (kind == Kind::Int && self.fitting() as u64 != self.value).then(|| self.value.to_string());
        let field = Field { exact, ..field };
        match self.name {
            TEST_TYPE => field.flagged(Mode::all().map(Mode::id), Mode::all().map(Mode::name)),
            DATA_TYPE => field.flagged(Statistic::all().map(Statistic::id), Statistic::all().map(Statistic::name)),
            _ => field,
        }
    }

    /// The value, or the largest int, which is what network_tests2's programs read.
    pub(super) fn fitting(&self) -> i32 {
        i32::try_from(self.value).unwrap_or(i32::MAX)
    }
}

/// All of them, for a file of this statistic.
pub(super) fn scalars(header: &Header, statistic: Statistic) -> [Scalar; 10] {
    let (begin, end, step) = header.begin_end_step;
    let noise = &header.noise;
    let count = |value: usize| value as u64;
    let (planned, of_noise) = ("as planned; length has what was measured", "0 in modes without noise");
    [
        (PROC_NUM, count(header.hosts.ranks()), "1", ["number of ranks", "rows and columns of a matrix"]),
        (TEST_TYPE, header.mode.id() as u64, "1", [header.mode.name(), header.mode.meaning()]),
        (DATA_TYPE, statistic.id() as u64, "1", [statistic.name(), statistic.meaning()]),
        (BEGIN_END_STEP[0], begin.0, "byte", ["first message length", planned]),
        (BEGIN_END_STEP[1], end.0, "byte", ["end of the message lengths, exclusive", planned]),
        (BEGIN_END_STEP[2], step.0, "byte", ["step of the message lengths; 0: the steps differ, see length", planned]),
        (NOISE[0], noise.length.0, "byte", ["length of a noise message", of_noise]),
        (NOISE[1], u64::from(noise.messages), "1", ["noise messages per exchange", of_noise]),
        (NOISE[2], count(noise.processes), "1", ["ranks that make noise while a pair is measured", of_noise]),
        (
            REPEATS,
            u64::from(header.iterations),
            "1",
            ["samples per cell, or the most of them", "timed exchanges of a pair at a message length"],
        ),
    ]
    .map(|(name, value, unit, texts)| Scalar { name, value, unit, texts })
}
