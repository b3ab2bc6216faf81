//! Allocations whose size follows the input are fallible: `error::try_vec`, `try_collect`, `try_copy`
//! and their kin answer with `OutOfMemory` where the standard library ends the process.
//!
//! What the standard library allocates is counted, file by file, and `tests/fallible.txt` says how
//! often each file may do it, with the reason: those are sizes that do not follow the input, or that
//! follow it and are small beside what the same call has asked for before. A number there may only
//! fall. `cargo test --test fallible -- --ignored` writes the file with the numbers of today.

#![allow(clippy::expect_used, reason = "a test that cannot read its own source tree must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

#[path = "common/source.rs"]
#[expect(dead_code, reason = "this test needs the tokens alone")]
mod source;

/// Methods, and functions of a type, that allocate what they are asked for or end the process.
const METHODS: &[&str] = &["clone", "collect", "concat", "repeat", "to_owned", "to_vec"];
const FUNCTIONS: &[&str] = &["from_elem", "from_fn", "from_shape_fn", "with_capacity", "zeros"];

/// How often the code allocates so.
fn allocations(code: &[String]) -> usize {
    let word = |at: usize| code.get(at).map_or("", String::as_str);
    let called = |at: usize| matches!(word(at + 1), "(" | "::");
    let method = |at: usize| word(at) == "." && METHODS.contains(&word(at + 1)) && called(at + 1);
    let function = |at: usize| {
        // Packed centres are set aside fallibly.
        let own = at > 0 && word(at - 1) == "Packed";
        word(at) == "::" && FUNCTIONS.contains(&word(at + 1)) && called(at + 1) && !own
    };
    (0..code.len())
        .filter(|&at| method(at) || function(at) || (word(at) == "vec" && repeats(&code[at + 1..])))
        .count()
}

/// Whether this is the rest of `vec![value; length]` with a length that is no constant.
fn repeats(code: &[String]) -> bool {
    if code.first().is_none_or(|token| token != "!") {
        return false;
    }
    let (mut depth, mut length) = (0_usize, None);
    for (at, token) in code.iter().enumerate().skip(1) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ";" if depth == 1 => length = Some(at + 1),
            _ => {}
        }
        if depth == 0 {
            let constant = |token: &String| !token.contains(|c: char| c.is_lowercase());
            return length.is_some_and(|from| !code[from..at].iter().all(constant));
        }
    }
    false
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// What every file of the crate and of the bindings has, by its path.
static FOUND: LazyLock<BTreeMap<String, usize>> = LazyLock::new(|| {
    let mut folders = vec![root().join("src"), root().join("python/bindings/src")];
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the sources can be listed") {
            let path = entry.expect("the sources can be listed").path();
            let name = path.strip_prefix(root()).expect("below the root");
            let name = name.to_string_lossy().replace('\\', "/");
            let is_test = name.split('/').any(|part| part == "tests" || part == "tests.rs");
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !is_test {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                found.insert(name, allocations(&source::code(&text)));
            }
        }
    }
    assert!(found.len() > 50, "found only {} source files", found.len());
    found
});

/// The lines of the list: a file and its number, or a remark.
fn listed() -> Vec<String> {
    let text = fs::read_to_string(root().join("tests/fallible.txt")).expect("the list is there");
    text.lines().map(str::to_owned).collect()
}

fn allowed(lines: &[String]) -> BTreeMap<String, usize> {
    let files = lines.iter().filter(|line| !line.starts_with('#') && !line.is_empty());
    let pair = |line: &String| {
        let (name, count) = line.split_once(' ').expect("a file and a number");
        (name.to_owned(), count.parse().expect("a file and a number"))
    };
    files.map(pair).collect()
}

#[test]
fn no_file_allocates_more_than_it_may() {
    let allowed = allowed(&listed());
    let faults: Vec<_> = FOUND
        .iter()
        .filter_map(|(name, &count)| {
            let may = allowed.get(name).copied().unwrap_or(0);
            (count > may)
                .then(|| format!("{name}: {count} allocations that cannot fail, {may} may be"))
        })
        .collect();
    let cure = "ask for memory by error::try_vec, try_collect or try_copy";
    assert!(faults.is_empty(), "\n{}\n{cure}", faults.join("\n"));
}

#[test]
fn the_list_names_files_that_are_there() {
    let allowed = allowed(&listed());
    let gone: Vec<_> = allowed.keys().filter(|name| !FOUND.contains_key(*name)).collect();
    assert!(gone.is_empty(), "tests/fallible.txt names {gone:?}");
}

/// Rooms that have nothing in the list, or what a remark above it gives the reason of.
#[test]
fn rooms_that_are_through() {
    let allowed = allowed(&listed());
    for room in ["src/data/svmlight/", "src/features/"] {
        let sum: usize =
            allowed.iter().filter(|(name, _)| name.starts_with(room)).map(|(_, n)| n).sum();
        assert!(sum <= 6, "{room} allocates {sum} times");
    }
}

#[test]
#[ignore = "it writes the list"]
fn the_numbers_of_today_are_written() {
    let mut found = FOUND.clone();
    let mut lines = Vec::new();
    for line in listed() {
        match line.split_once(' ') {
            Some((name, _)) if !line.starts_with('#') => {
                let count = found.remove(name).unwrap_or(0);
                lines.extend((count > 0).then(|| format!("{name} {count}")));
            }
            _ => lines.push(line),
        }
    }
    let new = found.into_iter().filter(|(_, count)| *count > 0);
    lines.extend(new.map(|(name, count)| format!("{name} {count}")));
    let text = lines.join("\n") + "\n";
    fs::write(root().join("tests/fallible.txt"), text).expect("the list can be written");
}

#[test]
fn what_allocates_is_found() {
    let count = |text: &str| allocations(&source::code(text));
    assert_eq!(count("let x = vec![0.0; n]; let y = vec![0; 3 * LEN]; let z = vec![a, b];"), 1);
    assert_eq!(count("let x = vec![vec![0.0; n]; k];"), 2);
    assert_eq!(count("x.to_vec(); y.iter().collect::<Vec<_>>(); z.clone(); [a, b].concat();"), 4);
    assert_eq!(count("Array2::zeros((n, d)); Vec::<u8>::with_capacity(n); Mat::from_fn(n, f)"), 3);
    assert_eq!(count("try_vec(what, n, 0.0)?; cloned(); // x.clone()\n"), 0);
    assert_eq!(count("#[cfg(test)]\nmod tests { fn f() { x.clone(); } }"), 0);
}
