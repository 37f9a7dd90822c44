//! The gate guards itself (law 13): hooks of its own refuse calls that would write or delete
//! Tollgate's policies, switches, ledger, state or binary, or the settings in which its hosts' hooks stand,
//! or run its answering and switching commands, as far as the effects of a call are known.
//!
//! They hold under every policy and in mode `dry_run`; only mode `off`, which a managed or user policy
//! sets, lifts them. What they cannot see: a tool whose arguments no policy declares and no adapter reads.

use crate::host_files;
use crate::knowledge;
use crate::places::Places;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tollgate_effects::{PathGlob, Protects};
use tollgate_gate::{
    Event, EventKind, Hook, Matcher, Opinion, Refusal, Roles, Session, Subject, Test, TestError,
    ToolCall, Vote, inline,
};
use tollgate_policy::compile::paths::{PathGlobs, literal};
use tollgate_policy::{AnalysedEffects, CallMemo, LayerStatus, Loaded, Reach, ToolFacts};

/// The name of the hook that looks first, at what is named; see [`is_guard`].
pub const GUARD: &str = "tollgate-guards-itself";

/// The name of the hook that looks last, at whole folders above what is guarded. A command like `rm -rf ~`
/// takes Tollgate's files along without being about them: where a hook of the policy refuses it, a person
/// must see that one.
const GUARD_OF_FOLDERS: &str = "tollgate-guards-itself-in-folders";

/// Whether the hook of this name is the gate's own guard, which no policy lifts.
pub fn is_guard(hook: &str) -> bool {
    matches!(hook, GUARD | GUARD_OF_FOLDERS)
}

/// The commands that answer for a person, switch something, or change what guards: the one table of
/// them. Whoever adds such a command adds a line.
const COMMANDS: &[&str] = &[
    "alerts run",
    "allow",
    "approvals approve",
    "approvals cancel",
    "approvals deny",
    "audit erase",
    "audit export",
    "audit prune",
    "hooks disable",
    "hooks enable",
    "init",
    "install",
    "keys approver",
    "keys rotate",
    "limits reset",
    "pause",
    "review false",
    "review true",
    "sessions abort",
    "sessions resume",
    "trust",
    "uninstall",
];

/// Where Tollgate is, as far as this process knows.
#[derive(Debug, Default)]
pub(crate) struct Whereabouts {
    paths: Vec<PathBuf>,
}

impl Whereabouts {
    pub(crate) fn layers(&mut self, layers: &[LayerStatus]) {
        for layer in layers {
            self.paths.push(layer.path.clone());
            self.paths.extend(layer.includes.iter().cloned());
        }
    }

    /// The files that count or could count, and the folder of what Tollgate keeps.
    pub(crate) fn places(&mut self, places: &Places) {
        self.paths.push(places.managed_policy().to_owned());
        self.paths.extend(places.user_policies().unwrap_or_default());
        self.paths.extend(places.project_policies());
        self.paths.extend(places.state());
        self.paths.extend(host_files::all(places));
    }

    pub(crate) fn folder(&mut self, folder: &Path) {
        self.paths.push(folder.to_owned());
    }

    /// The paths as they are written and as they resolve.
    fn known(&self) -> Vec<String> {
        let binary = std::env::current_exe().ok();
        let (mut known, mut resolved) = (Vec::new(), Resolved::default());
        let paths = self.paths.iter().chain(&binary);
        let mut paths: Vec<PathBuf> =
            paths.filter_map(|path| std::path::absolute(path).ok()).collect();
        // By their bytes: the order of components costs more and serves nothing. The user's own folder
        // is known by several ways.
        paths.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
        paths.dedup_by(|one, other| one.as_os_str() == other.as_os_str());
        for path in paths {
            let form = resolved.form(&path);
            known.extend([path, form].iter().filter_map(|form| form.to_str()).map(str::to_owned));
        }
        known.sort();
        known.dedup();
        known
    }
}

/// Paths with their links followed. Each folder is looked at once, for most of the paths share them:
/// following every path from the root was most of the system calls of a hook process.
#[derive(Default)]
struct Resolved {
    /// Each folder with its links followed, and whether it is there.
    folders: HashMap<PathBuf, (PathBuf, bool)>,
}

impl Resolved {
    /// An absolute path with its links followed. What does not exist stands where it would come to be.
    fn form(&mut self, path: &Path) -> PathBuf {
        self.look(path).0
    }

