//! `tollgate install`, `uninstall` and `doctor`, on settings in a home folder of their own.

use crate::rig::{BINARY, Ran, Rig};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

const PERSONS: &str = r#"{
  // mine
  "model": "opus",
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "beep" }] }
    ]
  }
}
"#;
const HOSTS: [(&str, &str, &str); 5] = [
    ("claude-code", ".claude/settings.json", ".claude/settings.json"),
    ("codex", ".codex/hooks.json", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
    ("copilot", ".copilot/hooks/tollgate.json", ".github/hooks/tollgate.json"),
    ("cursor", ".cursor/hooks.json", ".cursor/hooks.json"),
];

struct Home(Rig);

impl Home {
    fn new() -> Home {
        let rig = Rig::new();
        fs::create_dir(rig.path("home")).unwrap();
        Home(rig)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], more: &[(&str, &str)]) -> Ran {
        let home = self.0.path("home").display().to_string();
        let mut env = vec![("HOME", home.as_str()), ("PATH", "/usr/bin:/bin")];
        env.extend(more);
        self.0.run_in("project", arguments, "", &env)
    }

    fn read(&self, below: &str) -> String {
        fs::read_to_string(self.0.path(below)).unwrap()
    }

    fn is_there(&self, below: &str) -> bool {
        fs::symlink_metadata(self.0.path(below)).is_ok()
    }
}

#[test]
fn what_was_not_there_before_an_install_is_not_there_after_it() {
    for (host, file, _) in HOSTS {
        let home = Home::new();
        let file = format!("home/{file}");
        let out = home.run(&["install", host]).expect(0).out;
        assert!(out.contains("hooks of Tollgate") && out.contains("uninstall"), "{out}");
        let text = home.read(&file);
        assert!(text.contains(&format!("{BINARY} hook {host} --policy")), "{text}");
        assert!(text.contains("user.yaml") && text.contains("--state"), "pinned: {text}");
        assert!(home.run(&["install", host]).expect(0).out.contains("so already"));
        assert_eq!(home.read(&file), text);
        home.run(&["uninstall", host]).expect(0);
        let left: Vec<_> = fs::read_dir(home.0.path("home")).unwrap().collect();
        assert!(left.is_empty(), "{host}: {left:?}");
        assert!(home.run(&["uninstall", host]).expect(0).out.contains("no such file"));
    }
}

#[test]
fn settings_come_back_byte_for_byte_unless_somebody_else_has_changed_them() {
    let home = Home::new();
    let file = "home/.claude/settings.json";
    home.0.write(file, PERSONS);
    fs::set_permissions(home.0.path(file), Permissions::from_mode(0o640)).unwrap();
    home.run(&["install", "claude-code"]).expect(0);
    home.run(&["install", "claude-code"]).expect(0);
    let installed = home.read(file);
    assert!(installed.contains("// mine") && installed.contains("beep"), "{installed}");
    assert!(installed.contains("\"onFailure\": \"block\"") && installed.contains("ConfigChange"));
    assert_eq!(fs::metadata(home.0.path(file)).unwrap().permissions().mode() & 0o777, 0o640);
    home.run(&["uninstall", "claude-code"]).expect(0);
    assert_eq!(home.read(file), PERSONS);

    home.run(&["install", "claude-code"]).expect(0);
    home.0.write(file, &home.read(file).replace("\"opus\"", "\"haiku\""));
    let out = home.run(&["uninstall", "claude-code"]).expect(0).out;
    assert!(out.contains("changed since"), "{out}");
    assert_eq!(home.read(file), PERSONS.replace("opus", "haiku"));
}

