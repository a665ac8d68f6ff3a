//! Whether a run fits into memory, asked before anything takes it: an allocation that fails would end the program
//! without a word that helps.

use std::{fs, path::Path};

use super::failure::Failure;

/// Matrices that a subcommand holds at a time at least, as numbers of eight bytes.
const MATRICES: u64 = 4;

/// Refuses runs of which some matrices alone take more memory than there is.
pub fn check(path: &Path, ranks: usize) -> Result<(), Failure> {
    let needed = (ranks as u64).saturating_mul(ranks as u64).saturating_mul(8 * MATRICES);
    match available() {
        Some(available) if needed > available => {
            let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
            Err(Failure::internal(format!(
                "`{}` has {ranks} ranks: that takes {} of memory, and there are {}; read it on a larger machine, or raise \
                 the limit (ulimit -v)",
                path.display(),
                gib(needed),
                gib(available)
            )))
        }
        _ => Ok(()),
    }
}

/// Bytes that this process may still take: what the system has left, and what `ulimit -v` allows.
fn available() -> Option<u64> {
    let of_system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_of(&text));
    let of_limit = fs::read_to_string("/proc/self/limits").ok().and_then(|text| limit_of(&text));
    of_system.into_iter().chain(of_limit).min()
}

/// `MemAvailable:  123 kB`.
fn available_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// `Max address space  2147483648  unlimited  bytes`.
fn limit_of(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(available_of("MemTotal: 9 kB\nMemAvailable:     123 kB\n"), Some(123 * 1024));
        assert_eq!(
            limit_of("Max address space         2147483648           unlimited            bytes"),
            Some(1 << 31)
        );
        assert_eq!(limit_of("Max address space         unlimited            unlimited            bytes"), None);
    }

    #[test]
    fn what_no_machine_holds_is_refused() {
        assert!(check(Path::new("x"), 1000).is_ok());
        assert!(format!("{:?}", check(Path::new("x"), 100_000_000).unwrap_err()).contains("of memory"));
    }
}
