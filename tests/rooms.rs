//! The walls of the house: imports between the rooms of `src` point down only, no files use each
//! other in a circle, the pure crate knows no Python, `unsafe` stays in `src/simd`, and no file
//! outgrows 500 lines.

#![allow(clippy::expect_used, reason = "a test that cannot read its own source tree must fail")]

use std::fs;
use std::path::{Path, PathBuf};

#[path = "common/arrows.rs"]
mod arrows;
#[path = "common/source.rs"]
mod source;

/// The rooms, lowest first. A room may import from the levels below its own.
const LEVELS: &[&[&str]] = &[
    &["float", "error", "config", "rng", "parallel", "watch"],
    &["simd", "linalg", "data"],
    &["kernel", "loss"],
    &["features"],
    &["model"],
    &["budget"],
    &["solver", "online", "local", "tuning"],
    &["multiclass"],
    &["estimator"],
];

/// Imports between two rooms of one level. Everything else on a level is kept apart: `loss`
/// never sees `kernel`.
const SIDEWAYS: &[(&str, &str)] = &[
    ("data", "simd"),
    ("linalg", "simd"),
    ("float", "error"),
    ("config", "error"),
    ("parallel", "error"),
    ("watch", "error"),
    ("watch", "parallel"),
    ("rng", "error"),
    ("rng", "float"),
    ("parallel", "float"),
    ("parallel", "rng"),
];

const MAX_LINES: usize = 500;

fn level(room: &str) -> Option<usize> {
    LEVELS.iter().position(|rooms| rooms.contains(&room))
}

/// What is wrong with `from` importing `to`, if anything is.
fn judge(from: &str, to: &str) -> Option<String> {
    let Some(above) = level(from) else {
        return Some(format!("`{from}` is no room of LEVELS"));
    };
    let Some(below) = level(to) else {
        return Some(format!("`crate::{to}` names no room: import from the room, not the root"));
    };
    let allowed = from == to || below < above || SIDEWAYS.contains(&(from, to));
    (!allowed).then(|| format!("`{from}` imports from `{to}`: arrows point down only"))
}

/// Everything wrong with the imports of one file, given its path below `src`.
fn upward_imports(file: &Path, text: &str) -> Vec<String> {
    let modules = source::module_path(file);
    let Some(room) = modules.first() else { return Vec::new() }; // lib.rs sees every room
    source::root_imports(text, modules.len())
        .iter()
        .filter_map(|import| judge(room, import))
        .map(|fault| format!("src/{}: {fault}", file.display()))
        .collect()
}

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src can be listed") {
            let path = entry.expect("src can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                found.push((path.strip_prefix(&root).expect("below src").to_owned(), text));
            }
        }
    }
    assert!(found.len() > 5, "found only {} source files", found.len());
    found
}

#[test]
fn arrows_point_down() {
    let faults: Vec<_> =
        sources().iter().flat_map(|(file, text)| upward_imports(file, text)).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The circles of these files, given by their paths below `src`.
fn circles<'a>(sources: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Vec<Vec<String>> {
    let modules = sources.into_iter().map(|(file, text)| (source::module_path(file), text));
    arrows::Files::new(modules.filter(|(module, _)| !module.is_empty())).circles()
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let sources = sources();
    let circles = circles(sources.iter().map(|(file, text)| (file.as_path(), text.as_str())));
    let circles: Vec<_> = circles.iter().map(|circle| circle.join(", ")).collect();
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

#[test]
fn the_pure_crate_knows_no_python() {
    for (file, text) in sources() {
        assert!(!source::has_word(&text, "pyo3"), "src/{} names pyo3", file.display());
    }
}

#[test]
fn unsafe_stays_in_simd() {
    for (file, text) in sources() {
        let allowed = file.starts_with("simd") || !source::has_word(&text, "unsafe");
        assert!(allowed, "src/{} names unsafe", file.display());
    }
}

/// A new online learner is its own file, a member of the enum and a line of the room; the
/// perceptron, with which a configuration begins, is the exception.
#[test]
fn a_learner_is_named_by_its_file_the_enum_and_the_room() {
    let code: Vec<_> =
        sources().into_iter().map(|(file, text)| (file, source::code(&text))).collect();
    let learners = "KernelOgd RandomizedBudgetPerceptron Stoptron Forgetron Projectron \
         PassiveAggressive BudgetOgd SparsePassiveAggressive FourierOgd NystroemOgd";
    for learner in learners.split_whitespace() {
        let naming = code.iter().filter(|(_, code)| code.iter().any(|token| token == learner));
        let naming: Vec<_> = naming.map(|(file, _)| file.display().to_string()).collect();
        let expected = ["online/any.rs", "online/mod.rs"];
        let others = expected.iter().all(|file| naming.iter().any(|name| name == file));
        assert!(naming.len() == 3 && others, "{learner} is named by {}", naming.join(", "));
    }
}

#[test]
fn files_stay_short() {
    for (file, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "src/{} has {lines} lines: split it", file.display());
    }
}

