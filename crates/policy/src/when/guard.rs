//! Which fields are known to be there: what `has()` has said before a field is read.
//!
//! CEL's `&&` and `||` let the side that decides absorb an error of the other, whichever stands
//! first. So in `a && b` each side may rely on what the other says when it is true, and in `a || b`
//! on what the other says when it is false. That is sound: where the fact does not hold, the side
//! that states it decides the whole, and the other side's error is absorbed.

use super::parse::{Kind, Node, Operator};
use std::collections::BTreeSet;

/// Paths of fields that are known to be there.
pub(super) type Facts = BTreeSet<String>;

/// Between the steps of a path; no source text holds it unescaped in a name.
const STEP: char = '\u{1f}';

/// The path that a node reads, if it is a plain one. `local` names the variables of comprehensions,
/// so that two of the same name are not taken for one.
pub(super) fn path(node: &Node, local: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    match &node.kind {
        Kind::Name(name) => Some(local(name).unwrap_or_else(|| name.clone())),
        Kind::Select(target, field) => Some(below(&path(target, local)?, &field.name)),
        Kind::Index(target, index) => {
            let target = path(target, local)?;
            match &index.kind {
                Kind::Text(key) => Some(below(&target, key)),
                Kind::Int(at) => Some(below(&target, &format!("[{at}]"))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The path of a field of what stands at `path`.
pub(super) fn below(path: &str, field: &str) -> String {
    format!("{path}{STEP}{field}")
}

/// What holds when this node is `outcome`.
pub(super) fn facts(node: &Node, outcome: bool, local: &dyn Fn(&str) -> Option<String>) -> Facts {
    match (&node.kind, outcome) {
        (Kind::Not(inner), _) => facts(inner, !outcome, local),
        (Kind::And(nodes), true) | (Kind::Or(nodes), false) => {
            nodes.iter().flat_map(|node| facts(node, outcome, local)).collect()
        }
        (Kind::And(nodes), false) | (Kind::Or(nodes), true) => {
            let mut each = nodes.iter().map(|node| facts(node, outcome, local));
            let first = each.next().unwrap_or_default();
            each.fold(first, |both, next| both.intersection(&next).cloned().collect())
        }
        (Kind::Call { target: None, name, args }, true) if name.name == "has" => {
            args.iter().filter_map(|field| path(field, local)).collect()
        }
        (Kind::Binary(Operator::In, key, map), true) => match &key.kind {
            Kind::Text(key) => path(map, local).map(|map| below(&map, key)).into_iter().collect(),
            _ => Facts::new(),
        },
        _ => Facts::new(),
    }
}