#[test]
fn a_newer_place_of_the_binary_replaces_the_older_and_the_first_backup_is_kept() {
    let home = Home::new();
    let file = "home/.claude/settings.json";
    home.0.write(file, PERSONS);
    home.run(&["install", "claude-code"]).expect(0);
    home.0.write("second.yaml", crate::rig::USER);
    let second = home.0.path("second.yaml").display().to_string();
    home.run(&["install", "claude-code", "--policy", &second]).expect(0);
    let text = home.read(file);
    assert!(text.contains(&second), "{text}");
    assert_eq!(text.matches("hook claude-code").count(), text.matches(&second).count());
    home.run(&["uninstall", "claude-code"]).expect(0);
    assert_eq!(home.read(file), PERSONS);
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let home = Home::new();
    home.0.write("home/.claude/settings.json", PERSONS);
    let out = home.run(&["install", "claude-code", "--dry-run"]).expect(0).out;
    assert!(out.contains(" + ") && out.contains("PreToolUse"), "{out}");
    assert_eq!(home.read("home/.claude/settings.json"), PERSONS);
    assert!(!home.is_there("state"));
    home.run(&["install", "claude-code"]).expect(0);
    let installed = home.read("home/.claude/settings.json");
    assert!(home.run(&["uninstall", "claude-code", "--dry-run"]).expect(0).out.contains(" - "));
    assert_eq!(home.read("home/.claude/settings.json"), installed);
    let out = home.run(&["install", "codex", "--dry-run"]).expect(0).out;
    assert!(out.contains("hooks.json would change") && !home.is_there("home/.codex"), "{out}");
}

#[test]
fn a_linked_settings_file_stays_a_link() {
    let home = Home::new();
    home.0.write("dotfiles/claude.json", PERSONS);
    fs::create_dir(home.0.path("home/.claude")).unwrap();
    let (file, target) =
        (home.0.path("home/.claude/settings.json"), home.0.path("dotfiles/claude.json"));
    symlink(&target, &file).unwrap();
    home.run(&["install", "claude-code"]).expect(0);
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("hook claude-code"));
    home.run(&["uninstall", "claude-code"]).expect(0);
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), PERSONS);
}

#[test]
fn settings_that_cannot_be_edited_are_left_alone_with_a_reason() {
    let broken: [(&str, &str); 4] = [
        ("{ \"hooks\": ", "no JSON"),
        ("[]", "not an object"),
        ("{\"hooks\": 1}", "`hooks`"),
        ("{\"hooks\": {}, \"hooks\": {}}", "stands twice"),
    ];
    for (text, why) in broken {
        let home = Home::new();
        home.0.write("home/.claude/settings.json", text);
        let err = home.run(&["install", "claude-code"]).expect(2).err;
        assert!(
            err.contains(why) && err.contains("settings.json") && err.contains("remedy"),
            "{err}"
        );
        assert_eq!(home.read("home/.claude/settings.json"), text);
        assert!(!home.is_there("state"), "{text}");
    }
    let home = Home::new();
    home.0.write("home/.claude/settings.json", PERSONS);
    let file = home.0.path("home/.claude/settings.json");
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    assert!(home.run(&["install", "claude-code"]).expect(2).err.contains("chmod u+w"));
    fs::remove_file(&file).unwrap();
    symlink(home.0.path("nowhere"), &file).unwrap();
    assert!(home.run(&["install", "claude-code"]).expect(2).err.contains("leads nowhere"));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(home.run(&["install", "claude-code"]).expect(2).err.contains("is no file"));
    home.0.write("user.yaml", "version: 1\nhooks: [{ name: a }]\n");
    home.run(&["install", "codex"]).expect(2);
    assert!(!home.is_there("home/.codex"), "under a broken policy nothing is installed");
}

#[test]
fn the_variables_of_the_hosts_say_where_their_settings_are() {
    let home = Home::new();
    let folder = home.0.path("elsewhere").display().to_string();
    let variables = [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
    ];
    for (host, variable, file) in variables {
        home.run_with(&["install", host], &[(variable, &folder)]).expect(0);
        assert!(home.read(&format!("elsewhere/{file}")).contains(&format!("hook {host}")));
    }
    assert!(!home.is_there("home/.claude") && !home.is_there("home/.codex"));
}

