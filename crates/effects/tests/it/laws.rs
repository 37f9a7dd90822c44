//! The smaller laws: pieces and spans, covers, caps, the table, self-protection.

use tollgate_effects::{
    Context, Cover, Effects, PathGlob, Programs, Protected, Reason, TableError, Target, Touch,
    Verb, Within, limits, shell_effects,
};

use crate::place::{HOME, ROOT, context};

fn seen(command: &str) -> Effects {
    shell_effects(command, &context())
}

fn lines(command: &str) -> Vec<String> {
    seen(command).iter().map(|effect| format!("{} {}", effect.verb, effect.target)).collect()
}

fn has(command: &str, fact: &str) {
    let seen = lines(command);
    assert!(seen.iter().any(|line| line == fact), "{command}: no `{fact}` in {seen:#?}");
}

#[test]
fn every_effect_carries_the_piece_of_text_it_comes_from() {
    let command = "ls; sudo sh -c 'cd /srv && rm -rf old' && echo ok";
    for effect in seen(command).iter() {
        let (from, to) = effect.piece.span;
        let outer = &command[from as usize..to as usize];
        assert!(!effect.piece.text.is_empty());
        if effect.verb == Verb::Deletes {
            assert_eq!(&*effect.piece.text, "rm -rf old");
            assert_eq!(outer, "sudo sh -c 'cd /srv && rm -rf old'");
        }
    }
    let rows = seen(command).rows();
    assert!(
        rows.iter().any(|row| row.effect == "deletes" && row.target == "/srv/old and all below")
    );
}

#[test]
fn folders_that_are_deleted_or_moved_count_for_all_below() {
    let glob = PathGlob::new("**/test_*.py");
    let cover = |command: &str| {
        let effects = seen(command);
        let mut worst = Cover::No;
        for verb in [Verb::Deletes, Verb::Writes] {
            for path in effects.paths(verb) {
                let found = path.cover(&glob);
                if found != Cover::No {
                    worst = found;
                }
            }
        }
        worst
    };
    assert_eq!(cover("rm tests/test_a.py"), Cover::Itself);
    assert_eq!(cover("rm tests/*.py"), Cover::Itself);
    assert_eq!(cover("echo x > tests/test_a.py"), Cover::Itself);
    assert_eq!(cover("sed -i s/a/b/ tests/test_a.py"), Cover::Itself);
    assert_eq!(cover("rm -rf tests"), Cover::Below);
    assert_eq!(cover("mv tests old"), Cover::Below);
    assert_eq!(cover("rm -rf node_modules target"), Cover::No);
    assert_eq!(cover("rm src/main.py"), Cover::No);
    assert_eq!(cover("rm \"src/$X\""), Cover::Possibly);
    assert_eq!(cover("grep -r x tests"), Cover::No);
}

#[test]
fn relative_globs_and_anchored_globs_differ_where_tools_make_folders() {
    let effects = seen("rm -rf target");
    let path = effects.paths(Verb::Deletes).next().unwrap();
    assert_eq!(path.cover(&PathGlob::new("/home/dev/project/target/keep/**")), Cover::Below);
    assert_eq!(path.cover(&PathGlob::new("**/keep.txt")), Cover::No);
}

#[test]
fn paths_are_placed_inside_or_outside_of_the_workspace() {
    let place = |command: &str| seen(command).paths(Verb::Deletes).next().map(|p| p.within(ROOT));
    assert_eq!(place("rm a"), Some(Within::Below));
    assert_eq!(place("rm -r ."), Some(Within::Root));
    assert_eq!(place("rm ../a"), Some(Within::Outside));
    assert_eq!(place("rm -r src/../../x"), Some(Within::Outside));
    assert_eq!(place("rm -r \"out/$X\""), Some(Within::Maybe));
    assert_eq!(place("rm -r \"$X\""), None);
    assert!(
        seen("rm -r \"$X\"").unknowns(Verb::Deletes).any(|(reason, _)| reason == Reason::PathText)
    );
}

