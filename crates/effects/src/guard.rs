//! Self-protection: whether a call touches what guards it (law 13).
//!
//! The caller says which places are protected and which commands answer or switch; this module says
//! whether the effects of a call reach them, and by what. Refused: deciding what follows.

use crate::effect::{Effect, Effects, Target, Verb};
use crate::glob::PathGlob;
use crate::path::Cover;

/// Says what must not be changed or run by a governed call. Each part is asked for only when a call comes near
/// it, so whoever has to look for the places first looks when they are needed.
pub trait Protects {
    /// Absolute, normalised paths; a folder stands for all below it.
    fn paths(&self) -> &[String];

    /// Globs of paths, for places that are not known one by one (`**/tollgate.yaml`).
    fn globs(&self) -> &[PathGlob];

    /// Program names, each with sub-command fronts that must not run; an empty list means all.
    fn programs(&self) -> &[(String, Vec<String>)];
}

/// What must not be changed or run by a governed call, known beforehand.
#[derive(Debug, Clone, Default)]
pub struct Protected {
    /// Absolute, normalised paths; a folder stands for all below it.
    pub paths: Vec<String>,
    /// Globs of paths, for places that are not known one by one (`**/tollgate.yaml`).
    pub globs: Vec<PathGlob>,
    /// Program names, each with sub-command fronts that must not run; an empty list means all.
    pub programs: Vec<(String, Vec<String>)>,
}

impl Protects for Protected {
    fn paths(&self) -> &[String] {
        &self.paths
    }

    fn globs(&self) -> &[PathGlob] {
        &self.globs
    }

    fn programs(&self) -> &[(String, Vec<String>)] {
        &self.programs
    }
}

/// How a call touches something protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Touch<'a> {
    /// Writes or deletes a protected path, or something below it.
    Path(&'a Effect),
    /// Deletes or writes a whole folder that a protected path lies in.
    Above(&'a Effect),
    /// Runs a protected command.
    Command(&'a Effect),
    /// Kills or stops a protected program.
    Stops(&'a Effect),
}

impl Effects {
    /// Everything by which the call touches `protected`, in the order of the text.
    pub fn touches<'a>(&'a self, protected: &'a dyn Protects) -> impl Iterator<Item = Touch<'a>> {
        self.iter().filter_map(move |effect| match (&effect.verb, &effect.target) {
            (Verb::Writes | Verb::Deletes, Target::Path(path)) => {
                // `git ls-files | xargs sed -i`: any file there is, by name none of these. What is deleted so
                // is asked about (`Run::absolute`).
                if path.is_anything() && !path.is_tree() {
                    return None;
                }
                let below = |place: &String| path.within_or_is(place);
                let places = || protected.paths().iter();
                let globbed =
                    |sought| protected.globs().iter().any(|glob| path.cover(glob) == sought);
                if places().any(below) || globbed(Cover::Itself) {
                    return Some(Touch::Path(effect));
                }
                if !places().any(|place| path.touches(place)) && !globbed(Cover::Below) {
                    return None;
                }
                Some(if path.is_tree() { Touch::Above(effect) } else { Touch::Path(effect) })
            }
            (Verb::Runs, Target::Program { name, sub }) => {
                let runs = protected.programs().iter().any(|(program, subs)| {
                    // The name first: nearly every command ends there, and each is asked twice a call.
                    **name == **program
                        && (subs.is_empty()
                            || subs.iter().any(|front| sub.starts_with(&**front))
                            || subs
                                .iter()
                                .any(|front| has_words(&effect.piece.text, program, front)))
                });
                let stops =
                    matches!(&**name, "kill" | "pkill" | "killall" | "systemctl" | "launchctl")
                        && protected
                            .programs()
                            .iter()
                            .any(|(p, _)| effect.piece.text.contains(p.as_str()));
                if runs {
                    Some(Touch::Command(effect))
                } else if stops {
                    Some(Touch::Stops(effect))
                } else {
                    None
                }
            }
            (_, _) => None,
        })
    }
}

/// Whether `front` stands somewhere behind the program's name in the text, options left out: an option
/// may have a value, which looks like a word of the command.
fn has_words(text: &str, program: &str, front: &str) -> bool {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'']))
        .skip_while(|word| !word.ends_with(program))
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let front: Vec<&str> = front.split_whitespace().collect();
    words.windows(front.len().max(1)).any(|part| part == front)
}