#[test]
fn a_projects_hooks_name_no_path_and_refuse_where_tollgate_is_missing() {
    let home = Home::new();
    let err = home.run(&["install", "codex", "--scope", "project"]).expect(2).err;
    assert!(err.contains("--policy"), "{err}");
    for (host, _, file) in HOSTS {
        let run = |arguments: &[&str]| {
            let env = [("HOME", home.0.path("home").display().to_string())];
            let env = env.map(|(name, value)| (name, value.leak() as &str));
            let state = home.0.path("state").display().to_string();
            let mut all = vec!["--state", state.as_str()];
            all.extend(arguments);
            crate::rig::run(&home.0.path("project"), &all, "", &env)
        };
        run(&["install", host, "--scope", "project"]).expect(0);
        let text = home.read(&format!("project/{file}"));
        assert!(!text.contains(BINARY) && !text.contains("--policy"), "{text}");
        let commands: Vec<String> = text
            .lines()
            .filter(|line| line.contains("sh -c"))
            .map(|line| {
                serde_json::from_str(line.split_once(": ").unwrap().1.trim_end_matches(','))
                    .unwrap()
            })
            .collect();
        let codes = commands.iter().map(|command| {
            let ran = Command::new("/bin/sh")
                .args(["-c", command])
                .env("PATH", "/no/such/folder:/bin")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
        });
        let codes: Vec<_> = codes.collect();
        assert!(
            codes.iter().any(|(code, err)| *code == Some(2) && err.contains("tollgate trust")),
            "{codes:?}"
        );
        assert!(codes.iter().any(|(code, err)| *code == Some(0) && err.is_empty()), "{codes:?}");
        run(&["uninstall", host, "--scope", "project"]).expect(0);
        assert!(!home.is_there(&format!("project/{file}")));
    }
}

#[test]
fn codex_is_managed_by_hand_and_told_how() {
    let home = Home::new();
    let err = home.run(&["install", "codex", "--scope", "managed"]).expect(2).err;
    assert!(err.contains("requirements.toml"), "{err}");
    for event in ["PreToolUse", "PostToolUse", "PermissionRequest", "SubagentStop"] {
        let wanted =
            format!("[[hooks.{event}.hooks]]\ntype = \"command\"\ncommand = \"{BINARY} hook codex");
        assert!(err.contains(&wanted), "{wanted}\nin\n{err}");
    }
    assert!(err.contains(&home.0.path("user.yaml").display().to_string()), "{err}");
}