    fn look(&mut self, path: &Path) -> (PathBuf, bool) {
        let followed = |path: PathBuf| match path.canonicalize() {
            Ok(followed) => (followed, true),
            Err(_) => (path, false),
        };
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return followed(path.to_owned());
        };
        let known = self.folders.get(folder).cloned();
        let (folder, is_there) = known.unwrap_or_else(|| {
            let looked = self.look(folder);
            self.folders.insert(folder.to_owned(), looked.clone());
            looked
        });
        let path = folder.join(name);
        if !is_there {
            return (path, false);
        }
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => followed(path),
            Ok(_) => (path, true),
            Err(_) => (path, false),
        }
    }
}

/// What is guarded, as it is looked for in a call. Each part is made when a call first comes near it: a
/// process that lives for one event needs few.
struct Guard {
    effects: AnalysedEffects,
    protected: Here,
    globs: OnceLock<Result<PathGlobs, String>>,
    /// Two hooks ask about each call.
    asked: CallMemo<Result<Option<Reach>, String>>,
}

/// The places and programs that are guarded on this machine.
struct Here {
    whereabouts: Whereabouts,
    paths: OnceLock<Vec<String>>,
    programs: OnceLock<Vec<(String, Vec<String>)>>,
}

impl Protects for Here {
    fn paths(&self) -> &[String] {
        self.paths.get_or_init(|| self.whereabouts.known())
    }

    fn globs(&self) -> &[PathGlob] {
        &[]
    }

    fn programs(&self) -> &[(String, Vec<String>)] {
        self.programs.get_or_init(|| {
            let commands: Vec<String> =
                COMMANDS.iter().map(|command| (*command).to_owned()).collect();
            let binary = std::env::current_exe().ok();
            let name = binary.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
            let names = ["tollgate"].into_iter().chain(name);
            names.map(|name| (name.to_owned(), commands.clone())).collect()
        })
    }
}

/// The hooks: one in front of all others, one behind them.
pub(crate) fn hooks(whereabouts: Whereabouts, facts: &ToolFacts) -> [Hook; 2] {
    let guard = Arc::new(Guard::new(whereabouts, facts));
    [(GUARD, Reach::Itself, i32::MIN), (GUARD_OF_FOLDERS, Reach::FolderAbove, i32::MAX)].map(
        |(name, reach, priority)| {
            let refuse = inline(|_| {
                let refusal = Refusal::because("this would change what guards the agent")
                    .with_remedy("a person can make this change, outside of the agent");
                Ok(Opinion::vote(Vote::Deny(refusal)))
            });
            let look = Look { guard: Arc::clone(&guard), reach };
            let hook = Hook::new(name, EventKind::PreTool, Roles::JUDGE, refuse)
                .matching(Matcher::Test(Arc::new(look)))
                .with_priority(priority);
            hook.guarding()
        },
    )
}

impl Guard {
    fn new(whereabouts: Whereabouts, facts: &ToolFacts) -> Guard {
        let effects = knowledge::analysed(facts);
        let protected = Here { whereabouts, paths: OnceLock::new(), programs: OnceLock::new() };
        Guard { effects, protected, globs: OnceLock::new(), asked: CallMemo::default() }
    }

    /// How this call touches what is guarded.
    fn touched(&self, call: &ToolCall, session: &Arc<Session>) -> Result<Option<Reach>, TestError> {
        let touches = || self.effects.touches(call, session, &self.protected, || self.globs());
        // Not to know what is guarded closes the gate: a test that errs is a fault of a judge.
        let touched = self.asked.of(call, session, touches);
        touched.map_err(|cause| TestError { condition: GUARD.into(), cause })
    }

