//! What the file system adds: links, scripts, make targets, package scripts.

use std::collections::HashMap;

use tollgate_effects::{
    Context, Cover, Effects, Entry, FileSystem, PathGlob, Reason, Verb, Within, shell_effects,
};

use crate::place::{ROOT, context};

#[derive(Default)]
struct Memory(HashMap<String, Entry>, HashMap<String, String>);

impl Memory {
    fn link(mut self, path: &str, to: &str) -> Self {
        self.0.insert(path.to_owned(), Entry::Link(to.to_owned()));
        self
    }

    fn file(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.to_owned(), Entry::File);
        self.1.insert(path.to_owned(), text.to_owned());
        for (index, _) in path.match_indices('/').skip(1) {
            self.0.entry(path[..index].to_owned()).or_insert(Entry::Folder);
        }
        self
    }
}

impl FileSystem for Memory {
    fn look(&self, path: &str) -> Entry {
        self.0.get(path).cloned().unwrap_or(Entry::Absent)
    }

    fn read(&self, path: &str, bytes_max: usize) -> Option<String> {
        self.1.get(path).filter(|text| text.len() <= bytes_max).cloned()
    }

    fn names(&self, path: &str, count_max: usize) -> Vec<String> {
        let below = |at: &String| Some(at.strip_prefix(path)?.strip_prefix('/')?.to_owned());
        let names = self.0.keys().filter_map(below).filter(|name| !name.contains('/'));
        names.take(count_max).collect()
    }
}

fn seen(files: &Memory, command: &str) -> Effects {
    let ctx = Context { files, ..context() };
    shell_effects(command, &ctx)
}

fn lines(effects: &Effects) -> Vec<String> {
    effects.iter().map(|effect| format!("{} {}", effect.verb, effect.target)).collect()
}

#[test]
fn the_lexical_and_the_resolved_path_both_count() {
    let files = Memory::default()
        .file("/home/dev/project/a", "")
        .link("/home/dev/project/out", "/etc")
        .link("/home/dev/project/up", "..");
    let effects = seen(&files, "rm -rf out/passwd");
    let path = effects.paths(Verb::Deletes).next().unwrap();
    assert_eq!(path.resolved(), Some("/etc/passwd"));
    assert_eq!(path.within(ROOT), Within::Outside);
    assert_eq!(path.cover(&PathGlob::new("/etc/**")), Cover::Itself);
    assert_eq!(path.cover(&PathGlob::new("/home/dev/project/out/*")), Cover::Itself);
    let effects = seen(&files, "rm -rf up/other/*");
    let path = effects.paths(Verb::Deletes).next().unwrap();
    assert_eq!(path.resolved().map(|p| p.starts_with("/home/dev/other/")), Some(true));
}

#[test]
fn a_loop_of_links_ends() {
    let files = Memory::default().link("/home/dev/project/a", "b").link("/home/dev/project/b", "a");
    assert_eq!(seen(&files, "cat a").paths(Verb::Reads).count(), 1);
}

#[test]
fn scripts_of_the_workspace_are_read_with_their_arguments() {
    let files = Memory::default()
        .file("/home/dev/project/clean.sh", "#!/bin/sh\nrm -rf \"$1\"/cache\n")
        .file(
            "/home/dev/project/x.py",
            "#!/usr/bin/env python3\nimport os\nos.remove('/etc/hosts')\n",
        );
    for command in
        ["sh clean.sh /srv", "./clean.sh /srv", "bash ./clean.sh /srv", ". ./clean.sh /srv"]
    {
        let seen = lines(&seen(&files, command));
        assert!(
            seen.contains(&"deletes /srv/cache and all below".to_owned()),
            "{command}: {seen:?}"
        );
    }
    for command in ["./x.py", "python3 x.py"] {
        let seen = lines(&seen(&files, command));
        assert!(seen.contains(&"deletes /etc/hosts".to_owned()), "{command}: {seen:?}");
    }
}

#[test]
fn a_script_that_calls_itself_ends_in_an_unknown() {
    let files = Memory::default().file("/home/dev/project/a.sh", "./a.sh\n");
    let effects = seen(&files, "./a.sh");
    assert!(effects.unknowns(Verb::Runs).any(|(reason, _)| reason == Reason::Depth));
}

#[test]
fn a_script_that_cannot_be_read_is_unknown() {
    let effects = shell_effects("./missing.sh", &context());
    assert!(effects.unknowns(Verb::Does).any(|(reason, _)| reason == Reason::Script));
}