#[test]
fn the_doctor_finds_what_is_wrong_with_the_hooks() {
    let home = Home::new();
    let codes = |host: &str| -> Vec<String> {
        let ran = home.run(&["doctor", host, "--format", "json"]);
        let json = ran.json();
        let wrong = json["findings"].as_array().unwrap().iter();
        let wrong = wrong.filter(|finding| finding["severity"] == "wrong");
        let codes = wrong.map(|finding| {
            assert!(!finding["remedy"].as_str().unwrap().is_empty());
            finding["code"].as_str().unwrap().to_owned()
        });
        let codes: Vec<String> = codes.collect();
        assert_eq!(ran.code, i32::from(!codes.is_empty()));
        codes
    };
    assert_eq!(codes("claude-code"), ["not-installed"]);
    home.run(&["install", "claude-code"]).expect(0);
    let file = "home/.claude/settings.json";
    let good = home.read(file);
    let after = |from: &str, to: &str| {
        assert!(good.contains(from), "{good}");
        home.0.write(file, &good.replace(from, to));
        codes("claude-code")
    };
    let has = |codes: Vec<String>, code: &str| {
        assert!(codes.iter().any(|c| c == code), "{code}: {codes:?}")
    };
    has(after("\"onFailure\": \"block\"", "\"onFailure\": \"continue\""), "weakened");
    has(after("\"timeout\": 30", "\"timeout\": 0"), "weakened");
    has(after("hook claude-code", "hook claude-code || true"), "weakened");
    let odd = good.replacen(" --policy ", " --state /tmp --policy ", 1);
    assert_ne!(odd, good);
    home.0.write(file, &odd);
    has(codes("claude-code"), "weakened");
    has(after("\"PostToolUseFailure\"", "\"SomethingElse\""), "events-missing");
    has(after(BINARY, "/no/such/tollgate"), "binary-missing");
    has(after(BINARY, "/no/such/tollgate"), "self-test-failed");
    has(after("{\n", "{\n  \"disableAllHooks\": true,\n"), "hooks-off");
    has(after("]\n", "\n"), "settings-broken");
    home.0.write(file, &good);
    fs::set_permissions(home.0.path(file), Permissions::from_mode(0o666)).unwrap();
    has(codes("claude-code"), "settings-writable");
    fs::set_permissions(home.0.path(file), Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(home.0.path("user.yaml"), Permissions::from_mode(0o666)).unwrap();
    has(codes("claude-code"), "policy-writable");
    fs::set_permissions(home.0.path("user.yaml"), Permissions::from_mode(0o644)).unwrap();
    home.0.write("project/.claude/settings.local.json", &good);
    has(codes("claude-code"), "twice");
    fs::remove_file(home.0.path("project/.claude/settings.local.json")).unwrap();
    home.0.write("project/tollgate.yaml", crate::rig::PROJECT);
    has(codes("claude-code"), "project-untrusted");
    fs::remove_file(home.0.path("project/tollgate.yaml")).unwrap();
    home.0.write("home/.claude/projects/x/session.jsonl", "{}\n");
    has(codes("claude-code"), "not-called");
    home.run(&["install", "cursor"]).expect(0);
    let ran = home.run(&["doctor"]).expect(1);
    assert!(ran.out.contains("[doubled]"), "{}", ran.out);
    home.0.write("user.yaml", "version: 1\nhooks: [{ name: a }]\n");
    has(codes("claude-code"), "policy-broken");
}

#[test]
fn the_doctor_proves_that_a_call_that_must_be_refused_is() {
    for (host, ..) in HOSTS {
        let home = Home::new();
        home.run(&["install", host]).expect(0);
        if host == "codex" {
            trust_in_codex(&home, &[]);
        }
        let told = home.run(&["doctor", host, "--format", "json"]).expect(0).json();
        assert_eq!(told["hosts"][0]["self_tests"][0]["refused"], true, "{told:#}");
        let codes: Vec<_> =
            told["findings"].as_array().unwrap().iter().map(|f| &f["code"]).collect();
        assert!(codes.contains(&&"not-called-yet".into()), "{told:#}");
        assert!(home.run(&["doctor"]).expect(0).out.contains("nothing is wrong"));
        // The doctor's own calls are not the host's; a call of the host is.
        let file = home.0.path("call.json");
        let call = tollgate_hosts::canned::shell_call(host, "s1", "/", "ls").unwrap();
        fs::write(&file, &call).unwrap();
        let policy = home.0.path("user.yaml").display().to_string();
        let mut hook = vec!["hook", host, "--policy", &policy];
        if host == "copilot" {
            hook.extend(["--event", "preToolUse"]);
        }
        let ran = home.0.run_in("project", &hook, &call, &[]);
        // Cursor wants an answer, be it an empty one.
        assert!(ran.code == 0 && ["", "{}"].contains(&ran.out.trim()), "{} {}", ran.out, ran.err);
        let told = home.run(&["doctor", host, "--format", "json"]).expect(0).json();
        let codes: Vec<_> =
            told["findings"].as_array().unwrap().iter().map(|f| &f["code"]).collect();
        assert!(!codes.contains(&&"not-called-yet".into()), "{told:#}");
    }
}

#[test]
fn what_is_taken_out_of_one_place_and_stands_in_another_is_said() {
    let home = Home::new();
    home.run(&["install", "claude-code"]).expect(0);
    home.0.write("project/.claude/settings.json", &home.read("home/.claude/settings.json"));
    let out = home.run(&["uninstall", "claude-code"]).expect(0).out;
    assert!(out.contains("still passes Tollgate") && out.contains("--scope project"), "{out}");
    assert!(!out.contains("no longer"), "{out}");
    let again = home.run(&["uninstall", "claude-code"]).expect(0).out;
    assert!(again.contains("--scope project"), "{again}");
    let out = home.run(&["uninstall", "claude-code", "--scope", "project"]).expect(0).out;
    assert!(out.contains("no longer passes Tollgate"), "{out}");
}

#[test]
fn installs_at_one_moment_do_not_undo_one_another() {
    let home = Home::new();
    home.0.write("home/.claude/settings.json", PERSONS);
    let hosts = HOSTS.iter().map(|(host, ..)| *host).chain(["claude-code"; 3]);
    std::thread::scope(|scope| {
        let all: Vec<_> =
            hosts.map(|host| scope.spawn(|| home.run(&["install", host]).expect(0))).collect();
        for one in all {
            one.join().unwrap();
        }
    });
    let installs: serde_json::Value =
        serde_json::from_str(&home.read("state/installs.json")).unwrap();
    assert_eq!(installs.as_array().unwrap().len(), HOSTS.len(), "{installs:#}");
    for (host, file, _) in HOSTS {
        home.run(&["uninstall", host]).expect(0);
        if host == "claude-code" {
            assert_eq!(home.read(&format!("home/{file}")), PERSONS);
        } else {
            assert!(!home.is_there(&format!("home/{file}")), "{file}");
        }
    }
}

#[test]
fn a_hook_that_does_not_work_is_told_with_what_the_host_does_then() {
    let home = Home::new();
    home.run(&["install", "codex"]).expect(0);
    let file = "home/.codex/hooks.json";
    let good = home.read(file);
    for broken in ["/no/such/tollgate", "true tollgate", "echo tollgate", "kill -9 $$; tollgate"] {
        home.0.write(file, &good.replace(BINARY, broken));
        let ran = home.run(&["try", "codex", "rm -rf /"]);
        if broken == "true tollgate" {
            // Silence and 0: the host goes on, and nobody can tell that from a decision.
            assert_eq!(ran.code, 0, "{}", ran.out);
            continue;
        }
        let err = ran.expect(2).err;
        assert!(err.contains("runs the call then") && err.contains("doctor codex"), "{err}");
    }
}

#[test]
fn a_policy_that_others_can_write_closes_the_gate_and_is_named_with_the_remedy() {
    let home = Home::new();
    home.run(&["install", "claude-code"]).expect(0);
    let asked = |home: &Home| {
        let event = r#"{"session_id":"s","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Read",
            "tool_use_id":"c","tool_input":{"file_path":"/x"},"permission_mode":"default"}"#;
        let policy = home.0.path("user.yaml").display().to_string();
        home.0.run_in("project", &["hook", "claude-code", "--policy", &policy], event, &[])
    };
    assert_eq!(asked(&home).code, 0);
    let mode = |below: &str, mode| {
        fs::set_permissions(home.0.path(below), Permissions::from_mode(mode)).unwrap();
    };
    mode("user.yaml", 0o666);
    let ran = asked(&home);
    assert!(ran.code == 2 && ran.err.contains("everybody can write to it"), "{}", ran.err);
    let told = home.run(&["status"]).expect(2).err;
    assert!(told.contains("chmod go-w") && told.contains("user.yaml"), "{told}");
    mode("user.yaml", 0o644);
    mode("", 0o777);
    assert_eq!(asked(&home).code, 2, "others could put another in its place");
    mode("", 0o1777);
    assert_eq!(asked(&home).code, 0, "a sticky folder lets others add only");
    mode("", 0o700);
}

