//! A small policy over effects: what the coding preset will say, so that the corpora can be judged.
//!
//! It speaks of effects only, never of the text. Refused: cleverness; what is hard to say here is hard
//! to say in the preset.

use std::sync::OnceLock;

use tollgate_effects::{
    Context, Cover, Effect, Effects, NoFiles, PathGlob, PathTarget, Programs, Reason, Target, Verb,
    Within, shell_effects,
};

pub(crate) const ROOT: &str = "/home/dev/project";
pub(crate) const HOME: &str = "/home/dev";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Pass,
    Ask,
    Refuse,
}

pub(crate) fn context() -> Context<'static> {
    Context {
        cwd: ROOT,
        root: Some(ROOT),
        home: Some(HOME),
        env: &[],
        programs: Programs::built_in(),
        files: &NoFiles,
    }
}

pub(crate) fn answer(command: &str) -> (Answer, Vec<String>) {
    let effects = shell_effects(command, &context());
    judge(&effects)
}

pub(crate) fn judge(effects: &Effects) -> (Answer, Vec<String>) {
    let mut worst = Answer::Pass;
    let mut why = Vec::new();
    for effect in effects {
        let answer = one(effect, effects);
        if answer > Answer::Pass {
            why.push(format!("{answer:?}: {} {}", effect.verb, effect.target));
        }
        worst = worst.max(answer);
    }
    (worst, why)
}

fn one(effect: &Effect, all: &Effects) -> Answer {
    match (&effect.verb, &effect.target) {
        (verb, Target::Unknown(reason)) => unknown(*verb, *reason, all),
        (_, Target::RemoteCode) => Answer::Refuse,
        (_, Target::Agent { unguarded, .. }) => {
            if *unguarded {
                Answer::Refuse
            } else {
                Answer::Ask
            }
        }
        (Verb::Reads, Target::Path(path)) => {
            if is_credential(path) {
                Answer::Refuse
            } else {
                Answer::Pass
            }
        }
        (Verb::Sends, Target::Path(path)) => sends(path, all),
        (Verb::Writes, Target::Path(path)) => writes(path),
        (Verb::Deletes, Target::Path(path)) => deletes(path),
        (Verb::Contacts, Target::Host(host)) => contacts(host),
        (Verb::Sends, Target::Secret(_)) => {
            if all.hosts().all(is_trusted) {
                Answer::Pass
            } else {
                Answer::Refuse
            }
        }
        (Verb::Sends, Target::Thing(_)) => {
            let local = all.hosts().next().is_some() && all.hosts().all(is_trusted);
            if local || !all.hosts().any(|_| true) { Answer::Pass } else { Answer::Ask }
        }
        (Verb::Exposes, _) => Answer::Ask,
        (Verb::Destroys, Target::Thing(thing)) if &**thing == "remote-object" => {
            let local = |host: &str| matches!(host, "localhost" | "127.0.0.1" | "::1" | "0.0.0.0");
            let all_local = all.hosts().next().is_some() && all.hosts().all(local);
            if all_local { Answer::Pass } else { Answer::Ask }
        }
        (Verb::Destroys, Target::Thing(thing)) => destroys(thing),
        (Verb::Escalates, Target::Thing(thing)) => escalates(thing),
        (Verb::Persists, Target::Thing(thing)) => {
            if &**thing == "gh-alias" {
                Answer::Pass
            } else {
                Answer::Ask
            }
        }
        (Verb::Publishes, Target::Thing(thing)) => match &**thing {
            "git-remote" | "image" | "site" | "workflow-run" | "merge" => Answer::Pass,
            _ => Answer::Ask,
        },
        _ => Answer::Pass,
    }
}

fn unknown(verb: Verb, reason: Reason, all: &Effects) -> Answer {
    match (verb, reason) {
        (Verb::Does, _) => Answer::Pass,
        (Verb::Reads, _) => Answer::Pass,
        (Verb::Contacts, Reason::HostText) => {
            let sends = all.with(Verb::Sends).next().is_some();
            if sends { Answer::Ask } else { Answer::Pass }
        }
        _ => Answer::Ask,
    }
}

fn globs(
    list: &'static [&'static str],
    cell: &'static OnceLock<Vec<PathGlob>>,
) -> &'static [PathGlob] {
    cell.get_or_init(|| list.iter().map(|g| PathGlob::new(g)).collect())
}