#[test]
fn make_targets_and_what_they_need_are_read() {
    let make = "all: build\n\techo hi\nbuild: prep\n\t@rm -rf /srv/old\nprep:\n\techo x\nother:\n\trm -rf /never\n";
    let files = Memory::default().file("/home/dev/project/Makefile", make);
    for command in ["make", "make all", "make -j4 build", "make -C . all"] {
        let seen = lines(&seen(&files, command));
        assert!(seen.contains(&"deletes /srv/old and all below".to_owned()), "{command}: {seen:?}");
        assert!(!seen.iter().any(|line| line.contains("/never")), "{command}: {seen:?}");
    }
}

#[test]
fn package_scripts_are_read_with_those_around_them() {
    let package =
        r#"{"scripts":{"pretest":"rm -rf /srv/a","test":"jest","clean":"rm -rf /srv/b"}}"#;
    let files = Memory::default().file("/home/dev/project/package.json", package);
    let test = lines(&seen(&files, "npm test"));
    assert!(test.contains(&"deletes /srv/a and all below".to_owned()), "{test:?}");
    for command in
        ["npm run clean", "yarn clean", "pnpm run clean", "yarn run clean", "bun run clean"]
    {
        let seen = lines(&seen(&files, command));
        assert!(seen.contains(&"deletes /srv/b and all below".to_owned()), "{command}: {seen:?}");
    }
}

#[test]
fn copying_into_a_folder_writes_below_it() {
    let files = Memory::default()
        .file("/home/dev/project/.git/hooks/x", "")
        .file("/home/dev/project/evil", "");
    let effects = seen(&files, "cp evil .git/hooks");
    let glob = PathGlob::new("/home/dev/project/.git/hooks/*");
    assert!(effects.paths(Verb::Writes).any(|path| path.cover(&glob) == Cover::Itself));
}

/// `deactivate` of a virtual environment puts a path back that the text never kept: it is not empty.
#[test]
fn setting_up_a_shell_by_a_script_does_not_change_which_code_runs() {
    let files = Memory::default()
        .file(
            "/home/dev/project/.venv/bin/activate",
            "deactivate () {
    if [ -n \"${_OLD_VIRTUAL_PATH:-}\" ] ; then
        PATH=\"${_OLD_VIRTUAL_PATH:-}\"
        export PATH
        unset _OLD_VIRTUAL_PATH
    fi
    hash -r 2> /dev/null
    unset VIRTUAL_ENV
}
deactivate nondestructive
export VIRTUAL_ENV=/home/dev/project/.venv
_OLD_VIRTUAL_PATH=\"$PATH\"
PATH=\"$VIRTUAL_ENV/\"bin\":$PATH\"
export PATH
",
        )
        .file(
            "/home/dev/project/nvm.sh",
            "nvm_strip_path() { printf '%s' \"${1-}\"; }
export NVM_DIR=\"${NVM_DIR:-$HOME/.nvm}\"
PATH=\"${PATH-}:$NVM_DIR/bin\"
MANPATH=\"${MANPATH:-}:$NVM_DIR/share/man\"
export PATH MANPATH
",
        )
        .file(
            "/home/dev/project/conda.sh",
            "export CONDA_EXE='/opt/conda/bin/conda'
PATH=\"$(dirname \"$CONDA_EXE\")/condabin${PATH:+\":${PATH}\"}\"
export PATH
export LD_LIBRARY_PATH=\"${LD_LIBRARY_PATH:-}:/opt/conda/lib\"
",
        );
    for command in
        ["source .venv/bin/activate && pytest", ". ./nvm.sh", "source conda.sh && python -V"]
    {
        let facts = lines(&seen(&files, command));
        let changed = facts.iter().any(|fact| fact.contains("environment changes"));
        assert!(!changed, "`{command}`: {facts:#?}");
    }
    for command in ["PATH=:$PATH make", "PATH=$PATH: make", "PATH=/tmp/x:$PATH make"] {
        let facts = lines(&seen(&files, command));
        assert!(facts.iter().any(|f| f.contains("environment changes")), "`{command}`: {facts:#?}");
    }
}

#[test]
fn a_script_for_a_shell_that_is_there_and_cannot_be_read_may_do_anything() {
    let long = "# pad\n".repeat(40_000);
    let files = Memory::default()
        .file("/home/dev/project/big.sh", &long)
        .file("/home/dev/project/small.sh", "ls")
        .link("/home/dev/project/alias.sh", "big.sh")
        .file("/home/dev/project/dist/bundle.js", &long);
    let runs_unknown = |command: &str| {
        lines(&seen(&files, command)).iter().any(|line| line.starts_with("runs unknown"))
    };
    for command in ["bash big.sh", "sh ./alias.sh", "source big.sh", "./big.sh", ". ./big.sh"] {
        assert!(runs_unknown(command), "{command}: {:?}", lines(&seen(&files, command)));
    }
    for command in ["bash small.sh", "bash none.sh", "node dist/bundle.js", "bash -n big.sh"] {
        assert!(!runs_unknown(command), "{command}: {:?}", lines(&seen(&files, command)));
    }
}