/// What `/hooks` of Codex writes when a person trusts its hooks, but for those at these events.
fn trust_in_codex(home: &Home, but: &[&str]) {
    let hooks: serde_json::Value =
        serde_json::from_str(&home.read("home/.codex/hooks.json")).unwrap();
    let file = home.0.path("home/.codex/hooks.json").display().to_string();
    let mut config = String::from("model = \"m\"\n");
    for event in hooks["hooks"].as_object().unwrap().keys() {
        let mut snake = String::new();
        for letter in event.chars() {
            if letter.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.extend(letter.to_lowercase());
        }
        if !but.contains(&event.as_str()) {
            let said = "enabled = true\ntrusted_hash = \"sha256:00\"";
            config.push_str(&format!("\n[hooks.state.\"{file}:{snake}:0:0\"]\n{said}\n"));
        }
    }
    home.0.write("home/.codex/config.toml", &config);
}

#[test]
fn the_doctor_finds_hooks_that_codex_skips_because_nobody_trusts_them() {
    let home = Home::new();
    home.run(&["install", "codex"]).expect(0);
    let out = home.run(&["doctor", "codex"]).expect(1).out;
    assert!(
        out.contains("[untrusted]") && out.contains("PreToolUse") && out.contains("/hooks"),
        "{out}"
    );
    trust_in_codex(&home, &["PostToolUse"]);
    let out = home.run(&["doctor", "codex"]).expect(1).out;
    assert!(out.contains("without a word: PostToolUse ["), "{out}");
    trust_in_codex(&home, &[]);
    home.run(&["doctor", "codex"]).expect(0);
    let config = home.read("home/.codex/config.toml");
    home.0.write("home/.codex/config.toml", &config.replace("enabled = true", "enabled = false"));
    assert!(home.run(&["doctor", "codex"]).expect(1).out.contains("[hooks-off]"));
    home.0.write("home/.codex/config.toml", &format!("[features]\nhooks = false\n{config}"));
    assert!(home.run(&["doctor", "codex"]).expect(1).out.contains("turns all hooks off"));
}

