//! Words to fields: quotes removed, variables and substitutions put in, braces expanded, split.
//!
//! What is not known stays in the field as a mark, so that `rm -rf "$X/cache"` is still seen as a
//! deletion of something that ends in `/cache`. Refused: losing a part of a word because another part
//! is not known.

use crate::effect::{Effect, Target, Verb};
use crate::limits::{BRACE_WORDS_MAX, CHOICES_MAX, FLOW_BYTES_MAX, VALUES_MAX, WORDS_MAX};
use crate::mark;
use crate::path::Within;
use crate::run::Run;
use crate::shell::scope::{Scope, Var, is_prefix_of_secrets, is_secret_name};
use crate::shell::syntax::{Op, Part, Word};
use crate::shell::text::{braces, cut, first_letter, slice, unescape, unescape_backtick, weaker};

/// Up to here the content of a file is a version or a name, and no data.
const WORD_BYTES_MAX: usize = 40;

/// Which of several values each variable takes while one command is analysed: an odometer.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    digits: Vec<(Box<str>, usize, usize)>,
}

impl Choice {
    fn pick(&mut self, name: &str, count: usize) -> usize {
        if count < 2 {
            return 0;
        }
        if let Some((_, index, _)) = self.digits.iter().find(|(n, _, _)| **n == *name) {
            return (*index).min(count - 1);
        }
        self.digits.push((name.into(), 0, count));
        0
    }

    /// Goes to the next combination; `false` when all are through.
    pub(crate) fn next(&mut self) -> bool {
        for (_, index, count) in &mut self.digits {
            *index += 1;
            if *index < *count {
                return true;
            }
            *index = 0;
        }
        false
    }

    /// Whether there are more combinations than are tried.
    pub(crate) fn is_over(&self) -> bool {
        self.digits.iter().map(|(_, _, count)| count).product::<usize>() > CHOICES_MAX
    }
}

struct Field {
    text: String,
    /// An empty field counts when it was quoted.
    quoted: bool,
    braces: bool,
    split: bool,
}

