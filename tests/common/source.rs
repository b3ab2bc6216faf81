//! Just enough reading of Rust source to see which names a file uses.

use std::path::Path;

/// The modules a file below `src` stands for: `kernel/any.rs` is `["kernel", "any"]`, `lib.rs`
/// nothing.
pub(crate) fn module_path(file: &Path) -> Vec<String> {
    let mut modules: Vec<String> = file
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if matches!(modules.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        modules.pop();
    }
    // What `#[cfg(test)] mod tests;` names is no part of the library.
    if modules.iter().any(|name| name == "tests") { Vec::new() } else { modules }
}

/// The first segment of every path that starts at the crate root, by `crate::` or by as many
/// `super::` as the file's module is deep.
pub(crate) fn root_imports(text: &str, depth: usize) -> Vec<String> {
    let code = code(text);
    let supers = ["super", "::"].repeat(depth);
    let mut found = Vec::new();
    let starts = |at: &usize| code[*at] == "crate" || code[*at] == "super";
    for at in (0..code.len()).filter(starts) {
        let rest: Vec<&str> = code[at..].iter().map(String::as_str).collect();
        if rest.starts_with(&["crate", "::"]) {
            heads(&rest[2..], &mut found);
        } else if rest.starts_with(&supers) && (at == 0 || code[at - 1] != "::") {
            heads(&rest[supers.len()..], &mut found);
        }
    }
    found
}

/// The tokens of a file without its tests.
pub(crate) fn code(text: &str) -> Vec<String> {
    without_tests(&tokens(text))
}

/// Every path of two or more names.
pub(crate) fn paths(code: &[String]) -> Vec<Vec<String>> {
    let is_name = |token: &String| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let mut path = Vec::new();
        while let Some(name) = code.get(at).filter(|token| is_name(token)) {
            path.push(name.clone());
            at += 1;
            if code.get(at).is_none_or(|token| token != "::") {
                break;
            }
            at += 1;
        }
        at += usize::from(path.is_empty());
        if path.len() > 1 {
            found.push(path);
        }
    }
    found
}

/// What the tree of a `use` names: each path, and the name that it has here.
pub(crate) fn names(tree: &[String]) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut prefix: Vec<String> = Vec::new();
    let mut outer = Vec::new(); // how long the prefix is outside each brace
    let mut at = 0;
    while at < tree.len() {
        match tree[at].as_str() {
            "{" => outer.push(prefix.len()),
            "," => prefix.truncate(outer.last().copied().unwrap_or(0)),
            "}" => {
                outer.pop();
            }
            "::" | "as" => {}
            name => {
                let after = tree.get(at + 1).map_or(",", String::as_str);
                if name != "self" || prefix.is_empty() {
                    prefix.push(name.to_owned());
                }
                if after == "as" {
                    found.push((prefix.clone(), tree.get(at + 2).cloned().unwrap_or_default()));
                    at += 2;
                } else if after != "::" {
                    found.push((prefix.clone(), prefix.last().cloned().unwrap_or_default()));
                }
            }
        }
        at += 1;
    }
    found
}

/// Is `word` in the text, not as a part of a longer identifier?
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|part| part == word)
}

/// The first segment of a path, or of each path of a braced group.
fn heads(tokens: &[&str], found: &mut Vec<String>) {
    if tokens.first() != Some(&"{") {
        found.extend(tokens.first().map(|head| (*head).to_owned()));
        return;
    }
    let mut depth = 0;
    let mut first = false;
    for &token in tokens {
        match token {
            "{" => {
                depth += 1;
                first = depth == 1;
            }
            "}" => {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
            "," => first = depth == 1,
            _ if first => {
                found.push(token.to_owned());
                first = false;
            }
            _ => {}
        }
    }
}

/// The tokens without the items under `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let marked = ["#", "[", "cfg", "(", "test", ")", "]"];
        if tokens[at..].iter().map(String::as_str).take(marked.len()).eq(marked) {
            let mut depth = 0_usize;
            at += marked.len();
            while let Some(token) = tokens.get(at) {
                at += 1;
                match token.as_str() {
                    "{" | "(" | "[" => depth += 1,
                    "}" | ")" | "]" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                // A field or an argument ends with a comma, or with what is around it.
                if depth == 0 && (token == ";" || token == "}" || token == ",") {
                    break;
                }
            }
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Identifiers, `::` and single signs; comments, strings and characters are left out.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let starts = |at: usize, what: &str| {
        chars[at..].iter().take(what.chars().count()).copied().eq(what.chars())
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if starts(at, "//") {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if starts(at, "/*") {
            at = after_block_comment(&chars, at);
        } else if starts(at, "r\"") || starts(at, "r#\"") || starts(at, "r##\"") {
            let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
            let end = format!("\"{}", "#".repeat(hashes));
            at += hashes + 2;
            while at < chars.len() && !starts(at, &end) {
                at += 1;
            }
            at += end.len();
        } else if chars[at] == '"' {
            at = after_quote(&chars, at, '"');
        } else if chars[at] == '\'' && is_char_literal(&chars[at..]) {
            at = after_quote(&chars, at, '\'');
        } else if is_word(chars[at]) {
            let word: String = chars[at..].iter().copied().take_while(|&c| is_word(c)).collect();
            at += word.chars().count();
            found.push(word);
        } else if starts(at, "::") {
            found.push("::".to_owned());
            at += 2;
        } else {
            if !chars[at].is_whitespace() {
                found.push(chars[at].to_string());
            }
            at += 1;
        }
    }
    found
}

/// A character, not a lifetime: `'a'` or an escape.
fn is_char_literal(chars: &[char]) -> bool {
    chars.get(1) == Some(&'\\') || chars.get(2) == Some(&'\'')
}

fn after_quote(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start + 1;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn after_block_comment(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                at += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    break;
                }
            }
            _ => at += 1,
        }
    }
    at
}
