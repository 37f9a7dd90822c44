//! What the rules want to know about one Rust file, read from its tokens.
//!
//! Tokens and not lines of text, so that a brace in a string, a `fn` in a comment or a `use` in a
//! raw string deceives nobody; tokens and not a syntax tree, because lengths, imports and module
//! names need no more, and macros are read alike. Where the reading is unsure (a `cfg(test)` on
//! something unusual) it counts more code, never less.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

/// The facts about one file.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Lines that hold code: no comments, no documentation, no blank lines, no test code.
    code_lines: BTreeSet<usize>,
    /// Functions outside test code.
    pub(super) functions: Vec<Function>,
    /// Glob imports.
    pub(super) globs: Vec<Glob>,
    /// Modules that are declared, with their lines.
    pub(super) modules: Vec<(String, usize)>,
}

/// One function, with the lines from its `fn` to its closing brace.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) first_line: usize,
    last_line: usize,
}

/// One `::*` of a `use`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Glob {
    /// What stands before the `::*`.
    pub(super) parent: String,
    pub(super) line: usize,
    pub(super) in_tests: bool,
}

impl Source {
    /// Reads a file; `is_test` says that all of it is test code. The error is the line at which the
    /// text stops being Rust tokens.
    pub(super) fn read(text: &str, is_test: bool) -> Result<Source, usize> {
        let stream: TokenStream =
            text.parse().map_err(|error: proc_macro2::LexError| error.span().start().line)?;
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut source = Source::default();
        source.walk(&tokens, is_test);
        Ok(source)
    }

    /// Lines of code in the file, without tests.
    pub(super) fn lines(&self) -> usize {
        self.code_lines.len()
    }

    /// Lines of code in a function, from its `fn` to its closing brace.
    pub(super) fn function_lines(&self, function: &Function) -> usize {
        self.code_lines.range(function.first_line..=function.last_line).count()
    }

    fn walk(&mut self, tokens: &[TokenTree], in_tests: bool) {
        let mut in_tests = in_tests;
        let mut rest = tokens;
        while let Some((first, tail)) = rest.split_first() {
            if let Some(attribute) = Attribute::at(rest) {
                let after = rest.get(attribute.token_count..).unwrap_or_default();
                if !in_tests && attribute.implies_test() {
                    if attribute.is_inner {
                        in_tests = true;
                        rest = after;
                        continue;
                    }
                    let (item, behind) = after.split_at(item_length(after));
                    self.walk(item, true);
                    rest = behind;
                    continue;
                }
                if attribute.is_documentation() {
                    rest = after;
                    continue;
                }
            }
            self.note(rest, in_tests);
            self.take(first, in_tests);
            rest = tail;
        }
    }

    /// Counts one token and what is inside it.
    fn take(&mut self, token: &TokenTree, in_tests: bool) {
        if let TokenTree::Group(group) = token {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            self.count(group.span_open(), in_tests);
            self.walk(&inner, in_tests);
            self.count(group.span_close(), in_tests);
        } else {
            self.count(token.span(), in_tests);
        }
    }

    fn count(&mut self, span: Span, in_tests: bool) {
        if !in_tests {
            self.code_lines.extend(span.start().line..=span.end().line);
        }
    }

    /// Notes a function, an import or a module that begins here.
    fn note(&mut self, tokens: &[TokenTree], in_tests: bool) {
        let Some(TokenTree::Ident(keyword)) = tokens.first() else { return };
        let first_line = keyword.span().start().line;
        match keyword.to_string().as_str() {
            "fn" if !in_tests => {
                if let (Some(name), Some(body)) = (name_after(tokens), body_of(tokens)) {
                    let last_line = body.span_close().end().line;
                    self.functions.push(Function { name, first_line, last_line });
                }
            }
            "mod" => self.modules.extend(name_after(tokens).map(|name| (name, first_line))),
            "use" if !is_punct(tokens.get(1), '<') => {
                let end = tokens.iter().position(|token| is_punct(Some(token), ';'));
                let path = tokens.get(1..end.unwrap_or(tokens.len())).unwrap_or_default();
                self.note_globs(path, "", in_tests);
            }
            _ => {}
        }
    }