fn faults(file: &str, text: &str) -> usize {
    upward_imports(Path::new(file), text).len()
}

#[test]
fn an_upward_arrow_is_found() {
    assert_eq!(faults("budget/merging.rs", "use crate::solver::Bsca;"), 1);
    assert_eq!(faults("budget/merging.rs", "use crate::{float::Real, solver::{run, Stop}};"), 1);
    assert_eq!(faults("budget/merging.rs", "fn f() -> crate :: solver::Stop { loop {} }"), 1);
    assert_eq!(faults("loss/hinge.rs", "pub(crate) use crate::kernel as k;"), 1);
    assert_eq!(faults("loss/mod.rs", "use super::kernel::Kernel;"), 1);
    assert_eq!(faults("loss/hinge.rs", "use super::super::kernel::Kernel;"), 1);
    assert_eq!(
        faults("kernel.rs", "use crate::{\n    model,\n    estimator::{self, BudgetSvc},\n};"),
        2
    );
    assert_eq!(faults("error.rs", "const QUOTE: char = '\"'; use crate::solver::Stop;"), 1);
    assert_eq!(faults("data/rows.rs", "use crate::BudgetSvc;"), 1);
    assert_eq!(faults("attic/mod.rs", "use crate::float::Real;"), 1);
}

#[test]
fn downward_arrows_and_mere_mentions_pass() {
    assert_eq!(faults("solver/bsca.rs", "use crate::{budget, kernel::{AnyKernel, rbf}};"), 0);
    assert_eq!(faults("solver/bsca.rs", "use super::stop::Stop; use crate::solver::run;"), 0);
    assert_eq!(faults("data/rows.rs", "use crate::simd::dot;"), 0);
    assert_eq!(faults("error.rs", "//! See [`crate::solver::Stop`].\n/* crate::solver */"), 0);
    assert_eq!(faults("error.rs", "/* outer /* inner */ use crate::solver; */"), 0);
    assert_eq!(faults("error.rs", "const A: &str = \"crate::solver\";"), 0);
    assert_eq!(faults("error.rs", "const A: &str = r#\"a \" crate::solver\"#;"), 0);
    assert_eq!(faults("loss/hinge.rs", "#[cfg(test)]\nmod tests { use crate::kernel::Rbf; }"), 0);
    assert_eq!(faults("loss/tests.rs", "use crate::kernel::Rbf;"), 0);
    assert_eq!(faults("lib.rs", "pub use crate::estimator::BudgetSvc;"), 0);
    assert_eq!(faults("float.rs", "macro_rules! m { () => { $crate::float::Real } }"), 0);
}

/// How many circles there are between files of a room.
fn tied(files: &[(&str, &str)]) -> usize {
    circles(files.iter().map(|&(file, text)| (Path::new(file), text))).len()
}

#[test]
fn a_circle_is_found() {
    assert_eq!(tied(&[("a/b.rs", "use super::c::C;"), ("a/c.rs", "use crate::a::b::B;")]), 1);
    assert_eq!(tied(&[("a/b.rs", "fn f() { super::c::g() }"), ("a/c.rs", "use super::b::f;")]), 1);
    // Through a re-export, a module that is imported, a group, another name.
    let room = ("a/mod.rs", "mod b; mod c; pub use b::B; pub(crate) use c::{self, C as D};");
    assert_eq!(tied(&[room, ("a/b.rs", "use super::D;"), ("a/c.rs", "use super::B;")]), 1);
    assert_eq!(
        tied(&[
            ("a/b.rs", "use super::c::{self, d}; fn f() { c::g() }"),
            ("a/c.rs", "use super::e::E;"),
            ("a/e.rs", "use crate::a::b;\nfn f() { b::f() }"),
        ]),
        1
    );
    // A room's own file that its children use, and that uses them.
    let room = ("a/mod.rs", "mod b; use b::B; pub struct A(B);");
    assert_eq!(tied(&[room, ("a/b.rs", "use super::A;")]), 1);
    let room = ("a/mod.rs", "mod b; pub use b::B; pub struct A(B);");
    assert_eq!(tied(&[room, ("a/b.rs", "use super::A;")]), 1);
}

#[test]
fn what_is_handed_on_is_no_circle() {
    let room = ("a/mod.rs", "mod b; mod c; pub use b::B; pub use c::C; pub struct A;");
    assert_eq!(tied(&[room, ("a/b.rs", "use super::{A, C};"), ("a/c.rs", "use super::A;")]), 0);
    assert_eq!(tied(&[("a/b.rs", "use super::c::C;"), ("a/c.rs", "use std::fmt;")]), 0);
    let tests = "#[cfg(test)] mod tests { use super::super::b::B; }";
    assert_eq!(tied(&[("a/b.rs", "use super::c::C;"), ("a/c.rs", tests)]), 0);
}

#[test]
fn words_are_whole_words() {
    assert!(source::has_word("let x = unsafe { 1 };", "unsafe"));
    assert!(!source::has_word("#![deny(unsafe_op_in_unsafe_fn)]", "unsafe"));
}
