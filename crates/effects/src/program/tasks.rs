//! What task runners run: targets of make, recipes of just, tasks of Task.
//!
//! The recipes of what is asked for, and of what it depends on, are read and analysed like any other text.
//! Refused: running the languages of these files; a value that only they know is a word.

use crate::effect::{Reason, Target, Verb};
use crate::mark;
use crate::path;
use crate::program::invoke::{Running, shebang};
use crate::program::table::Lang;
use crate::run::Run;
use crate::shell::scope::Scope;

/// How many recipes and tasks of one file are looked at.
const TASKS_MAX: usize = 64;
/// How many lines of such a file are read.
const LINES_MAX: usize = 4096;

impl Run<'_> {
    pub(crate) fn make(&mut self, scope: &Scope, running: &Running<'_, '_>) -> Option<String> {
        self.of_project(&scope.cwd, None, Reason::ProjectCode);
        for word in &running.args.positionals {
            if let Some((name, value)) = word.split_once('=') {
                let usual = ["sh", "bash", "zsh", "dash"].contains(&path::base_name(value));
                if name == "SHELL" && !usual {
                    self.unknown(Verb::Runs, Reason::Environment);
                }
                if value.trim().contains(' ') {
                    // `CC='cc -O2'`: a program and its options.
                    let mut inner = scope.clone();
                    self.run_text(&mut inner, value, "");
                }
                if value.starts_with('!') || value.contains("$(shell") {
                    self.unknown(Verb::Runs, Reason::RunText);
                }
            }
        }
        for (name, value) in &running.args.options {
            if name == "--eval" {
                let text = value.clone().unwrap_or_default();
                self.unknown(Verb::Runs, Reason::RunText);
                let _ = text;
            }
        }
        let named = running.args.value("-f").map(str::to_owned);
        let text = match named {
            Some(file) if file == "-" => Some(running.stdin.to_owned()),
            Some(file) => self.content(scope, &file),
            None => {
                let names = ["GNUmakefile", "makefile", "Makefile"];
                names.iter().find_map(|name| self.content(scope, name))
            }
        }?;
        if text.contains(mark::REMOTE) {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
            return None;
        }
        let goals: Vec<&String> =
            running.args.positionals.iter().filter(|word| !word.contains('=')).collect();
        for shell in shell_calls(&text) {
            self.run_text(&mut scope.clone(), &shell, "");
        }
        // `make -n`: only lines that say so (`+`) run.
        let only_shown = running.args.has("-n");
        for recipe in recipes(&text, &goals, only_shown) {
            let mut inner = scope.clone();
            self.run_text(&mut inner, &recipe, "");
        }
        None
    }

    /// `just`, `task`: what the recipes that are asked for run.
    pub(crate) fn task_runner(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        self.of_project(&scope.cwd, None, Reason::ProjectCode);
        let just = running.name == "just";
        let names: &[&str] = match just {
            true => &["justfile", ".justfile", "Justfile", "JUSTFILE"],
            false => &[
                "Taskfile.yml",
                "taskfile.yml",
                "Taskfile.yaml",
                "taskfile.yaml",
                "Taskfile.dist.yml",
            ],
        };
        let text = match running.args.value("-f").or(running.args.value("-t")) {
            Some(file) => self.content(scope, file),
            None => names.iter().find_map(|name| self.content(scope, name)),
        }?;
        if text.contains(mark::REMOTE) {
            self.out.add(Verb::Runs, Target::RemoteCode, &self.piece);
            return None;
        }
        let words: Vec<&str> = running.args.positionals.iter().map(String::as_str).collect();
        let recipes = if just { just_recipes(&text) } else { task_recipes(&text) };
        for body in asked(&recipes, &words, just) {
            match shebang(&body) {
                Some(lang) if lang != Lang::Shell => self.code(scope, lang, &body),
                Some(_) | None => {
                    self.run_text(&mut scope.clone(), &body, "");
                }
            }
        }
        None
    }
}

/// A recipe or task: its name, its parameters with their defaults, what it needs, what it runs.
#[derive(Debug, Default)]
struct Recipe {
    name: String,
    /// Its own first, then the file's variables.
    parameters: Vec<(String, String)>,
    /// How many of them are its own.
    taken: usize,
    needs: Vec<String>,
    body: String,
}

