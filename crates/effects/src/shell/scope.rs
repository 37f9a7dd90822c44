//! What a shell knows at one point of a text: variables, functions, aliases, the folder it is in.
//!
//! Scopes are cheap to copy, since every subshell, pipeline stage and substitution has its own. A
//! variable that was set on a path that may not run keeps its older values beside the new one.
//! Refused: inventing a value. What the text does not say is a mark.

use std::collections::HashMap;
use std::rc::Rc;

use crate::limits::VALUES_MAX;
use crate::mark;

/// The values a variable may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Var {
    /// One of these.
    Scalar(Vec<String>),
    /// An array: all of these.
    List(Vec<String>),
}

#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) vars: Rc<HashMap<Box<str>, Var>>,
    pub(crate) functions: Rc<HashMap<Box<str>, Rc<str>>>,
    pub(crate) aliases: Rc<HashMap<Box<str>, Rc<str>>>,
    /// The folder, absolute, or with a mark where it is not known.
    pub(crate) cwd: Rc<str>,
    /// Further folders it may be, because a `cd` may not have run.
    pub(crate) cwd_else: Option<Rc<str>>,
    pub(crate) folders: Rc<Vec<Rc<str>>>,
    /// The positional parameters; `None` when they are not known.
    pub(crate) args: Option<Rc<Vec<String>>>,
    /// Over 0 where the code may or may not run.
    pub(crate) conditional: u32,
}

impl Scope {
    pub(crate) fn new(cwd: &str) -> Self {
        Self {
            vars: Rc::default(),
            functions: Rc::default(),
            aliases: Rc::default(),
            cwd: Rc::from(cwd),
            cwd_else: None,
            folders: Rc::default(),
            args: Some(Rc::default()),
            conditional: 0,
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Var) {
        let conditional = self.conditional > 0;
        let vars = Rc::make_mut(&mut self.vars);
        let merged = match (vars.get_mut(name), value) {
            (Some(Var::Scalar(old)), Var::Scalar(new)) if conditional => {
                for value in new {
                    if !old.contains(&value) {
                        old.push(value);
                    }
                }
                if old.len() > VALUES_MAX {
                    *old = vec![general(old)];
                }
                return;
            }
            (Some(Var::List(old)), Var::List(new)) if conditional => {
                if *old != new && old.len() + new.len() <= VALUES_MAX * 8 {
                    old.extend(new);
                }
                return;
            }
            (_, value) => value,
        };
        vars.insert(name.into(), merged);
    }

    pub(crate) fn change_folder(&mut self, folder: &str) {
        if self.conditional > 0 {
            self.cwd_else = Some(Rc::clone(&self.cwd));
        }
        self.cwd = Rc::from(folder);
    }
}

/// One value that stands for all of `values`.
pub(crate) fn general(values: &[String]) -> String {
    let plain = |value: &String| {
        !value.is_empty()
            && value != "."
            && value != ".."
            && !value.contains(['/', ' ', '\n', '-'])
            && !mark::has_void(value)
            && !value.contains(mark::BELOW)
    };
    let below = |value: &String| {
        !value.is_empty()
            && !value.starts_with(['/', '-', '~'])
            && !value.contains("..")
            && !value.contains([' ', '\n'])
            && !mark::has_void(value)
    };
    if values.iter().any(|value| value.contains(mark::SECRET)) {
        mark::SECRET.to_string()
    } else if values.iter().all(plain) {
        mark::WORD.to_string()
    } else if values.iter().all(below) {
        mark::BELOW.to_string()
    } else {
        mark::VOID.to_string()
    }
}

/// Whether variables whose names begin so are those of a service, some of which hold a secret.
pub(crate) fn is_prefix_of_secrets(prefix: &str) -> bool {
    const SERVICES: &[&str] = &[
        "AWS",
        "AZURE",
        "GITHUB",
        "GITLAB",
        "GOOGLE",
        "GCP",
        "OPENAI",
        "ANTHROPIC",
        "NPM",
        "DOCKER",
        "STRIPE",
        "SLACK",
        "VAULT",
        "TF_VAR",
        "HF",
        "CLOUDFLARE",
        "DATABASE",
        "DB",
        "PG",
        "API",
    ];
    let front = prefix.trim_end_matches('_').to_ascii_uppercase();
    SERVICES.contains(&front.as_str()) || is_secret_name(&front)
}

/// Whether a variable of this name holds a secret by its name.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let words: Vec<&str> = upper.split('_').collect();
    let has = |word: &str| words.contains(&word);
    if has("PATH") || has("FILE") || has("DIR") || has("URL") || has("NAME") || has("ID") {
        return upper == "AWS_ACCESS_KEY_ID";
    }
    has("SECRET")
        || has("TOKEN")
        || has("PASSWORD")
        || has("PASSWD")
        || has("PASSPHRASE")
        || has("PASS")
        || has("PWD") && words.len() > 1 && !has("OLD")
        || has("APIKEY")
        || has("CREDENTIAL")
        || has("CREDENTIALS")
        || has("PAT")
        || (has("KEY") && (has("API") || has("PRIVATE") || has("ACCESS") || has("SIGNING")))
        || upper.ends_with("_KEY")
        || upper.ends_with("TOKEN")
        || upper.ends_with("SECRET")
        || upper.ends_with("PASSWORD")
        || upper == "PGPASSWORD"
}