/// Each of the findings that no other test provokes.
#[test]
fn the_doctor_finds_what_is_wrong_beside_the_hooks() {
    let home = Home::new();
    let codes = || -> String {
        let told = home.run(&["doctor", "claude-code", "--format", "json"]).json();
        let codes = told["findings"].as_array().unwrap().iter();
        codes.map(|finding| format!("{} ", finding["code"].as_str().unwrap())).collect()
    };
    let with = |policy: &str| {
        home.0.write("user.yaml", &format!("version: 1\n{policy}\n"));
        codes()
    };
    home.run(&["install", "claude-code"]).expect(0);
    let hook = "hooks: [{ name: a, on: pre_tool, match: { tool: x }, deny: no, dry_run: true }]";
    assert!(with("mode: off\nhooks: []").contains("mode-off"));
    assert!(with("mode: dry_run\nhooks: []").contains("mode-dry-run"));
    assert!(with(hook).contains("only-watches"));
    home.0.write("user.yaml", crate::rig::USER);
    home.0.write("state/switches.json", "{");
    fs::set_permissions(home.0.path("state/switches.json"), Permissions::from_mode(0o600)).unwrap();
    assert!(codes().contains("switches-unreadable"), "{}", codes());
    fs::remove_file(home.0.path("state/switches.json")).unwrap();

    let file = "home/.claude/settings.json";
    let good = home.read(file);
    let beep =
        "\"PreToolUse\": [ { \"hooks\": [{ \"type\": \"command\", \"command\": \"beep\" }] },";
    let other = good.replacen("\"PreToolUse\": [", beep, 1);
    home.0.write(file, &other);
    assert!(codes().contains("other-hook"), "{}", codes());
    let program = home.0.path("copy/tollgate");
    home.0.write("copy/tollgate", "#!/bin/sh\n");
    home.0.write(file, &good.replace(BINARY, &program.display().to_string()));
    assert!(codes().contains("binary-unusable"), "{}", codes());
    fs::set_permissions(&program, Permissions::from_mode(0o777)).unwrap();
    assert!(codes().contains("binary-writable"), "{}", codes());
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let found = codes();
    assert!(found.contains("binary-other") && found.contains("self-test-failed"), "{found}");
    home.0.write(file, &good);

    home.0.write("state/installs.json", "{");
    fs::set_permissions(home.0.path("state/installs.json"), Permissions::from_mode(0o600)).unwrap();
    assert!(codes().contains("installs-unreadable"), "{}", codes());
    fs::remove_file(home.0.path("state/installs.json")).unwrap();
    let book = home.0.path("state/ledger/00000000000000000001.jsonl");
    let text = fs::read_to_string(&book).unwrap();
    let changed = |from: usize| {
        let (before, after) = text.split_at(from);
        format!("{before}{}", after.replacen("\"version\":1", "\"version\":2", 1))
    };
    fs::write(&book, changed(0)).unwrap();
    assert!(codes().contains("ledger-broken"), "{}", codes());
    // The last record is one that the next writer looks at.
    fs::write(&book, changed(text.rfind("\"version\":1").unwrap())).unwrap();
    assert!(codes().contains("ledger-unusable"), "{}", codes());
}