/// The texts of the recipes that `words` ask for, and of what they need. Without words, of the first one
/// (Task: of the one that is called so).
fn asked(recipes: &[Recipe], words: &[&str], just: bool) -> Vec<String> {
    let find = |name: &str| recipes.iter().find(|recipe| recipe.name == name);
    let mut todo: Vec<(&Recipe, Vec<String>)> = Vec::new();
    let mut words = words.iter().filter(|word| !word.contains('=')).peekable();
    if words.peek().is_none() {
        let first = if just { recipes.first() } else { find("default") };
        todo.extend(first.map(|recipe| (recipe, Vec::new())));
    }
    while let Some(word) = words.next() {
        let Some(recipe) = find(word) else { continue };
        let variadic = recipe.parameters.iter().any(|(name, _)| name.starts_with(['*', '+']));
        let count = if variadic { usize::MAX } else { recipe.taken };
        let args = words.by_ref().take(count).map(|word| (*word).to_owned()).collect();
        todo.push((recipe, args));
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut out = Vec::new();
    while let Some((recipe, args)) = todo.pop() {
        if seen.contains(&recipe.name.as_str()) || seen.len() > TASKS_MAX {
            continue;
        }
        seen.push(&recipe.name);
        todo.extend(
            recipe.needs.iter().filter_map(|need| find(need)).map(|need| (need, Vec::new())),
        );
        out.push(with_values(&recipe.body, &recipe.parameters, &args));
    }
    out
}

/// A recipe's text with its parameters put in; what else stands in braces is a word.
fn with_values(body: &str, parameters: &[(String, String)], args: &[String]) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((front, inside)) = rest.split_once("{{") {
        out.push_str(front);
        let Some((expression, after)) = inside.split_once("}}") else {
            rest = inside;
            continue;
        };
        let name = expression.trim().trim_start_matches('.');
        let place = parameters
            .iter()
            .position(|(parameter, _)| parameter.trim_start_matches(['*', '+', '$']) == name);
        match place.and_then(|at| parameters.get(at).map(|parameter| (at, parameter))) {
            Some((at, (parameter, _))) if parameter.starts_with(['*', '+']) => {
                out.push_str(&args.get(at..).unwrap_or_default().join(" "));
            }
            Some((at, (_, default))) => out.push_str(args.get(at).unwrap_or(default)),
            None => out.push(mark::WORD),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The recipes of a justfile: `name param default="x": need (need arg) && after`, and indented lines.
fn just_recipes(text: &str) -> Vec<Recipe> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut variables: Vec<(String, String)> = Vec::new();
    for line in text.lines().take(LINES_MAX) {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = recipes.last_mut() {
                let line = line.trim().trim_start_matches(['@', '-']);
                recipe.body.push_str(line);
                recipe.body.push('\n');
            }
            continue;
        }
        if let Some((name, value)) = line.split_once(":=") {
            let name = name.trim().trim_start_matches("export ").to_owned();
            variables.push((name, unquoted(value.trim()).to_owned()));
            continue;
        }
        let Some((head, needs)) = line.split_once(':') else { continue };
        if line.starts_with(['#', '[']) {
            continue;
        }
        let mut words = head.split_whitespace();
        let Some(name) = words.next() else { continue };
        let parameters = words.map(|word| {
            let (name, default) = word.split_once('=').unwrap_or((word, ""));
            (name.to_owned(), unquoted(default).to_owned())
        });
        let mut parameters: Vec<(String, String)> = parameters.collect();
        let taken = parameters.len();
        parameters.extend(variables.iter().cloned());
        let needs = needs.split('#').next().unwrap_or_default();
        let needs = needs.split_whitespace().map(|need| need.trim_matches(['(', ')']).to_owned());
        let name = name.trim_start_matches('@').to_owned();
        recipes.push(Recipe {
            name,
            parameters,
            taken,
            needs: needs.collect(),
            body: String::new(),
        });
    }
    recipes
}

/// The tasks of a Taskfile, by its indentation: `cmds:`, `cmd:`, `deps:`, a task as one line, `task:` calls.
fn task_recipes(text: &str) -> Vec<Recipe> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut inside = false;
    let (mut task_depth, mut key, mut key_depth) = (None, String::new(), 0);
    for line in text.lines().take(LINES_MAX) {
        let trimmed = line.trim();
        let depth = line.len() - line.trim_start().len();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if depth == 0 {
            inside = trimmed == "tasks:";
            continue;
        }
        if !inside {
            continue;
        }
        let task_depth = *task_depth.get_or_insert(depth);
        let entry =
            trimmed.split_once(':').filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
        if depth == task_depth {
            if let Some((name, value)) = entry {
                let mut recipe = Recipe { name: unquoted(name).to_owned(), ..Recipe::default() };
                add_command(&mut recipe, value);
                recipes.push(recipe);
                key = "cmds".to_owned();
                key_depth = depth;
            }
            continue;
        }
        let Some(recipe) = recipes.last_mut() else { continue };
        let is_item = trimmed.starts_with("- ");
        if let Some((name, value)) =
            entry.filter(|_| !is_item && depth <= key_depth.max(task_depth + 4))
        {
            let name = name.trim();
            if matches!(
                name,
                "cmds"
                    | "cmd"
                    | "deps"
                    | "vars"
                    | "env"
                    | "sources"
                    | "generates"
                    | "desc"
                    | "preconditions"
                    | "status"
            ) {
                key = name.to_owned();
                key_depth = depth;
                let value = value.trim().trim_start_matches('[').trim_end_matches(']');
                match name {
                    "cmd" => add_command(recipe, value),
                    "deps" | "cmds" => {
                        for item in value.split(',') {
                            add_item(recipe, &key, item);
                        }
                    }
                    _ => {}
                }
                continue;
            }
        }
        add_item(recipe, &key, trimmed.strip_prefix("- ").unwrap_or(trimmed));
    }
    recipes
}