#[test]
fn values_flow_through_variables_pipes_and_folders() {
    has("d=/srv; rm -rf \"$d/x\"", "deletes /srv/x and all below");
    has("cd /srv && cd a/b && rm -rf ../c", "deletes /srv/a/c and all below");
    has("f=a.tar.gz; rm \"${f%.tar.gz}.zip\"", "deletes /home/dev/project/a.zip");
    has("for d in a b; do rm -rf /srv/$d; done", "deletes /srv/b and all below");
    has("x=/a; if true; then x=/b; fi; rm -rf $x", "deletes /a and all below");
    has("x=/a; if true; then x=/b; fi; rm -rf $x", "deletes /b and all below");
    has("printf '/srv/%s\\n' a b | xargs rm -rf", "deletes /srv/b and all below");
    has("printf '/srv/a' | while read p; do rm -rf \"$p\"; done", "deletes /srv/a and all below");
    has("rm -rf /srv/{a,b{1,2}}", "deletes /srv/b2 and all below");
    has("rm -rf \"$(mktemp -d)\"", "deletes /tmp/tmp.<word> and all below");
    has("cd sub || exit; rm -rf x", "deletes /home/dev/project/sub/x and all below");
    has("pushd /srv; popd; rm x", "deletes /home/dev/project/x");
    has("cat <<EOF > /srv/x\n$HOME\nEOF", "writes /srv/x");
    has("git -C /srv rm a", "deletes /srv/a");
    has("make -C /srv/sub && rm a", "deletes /home/dev/project/a");
}

#[test]
fn redirections_write_and_devices_do_not() {
    has("echo x >> a/b", "writes /home/dev/project/a/b");
    has("cmd &> log", "writes /home/dev/project/log");
    has("cmd >| log", "writes /home/dev/project/log");
    has("exec 3<> /srv/f", "writes /srv/f");
    assert_eq!(seen("ls > /dev/null 2>&1").paths(Verb::Writes).count(), 0);
    assert_eq!(seen("ls >&2 2>&-").paths(Verb::Writes).count(), 0);
}

#[test]
fn every_cap_that_is_hit_is_an_unknown() {
    let reasons = |text: &str| -> Vec<Reason> {
        seen(text).unknowns(Verb::Runs).map(|(reason, _)| reason).collect()
    };
    assert_eq!(reasons(&"a".repeat(limits::COMMAND_BYTES_MAX + 1)), [Reason::Size]);
    assert!(reasons(&"(".repeat(2_000)).contains(&Reason::Depth));
    assert!(reasons(&"echo $(".repeat(500)).contains(&Reason::Depth));
    let nested = (0..60).fold("rm -rf /".to_owned(), |t, _| format!("eval {}", shell_quoted(&t)));
    assert!(!reasons(&nested[..nested.len().min(limits::COMMAND_BYTES_MAX)]).is_empty());
    assert!(reasons("a\u{E00F}b").contains(&Reason::Characters));
    assert!(reasons("a\0b").contains(&Reason::Characters));
    assert!(reasons("if true; then rm").contains(&Reason::Syntax));
    let many = "rm /srv/".to_owned()
        + &(0..limits::EFFECTS_MAX + 9).map(|n| format!(" a{n}")).collect::<String>();
    assert!(seen(&many).iter().any(|effect| matches!(effect.target, Target::Unknown(_))));
}

fn shell_quoted(text: &str) -> String {
    if text.contains('\'') { format!("\"{}\"", text.replace('"', "")) } else { format!("'{text}'") }
}

#[test]
fn what_comes_before_a_broken_part_still_counts() {
    has("rm -rf /etc; if", "deletes /etc and all below");
}

#[test]
fn permissive_rules_need_everything_and_nothing_unknown() {
    let inside =
        |target: &Target| matches!(target, Target::Path(p) if p.within(ROOT) == Within::Below);
    assert!(seen("rm a b").all(Verb::Deletes, inside));
    assert!(!seen("rm a /b").all(Verb::Deletes, inside));
    assert!(!seen("rm a; eval \"$X\"").all(Verb::Deletes, inside));
    assert!(!seen("ls").all(Verb::Deletes, inside));
    assert!(seen("rm a /b").any(Verb::Deletes, |target| !inside(target)));
}

