//! The names and rules that writer and reader share: what a file of ours consists of.
//!
//! Dimensions, scalars and `data` are network_tests2's, so that its viewer and scripts open our files. Everything else
//! stands next to them.

use crate::{
    plan::Side,
    record::{Header, Provenance},
    units::check_host_name,
};

/// Global attribute that makes a file ours, and says which version of the schema it follows.
pub(super) const FORMAT: &str = "format";
/// Value of [`FORMAT`] up to the version.
pub(super) const FORMAT_NAME: &str = "network_test.matrix/";
/// Version of the schema. It changes when an older reader would misread a file.
pub(super) const FORMAT_VERSION: u32 = 2;
/// Version of files that older readers understand as well: those with whole matrices.
pub(super) const WHOLE_VERSION: u32 = 1;

/// Dimension of the sources.
pub(super) const X: &str = "x";
/// Dimension of the destinations.
pub(super) const Y: &str = "y";
/// Dimension of the partners of a rank, where most pairs are left out.
pub(super) const K: &str = "k";
/// Dimension of the message lengths, unlimited.
pub(super) const N: &str = "n";
/// Dimension of the single delays of a cell in files of network_tests2.
pub(super) const DELAY: &str = "z";
/// Dimension of the characters of a text.
pub(super) const STRINGS: &str = "strings";
/// Characters of a text.
pub(super) const STRINGS_LEN: usize = 101;

/// `[n][x][y]`: the values of one statistic; where most pairs are left out `[n][k][x]`, see [`PARTNER`].
pub(super) const DATA: &str = "data";
/// `[k][x]`: whom rank x meets in line k, -1 for nobody; only where most pairs are left out.
pub(super) const PARTNER: &str = "partner";
/// `[n]`: message lengths.
pub(super) const LENGTH: &str = "length";
/// `[x][strings]`: the host of every rank.
pub(super) const HOST: &str = "host";

/// `[x][strings]`: what a row belongs to, a host or one of its ranks.
pub(super) const SOURCE: &str = "source";
/// `[y][strings]`: what a column belongs to.
pub(super) const DESTINATION: &str = "destination";

/// Columns of tables for the ends of a pair: ranks, and the hosts they are on.
pub(super) const ENDS: [&str; 2] = [SOURCE, DESTINATION];
/// See [`ENDS`].
pub(super) const HOSTS_OF_ENDS: [&str; 2] = ["source_host", "destination_host"];

/// Number of ranks.
pub(super) const PROC_NUM: &str = "proc_num";
/// Number of the mode.
pub(super) const TEST_TYPE: &str = "test_type";
/// Number of the statistic.
pub(super) const DATA_TYPE: &str = "data_type";
/// The sweep's begin, end (exclusive) and step.
pub(super) const BEGIN_END_STEP: [&str; 3] = ["begin_mes_length", "end_mes_length", "step_length"];
/// Noise: bytes of a message, messages, ranks.
pub(super) const NOISE: [&str; 3] = ["noise_mes_length", "num_noise_mes", "num_noise_proc"];
/// Samples per cell; the spelling is network_tests2's.
pub(super) const REPEATS: &str = "num_repeates";

/// Attribute of a scalar that is beyond an int: the number itself, as text.
pub(super) const EXACT: &str = "exact";
/// Global attribute: name of the mode.
pub(super) const MODE: &str = "mode";
/// Global attribute: the statistics that the set has, of which this file is one.
pub(super) const STATISTICS: &str = "statistics";
/// Global attribute: names of the attributes that are items of the plan.
pub(super) const PLAN_ITEMS: &str = "plan_items";
/// Global attribute: all lengths that were to be measured.
pub(super) const PLANNED: &str = "lengths_planned";
/// Global attribute: host names one per line, where one is longer than [`STRINGS_LEN`].
pub(super) const HOST_NAMES: &str = "host_names";
/// Item of the plan that says no more than [`HOST`] and is made from it.
pub(super) const HOSTS_ITEM: &str = "hosts";

/// Global attribute: the conventions that the attributes follow, and which of them.
pub(super) const CONVENTIONS: &str = "Conventions";
/// See [`CONVENTIONS`].
pub(super) const CONVENTIONS_FOLLOWED: &str = "CF-1.8";

/// Global attributes for people, which are not read.
pub(super) const TITLE: &str = "title";
/// See [`TITLE`].
pub(super) const STATISTIC: &str = "statistic";
/// See [`TITLE`].
pub(super) const ORIENTATION: &str = "orientation";

const RESERVED: [&str; 9] =
    [CONVENTIONS, FORMAT, STATISTICS, PLAN_ITEMS, PLANNED, HOST_NAMES, TITLE, STATISTIC, ORIENTATION];

/// Bytes of one record of one variable beyond which the 64-bit offset format does not reach.
const OFFSET_FORMAT_LIMIT: u64 = u32::MAX as u64 - 3;

/// Whether the run needs CDF-5: its matrices, of so many lines, or its message lengths are beyond the 64-bit offset
/// format.
pub(super) fn needs_cdf5(header: &Header, lines: usize) -> bool {
    let (ranks, lines) = (header.hosts.ranks() as u64, lines as u64);
    let longest = header.planned.iter().map(|length| length.0).max().unwrap_or(0);
    ranks.saturating_mul(lines).saturating_mul(8) > OFFSET_FORMAT_LIMIT || longest > i32::MAX as u64
}

/// What the `hosts` item of a plan says for these hosts.
pub(super) fn hosts_item(header: &Header) -> String {
    header.hosts.name_of_every_rank().collect::<Vec<_>>().join(",")
}

/// Where a row and a column of this run's matrices come from, in words.
pub(super) fn orientation(header: &Header) -> String {
    let clock = match header.mode.timed_at() {
        Side::Source => "source",
        Side::Destination => "destination",
    };
    format!("row x: source, column y: destination, timed at the {clock}")
}

/// Checks that files can carry the header, and carry it unchanged. The answer says what they cannot.
pub(super) fn check_header(header: &Header) -> Result<(), String> {
    if header.hosts.ranks() == 0 {
        return Err("it has no ranks".to_owned());
    }
    header.hosts.names().iter().try_for_each(|name| check_host_name(name))?;
    if !header.planned.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err("its planned message lengths are not ascending".to_owned());
    }
    if header.planned.last().is_some_and(|length| length.0 > i64::MAX as u64) {
        return Err("its longest message length is beyond 63 bits".to_owned());
    }
    for (name, value) in &header.plan {
        check_item(header, name, value)?;
    }
    match header.provenance.entries().iter().find(|(_, value)| value.contains('\0')) {
        Some((name, _)) => Err(format!("its {name} contains a NUL character")),
        None => Ok(()),
    }
}

fn check_item(header: &Header, name: &str, value: &str) -> Result<(), String> {
    let word = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let provenance = Provenance::default();
    let taken = RESERVED.contains(&name) || provenance.entries().iter().any(|entry| entry.0 == name);
    if !word || taken {
        return Err(format!("`{name}` cannot be the name of a plan item in files"));
    }
    if value.contains('\0') {
        return Err(format!("its plan item `{name}` contains a NUL character"));
    }
    if name == MODE && value != header.mode.name() {
        return Err(format!("its plan is for mode `{value}`, but it is of mode `{}`", header.mode));
    }
    if name == HOSTS_ITEM && value != hosts_item(header) {
        return Err("its plan is for other hosts than it was measured on".to_owned());
    }
    Ok(())
}