    fn globs(&self) -> Result<&PathGlobs, String> {
        let made = self.globs.get_or_init(|| {
            let paths = self.protected.paths().iter();
            let globs = paths.flat_map(|path| [literal(path), format!("{}/**", literal(path))]);
            let globs: Vec<String> = globs.collect();
            let globs = PathGlobs::new(globs.iter().map(String::as_str));
            globs.map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }
}

/// The guard that refuses this call here under every policy, so that no exception can let it through; `None`
/// when none does, or when it is no call of a tool.
///
/// # Errors
/// When it cannot be told.
pub fn refused_always(
    places: &Places,
    loaded: &Loaded,
    event: &Event,
) -> Result<Option<&'static str>, TestError> {
    let Some(call) = event.payload.tool_call() else { return Ok(None) };
    let mut whereabouts = Whereabouts::default();
    whereabouts.layers(&loaded.layers);
    whereabouts.places(places);
    let guard = Guard::new(whereabouts, &loaded.settings.tools);
    Ok(guard.touched(call, &event.session)?.map(|reach| match reach {
        Reach::Itself => GUARD,
        Reach::FolderAbove => GUARD_OF_FOLDERS,
    }))
}

/// One of the two looks at a call.
struct Look {
    guard: Arc<Guard>,
    reach: Reach,
}

impl Test for Look {
    fn test(&self, subject: &Subject<'_>) -> Result<bool, TestError> {
        let Some(call) = subject.payload.tool_call() else { return Ok(false) };
        let touched = self.guard.touched(call, &subject.event.session)?;
        Ok(touched == Some(self.reach))
    }

    fn describe(&self) -> String {
        let (paths, programs) = (self.guard.protected.paths(), self.guard.protected.programs());
        match self.reach {
            Reach::Itself => format!("touches {paths:?} or {programs:?}"),
            Reach::FolderAbove => format!("touches a folder above {paths:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GUARD, GUARD_OF_FOLDERS, Resolved, is_guard};
    use crate::{Places, Tollgate};
    use std::future::Future;
    use std::path::Path;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};
    use tollgate_gate::{Event, MemoryLedger, Object, Session, ToolCall, Verdict};

    const POLICY: &str = "version: 1
mode: dry_run
tools: { arguments: { bash: { runs: command }, write_file: { writes: path } } }
hooks: [{ name: all, on: pre_tool, match: { tool: other }, deny: no }]
";

    /// The same few commands, dressed up.
    const DISGUISES: &[&str] = &[
        "sh -c 'tollgate trust --yes'",
        "bash -lc \"tollgate approvals approve 12\"",
        "t=tollgate; $t pause --for 8h --reason x",
        "echo 'tollgate hooks disable x --reason y' | sh",
        "eval \"$(echo dG9sbGdhdGUgdHJ1c3Q= | base64 -d)\"",
        "tollgate --state /tmp/s --policy p.yaml allow --last",
        "/usr/local/bin/tollgate uninstall claude-code",
        "./tollgate 'pause' --for 1h",
        "t\\ollgate tr\"us\"t",
        "xargs tollgate hooks disable < names.txt",
        "find . -maxdepth 0 -exec tollgate trust --yes {} \\;",
        "python3 -c \"import subprocess; subprocess.run(['tollgate', 'trust', '--yes'])\"",
        "timeout 5 nohup env A=b tollgate pause --for 1h --reason x &",
        "tmux send-keys -t 0 'tollgate trust --yes' Enter",
        "yes | tollgate trust",
        "pkill -9 tollgate",
    ];

    fn ready<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        loop {
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(value) = polled {
                return value;
            }
        }
    }

    #[test]
    fn no_governed_call_touches_the_policy_or_answers_for_a_person() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let policy = root.join("policy.yaml");
        std::fs::write(&policy, POLICY).unwrap();
        let tollgate = Tollgate::builder()
            .policy_file(&policy)
            .ledger(Arc::new(MemoryLedger::new()))
            .open()
            .unwrap();
        let decide = |tool: &str, key: &str, value: &str| {
            let call = ToolCall::new(tool, Object::from_iter([(key, value)]));
            let cwd = root.display().to_string();
            let session = Arc::new(Session::new("s").with_cwd(cwd));
            let event = Event::new(session, call, tollgate.clock().now());
            ready(tollgate.gate().judge(event))
        };
        let file = policy.display().to_string();
        let refused = |tool: &str, key: &str, value: &str| {
            let decision = decide(tool, key, value);
            assert_eq!(decision.verdict, Verdict::Deny, "{value}");
            assert!(decision.hook.as_deref().is_some_and(is_guard), "{value}");
        };
        for again in [false, true] {
            if again {
                ready(tollgate.reload()).unwrap();
            }
            refused("write_file", "path", "policy.yaml");
            refused("write_file", "path", &file);
            refused("bash", "command", "echo 'version: 1' > ./policy.yaml");
            refused("bash", "command", &format!("sh -c 'rm -rf {}'", root.display()));
            refused("bash", "command", "tollgate pause --for 10m --reason later");
            refused("bash", "command", "env tollgate allow --last --yes");
            for disguised in DISGUISES {
                refused("bash", "command", disguised);
            }
            for by_git in [
                "git rm policy.yaml",
                "git mv policy.yaml other.yaml",
                "git stash -- policy.yaml",
                "git stash push -m x -- policy.yaml",
                "git checkout HEAD~1 -- policy.yaml",
                "git restore --source HEAD~1 policy.yaml",
                "git clean -fd policy.yaml",
                "git update-index --skip-worktree policy.yaml",
                "git update-index --assume-unchanged policy.yaml",
            ] {
                refused("bash", "command", by_git);
            }
            for harmless in [
                "cat policy.yaml",
                "tollgate status",
                "echo x > notes.txt",
                "git stash push -- notes.txt",
                "git diff policy.yaml",
                "git add policy.yaml",
            ] {
                assert_eq!(
                    decide("bash", "command", harmless).verdict,
                    Verdict::Allow,
                    "{harmless}"
                );
            }
        }
        for guard in [GUARD, GUARD_OF_FOLDERS] {
            assert!(ready(tollgate.gate().disable(guard, "no")).is_err());
        }
    }