#[test]
fn the_built_in_table_is_well_formed_and_wide() {
    let lines = Programs::check_built_in().expect("every line parses");
    assert!(lines > 900, "{lines}");
    assert!(Programs::built_in().len() > 1_500);
}

#[test]
fn a_policy_can_add_programs() {
    let programs =
        Programs::with("deploy prod = !destroys=cluster\ndeploy = open\nzap = args:deltree*\n")
            .unwrap();
    let ctx = Context { programs: &programs, ..context() };
    let lines = |command: &str| -> Vec<String> {
        shell_effects(command, &ctx).iter().map(|e| format!("{} {}", e.verb, e.target)).collect()
    };
    assert!(lines("deploy prod").contains(&"destroys cluster".to_owned()));
    assert!(!lines("deploy test").contains(&"destroys cluster".to_owned()));
    assert!(lines("zap /srv").contains(&"deletes /srv and all below".to_owned()));
    assert!(lines("rm /srv").contains(&"deletes /srv".to_owned()));
    assert_eq!(
        Programs::with("\nzap args:read\n").err(),
        Some(TableError::NoEquals { line: 2, text: "zap args:read".to_owned() })
    );
    assert_eq!(
        Programs::with("zap = args:nonsense").err(),
        Some(TableError::Token { line: 1, token: "args:nonsense".to_owned() })
    );
}

#[test]
fn the_gate_is_guarded_through_every_way_in() {
    let protected = Protected {
        paths: vec![format!("{HOME}/.config/tollgate"), format!("{HOME}/.claude/settings.json")],
        globs: vec![PathGlob::new("**/tollgate.yaml")],
        programs: vec![(
            "tollgate".to_owned(),
            vec!["approve".to_owned(), "off".to_owned(), "trust".to_owned()],
        )],
    };
    let touched = |command: &str| seen(command).touches(&protected).count() > 0;
    for command in [
        "rm -rf ~/.config/tollgate",
        "rm ~/.config/tollgate/policy.yaml",
        "rm -rf ~/.config",
        "mv ~/.config /tmp",
        "echo x > tollgate.yaml",
        "sed -i s/deny/allow/ sub/tollgate.yaml",
        "cp /tmp/x ~/.claude/settings.json",
        "cd ~/.claude && rm settings.json",
        "sh -c 'tollgate off'",
        "tollgate --json approve 12",
        "find ~/.config -delete",
        "python3 -c \"open('/home/dev/.claude/settings.json','w')\"",
        "pkill tollgate",
        "ln -sf x ~/.claude/settings.json",
        "tee ~/.config/tollgate/x < y",
        "git checkout -b x && rm ~/.config/tollga*",
        "echo tollgate trust | sh",
    ] {
        assert!(touched(command), "{command}");
    }
    for command in [
        "tollgate status",
        "cat tollgate.yaml",
        "rm -rf target",
        "ls ~/.config/tollgate",
        "echo tollgate off",
        "grep approve tollgate.yaml",
    ] {
        assert!(!touched(command), "{command}");
    }
    let effects = seen("tollgate off");
    assert!(matches!(effects.touches(&protected).next(), Some(Touch::Command(_))));
}

#[test]
fn globs_keep_stars_within_a_component() {
    let matches = |glob: &str, path: &str| PathGlob::new(glob).matches(path);
    assert!(matches("/a/*.rs", "/a/b.rs"));
    assert!(!matches("/a/*.rs", "/a/b/c.rs"));
    assert!(matches("/a/**", "/a/b/c"));
    assert!(matches("**/c", "c"));
    assert!(matches("**/c", "/a/b/c"));
    assert!(!matches("**/c", "/a/bc"));
    assert!(matches("/a/**/c", "/a/c"));
    assert!(matches("/a/[b-d]?", "/a/cx"));
    assert!(!matches("/a/[!b]", "/a/b"));
    assert!(matches("/a/\\*", "/a/*"));
    assert!(!matches("/a/\\*", "/a/b"));
    assert!(PathGlob::new("/A/b").ignoring_case().matches("/a/B"));
}