const EVIL: &str = "deletes /srv/old and all below";

/// Holds a fact of each command, and of none of the others.
fn hold(files: &Memory, fact: &str, with: &[&str], without: &[&str]) {
    for command in with {
        let seen = lines(&seen(files, command));
        assert!(seen.contains(&fact.to_owned()), "{command}: {seen:?}");
    }
    for command in without {
        let seen = lines(&seen(files, command));
        assert!(!seen.contains(&fact.to_owned()), "{command}: {seen:?}");
    }
}

#[test]
fn recipes_of_just_and_what_they_need_are_read() {
    let text = "old := \"/srv/old\"\nbuild:\n    cargo build\nevil: build\n    @rm -rf {{old}}\nall: (evil)\n    echo hi\n\
        args *rest=\"\":\n    rm -rf {{rest}}\n[private]\nscript:\n    #!/usr/bin/env python3\n    import shutil\n    shutil.rmtree('/srv/old')\n";
    let files = Memory::default()
        .file("/home/dev/project/justfile", text)
        .file("/home/dev/project/ci/justfile", text);
    let with = [
        "just evil",
        "just build evil",
        "just -f justfile evil",
        "just --justfile ./justfile evil",
        "just -d ci evil",
        "just all",
        "just args /srv/old",
        "just script",
    ];
    let without =
        ["just", "just build", "just args src", "just -n evil", "just --list", "just --show evil"];
    hold(&files, EVIL, &with, &without);
}

#[test]
fn tasks_of_a_taskfile_and_what_they_need_are_read() {
    let text = "version: '3'\nvars:\n  A: b\ntasks:\n  default:\n    cmds:\n      - echo hi\n  build:\n    desc: builds\n    cmds:\n      - go build ./...\n  \
        evil:\n    cmds:\n      - cmd: rm -rf /srv/old\n        silent: true\n  deps:\n    deps: [build, evil]\n  calls:\n    cmds:\n      - task: evil\n  \
        short: rm -rf /srv/old\n  long:\n    cmds:\n      - |\n        echo hi\n        rm -rf /srv/old\n";
    let files = Memory::default().file("/home/dev/project/Taskfile.yml", text);
    let with = [
        "task evil",
        "task -t Taskfile.yml evil",
        "task build evil",
        "task deps",
        "task calls",
        "task short",
        "task long",
    ];
    let without = ["task", "task build", "task -n evil", "task --list", "task --summary evil"];
    hold(&files, EVIL, &with, &without);
}

#[test]
fn a_dry_run_of_make_runs_what_it_always_runs() {
    let make = "x := $(shell rm -rf /srv/read)\nall: evil\nevil:\n\trm -rf /srv/old\nplus:\n\t+rm -rf /srv/old\n";
    let files = Memory::default().file("/home/dev/project/Makefile", make);
    hold(
        &files,
        EVIL,
        &["make evil", "make", "make -n plus"],
        &["make -n evil", "make --dry-run", "make --just-print all"],
    );
    hold(&files, "deletes /srv/read and all below", &["make -n", "make evil"], &["make --version"]);
}

#[test]
fn scripts_that_a_pattern_names_are_read() {
    let files = Memory::default()
        .file("/home/dev/project/scripts/evil.sh", "rm -rf /srv/old\n")
        .file("/home/dev/project/scripts/build.sh", "cargo build\n")
        .file(
            "/home/dev/project/scripts/deep/evil.py",
            "import shutil\nshutil.rmtree('/srv/old')\n",
        )
        .file("/home/dev/project/ok/build.sh", "cargo build\n");
    let with = [
        "find scripts -name evil.sh -exec sh {} \\;",
        "find scripts -name 'evil*' -exec bash {} +",
        "bash scripts/*.sh",
        "for s in scripts/*.sh; do sh $s; done",
        "for s in scripts/*.sh; do ./$s; done",
        "ls scripts/*.sh | xargs -n1 sh",
        "find . -name '*.py' -exec python3 {} \\;",
        "find scripts -iname 'EVIL.SH' -exec sh {} \\;",
        ". scripts/ev*.sh",
        "ls scripts | xargs -I{} sh scripts/{}",
    ];
    let without = [
        "bash ok/*.sh",
        "bash scripts/b*.sh",
        "find scripts -name evil.sh -exec cat {} \\;",
        "for s in scripts/*.sh; do bash -n $s; done",
    ];
    hold(&files, EVIL, &with, &without);
}

