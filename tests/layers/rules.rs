//! What each layer may use. "May" is the full list for modules of the library; crates and parts of std are free unless
//! they have an owner here.

use crate::scan::{Kind, Mention, mentions, module_of};

/// One row of the table.
struct Layer {
    /// Module of the library, or program.
    name: &'static str,
    /// Modules of the library, or items of them, that it may use besides itself.
    may: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer { name: "netmatrix", may: &[] },
    Layer { name: "exit", may: &[] },
    Layer { name: "units", may: &[] },
    Layer { name: "stats", may: &[] },
    Layer { name: "plan", may: &["units"] },
    Layer { name: "record", may: &["units", "plan", "stats::Summary"] },
    Layer { name: "measure", may: &["units", "plan", "stats", "record"] },
    Layer { name: "store", may: &["units", "plan", "stats::Summary", "record"] },
    Layer { name: "analysis", may: &["units", "plan", "stats", "record"] },
    Layer { name: "view", may: &["units", "stats::Summary", "record", "analysis", "VERSION"] },
    Layer { name: "network_test", may: &["units", "plan", "stats", "record", "measure", "store", "exit", "VERSION"] },
    Layer {
        name: "network_analyze",
        may: &["units", "plan", "stats", "record", "store", "analysis", "view", "exit", "VERSION"],
    },
];

/// Files that may use more than their layer.
const EXCEPTIONS: &[(&str, &str)] = &[("bin/network_analyze/simulate.rs", "measure")];

const PROGRAMS: &[&str] = &["network_test", "network_analyze"];
const NOBODY: &[&str] = &[];

/// What only some layers may use; macros end in `!`, methods begin with a dot.
const OWNERS: &[(&[&str], &[&str])] = &[
    (&["anyhow", "clap"], PROGRAMS),
    (&["mpi", "indicatif"], &["network_test"]),
    (&["netcdf"], &["store"]),
    (&["statrs"], &["stats", "analysis"]),
    (&["std::env", "std::process::exit", "std::process::abort", "std::process::Command", "std::net"], PROGRAMS),
    (&["std::io::stdin", "std::io::stdout", "std::io::stderr"], PROGRAMS),
    (&["print!", "println!", "eprint!", "eprintln!"], PROGRAMS),
    (&["dbg!", "todo!", "unimplemented!"], NOBODY),
    (&["std::time::Instant"], &["measure", "store", "network_test", "network_analyze"]),
    (&["std::time::SystemTime"], PROGRAMS),
    (&["std::fs", "std::os::unix::fs"], &["store", "network_test", "network_analyze"]),
    (
        &[".exists", ".try_exists", ".is_file", ".is_dir", ".read_dir", ".canonicalize", ".symlink_metadata"],
        &["store", "network_test", "network_analyze"],
    ),
];

/// The MPI calls. Besides it, unsafe is only the promise about the store's type of characters.
const UNSAFE_FILES: [&str; 3] =
    ["bin/network_test/mpi/ffi.rs", "bin/network_test/mpi/ffi/requests.rs", "bin/network_test/mpi/ffi/window.rs"];

/// What `source` does against the rules, one line each, as the content of `file` (a path below src/).
pub fn violations(file: &str, source: &str) -> Vec<String> {
    let module = module_of(file);
    let name = if module[0] == "netmatrix" { module.get(1).unwrap_or(&module[0]) } else { &module[0] };
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
        return vec![format!("src/{file}: layer `{name}` has no rule in tests/layers/rules.rs")];
    };
    match mentions(file, source) {
        Ok(mentions) => mentions.iter().filter_map(|mention| violation(file, layer, mention)).collect(),
        Err(error) => vec![format!("src/{file}: cannot be read: {error}")],
    }
}

fn violation(file: &str, layer: &Layer, mention: &Mention) -> Option<String> {
    let complaint = match mention.kind {
        Kind::Unsafe if UNSAFE_FILES.contains(&file) => None,
        Kind::CharType if file.starts_with("store/") => None,
        Kind::Unsafe | Kind::CharType => Some("unsafe code belongs into mpi/ffi.rs".to_owned()),
        Kind::OpenTests => Some("`mod tests;` needs #[cfg(test)]".to_owned()),
        _ if mention.test => None,
        Kind::Path | Kind::Glob if mention.path[0] == "netmatrix" => library(file, layer, mention),
        _ => owned(layer, mention),
    };
    complaint.map(|complaint| format!("src/{file}:{}: {}: {complaint}", mention.line, layer.name))
}

/// Use of a module of the library.
fn library(file: &str, layer: &Layer, mention: &Mention) -> Option<String> {
    let Some(target) = mention.path.get(1) else {
        return Some("must not import the whole library".to_owned());
    };
    let within = |item: &&&str| item.split("::").eq(mention.path[1..].iter().take(item.split("::").count()));
    let exceptions = EXCEPTIONS.iter().filter(|(excepted, _)| *excepted == file).map(|(_, item)| item);
    let allowed = target == layer.name || layer.may.iter().chain(exceptions).any(|item| within(&item));
    (!allowed).then(|| format!("must not use {}", mention.path.join("::")))
}

/// Use of a crate, a part of std, a macro or a method that has owners.
fn owned(layer: &Layer, mention: &Mention) -> Option<String> {
    let name = mention.name();
    let reaches = |item: &str| {
        let below = |long: &str, short: &str| long == short || long.starts_with(&format!("{short}::"));
        // A glob brings in everything below it.
        below(&name, item) || (mention.kind == Kind::Glob && below(item, &name))
    };
    let foreign = |owners: &[&str]| !owners.contains(&layer.name);
    let hit = OWNERS.iter().any(|(items, owners)| foreign(owners) && items.iter().any(|item| reaches(item)));
    hit.then(|| format!("must not use {name}{}", if mention.kind == Kind::Method { "()" } else { "" }))
}