    fn note_globs(&mut self, path: &[TokenTree], parent: &str, in_tests: bool) {
        let mut segment = parent.to_string();
        for token in path {
            match token {
                TokenTree::Ident(ident) => segment = ident.to_string(),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.note_globs(&inner, &segment, in_tests);
                }
                TokenTree::Punct(punct) if punct.as_char() == ',' => segment = parent.to_string(),
                TokenTree::Punct(punct) if punct.as_char() == '*' => {
                    let line = punct.span().start().line;
                    self.globs.push(Glob { parent: segment.clone(), line, in_tests });
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

/// `#[..]` or `#![..]`; a documentation comment is one, too.
struct Attribute {
    inside: Vec<TokenTree>,
    is_inner: bool,
    token_count: usize,
}

impl Attribute {
    /// The attribute that begins at the first token, if one does.
    fn at(tokens: &[TokenTree]) -> Option<Attribute> {
        if !is_punct(tokens.first(), '#') {
            return None;
        }
        let is_inner = is_punct(tokens.get(1), '!');
        let bracket = if is_inner { 2 } else { 1 };
        let TokenTree::Group(group) = tokens.get(bracket)? else { return None };
        if group.delimiter() != Delimiter::Bracket {
            return None;
        }
        let inside = group.stream().into_iter().collect();
        Some(Attribute { inside, is_inner, token_count: bracket + 1 })
    }

    fn is_documentation(&self) -> bool {
        is_ident(self.inside.first(), "doc") && is_punct(self.inside.get(1), '=')
    }

    /// True if what it stands on is compiled for tests only.
    fn implies_test(&self) -> bool {
        match self.inside.as_slice() {
            [TokenTree::Ident(name), TokenTree::Group(predicate)] if name == "cfg" => {
                let tokens: Vec<TokenTree> = predicate.stream().into_iter().collect();
                predicate_implies_test(&tokens)
            }
            _ => false,
        }
    }
}

fn predicate_implies_test(predicate: &[TokenTree]) -> bool {
    match predicate {
        [TokenTree::Ident(name)] => name == "test",
        [TokenTree::Ident(name), TokenTree::Group(parts)] => {
            let tokens: Vec<TokenTree> = parts.stream().into_iter().collect();
            let mut parts = tokens
                .split(|token| is_punct(Some(token), ','))
                .filter(|part| !part.is_empty())
                .map(predicate_implies_test);
            match name.to_string().as_str() {
                "all" => parts.any(|implies| implies),
                "any" => !tokens.is_empty() && parts.all(|implies| implies),
                _ => false,
            }
        }
        _ => false,
    }
}

/// How many tokens the item takes that begins here, with its attributes.
fn item_length(tokens: &[TokenTree]) -> usize {
    let mut start = 0;
    while let Some(attribute) = Attribute::at(tokens.get(start..).unwrap_or_default()) {
        start += attribute.token_count;
    }
    let rest = tokens.get(start..).unwrap_or_default();
    let ends_at_comma = !starts_item(rest);
    let end = rest.iter().position(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => {
            punct.as_char() == ';' || (ends_at_comma && punct.as_char() == ',')
        }
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    });
    end.map_or(tokens.len(), |end| start + end + 1)
}

/// True for an item or statement, false for a field, an arm or an argument (which end at a comma).
fn starts_item(tokens: &[TokenTree]) -> bool {
    const KEYWORDS: [&str; 15] = [
        "async",
        "const",
        "enum",
        "extern",
        "fn",
        "impl",
        "let",
        "macro_rules",
        "mod",
        "static",
        "struct",
        "trait",
        "type",
        "unsafe",
        "use",
    ];
    let skipped = match tokens {
        [TokenTree::Ident(word), TokenTree::Group(scope), ..]
            if word == "pub" && scope.delimiter() == Delimiter::Parenthesis =>
        {
            2
        }
        [TokenTree::Ident(word), ..] if word == "pub" => 1,
        _ => 0,
    };
    KEYWORDS.iter().any(|keyword| is_ident(tokens.get(skipped), keyword))
}

fn name_after(tokens: &[TokenTree]) -> Option<String> {
    match tokens.get(1)? {
        TokenTree::Ident(name) => Some(name.to_string()),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    }
}

/// The first brace group before a `;`: the body of a function that has one.
fn body_of(tokens: &[TokenTree]) -> Option<&Group> {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return Some(group),
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            TokenTree::Group(_)
            | TokenTree::Punct(_)
            | TokenTree::Ident(_)
            | TokenTree::Literal(_) => {}
        }
    }
    None
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_ident(token: Option<&TokenTree>, wanted: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == wanted)
}

#[cfg(test)]
mod tests {
    use super::{Glob, Source};

