//! Copies that other programs made of our files, as `nccopy` and `ncap2` do: the same values in another shape.

use std::fs;

use netcdf::{
    Options,
    types::{FloatType, NcVariableType},
};

use super::*;
use crate::{
    record::Sink,
    store::{self, paths, schema},
};

/// The format of a copy: its options cannot be copied or shown themselves.
#[derive(Clone, Copy, Debug)]
enum Form {
    Offset64,
    Cdf5,
}

/// Copies a file with its records in a dimension that is fixed (`fixed`), and its values as floats (`floats`).
fn copy(from: &Path, to: &Path, form: Form, fixed: bool, floats: bool) {
    let from_path = from.to_owned();
    let from = netcdf::open(from).unwrap();
    let options = match form {
        Form::Offset64 => Options::_64BIT_OFFSET,
        Form::Cdf5 => Options::_64BIT_DATA,
    };
    let mut file = netcdf::create_with(to, options).unwrap();
    for dimension in from.dimensions() {
        match dimension.is_unlimited() && !fixed {
            true => file.add_unlimited_dimension(&dimension.name()).unwrap(),
            false => file.add_dimension(&dimension.name(), dimension.len()).unwrap(),
        };
    }
    for attribute in from.attributes() {
        file.add_attribute(attribute.name(), attribute.value().unwrap()).unwrap();
    }
    let is_double = |kind: &NcVariableType| *kind == NcVariableType::Float(FloatType::F64);
    for variable in from.variables() {
        let names: Vec<_> = variable.dimensions().iter().map(netcdf::Dimension::name).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let kind = match variable.vartype() {
            kind if is_double(&kind) && floats => NcVariableType::Float(FloatType::F32),
            kind => kind,
        };
        file.add_variable_with_type(&variable.name(), &names, &kind).unwrap();
    }
    file.enddef().unwrap();
    for variable in from.variables() {
        let mut to = file.variable_mut(&variable.name()).unwrap();
        if variable.vartype() == NcVariableType::Char {
            let texts = store::file::NcFile::open(&from_path).unwrap().texts(&variable.name()).unwrap();
            store::chars::write(&mut to, schema::STRINGS_LEN, texts.iter().map(String::as_str)).unwrap();
        } else {
            let extents: Vec<_> = variable.dimensions().iter().map(|dimension| 0..dimension.len()).collect();
            to.put_values(&variable.get_values::<f64, _>(..).unwrap(), extents).unwrap();
        }
    }
    file.close().unwrap();
}

/// Makes a set of 3 ranks and 2 lengths, of which every file is such a copy.
fn copied(prefix: &Path, form: Form, fixed: bool, floats: bool) -> MemoryRun {
    let original = prefix.with_file_name("original");
    let run = small_set(&original);
    for &statistic in run.statistics() {
        let [from, to] = [&original, prefix].map(|prefix| paths::file_of(prefix, statistic));
        copy(&from, &to, form, fixed, floats);
    }
    run
}

#[test]
fn values_are_the_same_whatever_shape_they_were_copied_to() {
    for form in [Form::Offset64, Form::Cdf5] {
        for (fixed, floats) in [(true, false), (false, true), (true, true), (false, false)] {
            let folder = tempfile::tempdir().unwrap();
            let prefix = folder.path().join("run");
            let expected = copied(&prefix, form, fixed, floats);
            let set = store::open(&prefix).unwrap();
            assert_eq!(set.lengths(), expected.lengths());
            for (length, &statistic) in (0..2).flat_map(|length| set.statistics().iter().map(move |s| (length, s))) {
                let values = |run: &dyn Run| run.matrix(statistic, length).unwrap().values().to_vec();
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= if floats { 1e-6 * b.abs() } else { 0.0 };
                let (found, expected) = (values(&set), values(&expected));
                let is_same = found.iter().zip(&expected).all(near);
                assert!(is_same, "{statistic} at length {length}, {form:?}, {fixed}, {floats}: {found:?}");
            }
        }
    }
}

#[test]
fn a_copy_of_another_shape_is_not_resumed_and_stays_as_it_is() {
    for (form, fixed, floats) in
        [(Form::Offset64, true, false), (Form::Offset64, false, true), (Form::Cdf5, false, false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        let run = copied(&prefix, form, fixed, floats);
        let (header, statistics) = (run.header().clone(), run.statistics());
        let read = |statistic: &Statistic| fs::read(paths::file_of(&prefix, *statistic)).unwrap();
        let bytes = || statistics.iter().map(read).collect::<Vec<_>>();
        let before = bytes();
        let error = store::resume(&prefix, &header).map(|(mut writer, _)| writer.close().unwrap()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("/run_") && error.contains("another shape"), "{form:?}: {error}");
        assert!(bytes() == before, "{form:?}");
    }
}
