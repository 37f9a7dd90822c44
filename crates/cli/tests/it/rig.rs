//! A folder with a project, a user's policy and a state folder, and the binary run in it.

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The binary.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_tollgate");

/// A user's policy with a locked hook and one that is not.
pub(crate) const USER: &str = r#"
version: 1
locked: [keep]
hooks:
  - name: keep
    on: pre_tool
    match: { tool: rm }
    deny: "rm is not used here"
  - name: no-delete
    on: pre_tool
    match: { tool: "delete_*" }
    deny: "nothing is deleted"
"#;

/// A project's policy that tightens.
pub(crate) const PROJECT: &str = r#"
version: 1
hooks:
  - name: no-mail
    on: pre_tool
    match: { tool: send_mail }
    deny: "no mail from this project"
"#;

pub(crate) struct Rig {
    folder: TempDir,
}

/// What a run of the binary gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {} {}", self.out, self.err))
    }

    /// Standard output as a JSON value a line.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        self
    }
}

impl Rig {
    /// A git repository `project`, and [`USER`] as the user's policy.
    pub(crate) fn new() -> Rig {
        let rig = Rig { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(rig.path("project/.git")).unwrap();
        rig.write("user.yaml", USER);
        rig
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        // Paths in answers have their links followed.
        self.folder.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs in the project with the user's policy and the state folder of the rig.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_in("project", arguments, "", &[])
    }

    pub(crate) fn run_in(
        &self,
        folder: &str,
        arguments: &[&str],
        input: &str,
        env: &[(&str, &str)],
    ) -> Ran {
        let (state, policy) = (self.path("state"), self.path("user.yaml"));
        let mut all =
            vec!["--state", state.to_str().unwrap(), "--policy", policy.to_str().unwrap()];
        all.extend(arguments);
        run(&self.path(folder), &all, input, env)
    }

    /// As [`Rig::run`], started by a process that ends with it, as a host would be: what the test itself starts
    /// later does not run below that host.
    pub(crate) fn run_by_a_host(&self, arguments: &[&str], input: &str) -> Ran {
        let (state, policy) = (self.path("state"), self.path("user.yaml"));
        self.write("host.sh", "\"$@\"\nexit $?\n");
        let host = self.path("host.sh");
        let mut all = vec![host.to_str().unwrap(), BINARY];
        all.extend(["--state", state.to_str().unwrap(), "--policy", policy.to_str().unwrap()]);
        all.extend(arguments);
        run_program("sh", &self.path("project"), &all, input, &[])
    }

    /// Decides with nothing but this policy.
    pub(crate) fn decide(&self, policy: &str, more: &[&str], input: &str) -> Ran {
        let policy = self.path(policy);
        let mut all = vec!["decide", "--policy", policy.to_str().unwrap()];
        all.extend(more);
        run(&self.path("project"), &all, input, &[])
    }

    /// The records of the rig's ledger of this kind.
    pub(crate) fn records(&self, kind: &str) -> Vec<Value> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.path("state/ledger"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
            .collect();
        files.sort();
        let mut records = Vec::new();
        for file in files {
            let text = fs::read_to_string(file).unwrap();
            let lines = text.lines().map(|line| line.trim_matches(['\0', ' ']));
            for line in lines.filter(|line| !line.is_empty()) {
                let record: Value = serde_json::from_str(line).unwrap();
                if record["kind"] == kind {
                    records.push(record);
                }
            }
        }
        records
    }
}

/// Runs the binary in a folder.
pub(crate) fn run(folder: &Path, arguments: &[&str], input: &str, env: &[(&str, &str)]) -> Ran {
    run_program(BINARY, folder, arguments, input, env)
}

fn run_program(
    program: &str,
    folder: &Path,
    arguments: &[&str],
    input: &str,
    env: &[(&str, &str)],
) -> Ran {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input closes it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    Ran {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// The JSON of a call of this tool.
pub(crate) fn call(tool: &str) -> String {
    format!(
        "{{\"kind\":\"pre_tool\",\"session\":{{\"id\":\"s1\",\"user\":\"bob\"}},\"payload\":{{\"tool\":\"{tool}\"}}}}\n"
    )
}
