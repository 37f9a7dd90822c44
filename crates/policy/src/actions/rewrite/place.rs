//! Where a rewrite acts: a path below the payload's part, walked to look and walked to change.

use super::rule::{Edit, Rule};
use crate::actions::ActionError;
use crate::actions::read::kind_of;
use tollgate_gate::path::{Step, parse_steps};
use tollgate_gate::{HandlerError, Json, Object};

/// A path below the part.
pub(super) struct Place {
    text: Box<str>,
    steps: Vec<Step>,
}

impl Place {
    /// Reads a path; `.` is the part itself.
    pub(super) fn parse(text: &str) -> Result<Place, ActionError> {
        let steps = match text {
            "." => Vec::new(),
            text => parse_steps(text).map_err(|error| ActionError::at("", error.to_string()))?,
        };
        Ok(Place { text: text.into(), steps })
    }

    /// Calls `each` with every text that stands here, and the way to it.
    pub(super) fn each_text<'j>(
        &self,
        part: &'j Json,
        each: &mut impl FnMut(&[Box<str>], &'j str),
    ) {
        texts(part, &self.steps, &mut Vec::new(), each);
    }

    /// Whether the rule changes anything here. Allocates nothing if not.
    pub(super) fn would_change(&self, part: &Json, rule: &Rule) -> Result<bool, HandlerError> {
        self.look(Some(part), &self.steps, rule)
    }

    /// Changes what the rule changes.
    pub(super) fn apply(&self, part: &mut Json, rule: &Rule) -> Result<(), HandlerError> {
        if self.steps.is_empty() {
            return match self.edit(rule, Some(part))? {
                Edit::Keep => Ok(()),
                Edit::Put(value) => {
                    *part = value;
                    Ok(())
                }
                Edit::Remove => {
                    *part = Json::Null;
                    Ok(())
                }
            };
        }
        self.change(part, &self.steps, rule)
    }

    fn look(&self, at: Option<&Json>, steps: &[Step], rule: &Rule) -> Result<bool, HandlerError> {
        let [step, rest @ ..] = steps else {
            return Ok(!matches!(self.edit(rule, at)?, Edit::Keep));
        };
        match (at, step) {
            // `*` below nothing is nothing.
            (None | Some(Json::Null), Step::Any) => Ok(false),
            (None | Some(Json::Null), Step::Key(_)) => self.look(None, rest, rule),
            (Some(Json::Object(object)), Step::Key(key)) => self.look(object.get(key), rest, rule),
            (Some(Json::Object(object)), Step::Any) => {
                self.look_at_all(object.iter().map(|(_, value)| value), rest, rule)
            }
            (Some(Json::Array(items)), Step::Key(key)) => {
                self.look(key.parse::<usize>().ok().and_then(|at| items.get(at)), rest, rule)
            }
            (Some(Json::Array(items)), Step::Any) => self.look_at_all(items.iter(), rest, rule),
            (Some(found @ (Json::Bool(_) | Json::Number(_) | Json::String(_))), _) => {
                self.blocked(found, steps, rule)
            }
        }
    }

