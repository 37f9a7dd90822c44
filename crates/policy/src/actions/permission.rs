//! `permission`: which tools may be used, and which paths they may not touch.
//!
//! `tools` gives each tool a mode: `allow`, `ask` or `deny`. An exact name comes before a glob, and of
//! several globs the strictest holds; a tool that none names has the mode `otherwise`, or no opinion.
//! `protect` keeps tools away from paths, whatever the tool's mode is. Paths are compared by their
//! text: as written, from the session's folder, and from the workspace; a relative glob counts from
//! the workspace. A link, or a file system that takes no notice of case, can lead past it, and so can
//! a tool that names its path in another argument: list that in `path_args`.
//!
//! ```yaml
//! permission:
//!   tools: { read_file: allow, run_test: ask, "delete_*": deny }
//!   protect:
//!     - { paths: "**/test_*.py", tools: [edit_file, write_file], reason: "test files are protected" }
//! ```

use super::act::{Act, handler};
use super::location::{behind, clean, is_plain};
use super::read::{ENTRIES_MAX, OneOrMany, read, schema_of};
use super::refusal::check_text;
use super::text::any_text;
use super::{ActionContext, ActionError, ActionSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tollgate_gate::limits::SHOWN_CHARS_MAX;
use tollgate_gate::path::{Step, any_below, parse_steps};
use tollgate_gate::text::shown;
use tollgate_gate::{
    EventKind, Glob, GlobError, Handler, HandlerError, Json, KindSet, OnFailure, Opinion, Patterns,
    Question, Refusal, Roles, Session, View, Vote, VoteKind,
};

pub(super) static SPEC: ActionSpec = ActionSpec {
    name: "permission",
    summary: "which tools may be used, and which paths they may not touch",
    kinds: KindSet::NONE.with(EventKind::PreTool),
    roles: Roles::JUDGE,
    on_failure: OnFailure::Closed,
    // It can allow.
    restricts: false,
    compile,
    schema: schema_of::<Config>,
};

/// Arguments that hold a path, unless the policy names others.
const PATH_ARGS: [&str; 13] = [
    "path",
    "paths.*",
    "file",
    "files.*",
    "file_path",
    "filepath",
    "filename",
    "notebook_path",
    "target",
    "source",
    "destination",
    "old_path",
    "new_path",
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The mode of each tool, by name or glob.
    #[serde(default)]
    tools: BTreeMap<String, Mode>,
    /// The mode of every other tool; no opinion when left out.
    otherwise: Option<Mode>,
    /// Paths that tools may not touch.
    #[serde(default)]
    protect: Vec<ProtectConfig>,
    /// The arguments that hold paths, as paths below the arguments. Left out: `path`, `file`,
    /// `file_path`, `source`, `destination` and other usual names.
    path_args: Option<Vec<String>>,
}

/// What may be done with a tool; in the order of strictness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// It may be used.
    Allow,
    /// A person must confirm.
    Ask,
    /// It may not be used.
    Deny,
}

/// Paths that tools may not touch.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProtectConfig {
    /// The paths, as globs: `*` stays within one component, `**/` stands for any number of them.
    paths: OneOrMany<String>,
    /// The tools, by name or glob; every tool when left out.
    #[serde(default)]
    tools: OneOrMany<String>,
    /// Why, for the model and the person.
    reason: Option<String>,
}

struct Permission {
    exact: BTreeMap<String, Mode>,
    globs: Vec<(Glob, Mode)>,
    otherwise: Option<Mode>,
    protected: Vec<Protected>,
    path_args: Vec<Vec<Step>>,
}

struct Protected {
    paths: Vec<Glob>,
    tools: Option<Patterns>,
    reason: Option<Arc<str>>,
}