#[test]
fn what_code_on_the_command_line_takes_in_is_read() {
    let files = Memory::default()
        .file("/home/dev/project/scripts/evil.py", "import shutil\nshutil.rmtree('/srv/old')\n")
        .file(
            "/home/dev/project/scripts/evil.js",
            "require('fs').rmSync('/srv/old', {recursive: true})\n",
        )
        .file("/home/dev/project/scripts/good.py", "print(1)\n")
        .file(
            "/home/dev/project/package.json",
            r#"{"scripts":{"evil":"rm -rf /srv/old","build":"vite build"}}"#,
        );
    let with = [
        "python3 -m scripts.evil",
        "python3 -m runpy scripts.evil",
        "python3 -c \"import sys; sys.path.insert(0, 'scripts'); import evil\"",
        "PYTHONPATH=scripts python3 -c 'import evil'",
        "node -e \"new (require('worker_threads').Worker)('./scripts/evil.js')\"",
        "bun scripts/evil.js",
        "bun run scripts/evil.js",
        "python3 -c 'import scripts.evil'",
        "python3 -c 'from scripts import evil'",
        "python3 -c \"import runpy; runpy.run_path('scripts/evil.py')\"",
        "python3 -c \"import importlib; importlib.import_module('scripts.evil')\"",
        "python3 - <<'EOF'\nimport scripts.evil\nEOF",
        "node -r ./scripts/evil.js -e 1",
        "node --import ./scripts/evil.js src/x.js",
        "node -e \"require('./scripts/evil.js')\"",
        "node -e \"require('./scripts/evil')\"",
        "node -e \"import('./scripts/evil.js')\"",
        "node --run evil",
    ];
    let without = [
        "python3 -m scripts.good",
        "python3 -c 'import scripts.good'",
        "python3 -c \"print('import scripts.evil')\"",
        "node -e \"require('evil')\"",
        "node --run build",
    ];
    hold(&files, EVIL, &with, &without);
}

#[test]
fn a_file_of_variables_is_loaded_and_not_shown() {
    let files =
        Memory::default().file("/home/dev/project/.env", "API_KEY=abc\nPORT=1\nrm -rf /srv/old\n");
    hold(
        &files,
        "reads /home/dev/project/.env",
        &["cat .env", "X=$(cat .env)", "set -x; . ./.env"],
        &[
            "source .env && npm start",
            "set -a; . ./.env; set +a",
            "export $(grep -v '^#' .env | xargs)",
        ],
    );
    hold(&files, EVIL, &["source .env"], &[]);
    let shows = |command: &str| {
        lines(&seen(&files, command)).iter().any(|line| line.starts_with("exposes"))
    };
    for command in [
        "source .env; echo $API_KEY",
        "export $(cat .env | xargs); echo $API_KEY",
        "source .env; env",
    ] {
        assert!(shows(command), "{command}: {:?}", lines(&seen(&files, command)));
    }
    for command in ["source .env; echo $PORT", "env $(cat .env | xargs) npm start"] {
        assert!(!shows(command), "{command}: {:?}", lines(&seen(&files, command)));
    }
}

#[test]
fn a_new_key_does_not_take_the_place_of_another() {
    let files = Memory::default().file("/home/dev/.ssh/id_old", "k");
    hold(
        &files,
        "writes /home/dev/.ssh/id_old",
        &["ssh-keygen -f ~/.ssh/id_old"],
        &["ssh-keygen -f ~/.ssh/id_new"],
    );
    hold(
        &files,
        "escalates keys",
        &["ssh-keygen -f ~/.ssh/id_new"],
        &["ssh-keygen -f ~/.ssh/id_old", "ssh-keygen -f ./key"],
    );
}

/// What a script of the project hands to whatever loads its settings is not what a command reads.
#[test]
fn settings_that_a_script_of_the_project_loads_are_no_reading() {
    let files = Memory::default()
        .file(
            "/home/dev/project/app.py",
            "from dotenv import dotenv_values\nconfig = dotenv_values('.env')\n",
        )
        .file("/home/dev/project/show.py", "print(open('.env').read())\n")
        .file(
            "/home/dev/project/path.py",
            "from pathlib import Path\nprint(Path('.env').read_text())\n",
        );
    let with = [
        "python show.py",
        "python path.py",
        "python -c \"from dotenv import dotenv_values; print(dotenv_values('.env'))\"",
        "echo \"import dotenv; print(dotenv.dotenv_values('.env'))\" > x.py; python x.py",
    ];
    hold(&files, "reads /home/dev/project/.env", &with, &["python app.py"]);
}