const FLOATING: &[&str] = &[
    "**/.ssh/id_*",
    "**/.ssh",
    "**/.gnupg",
    "**/.aws",
    "**/.ssh/*_rsa",
    "**/.ssh/*_ed25519",
    "**/.ssh/*.pem",
    "**/.ssh/*key",
    "**/.aws/credentials",
    "**/.netrc",
    "**/.git-credentials",
    "/home/*/.npmrc",
    "/root/.npmrc",
    "**/.pypirc",
    "**/.docker/config.json",
    "**/.kube/config",
    "**/.gnupg/*",
    "**/.gnupg/**",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/master.passwd",
    "**/.config/gcloud/**",
    "**/.azure/**",
    "**/.config/gh/hosts.yml",
    "**/.env",
    "**/.env.local",
    "**/.env.production",
    "**/.env.prod",
    "**/.env.staging",
    "**/.env.development",
    "**/credentials.json",
    "**/service-account*.json",
    "**/.vault-token",
    "**/id_rsa",
    "**/id_ed25519",
    "**/.bash_history",
    "**/.zsh_history",
    "**/Login Data",
    "**/cookies.sqlite",
    "**/logins.json",
    "**/key4.db",
    "**/Library/Keychains/**",
    "**/.password-store/**",
    "**/.terraform.d/credentials*",
    "**/.cargo/credentials*",
    "**/.pgpass",
    "**/.my.cnf",
    "**/wallet.dat",
    "**/.codex/auth.json",
    "**/.claude/.credentials.json",
    "**/var/run/secrets/**",
    "/run/secrets/**",
    "**/*.kdbx",
    "**/.config/op/**",
    "**/.local/share/keyrings/**",
    "**/.s3cfg",
    "**/.boto",
    "**/.config/hub",
    "**/.htpasswd",
    "**/secrets.yml",
    "**/secrets.yaml",
    "**/master.key",
    "/etc/kubernetes/admin.conf",
    "**/.bitcoin/**",
    "**/.ethereum/**",
    "/etc/ssl/private/**",
    "/etc/ssh/ssh_host_*_key",
];
const FOLDERS: &[&str] = &[
    "/home/dev/.ssh/id_x",
    "/home/dev/.aws/credentials",
    "/home/dev/.gnupg/x",
    "/home/dev/.kube/config",
    "/root/.ssh/id_x",
    "/home/dev/.config/gcloud/x",
    "/home/dev/.docker/config.json",
    "/home/dev/.password-store/x",
    "/home/dev/.mozilla/x",
    "/home/dev/.config/google-chrome/x",
];

fn is_credential(path: &PathTarget) -> bool {
    if path.lexical().ends_with(".pub") {
        return false;
    }
    static F: OnceLock<Vec<PathGlob>> = OnceLock::new();
    static A: OnceLock<Vec<PathGlob>> = OnceLock::new();
    globs(FLOATING, &F).iter().any(|glob| path.cover(glob) == Cover::Itself && !is_wide(path))
        || globs(FOLDERS, &A)
            .iter()
            .any(|glob| path.cover(glob) == Cover::Below && path.within(ROOT) == Within::Outside)
}

/// A glob so wide that it names nothing in particular: `*`, `**/*.txt`.
fn is_wide(path: &PathTarget) -> bool {
    let name = path.lexical();
    if name.starts_with(&format!("{ROOT}/.git/")) {
        return false;
    }
    let last = name.rsplit('/').next().unwrap_or_default();
    path.within(ROOT) == Within::Below
        && (last.starts_with('*') || last.starts_with('<') || name.contains("**"))
}

fn is_temporary(path: &PathTarget) -> bool {
    ["/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/dev/shm"]
        .iter()
        .any(|folder| path.within(folder) == Within::Below)
}

fn is_cache(path: &PathTarget) -> bool {
    [
        ".cache",
        ".npm/_cacache",
        ".cargo/registry",
        ".gradle/caches",
        "Library/Caches",
        ".local/share/virtualenvs",
        ".nuget/packages",
        ".m2/repository",
        "Library/Developer/Xcode/DerivedData",
        ".pub-cache",
        "go/pkg",
    ]
    .iter()
    .any(|folder| matches!(path.within(&format!("{HOME}/{folder}")), Within::Below | Within::Root))
}

fn sends(path: &PathTarget, all: &Effects) -> Answer {
    if is_credential(path) {
        return Answer::Refuse;
    }
    if all.hosts().next().is_some() && all.hosts().all(is_trusted) {
        return Answer::Pass;
    }
    match path.within(ROOT) {
        Within::Below => Answer::Pass,
        Within::Root | Within::Outside | Within::Maybe => {
            if is_temporary(path) {
                Answer::Pass
            } else {
                Answer::Ask
            }
        }
    }
}

