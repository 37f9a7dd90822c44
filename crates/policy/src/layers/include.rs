//! Includes: further files below the including file's folder, each with what it may do.
//!
//! Included hooks come before those of the including file, so that it has the last word. A grant can
//! only narrow on the way down. What leads out of the folder, in a circle, or too deep is an error.

use super::files;
use super::{FileError, Layer, LayerKind, Origin};
use crate::compile::plan::{Field, MatchPlan};
use crate::compile::{Unit, UnitGrant};
use crate::diagnostic::{Diagnostic, Place, Report};
use crate::file::{RawInclude, RawPolicy, read_policy};
use crate::limits::{INCLUDE_DEPTH_MAX, INCLUDES_MAX};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tollgate_gate::glob::Glob;

/// A layer's file that could be read.
pub(crate) struct Opened {
    pub(crate) text: String,
    pub(crate) path: Option<PathBuf>,
}

impl Opened {
    /// Reads a layer's file.
    pub(crate) fn read_layer(layer: &Layer) -> Result<Opened, FileError> {
        let path = &layer.path;
        let text = match (layer.origin, layer.kind) {
            (Origin::Found, _) => files::read_found(path),
            (Origin::Named, LayerKind::Managed) => files::read_managed(path),
            (Origin::Named, LayerKind::User | LayerKind::Project) => files::read(path),
        }?;
        Ok(Opened { text, path: Some(path.clone()) })
    }

    fn read(path: &Path) -> Result<Opened, FileError> {
        Ok(Opened { text: files::read(path)?, path: Some(path.to_owned()) })
    }
}

/// A layer with all that it includes.
pub(crate) struct Expanded {
    pub(crate) units: Vec<Unit>,
    pub(crate) digest: String,
    pub(crate) includes: Vec<PathBuf>,
    /// Every file that was read, with the SHA-256 of its text.
    pub(crate) files: Vec<(PathBuf, [u8; 32])>,
    /// Whether the layer's own file is a policy at all.
    pub(crate) is_policy: bool,
}

/// Reads a layer's file and all that it includes.
pub(crate) fn expand(
    opened: Opened,
    name: &str,
    kind: LayerKind,
    layer: usize,
    report: &mut Report,
) -> Expanded {
    let mut expander = Expander {
        kind,
        layer,
        report,
        units: Vec::new(),
        hasher: Sha256::new(),
        includes: Vec::new(),
        files: Vec::new(),
        stack: Vec::new(),
        is_policy: false,
    };
    expander.hasher.update(b"tollgate policy 1\0");
    if let Some(canonical) = opened.path.as_deref().and_then(|path| path.canonicalize().ok()) {
        expander.stack.push(canonical);
    }
    let shown = name.to_owned();
    expander.file(&opened, &shown, None, true);
    let mut digest = String::from("sha256:");
    for byte in expander.hasher.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    Expanded {
        units: expander.units,
        digest,
        includes: expander.includes,
        files: expander.files,
        is_policy: expander.is_policy,
    }
}

struct Expander<'r> {
    kind: LayerKind,
    layer: usize,
    report: &'r mut Report,
    units: Vec<Unit>,
    hasher: Sha256,
    includes: Vec<PathBuf>,
    files: Vec<(PathBuf, [u8; 32])>,
    /// The files that are being read, each included by the one before.
    stack: Vec<PathBuf>,
    is_policy: bool,
}

impl Expander<'_> {
    fn file(&mut self, opened: &Opened, name: &str, grant: Option<UnitGrant>, is_first: bool) {
        let length = u64::try_from(opened.text.len()).unwrap_or(u64::MAX);
        self.hasher.update(length.to_be_bytes());
        self.hasher.update(opened.text.as_bytes());
        if let Some(path) = &opened.path {
            self.files.push((path.clone(), Sha256::digest(opened.text.as_bytes()).into()));
        }
        let source = self.report.sources.add(name, opened.text.as_str());
        let read = read_policy(source, &opened.text);
        if read.is_policy {
            self.report.sources.allow_quotes(source);
        }
        if is_first {
            self.is_policy = read.is_policy;
        }
        read.problems.into_iter().for_each(|problem| self.report.push(problem));
        let Some(raw) = read.policy else { return };
        for include in &raw.includes {
            self.include(&raw, include, opened.path.as_deref(), grant.as_ref());
        }
        self.units.push(Unit { raw, kind: self.kind, layer: self.layer, grant });
    }

    fn error(&mut self, place: Place, message: String, remedy: &str) {
        self.report.push(Diagnostic::error("include", place, message).with_remedy(remedy));
    }

    fn include(
        &mut self,
        raw: &RawPolicy,
        include: &RawInclude,
        from: Option<&Path>,
        outer: Option<&UnitGrant>,
    ) {
        let place = raw.place(include.file.span);
        let file = include.file.value.as_str();
        let Some(folder) = from.and_then(Path::parent) else {
            self.error(
                place,
                "a text without a file includes nothing".to_owned(),
                "check the file",
            );
            return;
        };
        if self.includes.len() >= INCLUDES_MAX || self.stack.len() > INCLUDE_DEPTH_MAX {
            let message =
                format!("more than {INCLUDES_MAX} includes, or deeper than {INCLUDE_DEPTH_MAX}");
            self.error(place, message, "include fewer files");
            return;
        }
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let target = match (folder.canonicalize(), folder.join(file).canonicalize()) {
            (Ok(folder), Ok(target)) if target.starts_with(&folder) && target.is_file() => target,
            (Ok(folder), Ok(target)) if !target.starts_with(&folder) => {
                let message = format!("`{file}` leads out of this file's folder");
                self.error(place, message, "include only files below it");
                return;
            }
            (Ok(_), Ok(_)) => {
                self.error(place, format!("`{file}` is no regular file"), "name a file");
                return;
            }
            (Err(error), _) | (_, Err(error)) => {
                self.error(place, format!("`{file}` cannot be found: {error}"), "name a file");
                return;
            }
        };
        if self.stack.contains(&target) {
            self.error(place, format!("`{file}` includes itself"), "take the circle out");
            return;
        }
        let grant = match self.grant(raw, include, outer) {
            Some(grant) => grant,
            None => return,
        };
        match Opened::read(&target) {
            Ok(opened) => {
                self.hasher.update(file.as_bytes());
                self.includes.push(target.clone());
                self.stack.push(target);
                let name = folder.join(file).display().to_string();
                self.file(&opened, &name, Some(grant), false);
                self.stack.pop();
            }
            Err(error) => self.error(place, error.to_string(), "name a readable file"),
        }
    }

    fn grant(
        &mut self,
        raw: &RawPolicy,
        include: &RawInclude,
        outer: Option<&UnitGrant>,
    ) -> Option<UnitGrant> {
        let mut scope = outer.map_or(MatchPlan::Always, |outer| outer.scope.clone());
        for (field, globs) in [
            (Field::Tenant, &include.tenants),
            (Field::Agent, &include.agents),
            (Field::Tool, &include.tools),
        ] {
            if globs.is_empty() {
                continue;
            }
            if let Some(error) = globs.iter().find_map(|glob| Glob::text(glob).err()) {
                self.error(raw.place(include.file.span), error.to_string(), "mend the glob");
                return None;
            }
            scope = scope.and(MatchPlan::Name(field, globs.clone()));
        }
        let wider = outer.is_some_and(|outer| !outer.roles.include(include.roles));
        if wider {
            let message = format!("`{}` is granted more than this file has", include.file.value);
            self.error(raw.place(include.file.span), message, "grant at most what is granted here");
            return None;
        }
        Some(UnitGrant { roles: include.roles, scope })
    }
}