    fn look_at_all<'v>(
        &self,
        values: impl Iterator<Item = &'v Json>,
        rest: &[Step],
        rule: &Rule,
    ) -> Result<bool, HandlerError> {
        for value in values {
            if self.look(Some(value), rest, rule)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn change(&self, at: &mut Json, steps: &[Step], rule: &Rule) -> Result<(), HandlerError> {
        match steps {
            [] => Ok(()),
            [last] => self.change_last(at, last, rule),
            [step, rest @ ..] => match (at, step) {
                (Json::Object(object), Step::Any) => {
                    object.iter_mut().try_for_each(|(_, value)| self.change(value, rest, rule))
                }
                (Json::Array(items), Step::Any) => {
                    items.iter_mut().try_for_each(|value| self.change(value, rest, rule))
                }
                (Json::Null, Step::Any) => Ok(()),
                (at, Step::Key(key)) => self.change_below(at, key, rest, rule),
                (found @ (Json::Bool(_) | Json::Number(_) | Json::String(_)), Step::Any) => {
                    self.blocked(found, steps, rule).map(|_| ())
                }
            },
        }
    }

    /// Goes on below a key, which comes into being if something is to stand below it.
    fn change_below(
        &self,
        at: &mut Json,
        key: &str,
        rest: &[Step],
        rule: &Rule,
    ) -> Result<(), HandlerError> {
        let found = match at {
            Json::Object(object) => object.get_mut(key),
            Json::Array(items) => key.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            Json::Null => None,
            Json::Bool(_) | Json::Number(_) | Json::String(_) => {
                return self.blocked(at, rest, rule).map(|_| ());
            }
        };
        if let Some(found) = found {
            return self.change(found, rest, rule);
        }
        let mut fresh = Json::Null;
        self.change(&mut fresh, rest, rule)?;
        if !fresh.is_null() {
            self.put(at, key, fresh)?;
        }
        Ok(())
    }

    fn change_last(&self, at: &mut Json, step: &Step, rule: &Rule) -> Result<(), HandlerError> {
        match (at, step) {
            (Json::Object(object), Step::Any) => {
                let keys: Vec<String> = object.iter().map(|(key, _)| key.to_owned()).collect();
                for key in keys {
                    match self.edit(rule, object.get(&key))? {
                        Edit::Keep => {}
                        Edit::Put(value) => {
                            object.insert(key, value);
                        }
                        Edit::Remove => {
                            object.remove(&key);
                        }
                    }
                }
                Ok(())
            }
            (Json::Array(items), Step::Any) => {
                let mut kept = Vec::with_capacity(items.len());
                for item in items.drain(..) {
                    match self.edit(rule, Some(&item))? {
                        Edit::Keep => kept.push(item),
                        Edit::Put(value) => kept.push(value),
                        Edit::Remove => {}
                    }
                }
                *items = kept;
                Ok(())
            }
            (Json::Null, Step::Any) => Ok(()),
            (found @ (Json::Bool(_) | Json::Number(_) | Json::String(_)), _) => {
                self.blocked(found, std::slice::from_ref(step), rule).map(|_| ())
            }
            (at, Step::Key(key)) => self.change_key(at, key, rule),
        }
    }

    fn change_key(&self, at: &mut Json, key: &str, rule: &Rule) -> Result<(), HandlerError> {
        let index = key.parse::<usize>().ok();
        let found = match &*at {
            Json::Object(object) => object.get(key),
            Json::Array(items) => index.and_then(|index| items.get(index)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        };
        match (self.edit(rule, found)?, at) {
            (Edit::Keep, _) => Ok(()),
            (Edit::Put(value), at) => self.put(at, key, value),
            (Edit::Remove, Json::Object(object)) => {
                object.remove(key);
                Ok(())
            }
            (Edit::Remove, Json::Array(items)) => {
                if let Some(index) = index.filter(|index| *index < items.len()) {
                    items.remove(index);
                }
                Ok(())
            }
            (Edit::Remove, Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => {
                Ok(())
            }
        }
    }

    fn put(&self, at: &mut Json, key: &str, value: Json) -> Result<(), HandlerError> {
        if at.is_null() {
            *at = Object::new().into();
        }
        match at {
            Json::Object(object) => {
                object.insert(key, value);
                Ok(())
            }
            Json::Array(items) => {
                let place = key.parse::<usize>().ok().and_then(|at| items.get_mut(at));
                match place {
                    Some(place) => {
                        *place = value;
                        Ok(())
                    }
                    None => Err(self.fault(&format!("there is no item `{key}` in the list"))),
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
                Err(self.fault(&format!("`{key}` stands below {}", kind_of(at))))
            }
        }
    }

    /// A path that goes through a value which has nothing below it. A rule that would put something
    /// there cannot; any other has nothing to do.
    fn blocked(&self, found: &Json, steps: &[Step], rule: &Rule) -> Result<bool, HandlerError> {
        let only_keys = steps.iter().all(|step| matches!(step, Step::Key(_)));
        if only_keys && !matches!(self.edit(rule, None)?, Edit::Keep) {
            return Err(self.fault(&format!("the path goes through {}", kind_of(found))));
        }
        Ok(false)
    }

    fn edit(&self, rule: &Rule, found: Option<&Json>) -> Result<Edit, HandlerError> {
        rule.edit(found).map_err(|cause| self.fault(&cause))
    }

    fn fault(&self, cause: &str) -> HandlerError {
        HandlerError(format!("cannot rewrite `{}`: {cause}", self.text))
    }
}

fn texts<'j>(
    at: &'j Json,
    steps: &[Step],
    path: &mut Vec<Box<str>>,
    each: &mut impl FnMut(&[Box<str>], &'j str),
) {
    let Some((step, rest)) = steps.split_first() else {
        if let Some(text) = at.as_str() {
            each(path, text);
        }
        return;
    };
    let mut below = |key: &str, value: &'j Json| {
        path.push(key.into());
        texts(value, rest, path, each);
        path.pop();
    };
    match (at, step) {
        (Json::Object(object), Step::Key(key)) => {
            if let Some(value) = object.get(key) {
                below(key, value);
            }
        }
        (Json::Object(object), Step::Any) => {
            object.iter().for_each(|(key, value)| below(key, value))
        }
        (Json::Array(items), Step::Key(key)) => {
            if let Some(value) = key.parse::<usize>().ok().and_then(|at| items.get(at)) {
                below(key, value);
            }
        }
        (Json::Array(items), Step::Any) => {
            items.iter().enumerate().for_each(|(index, value)| below(&index.to_string(), value));
        }
        (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_), _) => {}
    }
}