    #[test]
    fn no_governed_call_touches_the_settings_in_which_hooks_of_hosts_stand() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("project/.git")).unwrap();
        std::fs::write(root.join("policy.yaml"), POLICY).unwrap();
        let places = Places::of_user(&root.join("project")).unwrap();
        let home = places.home().unwrap().display().to_string();
        let places =
            places.with_policies(vec![root.join("policy.yaml")]).with_state(root.join("state"));
        let tollgate = Tollgate::builder()
            .places(places)
            .ledger(Arc::new(MemoryLedger::new()))
            .open()
            .unwrap();
        let decide = |tool: &str, key: &str, value: &str| {
            let call = ToolCall::new(tool, Object::from_iter([(key, value)]));
            let cwd = root.join("project").display().to_string();
            let session = Arc::new(Session::new("s").with_cwd(cwd));
            let event = Event::new(session, call, tollgate.clock().now());
            ready(tollgate.gate().judge(event)).hook
        };
        let refused = |tool: &str, key: &str, value: &str| {
            assert!(decide(tool, key, value).as_deref().is_some_and(is_guard), "{value}");
        };
        for file in [
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".codex/hooks.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            ".cursor/hooks.json",
            ".github/hooks/other.json",
        ] {
            refused("write_file", "path", file);
            refused(
                "bash",
                "command",
                &format!("cd {} && rm -f ./{file}", root.join("project").display()),
            );
        }
        for folder in ["ln -sfn x .claude", "mv .claude x", "mv x .claude", "cp -r x .claude"] {
            let at = root.join("project");
            refused("bash", "command", &format!("cd {} && {folder}", at.display()));
        }
        refused("write_file", "path", &format!("{home}/.claude/settings.json"));
        refused("bash", "command", "echo '{}' > ~/.codex/hooks.json");
        refused("bash", "command", "rm -rf ~/.claude/session-env");
        refused("bash", "command", "tee /etc/claude-code/managed-settings.json < x");
        refused("bash", "command", "tollgate uninstall claude-code");
        refused("bash", "command", "tollgate install claude-code --policy mine.yaml");
        for harmless in ["cat ~/.claude/settings.json", "ls .codex", "touch .claude/notes.md"] {
            assert_eq!(decide("bash", "command", harmless), None, "{harmless}");
        }
    }

    #[test]
    fn what_is_guarded_is_so_behind_links_and_before_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/sub")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        std::os::unix::fs::symlink("real/file", root.join("alias")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
        let mut resolved = Resolved::default();
        for (path, form) in [
            ("link/file", "real/file"),
            ("link/sub", "real/sub"),
            ("link/sub/../file", "real/file"),
            ("alias", "real/file"),
            ("link/none/yet", "real/none/yet"),
            ("dangling", "dangling"),
            ("real/file/below", "real/file/below"),
        ] {
            assert_eq!(resolved.form(&root.join(path)), root.join(form), "{path}");
        }
        assert_eq!(resolved.form(Path::new("/")), Path::new("/"));
    }
}