/// What a hook of this host, put in by an install with these flags, says to an event.
fn hooked(home: &Home, host: &str, flags: &[&str], event: &str, env: &[(&str, &str)]) -> Ran {
    let mut arguments = vec!["hook", host];
    arguments.extend(flags);
    home.0.run_in("project", &arguments, event, env)
}

const MASKING: &str = "version: 1
hooks: [{ name: marks, on: after_tool, redact: { lines: MARKED } }]
";

#[test]
fn claude_code_masks_failing_commands_by_the_lines_of_the_session() {
    let home = Home::new();
    home.0.write("user.yaml", MASKING);
    let (lines, cwd) = (home.0.path("lines.sh").display().to_string(), home.0.path("project"));
    let event = format!(
        "{{\"session_id\": \"s1\", \"transcript_path\": \"/t\", \"cwd\": {cwd:?}, \
          \"hook_event_name\": \"SessionStart\", \"source\": \"startup\"}}"
    );
    for _ in 0..2 {
        let ran = hooked(&home, "claude-code", &[], &event, &[("CLAUDE_ENV_FILE", &lines)]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    }
    assert_eq!(fs::read_to_string(&lines).unwrap().lines().count(), 1);
    for shell in ["sh", "bash"] {
        let ran = Command::new(shell)
            .args(["-c", &format!(". '{lines}'; eval 'cd / && echo MARKED; exit 3'")])
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(3), "{ran:?}");
        assert_eq!(String::from_utf8(ran.stdout).unwrap(), "[SECRET]\n");
    }
}

#[test]
fn codex_commands_are_rewritten_only_when_asked_for_and_judged_as_the_model_wrote_them() {
    let home = Home::new();
    home.0.write("user.yaml", MASKING);
    let cwd = home.0.path("project").display().to_string();
    let before =
        tollgate_hosts::canned::shell_call("codex", "s1", &cwd, "echo MARKED; exit 3").unwrap();
    assert_eq!(hooked(&home, "codex", &[], &before, &[]).expect(0).out, "");
    let told = hooked(&home, "codex", &["--wrap"], &before, &[]).expect(0).json();
    let specific = &told["hookSpecificOutput"];
    assert_eq!(specific["permissionDecision"], "allow");
    let command = specific["updatedInput"]["command"].as_str().unwrap();
    let ran = Command::new("bash").args(["-c", command]).output().unwrap();
    assert_eq!((ran.status.code(), ran.stdout.as_slice()), (Some(3), b"[SECRET]\n".as_slice()));
    // The host tells of the end of what it ran; the record is of what the model asked for.
    let mut after: serde_json::Value = serde_json::from_str(&before).unwrap();
    after["hook_event_name"] = "PostToolUse".into();
    after["tool_input"]["command"] = command.into();
    after["tool_response"] = "[SECRET]\n".into();
    hooked(&home, "codex", &["--wrap"], &after.to_string(), &[]).expect(0);
    let outcomes = home.0.records("outcome");
    assert!(!outcomes.is_empty());
    for record in outcomes.iter().chain(&home.0.records("decision")) {
        assert!(!record.to_string().contains("tollgate_exec"), "{record:#}");
    }
}