fn compile(value: &Json, _: &ActionContext) -> Result<Arc<dyn Handler>, ActionError> {
    let config: Config = read(value)?;
    if config.tools.is_empty() && config.otherwise.is_none() && config.protect.is_empty() {
        let remedy = "give `tools`, `otherwise` or `protect`";
        return Err(ActionError::at("", "nothing is permitted or protected").remedy(remedy));
    }
    let mut permission = Permission {
        exact: BTreeMap::new(),
        globs: Vec::new(),
        otherwise: config.otherwise,
        protected: Vec::new(),
        path_args: Vec::new(),
    };
    for (pattern, mode) in config.tools {
        let glob = glob(Glob::text(&pattern)).map_err(|e| e.under(&pattern).under("tools"))?;
        // Braces around names are a glob too: they never take the place of a name that stands alone.
        match glob.literals().as_deref() {
            Some([name]) if *name == pattern => {
                permission.exact.insert(pattern, mode);
            }
            Some(_) | None => permission.globs.push((glob, mode)),
        }
    }
    for (at, protect) in config.protect.into_iter().enumerate() {
        let protected = Protected::of(protect);
        permission.protected.push(protected.map_err(|e| e.under(&format!("protect.{at}")))?);
    }
    let named = config.path_args;
    let path_args = named.unwrap_or_else(|| PATH_ARGS.map(str::to_owned).into());
    for (at, arg) in path_args.iter().enumerate() {
        let steps = parse_steps(arg);
        let bad = |error| ActionError::at(format!("path_args.{at}"), format!("{error}"));
        permission.path_args.push(steps.map_err(bad)?);
    }
    Ok(handler(SPEC.name, value, permission))
}

fn glob(glob: Result<Glob, GlobError>) -> Result<Glob, ActionError> {
    glob.map_err(|error| ActionError::at("", error.to_string()))
}

impl Protected {
    fn of(config: ProtectConfig) -> Result<Protected, ActionError> {
        if config.paths.0.is_empty() || config.paths.0.len() > ENTRIES_MAX {
            return Err(ActionError::at("paths", "no path"));
        }
        let mut paths = Vec::with_capacity(config.paths.0.len());
        for (at, path) in config.paths.0.iter().enumerate() {
            // `./x` and `x` are one path.
            let path = path.strip_prefix("./").unwrap_or(path);
            paths.push(glob(Glob::path(path)).map_err(|e| e.under(&format!("paths.{at}")))?);
        }
        if let Some(reason) = &config.reason {
            check_text("reason", reason)?;
        }
        let tools = config.tools.0.iter().map(String::as_str);
        let tools = Patterns::globs(tools);
        let tools = tools.map_err(|error| ActionError::at("tools", error.to_string()))?;
        let tools = (!tools.as_globs().is_empty()).then_some(tools);
        Ok(Protected { paths, tools, reason: config.reason.map(Arc::from) })
    }

    fn concerns(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.matches(tool))
    }

    /// Whether the path is protected, in any of the forms in which it can be meant.
    fn covers(&self, path: &str, session: &Session) -> bool {
        let is_hit = |form: &str| self.paths.iter().any(|glob| glob.matches(form));
        let path = path.strip_prefix("file://").unwrap_or(path);
        let path = match path.contains('\\') {
            true => Cow::Owned(path.replace('\\', "/")),
            false => Cow::Borrowed(path),
        };
        let plain = |path: &str| (!is_plain(path)).then(|| clean(path));
        if is_hit(plain(&path).as_deref().unwrap_or(&path)) {
            return true;
        }
        let workspace = session.workspace.as_deref().or(session.cwd.as_deref());
        let folder = session.cwd.as_deref().or(workspace);
        let whole = match folder {
            // `..` counts from the folder, so it is cleaned only behind it.
            Some(folder) if !path.starts_with('/') => clean(&format!("{folder}/{path}")).into(),
            _ => plain(&path).map_or(path, Cow::Owned),
        };
        is_hit(&whole) || workspace.and_then(|folder| behind(folder, &whole)).is_some_and(is_hit)
    }
}

impl Permission {
    fn mode_of(&self, tool: &str) -> Option<Mode> {
        let by_glob = || {
            let hits = self.globs.iter().filter(|(glob, _)| glob.matches(tool));
            hits.map(|(_, mode)| *mode).max()
        };
        self.exact.get(tool).copied().or_else(by_glob).or(self.otherwise)
    }

