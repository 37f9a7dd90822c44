//! What holds at one place: what a rewrite does to the value that stands there.

use super::reveal::RevealRule;
use crate::actions::location::{behind, clean, is_plain};
use crate::actions::pattern::Pattern;
use crate::actions::read::{OneOrMany, Raw, kind_of, read};
use crate::actions::{ActionContext, ActionError};
use schemars::JsonSchema;
use serde::Deserialize;
use std::borrow::Cow;
use std::cmp::Ordering;
use tollgate_gate::{Json, Number};

/// Most replacements at one place.
const REPLACEMENTS_MAX: usize = 64;
/// Most values of one `one_of`.
const CHOICES_MAX: usize = 1_000;

/// What holds at a place, as written.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RuleConfig {
    /// Puts this value there, whatever stood there.
    set: Option<Raw>,
    /// Puts this value there if there is none (or `null`).
    default: Option<Raw>,
    /// A smaller number becomes this one.
    min: Option<Raw>,
    /// A larger number becomes this one.
    max: Option<Raw>,
    /// Any other value becomes the `default`, or the first of these.
    one_of: Option<Vec<Raw>>,
    /// Replaces in a text, by regular expression: one or a list.
    #[schemars(with = "Option<ReplaceSchema>")]
    replace: Option<Raw>,
    /// Takes the value away.
    remove: bool,
    /// `vault`: a placeholder of the session's vault that stands here alone becomes its datum when the call
    /// runs; stands alone, but for `hosts`.
    reveal: Option<String>,
    /// The hosts that may have it; needed where the call goes to one.
    hosts: Option<OneOrMany<String>>,
    /// Keeps a path below this one: `/etc/x` becomes `PREFIX/etc/x`, and `..` cannot leave.
    prefix: Option<String>,
}

/// A replacement in a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplaceConfig {
    /// A regular expression, in the syntax of Rust's `regex` (no look-around, linear time).
    pattern: String,
    /// What stands in its place; `$1` or `${name}` is a group of the pattern.
    with: String,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum ReplaceSchema {
    One(ReplaceConfig),
    Many(Vec<ReplaceConfig>),
}

/// What holds at a place, compiled.
pub(super) enum Rule {
    Set(Json),
    Remove,
    Reveal(RevealRule),
    Shape(Box<Shape>),
}

/// The steps that a value goes through, in this order.
#[derive(Default)]
pub(super) struct Shape {
    default: Option<Json>,
    replace: Vec<(Pattern, String)>,
    prefix: Option<String>,
    one_of: Vec<Json>,
    min: Option<Number>,
    max: Option<Number>,
}

/// What is to be done at a place.
#[derive(Debug, PartialEq)]
pub(super) enum Edit {
    Keep,
    Put(Json),
    Remove,
}

impl Rule {
    /// Reads what holds at a place.
    pub(super) fn read(value: &Json, context: &ActionContext) -> Result<Rule, ActionError> {
        let Json::Object(object) = value else {
            let message = format!("expected what holds here, found {}", kind_of(value));
            return Err(ActionError::at("", message).remedy(format!("`{{ set: {value} }}`")));
        };
        let config: RuleConfig = read(value)?;
        for alone in ["set", "remove"] {
            if object.contains_key(alone) && object.len() > 1 {
                return Err(ActionError::at(alone, format!("`{alone}` stands alone")));
            }
        }
        if let Some(word) = &config.reveal {
            if object.len() > 1 + usize::from(config.hosts.is_some()) {
                return Err(ActionError::at("reveal", "`reveal` stands alone, but for `hosts`"));
            }
            let hosts = config.hosts.as_ref().map(|hosts| hosts.0.as_slice());
            return RevealRule::of(word, hosts).map(Rule::Reveal);
        }
        if config.hosts.is_some() {
            return Err(ActionError::at("hosts", "there is nothing to `reveal` to them"));
        }
        if let Some(Raw(value)) = config.set {
            return Ok(Rule::Set(value));
        }
        if object.contains_key("remove") {
            return match config.remove {
                true => Ok(Rule::Remove),
                false => Err(ActionError::at("remove", "`remove: false` does nothing")),
            };
        }
        if object.is_empty() {
            return Err(ActionError::at("", "nothing holds here"));
        }
        Ok(Rule::Shape(Box::new(Shape::of(config, context)?)))
    }

