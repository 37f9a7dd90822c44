//! From the syntax tree to the tree that runs: names, fields, functions, arity, types and guards are
//! checked here, once, when the policy is loaded.
//!
//! Types are what is known for certain: an argument of a tool may be anything, so that only what both
//! sides are known to be is compared. The rest is found at run time and is a fault of the hook.

use super::WhenEnv;
use super::error::{WhenError, WhenErrorKind, suggest};
use super::guard::{Facts, facts, path};
use super::parse::{Field, Kind, Node, Operator};
use super::scope::{self, Known, Place, VARIABLES, Where, fields_of, place};
use super::tree::Expr;
use super::typing::{binary_type, check_comparable};
use super::value::Type;
use tollgate_gate::EventKind;

/// What every use of a name gives back: the node that runs, and its type.
pub(super) type Typed = (Expr, Type);

/// Checks a whole condition.
pub(super) fn check(node: &Node, env: &WhenEnv) -> Result<Expr, WhenError> {
    let mut checker = Checker { env, locals: Vec::new(), made: 0, facts: Facts::new() };
    let (expr, found) = checker.node(node)?;
    if matches!(found, Type::Bool | Type::Any) {
        return Ok(expr);
    }
    Err(WhenError::new(
        WhenErrorKind::Type,
        &node.span,
        format!("a condition is true or false, this is {found}"),
        "compare it with something",
    ))
}

/// The variable of a comprehension.
pub(super) struct Local {
    pub(super) name: String,
    /// Its name in paths.
    pub(super) path: String,
    pub(super) kind: Type,
    /// Whether its fields may be read without `has()`.
    pub(super) free: bool,
}

pub(super) struct Checker<'e> {
    pub(super) env: &'e WhenEnv,
    pub(super) locals: Vec<Local>,
    /// Comprehensions so far: their variables get distinct paths.
    pub(super) made: usize,
    pub(super) facts: Facts,
}