    /// The refusal of a call that touches a protected path.
    fn refusal(&self, view: &View<'_>) -> Result<Option<Refusal>, HandlerError> {
        let Some(call) = view.payload.tool_call() else { return Ok(None) };
        for protected in self.protected.iter().filter(|protected| protected.concerns(&call.tool)) {
            let mut touched: Option<String> = None;
            let mut failed = None;
            for steps in &self.path_args {
                any_below(&call.arguments, steps, &mut |value| {
                    let found = any_text(value, &mut |text| {
                        let is_hit = protected.covers(text, &view.event.session);
                        if is_hit {
                            touched = Some(shown(text, SHOWN_CHARS_MAX).to_string());
                        }
                        is_hit
                    });
                    found.unwrap_or_else(|error| {
                        failed = Some(error);
                        true
                    })
                });
            }
            if let Some(error) = failed {
                return Err(error);
            }
            if let Some(path) = touched {
                let named = || format!("`{path}` is protected").into();
                return Ok(Some(Refusal::because(protected.reason.clone().unwrap_or_else(named))));
            }
        }
        Ok(None)
    }
}

impl Act for Permission {
    fn act(&self, view: &View<'_>) -> Result<Opinion, HandlerError> {
        if let Some(refusal) = self.refusal(view)? {
            return Ok(Opinion::vote(Vote::Deny(refusal)));
        }
        let Some(tool) = view.payload.tool_call().map(|call| &call.tool) else {
            return Ok(Opinion::none());
        };
        let named = || shown(tool, SHOWN_CHARS_MAX);
        Ok(match self.mode_of(tool) {
            None => Opinion::none(),
            Some(Mode::Allow) => Opinion::allow(),
            Some(Mode::Ask) => Opinion::vote(Vote::Ask(Question {
                reason: format!("tool `{}` is used only after a person confirms", named()).into(),
                ..Question::default()
            })),
            Some(Mode::Deny) => Opinion::deny(format!("tool `{}` may not be used", named())),
        })
    }

    fn votes(&self) -> &[VoteKind] {
        &[VoteKind::Allow, VoteKind::Ask, VoteKind::Deny]
    }
}

#[cfg(test)]
mod tests {
    use super::{ActionContext, ProtectConfig, Protected, compile, read};
    use tollgate_gate::{EventKind, Json, Session};

    fn covers(glob: &str, path: &str) -> bool {
        let config = format!(r#"{{"paths":{}}}"#, Json::from(glob));
        let config: ProtectConfig = read(&Json::read(config.as_bytes()).unwrap()).unwrap();
        let mut session = Session::new("s").with_cwd("/repo/src");
        session.workspace = Some("/repo".into());
        Protected::of(config).unwrap().covers(path, &session)
    }

    #[test]
    fn a_path_is_protected_in_every_form_in_which_it_can_be_written() {
        for path in [
            "test_a.py",
            "./test_a.py",
            "x/../test_a.py",
            "../src/test_a.py",
            "/repo/src/test_a.py",
            "/repo//src/./test_a.py",
            "x\\..\\test_a.py",
            "file:///repo/src/test_a.py",
        ] {
            assert!(covers("**/test_*.py", path), "{path}");
            assert!(covers("src/test_*.py", path), "{path} from the workspace");
            assert!(covers("/repo/src/*.py", path), "{path} as a whole");
        }
        for path in ["my_test_a.py", "test_a.pyc", "test_a.py/x", "", "/repo/src"] {
            assert!(!covers("**/test_*.py", path), "{path}");
        }
        assert!(covers("./src/*.py", "a.py") && !covers("lib/*.py", "a.py"));
        assert!(covers("/etc/**", "../../etc/passwd"));
    }

    #[test]
    fn mistakes_are_told_with_their_path() {
        for (value, path, message) in [
            ("{}", "", "nothing is permitted or protected"),
            (
                r#"{"tools":{"a":"alow"}}"#,
                "tools.a",
                "unknown word `alow`; the nearest known one is `allow`",
            ),
            (r#"{"tools":{"a[":"deny"}}"#, "tools.a[", "`[` is never closed in glob `a[`"),
            (r#"{"protect":[{"paths":[]}]}"#, "protect.0.paths", "no path"),
            (
                r#"{"protect":[{"path":"x"}]}"#,
                "protect.0.path",
                "unknown key `path`; the nearest known one is `paths`",
            ),
            (
                r#"{"otherwise":"deny","path_args":["a..b"]}"#,
                "path_args.0",
                "path `a..b` has an empty or unfinished step",
            ),
        ] {
            let value = Json::read(value.as_bytes()).unwrap();
            let error =
                compile(&value, &ActionContext::new("h", EventKind::PreTool)).err().unwrap();
            assert_eq!((error.path.as_str(), error.message.as_str()), (path, message));
        }
    }
}
