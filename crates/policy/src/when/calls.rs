//! Calls: `has`, the comprehensions, and functions with their arity, types and patterns.

use super::check::{Checker, Local, Typed, known_place, names, wrong_type};
use super::error::{WhenError, WhenErrorKind, suggest};
use super::guard::{below, facts};
use super::limits::COMPREHENSIONS_MAX;
use super::parse::{Field, Kind, Node};
use super::pattern::{Compile, Lazy};
use super::scope::Place;
use super::tree::{Comprehension, Expr, FUNCTIONS, Form, Function, Named, Purpose};
use super::typing::function_type;
use super::value::Type;

/// The comprehensions and how many arguments they take.
pub(super) const MACROS: [(&str, &[usize], Purpose); 5] = [
    ("all", &[2], Purpose::All),
    ("exists", &[2], Purpose::Exists),
    ("exists_one", &[2], Purpose::ExistsOne),
    ("filter", &[2], Purpose::Filter),
    ("map", &[2, 3], Purpose::Map),
];

impl Checker<'_> {
    pub(super) fn call(
        &mut self,
        node: &Node,
        target: Option<&Node>,
        name: &Field,
        args: &[Node],
    ) -> Result<Typed, WhenError> {
        if name.name == "has" && target.is_none() {
            return Ok((self.has(node, args)?, Type::Bool));
        }
        if let Some(target) = target
            && let Some((_, counts, purpose)) = MACROS.iter().find(|row| row.0 == name.name)
        {
            if counts.contains(&args.len()) {
                return self.comprehension(*purpose, target, name, args);
            }
            return Err(arity(name, "a variable and a condition", args.len()));
        }
        let Some((_, form, count, named)) = FUNCTIONS.iter().find(|row| row.0 == name.name) else {
            return Err(unknown_function(name));
        };
        if matches!((target, form), (Some(_), Form::Plain) | (None, Form::Method)) {
            let remedy = if target.is_some() {
                format!("write `{}(..)` with everything in the brackets", name.name)
            } else {
                format!("write `text.{}(..)`", name.name)
            };
            let message = format!("`{}` is not called this way", name.name);
            return Err(WhenError::new(WhenErrorKind::Unknown, &name.span, message, remedy));
        }
        let values: Vec<&Node> = target.into_iter().chain(args).collect();
        if values.len() != *count {
            let expected = (count - usize::from(target.is_some())).to_string();
            return Err(arity(name, &expected, args.len()));
        }
        self.function(node, *named, name, &values)
    }

    fn function(
        &mut self,
        node: &Node,
        named: Named,
        name: &Field,
        values: &[&Node],
    ) -> Result<Typed, WhenError> {
        let function = match named {
            Named::Function(function) => function,
            Named::Dyn => {
                let first = values.first().copied().unwrap_or(node);
                return Ok((self.node(first)?.0, Type::Any));
            }
            Named::Regex => {
                let (text, pattern) = self.with_pattern(name, values)?;
                return Ok((Expr::Regex(text, pattern), Type::Bool));
            }
            Named::Glob => {
                let (text, pattern) = self.with_pattern(name, values)?;
                return Ok((Expr::Glob(text, pattern), Type::Bool));
            }
            Named::Cidr => {
                let (text, pattern) = self.with_pattern(name, values)?;
                return Ok((Expr::Cidr(text, pattern), Type::Bool));
            }
        };
        let mut exprs = Vec::with_capacity(values.len());
        let mut types = Vec::with_capacity(values.len());
        for value in values {
            let (expr, kind) = self.node(value)?;
            exprs.push(expr);
            types.push((kind, value.span.clone()));
        }
        let kind = function_type(function, &name.name, &types)?;
        check_literal(function, &exprs, values)?;
        Ok((call(function, exprs), kind))
    }

    /// The text and the literal pattern of `matches`, `glob` and `ip_in`.
    fn with_pattern<T: Compile>(
        &mut self,
        name: &Field,
        values: &[&Node],
    ) -> Result<(Box<Expr>, Lazy<T>), WhenError> {
        let (Some(text), Some(pattern)) = (values.first(), values.get(1)) else {
            return Err(arity(name, "a text and a pattern", values.len()));
        };
        let (expr, kind) = self.node(text)?;
        if !matches!(kind, Type::Text | Type::Any) {
            let message = format!("`{}` looks at a text, this is {kind}", name.name);
            return Err(wrong_type(text, message, "convert it: `string(x)`"));
        }
        let Kind::Text(literal) = &pattern.kind else {
            return Err(WhenError::new(
                WhenErrorKind::Unsupported,
                &pattern.span,
                format!("the pattern of `{}` must be written out", name.name),
                "a pattern out of an event would let a stranger choose what is matched",
            ));
        };
        let compiled = Lazy::checked(literal).map_err(|message| {
            let remedy = "raw texts need no double backslashes: `r'\\d+'`";
            WhenError::new(WhenErrorKind::Pattern, &pattern.span, message, remedy)
        })?;
        Ok((Box::new(expr), compiled))
    }

    fn has(&mut self, node: &Node, args: &[Node]) -> Result<Expr, WhenError> {
        let [Node { kind: Kind::Select(target, field), .. }] = args else {
            let message = "`has` asks for one field".to_owned();
            let remedy = "write `has(args.path)`; a field with another name in backticks";
            return Err(WhenError::new(WhenErrorKind::Arity, &node.span, message, remedy));
        };
        let Some(object) = self.object_name(target) else {
            let holder = self.holder(target, field)?;
            return Ok(holder.has_field(&field.name));
        };
        let (name, place, exists) = known_place(&object, field)?;
        self.check_exists(node, &name, exists)?;
        if object == "result.error" {
            self.check_guarded(target, self.path(target))?;
        }
        Ok(match place {
            Place::Object(Some(known)) | Place::Value { known, optional: true, .. } => {
                Expr::HasKnown(known)
            }
            Place::Object(None) | Place::Value { .. } => Expr::Bool(true),
        })
    }

    fn comprehension(
        &mut self,
        purpose: Purpose,
        range: &Node,
        name: &Field,
        args: &[Node],
    ) -> Result<Typed, WhenError> {
        let (range_expr, range_type) = self.node(range)?;
        let kind = match range_type {
            Type::Texts => Type::Text,
            Type::List | Type::Any | Type::Map => Type::Any,
            other => {
                let message = format!("`{}` runs over a list or map, not over {other}", name.name);
                return Err(wrong_type(range, message, "put the list before the point"));
            }
        };
        if self.locals.len() >= COMPREHENSIONS_MAX {
            return Err(WhenError::new(
                WhenErrorKind::TooLarge,
                &name.span,
                format!("more than {COMPREHENSIONS_MAX} comprehensions within one another"),
                "each multiplies the work; split the condition",
            ));
        }
        let Some((Node { kind: Kind::Name(variable), .. }, rest)) = args.split_first() else {
            let message = format!("`{}` begins with the name of its variable", name.name);
            let remedy = "write `list.exists(x, x > 1)`";
            return Err(WhenError::new(WhenErrorKind::Syntax, &name.span, message, remedy));
        };
        self.made += 1;
        let local_path = below("", &self.made.to_string());
        let free = self.is_free(range);
        let slot = u8::try_from(self.locals.len()).unwrap_or(u8::MAX);
        self.locals.push(Local { name: variable.clone(), path: local_path, kind, free });
        let parts = self.bodies(purpose, rest);
        self.locals.pop();
        let (body, output) = parts?;
        let found = match purpose {
            Purpose::All | Purpose::Exists | Purpose::ExistsOne => Type::Bool,
            Purpose::Filter | Purpose::Map => Type::List,
        };
        let each = Comprehension { purpose, range: range_expr, slot, body, output };
        Ok((Expr::Each(Box::new(each)), found))
    }

    /// The condition and, for `map`, the output.
    fn bodies(
        &mut self,
        purpose: Purpose,
        rest: &[Node],
    ) -> Result<(Expr, Option<Expr>), WhenError> {
        Ok(match (purpose, rest) {
            (Purpose::Map, [output]) => (Expr::Bool(true), Some(self.node(output)?.0)),
            (Purpose::Map, [condition, output]) => {
                let body = self.truth(condition)?;
                let before = self.facts.clone();
                let stated = facts(condition, true, &|name: &str| self.local_path(name));
                self.facts.extend(stated);
                let output = self.node(output);
                self.facts = before;
                (body, Some(output?.0))
            }
            (_, [condition, ..]) => (self.truth(condition)?, None),
            (_, []) => (Expr::Bool(true), None),
        })
    }
}