    fn read(text: &str) -> Source {
        Source::read(text, false).unwrap()
    }

    #[test]
    fn comments_documentation_and_blank_lines_are_no_code() {
        let source = read("//! head\n\n/// doc\n// why\nfn f() {\n\n    /* a\n b */\n}\n");
        assert_eq!(source.lines(), 2);
        assert_eq!(source.function_lines(&source.functions[0]), 2);
    }

    #[test]
    fn a_string_over_lines_is_code_on_each_of_them() {
        assert_eq!(read("const A: &str = \"one\n// two\n\nfour\";\n").lines(), 4);
    }

    #[test]
    fn test_code_does_not_count_and_what_follows_it_does() {
        let text = "fn a() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n fn b() {}\n}\nfn c() {}\n";
        let source = read(text);
        assert_eq!(source.lines(), 2);
        let names: Vec<&str> = source.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
    }

    #[test]
    fn only_conditions_that_need_test_make_test_code() {
        assert_eq!(read("#[cfg(all(test, unix))]\nfn a() {}\n").lines(), 0);
        assert_eq!(read("#[cfg(any(test))]\nfn a() {}\n").lines(), 0);
        assert_eq!(read("#[cfg(any(test, unix))]\nfn a() {}\n").lines(), 2);
        assert_eq!(read("#[cfg(not(test))]\nfn a() {}\n").lines(), 2);
        assert_eq!(read("#[cfg(feature = \"test\")]\nfn a() {}\n").lines(), 2);
        assert_eq!(read("#![cfg(test)]\nfn a() {}\nfn b() {}\n").lines(), 0);
    }

    #[test]
    fn a_test_only_field_hides_nothing_but_itself() {
        let source = read("struct S {\n #[cfg(test)]\n pub a: u8,\n b: u8,\n c: u8,\n}\n");
        assert_eq!(source.lines(), 4);
    }

    #[test]
    fn a_test_only_import_hides_nothing_but_itself() {
        assert_eq!(read("#[cfg(test)]\nuse a::b;\nfn c() {}\n").lines(), 1);
        assert_eq!(read("#[cfg(test)]\nmod tests;\nfn c() {}\n").lines(), 1);
    }

    #[test]
    fn functions_are_found_in_bodies_and_traits_and_types_are_none() {
        let source = read(
            "trait T {\n fn a();\n fn b() {}\n}\nfn c(f: fn(u8) -> u8) {\n fn d() {}\n}\n\
             const S: &str = \"fn e() {}\";\n",
        );
        let names: Vec<&str> = source.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["b", "c", "d"]);
    }

    #[test]
    fn globs_are_found_at_every_depth() {
        let source = read("use a::{b::*, c, d::{self, e::*}, *};\nlet x = 2 * 3;\n");
        let parents: Vec<&str> = source.globs.iter().map(|glob| glob.parent.as_str()).collect();
        assert_eq!(parents, ["b", "e", "a"]);
    }

    #[test]
    fn a_glob_in_test_code_is_told_apart() {
        let source = read("#[cfg(test)]\nmod tests {\n use super::Kind::*;\n}\n");
        assert_eq!(source.globs, [Glob { parent: "Kind".into(), line: 3, in_tests: true }]);
    }

    #[test]
    fn what_is_no_rust_is_an_error_with_its_line() {
        assert_eq!(Source::read("fn a() {\n}\n)\n", false).unwrap_err(), 3);
    }
}