fn writes(path: &PathTarget) -> Answer {
    static G: OnceLock<Vec<PathGlob>> = OnceLock::new();
    let guarded = globs(
        &[
            "/home/dev/project/.git/hooks/**",
            "/home/dev/project/.git/config",
            "**/.claude/settings*.json",
            "**/.codex/hooks.json",
            "**/.codex/config.toml",
            "**/.cursor/hooks.json",
            "**/.gemini/settings.json",
            "**/tollgate.yaml",
            "**/.github/hooks/**",
        ],
        &G,
    );
    if guarded.iter().any(|glob| path.cover(glob) == Cover::Itself && !is_wide(path)) {
        return Answer::Refuse;
    }
    let name = path.lexical();
    if name.starts_with("container:") || name == "/tmp" || is_temporary(path) || is_cache(path) {
        return Answer::Pass;
    }
    match path.within(ROOT) {
        Within::Below => Answer::Pass,
        Within::Root => Answer::Pass,
        Within::Maybe => Answer::Ask,
        Within::Outside => {
            let system = [
                "/etc",
                "/usr",
                "/bin",
                "/sbin",
                "/lib",
                "/boot",
                "/var/spool/cron",
                "/root",
                "/System",
                "C:/Windows",
                "/Library",
            ];
            let login = [
                ".bashrc",
                ".bash_profile",
                ".profile",
                ".zshrc",
                ".zprofile",
                ".zshenv",
                ".ssh/authorized_keys",
                ".ssh/config",
                ".config/autostart",
                ".config/systemd",
                "Library/LaunchAgents",
                ".bash_logout",
            ];
            let refused = system.iter().any(|folder| path.within(folder) != Within::Outside)
                || login
                    .iter()
                    .any(|file| path.within(&format!("{HOME}/{file}")) != Within::Outside);
            if refused { Answer::Refuse } else { Answer::Ask }
        }
    }
}

fn deletes(path: &PathTarget) -> Answer {
    static G: OnceLock<Vec<PathGlob>> = OnceLock::new();
    if let Some(inside) = path.lexical().strip_prefix("container:") {
        let shallow = inside.trim_matches('/').matches('/').count() == 0;
        return if shallow { Answer::Refuse } else { Answer::Pass };
    }
    let git = globs(&["/home/dev/project/.git", "/home/dev/project/.git/**"], &G);
    let whole = path.lexical() == format!("{ROOT}/*")
        || (path.lexical() == format!("{ROOT}/**") && path.is_tree());
    if git.iter().any(|glob| path.cover(glob) != Cover::No)
        && !is_lock(path)
        && (!is_wide(path) || whole)
    {
        return Answer::Refuse;
    }
    match path.within(ROOT) {
        Within::Below if whole => Answer::Refuse,
        Within::Below => Answer::Pass,
        Within::Root => Answer::Refuse,
        Within::Maybe => Answer::Ask,
        Within::Outside => {
            if is_temporary(path) || is_cache(path) {
                Answer::Pass
            } else {
                Answer::Refuse
            }
        }
    }
}

fn is_lock(path: &PathTarget) -> bool {
    path.lexical().ends_with(".lock")
}

fn is_trusted(host: &str) -> bool {
    [
        "localhost",
        "127.0.0.1",
        "0.0.0.0",
        "::1",
        "api.github.com",
        "github.com",
        "uploads.github.com",
        "api.openai.com",
        "api.anthropic.com",
        "registry.npmjs.org",
        "pypi.org",
        "gitlab.com",
        "git-remote",
        "ghcr.io",
        "registry",
        "docker.io",
        "cloud",
        "host.docker.internal",
        "amazonaws.com",
        "googleapis.com",
        "azure.com",
        "api.cloudflare.com",
        "sentry.io",
        "codecov.io",
        "api.stripe.com",
    ]
    .iter()
    .any(|known| {
        host == *known || host.strip_suffix(known).is_some_and(|front| front.ends_with('.'))
    })
}

fn contacts(host: &str) -> Answer {
    match host {
        "169.254.169.254"
        | "metadata.google.internal"
        | "100.100.100.200"
        | "169.254.170.2"
        | "fd00:ec2::254"
        | "metadata"
        | "metadata.azure.com" => Answer::Refuse,
        "tunnel" | "file-drop" | "mail" => Answer::Ask,
        host => {
            let drops = [
                "transfer.sh",
                "pastebin.com",
                "webhook.site",
                "requestbin.com",
                "ngrok.io",
                "ngrok-free.app",
                "interact.sh",
                "oast.fun",
                "burpcollaborator.net",
                "0x0.st",
                "file.io",
                "termbin.com",
                "ix.io",
                "paste.rs",
                "discord.com",
                "api.telegram.org",
                "hooks.slack.com",
                "pipedream.net",
                "requestcatcher.com",
            ];
            let drop = drops.iter().any(|d| host == *d || host.ends_with(&format!(".{d}")));
            if drop { Answer::Ask } else { Answer::Pass }
        }
    }
}

fn destroys(thing: &str) -> Answer {
    match thing {
        "disk"
        | "boot"
        | "system"
        | "shared-history"
        | "database"
        | "cluster"
        | "cloud"
        | "backups"
        | "keys"
        | "secrets"
        | "registry"
        | "shredded-file"
        | "infrastructure-state" => Answer::Refuse,
        "environment" | "toolchain" => Answer::Ask,
        _ => Answer::Ask,
    }
}

fn escalates(thing: &str) -> Answer {
    match thing {
        "root" | "owner-tree" | "global-install" | "clock" | "namespace" => Answer::Pass,
        "setuid"
        | "kernel"
        | "guards"
        | "attack-tool"
        | "host-from-container"
        | "raw-disk"
        | "world-writable-tree"
        | "defender" => Answer::Refuse,
        _ => Answer::Ask,
    }
}