#[test]
fn a_star_of_the_shell_leaves_out_hidden_names() {
    let git = PathGlob::new("/home/dev/project/.git/**");
    let covers =
        |command: &str| seen(command).paths(Verb::Deletes).any(|p| p.cover(&git) != Cover::No);
    assert!(covers("rm -rf .git"));
    assert!(covers("rm -rf .*"));
    assert!(covers("rm -rf .g*/hooks"));
    assert!(covers("rm -rf ."));
    assert!(!covers("rm -rf *"));
    assert!(!covers("rm -rf */node_modules"));
}

#[test]
fn agents_and_their_switched_off_guards_are_an_effect() {
    has("claude -p hi", "runs agent claude");
    has("env X=1 codex exec --yolo hi", "runs agent codex, its guards off");
    has("echo hi | xargs -I{} gemini -y -p {}", "runs agent gemini, its guards off");
    assert!(!lines("claude mcp list").iter().any(|line| line.contains("agent")));
    assert!(!lines("claude --version").iter().any(|line| line.contains("agent")));
}

#[test]
fn a_workspace_below_a_temporary_folder_is_a_workspace_and_its_neighbours_are_not() {
    let root = "/tmp/ci/app";
    let context = Context { cwd: root, root: Some(root), ..context() };
    let is_hidden = |command: &str| {
        let seen = shell_effects(command, &context);
        seen.unknowns(Verb::Runs).next().is_some()
    };
    for own in
        ["python manage.py test", "PATH=$PWD/bin:$PATH make", "sh scripts/x.sh", "sh < run.sh"]
    {
        assert!(!is_hidden(own), "{own}");
    }
    for other in [
        "python /tmp/x.py",
        "PATH=/tmp/bin:$PATH make",
        "PATH=/tmp/ci/app/../bin:$PATH make",
        "PATH=.:$PATH ls",
        "sh ../x.sh",
        "sh < /tmp/ci/run.sh",
        "sh < /tmp/ci/app/../run.sh",
    ] {
        assert!(is_hidden(other), "{other}");
    }
    let whole = Context { cwd: "/tmp", root: Some("/tmp"), ..context };
    assert!(shell_effects("python x.py", &whole).unknowns(Verb::Runs).next().is_some());
}

#[test]
fn tools_of_attackers_aimed_at_this_machine_alone_test_ones_own_app() {
    let attacks = |command: &str| lines(command).iter().any(|line| line == "escalates attack-tool");
    assert!(!attacks("sqlmap -u 'http://localhost:3000/?id=1' --batch"));
    assert!(!attacks("ffuf -u http://127.0.0.1:8000/FUZZ -w words.txt"));
    assert!(!attacks("gobuster dir -u http://app.localhost -w words.txt"));
    assert!(attacks("sqlmap -u http://localhost -m targets.txt"));
    assert!(attacks("sqlmap -r request.txt"));
    assert!(attacks("ffuf -u http://localhost@evil.example/FUZZ"));
    assert!(attacks("ffuf -u http://127.0.0.1.evil.example/FUZZ"));
    assert!(attacks("ffuf -u \"$URL\""));
    assert!(attacks("hydra -l root localhost ssh"));
}

#[test]
fn what_is_selected_bounds_what_is_deleted() {
    let own = "/home/dev/project/tollgate.yaml";
    let protected = Protected { paths: vec![own.to_owned()], ..Protected::default() };
    let touches = |command: &str| seen(command).touches(&protected).next().is_some();
    assert!(!touches("fd -e bak -x rm"));
    assert!(touches("fd -e yaml -x rm"));
    assert!(touches("fd --extension yaml --exec rm -f {}"));
    assert!(!touches("find . -name '*.bak' -delete"));
    assert!(touches("find . -name '*.yaml' -delete"));
}