    /// What is to be done with what stands there. Allocates nothing when it is `Keep`.
    pub(super) fn edit(&self, found: Option<&Json>) -> Result<Edit, String> {
        match self {
            Rule::Set(value) if found == Some(value) => Ok(Edit::Keep),
            Rule::Set(value) => Ok(Edit::Put(value.clone())),
            Rule::Remove if found.is_none() => Ok(Edit::Keep),
            Rule::Remove => Ok(Edit::Remove),
            Rule::Reveal(_) => Ok(Edit::Keep),
            Rule::Shape(shape) => shape.edit(found),
        }
    }
}

impl Shape {
    fn of(config: RuleConfig, context: &ActionContext) -> Result<Shape, ActionError> {
        let shape = Shape {
            default: config.default.map(|raw| raw.0),
            replace: replacements(config.replace, context).map_err(|e| e.under("replace"))?,
            prefix: config.prefix.map(|prefix| check_prefix(&prefix)).transpose()?,
            one_of: config.one_of.unwrap_or_default().into_iter().map(|raw| raw.0).collect(),
            min: bound("min", config.min)?,
            max: bound("max", config.max)?,
        };
        if shape.one_of.len() > CHOICES_MAX {
            return Err(ActionError::at("one_of", format!("more than {CHOICES_MAX} values")));
        }
        if let (Some(min), Some(max)) = (&shape.min, &shape.max)
            && min.compare(max) != Some(Ordering::Less)
            && min.compare(max) != Some(Ordering::Equal)
        {
            return Err(ActionError::at("min", "`min` is above `max`"));
        }
        if let Some(default) = &shape.default
            && !shape.one_of.is_empty()
            && !shape.is_chosen(default)
        {
            return Err(ActionError::at("default", "the `default` is none of `one_of`"));
        }
        // What the rule puts there must itself pass the rule.
        for (at, choice) in shape.default.iter().chain(&shape.one_of).enumerate() {
            let key = if at == 0 && shape.default.is_some() { "default" } else { "one_of" };
            shape.edit(Some(choice)).map_err(|cause| ActionError::at(key, cause))?;
        }
        Ok(shape)
    }

    fn edit(&self, found: Option<&Json>) -> Result<Edit, String> {
        let given = found.filter(|value| !value.is_null());
        let Some(start) = given.or(self.default.as_ref()) else { return Ok(Edit::Keep) };
        let mut value = Cow::Borrowed(start);
        for (pattern, with) in &self.replace {
            let text = text_of(&value)?;
            let regex = pattern.regex().map_err(|error| error.0)?;
            if let Cow::Owned(text) = regex.replace_all(text, with.as_str()) {
                value = Cow::Owned(Json::String(text));
            }
        }
        if let Some(prefix) = &self.prefix
            && let Some(path) = below(prefix, text_of(&value)?)?
        {
            value = Cow::Owned(Json::String(path));
        }
        if !self.one_of.is_empty() && !self.is_chosen(&value) {
            let choice = self.default.as_ref().or(self.one_of.first());
            value = choice.map_or(value, Cow::Borrowed);
        }
        if let Some(bound) = self.exceeded_bound(&value)? {
            value = Cow::Owned(Json::Number(bound.clone()));
        }
        Ok(if found == Some(&*value) { Edit::Keep } else { Edit::Put(value.into_owned()) })
    }

    fn is_chosen(&self, value: &Json) -> bool {
        self.one_of.iter().any(|choice| match (choice, value) {
            (Json::Number(a), Json::Number(b)) => a.compare(b) == Some(Ordering::Equal),
            (choice, value) => choice == value,
        })
    }

    /// The bound beyond which the value lies.
    fn exceeded_bound(&self, value: &Json) -> Result<Option<&Number>, String> {
        if self.min.is_none() && self.max.is_none() {
            return Ok(None);
        }
        let Json::Number(number) = value else {
            return Err(format!("expected a number, found {}", kind_of(value)));
        };
        for (bound, beyond) in [(&self.min, Ordering::Less), (&self.max, Ordering::Greater)] {
            let Some(bound) = bound else { continue };
            match number.compare(bound) {
                Some(order) if order == beyond => return Ok(Some(bound)),
                Some(_) => {}
                None => return Err("the number cannot be compared".to_owned()),
            }
        }
        Ok(None)
    }
}

