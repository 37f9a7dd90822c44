//! The words of a refusal in a policy: code, reason, remedy.

use super::ActionError;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tollgate_gate::limits::REASON_BYTES_MAX;
use tollgate_gate::{Code, Refusal};

/// Longest code, in bytes.
const CODE_BYTES_MAX: usize = 128;

/// The words of a refusal.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    /// The code, for programs. A word of the policy's own, such as `COST_LIMIT`.
    pub(crate) code: Option<String>,
    /// Why, for the model and the person.
    pub(crate) reason: Option<String>,
    /// What a person can do about it. The model never hears it.
    pub(crate) remedy: Option<String>,
}

impl Words {
    /// The refusal with these words, and others where they are left out.
    pub(crate) fn refusal(
        &self,
        default_code: Option<&str>,
        default_reason: &str,
    ) -> Result<Refusal, ActionError> {
        let code = self.code.as_deref().or(default_code);
        if let Some(code) = code {
            check_code(code)?;
        }
        let reason = self.reason.as_deref().unwrap_or(default_reason);
        check_text("reason", reason)?;
        if let Some(remedy) = &self.remedy {
            check_text("remedy", remedy)?;
        }
        Ok(Refusal {
            code: code.map(Code::from),
            reason: reason.into(),
            remedy: self.remedy.as_deref().map(Arc::from),
        })
    }

    /// As [`Words::refusal`], for ending a session.
    pub(crate) fn ending(
        &self,
        default_code: Option<&str>,
        default_reason: &str,
    ) -> Result<Refusal, ActionError> {
        let refusal = self.refusal(default_code, default_reason)?;
        if refusal.code == Some(Code::SessionAborted) {
            let message = "`session_aborted` is what later calls of an ended session are told";
            return Err(ActionError::at("code", message).remedy("another code, or none"));
        }
        Ok(refusal)
    }

    /// Words for a claim that cannot be reserved; none when all are left out.
    pub(crate) fn exceeded(&self) -> Result<Option<Refusal>, ActionError> {
        if *self == Words::default() {
            return Ok(None);
        }
        let mut refusal = self.refusal(None, "?")?;
        if self.reason.is_none() {
            refusal.reason = Arc::from("");
        }
        Ok(Some(refusal))
    }
}

fn check_code(code: &str) -> Result<(), ActionError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    if code.is_empty() || code.len() > CODE_BYTES_MAX || !code.chars().all(is_word) {
        let message = format!("`{code}` is no code");
        let remedy = "letters, digits and `_`, such as `COST_LIMIT`";
        return Err(ActionError::at("code", message).remedy(remedy));
    }
    // A refusal with one of these would pass for a failure of the tool: it would not count as refused.
    if matches!(Code::from(code), Code::UnknownTool | Code::InvalidArguments | Code::ToolError) {
        let message = format!("`{code}` is what a call that fails by itself is told");
        return Err(ActionError::at("code", message).remedy("another code, or none"));
    }
    Ok(())
}

/// Checks a text for people: there is one, and it fits.
pub(crate) fn check_text(key: &str, text: &str) -> Result<(), ActionError> {
    if text.trim().is_empty() {
        return Err(ActionError::at(key, "empty text"));
    }
    if text.len() > REASON_BYTES_MAX {
        return Err(ActionError::at(key, format!("longer than {REASON_BYTES_MAX} bytes")));
    }
    Ok(())
}
