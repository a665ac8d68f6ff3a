//! When each length was measured, and how the machine had changed at the end: variables of one file of a set.
//!
//! In: [`Moments`] of a length, and the drift of a run. Out: `begin(n)` and `end(n)`, and the scalar `drift`, in the file
//! that has the companions too. Files of older versions have neither.

use netcdf::FileMut;

use super::{StoreError, classic::Kind, field::Field, file::NcFile, schema::N};
use crate::record::Moments;

/// `[n]`: when the first exchange of a length began.
pub(super) const BEGIN: &str = "begin";
/// `[n]`: when all of a length was measured.
pub(super) const END: &str = "end";
/// Scalar: how the machine had changed at the end of the run.
pub(super) const DRIFT: &str = "drift";

/// Unit of points in time, as [`super::schema::CONVENTIONS`] have it.
const SINCE: &str = "seconds since 1970-01-01 00:00:00";

/// Adds the variables to a new file.
pub(super) fn define(file: &mut FileMut) -> netcdf::Result<()> {
    for (name, text) in [
        (BEGIN, "when the first exchange of the length began, by the clock of rank 0's host"),
        (END, "when the last exchange of the length, and its retests, were done"),
    ] {
        let texts = [text.into(), format!("{name}[n]: of matrix n; NaN: not known").into()];
        let field = Field::new(name, Kind::Double, SINCE, texts).filled().with("calendar", "standard");
        field.define(file, &[N])?;
    }
    let texts = [
        "time of the shortest length at the end of the run over that at its beginning",
        "median over some pairs that were measured again; NaN: they were not",
    ];
    Field::new(DRIFT, Kind::Double, "1", texts.map(Into::into)).filled().define(file, &[])
}

/// Says that the drift is not known yet.
pub(super) fn begin(file: &mut FileMut) -> netcdf::Result<()> {
    match file.variable_mut(DRIFT) {
        Some(mut drift) => drift.put_value(f64::NAN, ()),
        None => Ok(()),
    }
}

/// When a length was measured, if the file says so.
pub(super) fn read(file: &NcFile, length_index: usize) -> Result<Option<Moments>, StoreError> {
    if !(file.has(BEGIN) && file.has(END)) {
        return Ok(None);
    }
    let value = |name| -> Result<f64, StoreError> {
        let mut value = [f64::NAN];
        file.read(file.variable_over(name, &[N])?, length_index, 0, &mut value)?;
        Ok(value[0])
    };
    let moments = Moments { begin: value(BEGIN)?, end: value(END)? };
    Ok((moments.begin.is_finite() && moments.end >= moments.begin).then_some(moments))
}

/// The drift, if the file says so.
pub(super) fn read_drift(file: &NcFile) -> Result<Option<f64>, StoreError> {
    if !file.has(DRIFT) {
        return Ok(None);
    }
    let mut value = [f64::NAN];
    file.read(file.variable_over(DRIFT, &[])?, 0, 0, &mut value)?;
    Ok(Some(value[0]).filter(|drift| drift.is_finite() && *drift > 0.0))
}