fn text_of(value: &Json) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("expected a text, found {}", kind_of(value)))
}

fn bound(key: &str, raw: Option<Raw>) -> Result<Option<Number>, ActionError> {
    match raw.map(|raw| raw.0) {
        None => Ok(None),
        Some(Json::Number(number)) => Ok(Some(number)),
        Some(other) => {
            Err(ActionError::at(key, format!("expected a number, found {}", kind_of(&other))))
        }
    }
}

fn replacements(
    raw: Option<Raw>,
    context: &ActionContext,
) -> Result<Vec<(Pattern, String)>, ActionError> {
    let configs: Vec<ReplaceConfig> = match raw.map(|raw| raw.0) {
        None => return Ok(Vec::new()),
        Some(many @ Json::Array(_)) => read(&many)?,
        Some(one) => vec![read(&one)?],
    };
    if configs.len() > REPLACEMENTS_MAX {
        return Err(ActionError::at("", format!("more than {REPLACEMENTS_MAX} replacements")));
    }
    let mut replacements = Vec::with_capacity(configs.len());
    for config in configs {
        let pattern = Pattern::new(&config.pattern, context.patterns);
        replacements.push((pattern.map_err(|error| error.under("pattern"))?, config.with));
    }
    Ok(replacements)
}

/// Checks a prefix and gives it in its plain form.
fn check_prefix(prefix: &str) -> Result<String, ActionError> {
    check_path(prefix).map_err(|cause| ActionError::at("prefix", cause))?;
    let clean = clean(prefix);
    if clean.is_empty() || clean == "/" {
        return Err(ActionError::at("prefix", format!("`{prefix}` keeps nothing in")));
    }
    Ok(clean)
}

/// The path below the prefix, or `None` when it stands there already in its plain form. What is not
/// below it is taken as if the prefix were the root: `/etc/x` and `../etc/x` become `PREFIX/etc/x`.
fn below(prefix: &str, path: &str) -> Result<Option<String>, String> {
    if behind(prefix, path).is_some() && is_plain(path) {
        return Ok(None);
    }
    check_path(path)?;
    let clean = clean(path);
    if behind(prefix, &clean).is_some() {
        return Ok((clean != path).then_some(clean));
    }
    let rest = clean.trim_start_matches('/');
    Ok(Some(if rest.is_empty() { prefix.to_owned() } else { format!("{prefix}/{rest}") }))
}

/// A path that other systems read in another way is refused.
fn check_path(path: &str) -> Result<(), String> {
    if path.contains(['\\', '\0']) {
        return Err("a path with a backslash or a zero byte".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{below, check_path};

    fn kept(prefix: &str, path: &str) -> String {
        below(prefix, path).unwrap().unwrap_or_else(|| path.to_owned())
    }

    #[test]
    fn no_path_leaves_its_prefix() {
        for (path, expected) in [
            ("a.txt", "/sandbox/a.txt"),
            ("/etc/passwd", "/sandbox/etc/passwd"),
            ("../../etc/passwd", "/sandbox/etc/passwd"),
            ("/sandbox/../etc/passwd", "/sandbox/etc/passwd"),
            ("/sandbox/a/../../b", "/sandbox/b"),
            ("/sandboxes/a", "/sandbox/sandboxes/a"),
            ("/sandbox", "/sandbox"),
            ("/sandbox//a/./b", "/sandbox/a/b"),
            ("", "/sandbox"),
            ("..", "/sandbox"),
        ] {
            assert_eq!(kept("/sandbox", path), expected, "{path}");
            assert_eq!(kept("/sandbox", expected), expected, "twice: {path}");
        }
        assert_eq!(kept("box", "box/../../x"), "box/x");
        assert_eq!(kept("box", "/box/x"), "box/box/x");
        assert!(check_path("a\\..\\b").is_err());
    }
}