impl Run<'_> {
    /// All fields of all words.
    pub(crate) fn fields(&mut self, scope: &mut Scope, words: &[Word<'_>]) -> Vec<String> {
        let mut out = Vec::with_capacity(words.len());
        for word in words {
            if out.len() >= WORDS_MAX {
                out.push(mark::VOID.to_string());
                break;
            }
            self.field(scope, word, &mut out);
        }
        out
    }

    fn field(&mut self, scope: &mut Scope, word: &Word<'_>, out: &mut Vec<String>) {
        if let [Part::Quoted(text)] = word.parts.as_slice() {
            out.push((*text).to_owned());
            return;
        }
        if let Some(text) = word.plain()
            && !text.bytes().any(|b| matches!(b, b'\\' | b'*' | b'?' | b'[' | b'{' | b'~'))
        {
            out.push(text.to_owned());
            return;
        }
        let mut field = Field { text: String::new(), quoted: false, braces: false, split: false };
        for (index, part) in word.parts.iter().enumerate() {
            self.part(scope, part, index == 0, &mut field);
        }
        if field.text.is_empty() && !field.quoted {
            return;
        }
        if !self.expand(field.text.len()) {
            out.push(mark::VOID.to_string());
            return;
        }
        let mut texts = vec![field.text];
        if field.braces {
            let bytes = texts.first().map_or(0, String::len) * BRACE_WORDS_MAX / 8;
            if !self.expand(bytes) {
                out.push(mark::VOID.to_string());
                return;
            }
            texts = braces(&texts.swap_remove(0));
        }
        for text in texts {
            if field.split {
                out.extend(text.split(mark::SPLIT).filter(|f| !f.is_empty()).map(str::to_owned));
            } else {
                out.push(text);
            }
        }
    }

    /// The output of a command that is put into a word: a secret in it is shown when the word is.
    fn caught(&mut self, before: usize, text: String) -> String {
        if self.out.take_back_shown(before) {
            return mark::SECRET.to_string();
        }
        if self.are_lines(before, &text) {
            return format!("{}{}", mark::LINE, mark::DATA);
        }
        let reads = |effect: &Effect| effect.verb == Verb::Reads;
        let is_much = mark::has_void(&text) || text.len() > WORD_BYTES_MAX;
        if is_much && !text.ends_with(mark::DATA) && self.out.iter().skip(before).any(reads) {
            return format!("{text}{}", mark::DATA);
        }
        text
    }

    /// Whether what was printed since there were `before` effects is what stands in files of the workspace.
    pub(crate) fn are_lines(&self, before: usize, text: &str) -> bool {
        let is_unknown =
            mark::has_mark(text) && mark::without_data(text).trim() == mark::VOID.to_string();
        let mut done = self.out.iter().skip(before);
        is_unknown
            && done.clone().any(|effect| effect.verb == Verb::Reads)
            && done.all(|effect| lists_a_file(effect, self.ctx.root))
    }

    /// The one text of some parts, without splitting: assignments, here-documents, redirections.
    pub(crate) fn text(&mut self, scope: &mut Scope, parts: &[Part<'_>]) -> String {
        let mut field = Field { text: String::new(), quoted: true, braces: false, split: false };
        for (index, part) in parts.iter().enumerate() {
            self.part(scope, part, index == 0, &mut field);
        }
        if !self.expand(field.text.len()) {
            return mark::VOID.to_string();
        }
        let plain = |c| match c {
            mark::OPEN => '{',
            mark::COMMA => ',',
            mark::CLOSE => '}',
            mark::SPLIT => ' ',
            c => c,
        };
        if field.braces || field.split {
            return field.text.chars().map(plain).collect();
        }
        field.text
    }

    fn part(&mut self, scope: &mut Scope, part: &Part<'_>, first: bool, field: &mut Field) {
        if field.text.len() > FLOW_BYTES_MAX {
            field.text = mark::VOID.to_string();
        }
        match part {
            Part::Bare(text) => self.bare(scope, text, first, field),
            Part::Quoted(text) => {
                field.quoted = true;
                field.text.push_str(text);
            }
            Part::Extended => field.text.push(mark::ANY),
            Part::Ansi(text) => {
                field.quoted = true;
                field.text.push_str(&unescape(text, true));
            }
            Part::Variable { name, op, quoted } => {
                field.quoted |= *quoted && !matches!(*name, "@");
                let values = self.variable(scope, name, op);
                // Before it is copied: a text that doubles itself must not be built to be refused.
                let bytes = values.iter().map(String::len).sum();
                let values = if self.expand(bytes) { values } else { vec![mark::VOID.to_string()] };
                put(scope, &values, *quoted, field);
            }
            Part::Command { script, quoted } => {
                field.quoted |= *quoted;
                let before = self.out.len();
                let text = self.substitute(scope, script);
                let text = self.caught(before, text);
                put(scope, &[text], *quoted, field);
            }
            Part::Backtick { text, quoted } => {
                field.quoted |= *quoted;
                let inner = unescape_backtick(text, *quoted);
                let before = self.out.len();
                let text = self.substitute_text(scope, &inner);
                let text = self.caught(before, text);
                put(scope, &[text], *quoted, field);
            }
            Part::Arithmetic(parts) => {
                self.text(scope, parts);
                field.text.push(mark::WORD);
            }
            Part::ProcessIn(script) => {
                let text = self.substitute(scope, script);
                field.text.push_str(&self.keep_text(text));
            }
            Part::ProcessOut(script) => {
                let mut inner = scope.clone();
                self.script(&mut inner, script, mark::VOID.to_string());
                field.text.push_str("/dev/fd/out");
            }
        }
    }

    fn bare(&mut self, scope: &Scope, text: &str, first: bool, field: &mut Field) {
        let mut chars = text.chars().peekable();
        if first && text.starts_with('~') {
            chars.next();
            let mut user = String::new();
            while let Some(c) = chars.next_if(|c| *c != '/' && *c != ':') {
                user.push(c);
            }
            let home = match user.as_str() {
                "" => self.home(),
                "+" => scope.cwd.to_string(),
                "root" => "/root".to_owned(),
                "-" => mark::VOID.to_string(),
                user => format!("/home/{user}"),
            };
            field.text.push_str(&home);
        }
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    field.quoted = true;
                    field.text.extend(chars.next());
                }
                '*' => {
                    while chars.next_if_eq(&'*').is_some() {}
                    field.text.push(mark::ANY);
                }
                '?' => field.text.push(mark::ONE),
                // In an address it is no bracket expression that could ever match.
                '[' if field.text.ends_with("://") => field.text.push('['),
                '[' => {
                    let mut ahead = chars.clone();
                    let closed = ahead.by_ref().take(64).skip(1).any(|c| c == ']');
                    if closed {
                        chars = ahead;
                        field.text.push(mark::ONE);
                    } else {
                        field.text.push('[');
                    }
                }
                '{' => {
                    field.braces = true;
                    field.text.push(mark::OPEN);
                }
                ',' if field.braces => field.text.push(mark::COMMA),
                '}' if field.braces => field.text.push(mark::CLOSE),
                '~' if matches!(
                    field.text.chars().last(),
                    Some('=' | ':' | mark::OPEN | mark::COMMA)
                ) && matches!(chars.peek(), None | Some('/' | ',' | '}')) =>
                {
                    field.text.push_str(&self.home());
                }
                c => field.text.push(c),
            }
        }
    }

    /// The values of a variable after its operation. More than one only for arrays and `$@`.
    fn variable(&mut self, scope: &mut Scope, name: &str, op: &Op<'_>) -> Vec<String> {
        let known = self.lookup(scope, name);
        let single = |known: &Option<Vec<String>>| -> Option<String> {
            known.as_ref().map(|values| values.join(" "))
        };
        match op {
            Op::None if matches!(scope.vars.get(name), Some(Var::List(_))) => {
                known.into_iter().flatten().take(1).collect()
            }
            Op::None | Op::All => known.unwrap_or_else(|| vec![self.void(name)]),
            Op::Length => vec![mark::WORD.to_string()],
            Op::Default(parts) | Op::Assign(parts) => {
                let default = self.text(scope, parts);
                // `${OLD_PATH:-}:/bin`: an empty one would be the present folder, and is there only where
                // the variable never was set.
                let lists_folders = name.ends_with("PATH") && default.is_empty();
                let default = if lists_folders { mark::WORD.to_string() } else { default };
                let value = match single(&known) {
                    Some(value) if !value.is_empty() => value,
                    Some(_) => default,
                    // Not set in this text, and each text has a shell of its own: an agent cannot have set it
                    // in another. What the person set in the environment is the person's.
                    None => default,
                };
                if matches!(op, Op::Assign(_)) {
                    scope.set(name, Var::Scalar(vec![value.clone()]));
                }
                vec![value]
            }
            Op::Alternative(parts) => {
                let text = self.text(scope, parts);
                match single(&known) {
                    Some(value) if value.is_empty() => Vec::new(),
                    Some(_) | None => vec![text],
                }
            }
            Op::Required => known.unwrap_or_else(|| vec![self.void(name)]),
            Op::Element(Some(index)) if is_list(scope, name) => {
                known.into_iter().flatten().skip(*index).take(1).collect()
            }
            Op::Element(_) => match scope.vars.get(name) {
                Some(Var::List(values)) if values.len() > 1 => {
                    let index = self.choice.pick(name, values.len().min(VALUES_MAX));
                    values.get(index).cloned().into_iter().collect()
                }
                _ => known.unwrap_or_else(|| vec![self.void(name)]),
            },
            Op::Indirect => vec![self.indirect(scope, known)],
            Op::Names => vec![format!("{name}{}", mark::WORD)],
            Op::Other(parts) => {
                self.text(scope, parts);
                if known.iter().flatten().any(|value| value.contains(mark::SECRET)) {
                    return vec![mark::SECRET.to_string()];
                }
                vec![self.void(name)]
            }
            Op::CutFront(..)
            | Op::CutBack(..)
            | Op::Replace(..)
            | Op::Slice(..)
            | Op::Upper(_)
            | Op::Lower(_) => {
                let value = single(&known).unwrap_or_else(|| self.void(name));
                // A part of a secret, or a secret in another form, is as good as the whole.
                let secret = value.contains(mark::SECRET);
                let changed = self.changed(scope, value, op);
                vec![if secret { mark::SECRET.to_string() } else { changed }]
            }
        }
    }

    /// `${!x}`: what the variable named by the value holds; only followed as far as secrets go.
    fn indirect(&mut self, scope: &Scope, names: Option<Vec<String>>) -> String {
        for name in names.into_iter().flatten() {
            if name.strip_suffix(mark::WORD).is_some_and(is_prefix_of_secrets) {
                self.secret_name = "*".into();
                return mark::SECRET.to_string();
            }
            let values = self.lookup(scope, &name).unwrap_or_else(|| vec![self.void(&name)]);
            if values.iter().any(|value| value.contains(mark::SECRET)) {
                return mark::SECRET.to_string();
            }
        }
        mark::VOID.to_string()
    }

    fn changed(&mut self, scope: &mut Scope, value: String, op: &Op<'_>) -> String {
        match op {
            Op::CutFront(parts, longest) => {
                let pattern = self.text(scope, parts);
                cut(&value, &pattern, true, *longest)
            }
            Op::CutBack(parts, longest) => {
                let pattern = self.text(scope, parts);
                cut(&value, &pattern, false, *longest)
            }
            Op::Replace(pattern, with, all) => {
                let pattern = self.text(scope, pattern);
                let with = self.text(scope, with);
                if with.contains(mark::SECRET) {
                    return mark::SECRET.to_string();
                }
                if mark::has_mark(&value) || mark::has_mark(&pattern) || pattern.is_empty() {
                    return weaker(&value, &with);
                }
                if *all {
                    value.replace(&pattern, &with)
                } else {
                    value.replacen(&pattern, &with, 1)
                }
            }
            Op::Slice(start, length) => {
                if mark::has_mark(&value) {
                    return mark::VOID.to_string();
                }
                slice(&value, *start, *length)
            }
            Op::Upper(true) => value.to_uppercase(),
            Op::Lower(true) => value.to_lowercase(),
            Op::Upper(false) => first_letter(&value, true),
            Op::Lower(false) => first_letter(&value, false),
            Op::None
            | Op::Length
            | Op::Default(_)
            | Op::Assign(_)
            | Op::Alternative(_)
            | Op::Required
            | Op::All
            | Op::Element(_)
            | Op::Indirect
            | Op::Names
            | Op::Other(_) => value,
        }
    }

    pub(crate) fn void(&mut self, name: &str) -> String {
        if is_secret_name(name) {
            self.secret_name = name.into();
            return mark::SECRET.to_string();
        }
        mark::VOID.to_string()
    }

    /// What a name stands for; `None` when the text and the context do not say.
    fn lookup(&mut self, scope: &Scope, name: &str) -> Option<Vec<String>> {
        match scope.vars.get(name) {
            Some(Var::Scalar(values)) => {
                let index = self.choice.pick(name, values.len());
                return Some(values.get(index).cloned().into_iter().collect());
            }
            Some(Var::List(values)) => return Some(values.clone()),
            None => {}
        }
        let one = |text: &str| Some(vec![text.to_owned()]);
        match name {
            "@" | "*" => match &scope.args {
                Some(args) => Some(args.as_ref().clone()),
                None => one(&mark::VOID.to_string()),
            },
            "#" | "?" | "$" | "!" | "RANDOM" | "UID" | "EUID" | "PPID" | "SECONDS" | "LINENO"
            | "HOSTNAME" | "USER" | "LOGNAME" | "EPOCHSECONDS" | "COLUMNS" | "LINES"
            | "BASHPID" | "SRANDOM" | "OSTYPE" | "HOSTTYPE" | "MACHTYPE" => {
                one(&mark::WORD.to_string())
            }
            "0" => one("bash"),
            "-" => one("hB"),
            "IFS" => one(" \t\n"),
            "HOME" => Some(vec![self.home()]),
            "PWD" => Some(vec![scope.cwd.to_string()]),
            "SHELL" | "BASH" => one("/bin/bash"),
            "TMPDIR" => Some(vec![self.env(name).unwrap_or_else(|| "/tmp".to_owned())]),
            name if name.bytes().all(|b| b.is_ascii_digit()) => {
                let index = name.parse::<usize>().ok()?;
                let args = scope.args.as_ref()?;
                Some(args.get(index.checked_sub(1)?).cloned().into_iter().collect())
            }
            name => self.env(name).map(|value| vec![value]),
        }
    }
}