#[test]
fn rewriting_commands_is_put_in_and_taken_out_by_an_install_and_the_doctor_says_which() {
    // In a home of its own: what a host has started cannot install.
    let home = Home::new();
    assert!(home.run(&["install", "claude-code", "--wrap"]).expect(2).err.contains("--wrap"));
    home.run(&["install", "codex", "--wrap"]).expect(0);
    assert!(home.read("home/.codex/hooks.json").contains("--wrap"));
    trust_in_codex(&home, &[]);
    assert!(home.run(&["doctor", "codex"]).expect(0).out.contains("[rules-blind]"));
    home.run(&["install", "codex"]).expect(0);
    assert!(home.run(&["doctor", "codex"]).expect(0).out.contains("[output-unmasked]"));
}

#[test]
fn the_doctor_says_where_the_errors_of_tools_show_data_of_the_vault() {
    let home = Home::new();
    let policy = |hook: &str| format!("version: 1\nhooks:\n  - {hook}\n");
    let reveals =
        "{ name: r, on: pre_tool, match: { tool: send }, rewrite: { to: { reveal: vault } } }";
    let denies = "{ name: r, on: pre_tool, match: { tool: send }, deny: no }";
    for (hook, host, says) in
        [(reveals, "claude-code", true), (reveals, "codex", false), (denies, "claude-code", false)]
    {
        home.0.write("user.yaml", &policy(hook));
        home.run(&["install", host]).expect(0);
        let told = home.run(&["doctor", host]).out;
        assert!(told.contains("self-test: refused as it must be"), "{told}");
        assert_eq!(told.contains("[vault-errors]"), says, "{hook} {host}: {told}");
    }
}

#[test]
fn the_first_ten_minutes_from_an_install_to_a_refusal_understood_and_back() {
    let home = Home::new();
    home.0.write(
        "user.yaml",
        "version: 1
hooks:
  - { name: keys-stay-unread, on: pre_tool, match: { reads: \"**/.env\" }, deny: keys are not read }
",
    );
    let asked = |command: &str| home.run(&["try", "claude-code", command]);
    assert!(asked("ls").expect(0).out.contains("tollgate install claude-code"));
    home.run(&["install", "claude-code"]).expect(0);
    let told = asked("cat .env").expect(1).out;
    assert!(told.contains("REFUSED") && told.contains("keys are not read"), "{told}");
    assert!(told.contains("tollgate allow --last"), "{told}");
    let why = home.run(&["explain", "--last"]).expect(0).out;
    assert!(why.contains("keys-stay-unread"), "{why}");
    home.run(&["allow", "--last", "--yes"]).expect(0);
    let told = asked("cat .env").expect(0).out;
    assert!(told.contains("nothing in the policy is against it"), "{told}");
    asked("cat ../.env").expect(1);
    let told = asked("tollgate pause --for 1h --reason x").expect(1).out;
    assert!(told.contains("no policy lets an agent do this"), "{told}");
    // A hook of the policy refuses it, and so would the guard: no exception helps, and none is written.
    let outside = "version: 1\nhooks:\n  - { name: inside, on: pre_tool, match: { deletes: \"**\" }, deny: no }\n";
    home.0.write("user.yaml", outside);
    let told = asked(&format!("rm -rf {}", home.0.path("").display())).expect(1).out;
    assert!(told.contains("(hook `inside`"), "{told}");
    assert!(told.contains("no policy lets an agent do this"), "{told}");
    let err = home.run(&["allow", "--last", "--yes"]).expect(2).err;
    assert!(err.contains("no exception") && err.contains("remedy"), "{err}");
    assert_eq!(home.read("user.yaml"), outside);
    home.run(&["status"]).expect(0);
    home.run(&["uninstall", "claude-code"]).expect(0);
    assert!(home.run(&["try", "nobody", "ls"]).expect(2).err.contains("claude-code, codex"));
}
