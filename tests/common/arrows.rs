//! Which file uses which: the arrows between the files of a source tree, and their circles.
//!
//! A `use` makes no arrow to the module in between: a name is followed through re-exports to the
//! file that says it. A `mod.rs` that hands on what its children say is thus in no circle with
//! them; one that uses their names itself, while they use its own, is.

use std::collections::{BTreeMap, BTreeSet};

use crate::source;

/// A path of modules or names from the crate's root.
type Path = Vec<String>;

/// One name that a `use` brings in.
struct Import {
    path: Vec<String>,
    name: String,
    public: bool,
}

struct File {
    imports: Vec<Import>,
    /// The tokens outside `use`.
    code: Vec<String>,
}

/// The files of a crate by the modules that they are.
pub(crate) struct Files(BTreeMap<Path, File>);

impl Files {
    /// Of a module's path and its file's text, each.
    pub(crate) fn new<'a>(sources: impl IntoIterator<Item = (Path, &'a str)>) -> Self {
        Self(sources.into_iter().map(|(module, text)| (module, File::new(text))).collect())
    }

    /// The circles, each as the modules in it.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let arrows: BTreeMap<&Path, BTreeSet<&Path>> =
            self.0.keys().map(|module| (module, self.arrows(module))).collect();
        let reached: BTreeMap<&Path, BTreeSet<&Path>> =
            arrows.keys().map(|module| (*module, reach(&arrows, module))).collect();
        let mut circles = BTreeSet::new();
        for (module, all) in &reached {
            let circle: Vec<String> = all
                .iter()
                .filter(|other| reached[*other].contains(*module))
                .map(|other| other.join("::"))
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// The files whose names this one uses.
    fn arrows(&self, module: &Path) -> BTreeSet<&Path> {
        let Some(file) = self.0.get(module) else { return BTreeSet::new() };
        let words: BTreeSet<&str> = file.code.iter().map(String::as_str).collect();
        let imported = file
            .imports
            .iter()
            .filter(|import| !import.public || words.contains(import.name.as_str()))
            .map(|import| import.path.clone());
        imported
            .chain(source::paths(&file.code))
            .filter_map(|path| self.home(module, &path, 0))
            .filter(|home| *home != module)
            .collect()
    }

    /// The file that says what `path`, written in the file `here`, names; none for a module
    /// itself, and for what other crates have.
    fn home(&self, here: &Path, path: &[String], depth: usize) -> Option<&Path> {
        let full = self.rooted(here, path)?;
        let (module, said) = (1..=full.len()).rev().find_map(|deep| {
            let (module, _) = self.0.get_key_value(&full[..deep])?;
            Some((module, &full[deep..]))
        })?;
        let name = said.first()?;
        let import = self.0[module].imports.iter().find(|import| import.name == *name);
        match import {
            // A name may come over several files, never over more than there are.
            Some(import) if depth < self.0.len() => {
                let path: Vec<String> = import.path.iter().chain(&said[1..]).cloned().collect();
                self.home(module, &path, depth + 1)
            }
            _ => Some(module),
        }
    }

    /// The path from the crate's root, if it begins with a module of it.
    fn rooted(&self, here: &Path, path: &[String]) -> Option<Path> {
        let mut full = here.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                full.clear();
                rest = &path[1..];
            }
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|part| part == "super") {
                    full.pop()?;
                    rest = &rest[1..];
                }
            }
            first => {
                // A child, what was imported under this name, or a name of the file's own.
                let child: Path = here.iter().chain(&path[..1]).cloned().collect();
                let import = self.0.get(here)?.imports.iter().find(|import| import.name == first);
                let import = import.filter(|i| i.path.first() != Some(&i.name) && i.path != path);
                if let Some(import) = import.filter(|_| !self.0.contains_key(&child)) {
                    let path: Vec<_> = import.path.iter().chain(&path[1..]).cloned().collect();
                    return self.rooted(here, &path);
                }
            }
        }
        full.extend(rest.iter().cloned());
        Some(full)
    }
}

impl File {
    fn new(text: &str) -> Self {
        let tokens = source::code(text);
        let mut file = Self { imports: Vec::new(), code: Vec::new() };
        let mut at = 0;
        while at < tokens.len() {
            // `use<'a>` is a bound, no import.
            if tokens[at] == "use" && tokens.get(at + 1).is_some_and(|next| next != "<") {
                let end =
                    tokens[at..].iter().position(|t| t == ";").map_or(tokens.len(), |n| at + n);
                let public = file.drop_visibility();
                let names = source::names(&tokens[at + 1..end]);
                let imports = names.into_iter().map(|(path, name)| Import { path, name, public });
                file.imports.extend(imports);
                at = end;
            } else if tokens[at] == "mod" && tokens.get(at + 2).is_some_and(|end| end == ";") {
                at += 3;
            } else {
                file.code.push(tokens[at].clone());
                at += 1;
            }
        }
        file
    }

    /// Takes a `pub` or `pub(...)` off the end; whether there was one.
    fn drop_visibility(&mut self) -> bool {
        let end = &self.code[self.code.len().saturating_sub(8)..];
        let since = end.iter().rev().position(|token| token == "pub");
        let ends =
            |n| n == 0 || (end.last().is_some_and(|t| t == ")") && end[end.len() - n] == "(");
        let Some(n) = since.filter(|&n| ends(n)) else { return false };
        self.code.truncate(self.code.len() - n - 1);
        true
    }
}

/// All that can be reached by arrows from `start`, which is among it only on a circle.
fn reach<'a>(arrows: &BTreeMap<&'a Path, BTreeSet<&'a Path>>, start: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&Path> = vec![start];
    while let Some(module) = left.pop() {
        for &next in &arrows[module] {
            if reached.insert(next) {
                left.push(next);
            }
        }
    }
    reached
}