/// Puts values into a field; unquoted ones are split where the shell splits.
fn put(scope: &Scope, values: &[String], quoted: bool, field: &mut Field) {
    let separators = match scope.vars.get("IFS") {
        Some(Var::Scalar(list)) => list.first().map_or(" \t\n", |text| text.as_str()),
        Some(Var::List(_)) | None => " \t\n",
    };
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            field.text.push(mark::SPLIT);
            field.split = true;
        }
        if quoted {
            field.text.push_str(value);
            continue;
        }
        for c in value.chars() {
            match c {
                c if separators.contains(c) => {
                    field.text.push(mark::SPLIT);
                    field.split = true;
                }
                '*' => field.text.push(mark::ANY),
                '?' => field.text.push(mark::ONE),
                c => field.text.push(c),
            }
        }
    }
}

/// Whether an effect is that of showing a file of the workspace, or a part of it.
fn lists_a_file(effect: &Effect, root: Option<&str>) -> bool {
    const READERS: &[&str] =
        &["cat", "head", "tail", "sort", "uniq", "grep", "egrep", "cut", "sed", "awk", "tr"];
    match &effect.target {
        Target::Program { name, .. } => READERS.contains(&&**name),
        Target::Path(path) => {
            effect.verb == Verb::Reads
                && path.is_literal()
                && root.is_some_and(|root| path.within(root) == Within::Below)
        }
        Target::Host(_)
        | Target::Agent { .. }
        | Target::RemoteCode
        | Target::Thing(_)
        | Target::Secret(_)
        | Target::Unknown(_) => false,
    }
}

fn is_list(scope: &Scope, name: &str) -> bool {
    matches!(scope.vars.get(name), Some(Var::List(_)))
}