impl Checker<'_> {
    pub(super) fn node(&mut self, node: &Node) -> Result<Typed, WhenError> {
        Ok(match &node.kind {
            Kind::Null => (Expr::Null, Type::Null),
            Kind::Bool(value) => (Expr::Bool(*value), Type::Bool),
            Kind::Int(value) => (Expr::Int(*value), Type::Int),
            Kind::UInt(value) => (Expr::UInt(*value), Type::UInt),
            Kind::Double(value) => (Expr::Double(*value), Type::Double),
            Kind::Text(text) => (Expr::Text(text.as_str().into()), Type::Text),
            Kind::List(items) => self.list(items)?,
            Kind::Map(entries) => self.map(entries)?,
            Kind::Name(name) => return self.name(node, name),
            Kind::Select(target, field) => return self.field(node, target, field),
            Kind::Index(target, index) => return self.index(node, target, index),
            Kind::Call { target, name, args } => {
                return self.call(node, target.as_deref(), name, args);
            }
            Kind::Not(inner) => (Expr::Not(Box::new(self.truth(inner)?)), Type::Bool),
            Kind::Neg(inner) => self.negated(inner)?,
            Kind::And(nodes) => (Expr::And(self.joined(nodes, true)?), Type::Bool),
            Kind::Or(nodes) => (Expr::Or(self.joined(nodes, false)?), Type::Bool),
            Kind::Binary(operator, left, right) => self.binary(node, *operator, left, right)?,
            Kind::If(parts) => self.choice(parts)?,
        })
    }

    fn list(&mut self, items: &[Node]) -> Result<Typed, WhenError> {
        let mut exprs = Vec::with_capacity(items.len());
        let mut all_texts = !items.is_empty();
        for item in items {
            let (expr, kind) = self.node(item)?;
            all_texts &= kind == Type::Text;
            exprs.push(expr);
        }
        Ok((Expr::List(exprs), if all_texts { Type::Texts } else { Type::List }))
    }

    fn map(&mut self, entries: &[(Node, Node)]) -> Result<Typed, WhenError> {
        let mut exprs = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let (key_expr, kind) = self.node(key)?;
            if !matches!(kind, Type::Any | Type::Text | Type::Bool | Type::Int | Type::UInt) {
                let message = format!("{kind} cannot be a key");
                return Err(wrong_type(key, message, "keys are texts, integers or booleans"));
            }
            exprs.push((key_expr, self.node(value)?.0));
        }
        Ok((Expr::Map(exprs), Type::Map))
    }

    /// A node that has to be true or false.
    pub(super) fn truth(&mut self, node: &Node) -> Result<Expr, WhenError> {
        let (expr, kind) = self.node(node)?;
        if matches!(kind, Type::Bool | Type::Any) {
            return Ok(expr);
        }
        let remedy = "`&&`, `||`, `!` and `?` take conditions: compare it with something";
        Err(wrong_type(node, format!("expected true or false, this is {kind}"), remedy))
    }

    fn negated(&mut self, inner: &Node) -> Result<Typed, WhenError> {
        let (expr, kind) = self.node(inner)?;
        if !matches!(kind, Type::Int | Type::Double | Type::Any) {
            return Err(wrong_type(inner, format!("`-` cannot negate {kind}"), "negate a number"));
        }
        Ok((Expr::Neg(Box::new(expr)), kind))
    }

    /// The sides of `&&` (`outcome` true) or `||`, each relying on what the others say.
    fn joined(&mut self, nodes: &[Node], outcome: bool) -> Result<Vec<Expr>, WhenError> {
        let before = self.facts.clone();
        let stated: Vec<String> = {
            let local = |name: &str| self.local_path(name);
            nodes.iter().flat_map(|node| facts(node, outcome, &local)).collect()
        };
        self.facts.extend(stated);
        let exprs = nodes.iter().map(|node| self.truth(node)).collect();
        self.facts = before;
        exprs
    }

    fn choice(&mut self, parts: &[Node; 3]) -> Result<Typed, WhenError> {
        let [condition, yes, no] = parts;
        let condition_expr = self.truth(condition)?;
        let before = self.facts.clone();
        let mut arms = Vec::with_capacity(2);
        for (arm, outcome) in [(yes, true), (no, false)] {
            let stated = facts(condition, outcome, &|name: &str| self.local_path(name));
            self.facts.extend(stated);
            let arm = self.node(arm);
            self.facts.clone_from(&before);
            arms.push(arm?);
        }
        let (Some((no, no_type)), Some((yes, yes_type))) = (arms.pop(), arms.pop()) else {
            return Ok((condition_expr, Type::Bool));
        };
        let kind = if yes_type == no_type { yes_type } else { Type::Any };
        Ok((Expr::If(Box::new([condition_expr, yes, no])), kind))
    }

    fn binary(
        &mut self,
        node: &Node,
        operator: Operator,
        left: &Node,
        right: &Node,
    ) -> Result<Typed, WhenError> {
        let (left_expr, left_type) = self.node(left)?;
        let (right_expr, right_type) = self.node(right)?;
        let kind = binary_type(&node.span, operator, left_type, right_type)?;
        if operator == Operator::In
            && let Kind::List(items) = &right.kind
        {
            for item in items {
                check_comparable(&item.span, operator, left_type, literal_type(item))?;
            }
        }
        self.check_met(&left_expr, right)?;
        self.check_met(&right_expr, left)?;
        if operator == Operator::In
            && let Expr::List(items) = &right_expr
            && items.iter().all(Expr::is_literal)
        {
            return Ok((Expr::OneOf(Box::new(left_expr), items.clone()), Type::Bool));
        }
        Ok((Expr::Binary(operator, Box::new([left_expr, right_expr])), kind))
    }

    /// `event.kind` and `event.tool` are compared with what the hook can meet.
    fn check_met(&self, expr: &Expr, other: &Node) -> Result<(), WhenError> {
        let (met, key): (Vec<&str>, _) = match expr {
            Expr::Known(Known::EventKind) => {
                (self.env.kinds.iter().map(EventKind::name).collect(), "on")
            }
            Expr::Known(Known::EventTool) if !self.env.tools.is_empty() => {
                (self.env.tools.iter().map(|tool| &**tool).collect(), "match")
            }
            _ => return Ok(()),
        };
        let names: Vec<&Node> = match &other.kind {
            Kind::List(items) => items.iter().collect(),
            _ => vec![other],
        };
        for node in names {
            let Kind::Text(name) = &node.kind else { continue };
            if !met.contains(&name.as_str()) {
                let remedy = format!("compare with one that stands in `{key}`");
                let remedy = suggest(name, met.iter().copied(), &remedy);
                let message = format!("this hook never runs at `{name}`");
                return Err(WhenError::new(WhenErrorKind::Unknown, &node.span, message, remedy));
            }
        }
        Ok(())
    }

    fn local(&self, name: &str) -> Option<(usize, &Local)> {
        self.locals.iter().enumerate().rev().find(|(_, local)| local.name == name)
    }

    pub(super) fn local_path(&self, name: &str) -> Option<String> {
        self.local(name).map(|(_, local)| local.path.clone())
    }

    pub(super) fn path(&self, node: &Node) -> Option<String> {
        path(node, &|name| self.local_path(name))
    }

    fn name(&mut self, node: &Node, name: &str) -> Result<Typed, WhenError> {
        if let Some((slot, local)) = self.local(name) {
            return Ok((Expr::Local(u8::try_from(slot).unwrap_or(u8::MAX)), local.kind));
        }
        let Some((place, exists)) = place(name) else {
            let known = VARIABLES.iter().map(|(name, _)| *name);
            let remedy = format!("conditions see {}", names(known.clone()));
            let remedy = suggest(name, known, &remedy);
            let message = format!("unknown name `{name}`");
            return Err(WhenError::new(WhenErrorKind::Unknown, &node.span, message, remedy));
        };
        self.known(node, name, &place, exists)
    }

    /// A field with a place of its own, read as a value.
    fn known(
        &self,
        node: &Node,
        name: &str,
        place: &Place,
        exists: Where,
    ) -> Result<Typed, WhenError> {
        self.check_exists(node, name, exists)?;
        match place {
            Place::Object(_) => {
                let remedy = format!("read one of its fields: {}", names(fields_of(name)));
                Err(wrong_type(node, format!("`{name}` is no value"), &remedy))
            }
            Place::Value { known, kind, optional } => {
                if *optional {
                    self.check_guarded(node, self.path(node))?;
                }
                Ok((Expr::Known(*known), *kind))
            }
        }
    }

    pub(super) fn check_exists(
        &self,
        node: &Node,
        name: &str,
        exists: Where,
    ) -> Result<(), WhenError> {
        let missing = scope::missing(exists, self.env.kinds);
        if missing.is_empty() {
            return Ok(());
        }
        Err(WhenError::new(
            WhenErrorKind::Unknown,
            &node.span,
            format!("`{name}` does not exist at {}", names(missing)),
            "make two hooks of it, each `on` the kinds that have what it reads",
        ))
    }

    /// The full name of an object of the table, if the node is one: `session`, `session.own`.
    pub(super) fn object_name(&self, node: &Node) -> Option<String> {
        let name = match &node.kind {
            Kind::Name(name) if self.local(name).is_none() => name.clone(),
            Kind::Select(target, field) => format!("{}.{}", self.object_name(target)?, field.name),
            Kind::Index(target, index) => match &index.kind {
                Kind::Text(key) => format!("{}.{key}", self.object_name(target)?),
                _ => return None,
            },
            _ => return None,
        };
        matches!(place(&name), Some((Place::Object(_), _))).then_some(name)
    }

    fn field(&mut self, node: &Node, target: &Node, field: &Field) -> Result<Typed, WhenError> {
        if let Some(object) = self.object_name(target) {
            return self.known_field(node, target, &object, field);
        }
        let target_expr = self.holder(target, field)?;
        if !self.is_free(target) {
            self.check_guarded(node, self.path(node))?;
        }
        Ok((target_expr.field(&field.name), Type::Any))
    }

    /// A field of an object of the table.
    fn known_field(
        &self,
        node: &Node,
        target: &Node,
        object: &str,
        field: &Field,
    ) -> Result<Typed, WhenError> {
        let (name, place, exists) = known_place(object, field)?;
        self.check_exists(node, &name, exists)?;
        if object == "result.error" {
            self.check_guarded(target, self.path(target))?;
        }
        self.known(node, &name, &place, exists)
    }

    /// What a field is read from: something that can have fields.
    pub(super) fn holder(&mut self, target: &Node, field: &Field) -> Result<Expr, WhenError> {
        let (expr, kind) = self.node(target)?;
        if matches!(kind, Type::Any | Type::Map) {
            return Ok(expr);
        }
        let message = format!("{kind} has no field `{}`", field.name);
        let remedy = "methods are called with brackets: `text.contains('x')`";
        Err(wrong_type(target, message, remedy))
    }

    fn index(&mut self, node: &Node, target: &Node, index: &Node) -> Result<Typed, WhenError> {
        if let Kind::Text(key) = &index.kind {
            let field = Field { name: key.clone(), span: index.span.clone() };
            return self.field(node, target, &field);
        }
        let (target_expr, kind) = self.node(target)?;
        let (index_expr, index_type) = self.node(index)?;
        let is_list = matches!(kind, Type::List | Type::Texts);
        if !is_list && !matches!(kind, Type::Any | Type::Map) {
            return Err(wrong_type(target, format!("{kind} has no items"), "index a list or map"));
        }
        if is_list && !matches!(index_type, Type::Any | Type::Int | Type::UInt | Type::Double) {
            let message = format!("a list is indexed by a number, not by {index_type}");
            return Err(wrong_type(index, message, "the first item is `[0]`"));
        }
        let item = if kind == Type::Texts { Type::Text } else { Type::Any };
        Ok((Expr::Index(Box::new(target_expr), Box::new(index_expr)), item))
    }

    /// Whether fields below this may be read without `has()`: arguments of exactly known tools, and
    /// what the condition has built itself.
    pub(super) fn is_free(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::Name(name) => match self.local(name) {
                Some((_, local)) => local.free,
                None => !self.env.tools.is_empty() && matches!(name.as_str(), "args" | "call"),
            },
            Kind::Select(target, field) => {
                self.is_free(target)
                    || (!self.env.tools.is_empty()
                        && field.name == "args"
                        && matches!(&target.kind, Kind::Name(name) if name == "original"))
            }
            Kind::Index(target, _) => self.is_free(target),
            Kind::Call { target: Some(target), .. } => self.is_free(target),
            _ => true,
        }
    }

    pub(super) fn check_guarded(&self, node: &Node, path: Option<String>) -> Result<(), WhenError> {
        if path.is_none_or(|path| self.facts.contains(&path)) {
            return Ok(());
        }
        let written = written(node);
        Err(WhenError::new(
            WhenErrorKind::Unguarded,
            &node.span,
            format!("`{written}` may be absent"),
            format!(
                "guard it: `has({written}) && ...`; arguments of tools that `match` names exactly \
                 need no guard"
            ),
        ))
    }
}