/// One line below a key of a task.
fn add_item(recipe: &mut Recipe, key: &str, item: &str) {
    let item = item.trim();
    let called = item.strip_prefix("task:").or_else(|| item.strip_prefix("{ task:"));
    match (key, called) {
        ("cmds" | "deps", Some(name)) => {
            let name = name.split([',', '}']).next().unwrap_or_default();
            recipe.needs.push(unquoted(name.trim()).trim_start_matches(':').to_owned());
        }
        ("deps", None) => recipe.needs.push(unquoted(item).to_owned()),
        ("cmds" | "cmd", None) => {
            let item =
                item.strip_prefix("cmd:").or_else(|| item.strip_prefix("defer:")).unwrap_or(item);
            add_command(recipe, item);
        }
        (_, _) => {}
    }
}

fn add_command(recipe: &mut Recipe, text: &str) {
    const OPTIONS: &[&str] = &["silent:", "ignore_error:", "vars:", "platforms:", "for:", "set:"];
    let text = unquoted(text.trim());
    if !matches!(text, "" | "|" | ">" | "|-" | ">-") && !OPTIONS.iter().any(|o| text.starts_with(o))
    {
        recipe.body.push_str(text);
        recipe.body.push('\n');
    }
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> &str {
    let inside = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

/// What a makefile runs while it is read: `$(shell COMMAND)` outside of its recipes.
fn shell_calls(text: &str) -> Vec<String> {
    let mut calls = Vec::new();
    for line in text.lines().take(LINES_MAX).filter(|line| !line.starts_with(['\t', '#'])) {
        let Some((_, rest)) = line.split_once("$(shell ") else { continue };
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        calls.push(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().replace("$$", "$"));
        if calls.len() >= TASKS_MAX {
            break;
        }
    }
    calls
}

/// The recipes of the goals and of what they depend on, a few levels down. Without goals, of the first
/// target.
fn recipes(text: &str, goals: &[&String], only_shown: bool) -> Vec<String> {
    let mut rules: Vec<(Vec<&str>, Vec<&str>, Vec<String>)> = Vec::new();
    for line in text.lines().take(4096) {
        if let Some(recipe) = line.strip_prefix('\t') {
            if let Some((_, _, lines)) = rules.last_mut() {
                let signs = recipe.len() - recipe.trim_start_matches(['@', '-', '+', ' ']).len();
                let (signs, recipe) = recipe.split_at(signs);
                if only_shown && !signs.contains('+') {
                    continue;
                }
                lines.push(recipe.replace("$$", "$").replace("$(MAKE)", "make"));
            }
            continue;
        }
        let Some((targets, needs)) = line.split_once(':') else { continue };
        if line.starts_with(['#', '.', ' ']) || needs.starts_with('=') || targets.contains('=') {
            continue;
        }
        // `all: ; command`.
        let (needs, first) = needs.split_once(';').unwrap_or((needs, ""));
        let needs = needs.split('#').next().unwrap_or_default();
        let first = Some(first.trim()).filter(|first| !first.is_empty() && !only_shown);
        rules.push((
            targets.split_whitespace().collect(),
            needs.split_whitespace().collect(),
            first.map(|line| line.replace("$$", "$")).into_iter().collect(),
        ));
    }
    let mut todo: Vec<&str> = goals.iter().map(|goal| goal.as_str()).collect();
    if todo.is_empty() {
        todo.extend(rules.first().and_then(|(targets, _, _)| targets.first()));
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut out = Vec::new();
    while let Some(goal) = todo.pop() {
        if seen.contains(&goal) || seen.len() > 64 {
            continue;
        }
        seen.push(goal);
        for (targets, needs, lines) in &rules {
            if targets.contains(&goal) {
                todo.extend(needs);
                out.push(lines.join("\n"));
            }
        }
    }
    out
}