/// The call as it runs. Parts that are written out stand apart: they need no value of their own, and
/// what is searched for is prepared once.
fn call(function: Function, exprs: Vec<Expr>) -> Expr {
    let [text, Expr::Text(part)] = exprs.as_slice() else {
        return Expr::Call(function, exprs);
    };
    let text = Box::new(text.clone());
    match function {
        Function::StartsWith => Expr::Starts(text, part.clone()),
        Function::EndsWith => Expr::Ends(text, part.clone()),
        Function::Contains => match Lazy::checked(part) {
            Ok(part) => Expr::Contains(text, part),
            Err(_) => Expr::Call(function, exprs),
        },
        _ => Expr::Call(function, exprs),
    }
}

/// A literal time that can never be read is an error now.
fn check_literal(function: Function, exprs: &[Expr], values: &[&Node]) -> Result<(), WhenError> {
    let (Some(Expr::Text(text)), Some(node)) = (exprs.first(), values.first()) else {
        return Ok(());
    };
    let (ok, remedy) = match function {
        Function::Timestamp => {
            (super::time::timestamp(text).is_some(), "write `timestamp('2027-01-15T08:30:00Z')`")
        }
        Function::Duration => (super::time::duration(text).is_some(), "write `duration('1h30m')`"),
        _ => return Ok(()),
    };
    if ok {
        return Ok(());
    }
    let message = format!("`{text}` cannot be read");
    Err(WhenError::new(WhenErrorKind::Type, &node.span, message, remedy))
}

fn unknown_function(name: &Field) -> WhenError {
    let known: Vec<&str> = FUNCTIONS
        .iter()
        .map(|row| row.0)
        .chain(MACROS.iter().map(|row| row.0))
        .chain(["has"])
        .collect();
    let remedy = match name.name.as_str() {
        "lowerAscii" | "toLowerCase" | "to_lower" => "write `lower(x)`".to_owned(),
        "length" | "len" | "count" => "write `size(x)`".to_owned(),
        _ => suggest(
            &name.name,
            known.iter().copied(),
            &format!("there are {}", names(known.iter().copied())),
        ),
    };
    let message = format!("unknown function `{}`", name.name);
    WhenError::new(WhenErrorKind::Unknown, &name.span, message, remedy)
}

fn arity(name: &Field, expected: &str, found: usize) -> WhenError {
    WhenError::new(
        WhenErrorKind::Arity,
        &name.span,
        format!("`{}` takes {expected}, this gives it {found}", name.name),
        "see the page on conditions for what it takes",
    )
}