/// The type of a literal; anything for other nodes.
fn literal_type(node: &Node) -> Type {
    match &node.kind {
        Kind::Null => Type::Null,
        Kind::Bool(_) => Type::Bool,
        Kind::Int(_) => Type::Int,
        Kind::UInt(_) => Type::UInt,
        Kind::Double(_) => Type::Double,
        Kind::Text(_) => Type::Text,
        _ => Type::Any,
    }
}

/// The full name and place of a field of an object of the table.
pub(super) fn known_place(
    object: &str,
    field: &Field,
) -> Result<(String, Place, Where), WhenError> {
    let name = format!("{object}.{}", field.name);
    if let Some((place, exists)) = place(&name) {
        return Ok((name, place, exists));
    }
    let fields = fields_of(object);
    let remedy = format!("`{object}` has {}", names(fields.iter().copied()));
    Err(WhenError::new(
        WhenErrorKind::Unknown,
        &field.span,
        format!("`{object}` has no field `{}`", field.name),
        suggest(&field.name, fields.iter().copied(), &remedy),
    ))
}

pub(super) fn wrong_type(node: &Node, message: String, remedy: &str) -> WhenError {
    WhenError::new(WhenErrorKind::Type, &node.span, message, remedy)
}

/// Names as a person lists them.
pub(super) fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// A path as it was written, with fields in points.
fn written(node: &Node) -> String {
    match &node.kind {
        Kind::Name(name) => name.clone(),
        Kind::Select(target, field) => format!("{}.{}", written(target), shown_field(&field.name)),
        Kind::Index(target, index) => match &index.kind {
            Kind::Text(key) => format!("{}.{}", written(target), shown_field(key)),
            Kind::Int(at) => format!("{}[{at}]", written(target)),
            _ => format!("{}[..]", written(target)),
        },
        _ => "..".to_owned(),
    }
}

fn shown_field(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if plain { name.to_owned() } else { format!("`{name}`") }
}
