//! Alerts: who is told of what. Only managed and user policies name any: a webhook is a network, and
//! a project's policy may not send anything anywhere.

use super::Unit;
use super::plan::AlertPlan;
use crate::diagnostic::{Diagnostic, Report};
use crate::file::{RawAlert, Spanned};
use crate::limits::ALERTS_MAX;
use std::path::Path;

/// The alerts of these files; what is wrong with them is reported.
pub(super) fn plans<'u>(
    units: impl Iterator<Item = &'u Unit>,
    report: &mut Report,
) -> Vec<AlertPlan> {
    let mut plans: Vec<AlertPlan> = Vec::new();
    for unit in units {
        for alert in &unit.raw.alerts {
            let mut error = |code, at: &Spanned<String>, message: String, remedy: &str| {
                let found = Diagnostic::error(code, unit.raw.place(at.span), message);
                report.push(found.with_remedy(remedy));
            };
            if plans.iter().any(|plan| plan.name == alert.name.value) {
                let message = format!("there are two alerts `{}`", alert.name.value);
                error("duplicate-name", &alert.name, message, "choose another name");
                continue;
            }
            if plans.len() >= ALERTS_MAX {
                let message = format!("more than {ALERTS_MAX} alerts");
                error("alert", &alert.name, message, "name fewer");
                return plans;
            }
            if alert.severity.is_none() && alert.refusals_per_minute.is_none() {
                let message = format!("the alert `{}` never alerts", alert.name.value);
                error("alert", &alert.name, message, "give it `severity` or `refusals_per_minute`");
            }
            if let Some((message, remedy)) = why_no_webhook(&alert.to.value) {
                error("alert", &alert.to, message.to_owned(), remedy);
            }
            for file in [&alert.header_file, &alert.ca_file].into_iter().flatten() {
                if !Path::new(&file.value).is_absolute() {
                    let message = format!("`{}` is no absolute path", file.value);
                    error("alert", file, message, "write the whole path, from / on");
                }
            }
            plans.push(plan(alert));
        }
    }
    plans
}

fn plan(alert: &RawAlert) -> AlertPlan {
    let text = |spanned: &Option<Spanned<String>>| spanned.as_ref().map(|s| s.value.clone());
    AlertPlan {
        name: alert.name.value.clone(),
        to: alert.to.value.clone(),
        header_file: text(&alert.header_file),
        ca_file: text(&alert.ca_file),
        severity: alert.severity.clone(),
        refusals_per_minute: alert.refusals_per_minute,
    }
}

/// Why this is no URL of a webhook. The URL is not repeated: it may hold what it should not.
fn why_no_webhook(url: &str) -> Option<(&'static str, &'static str)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with(['/', ':'])) else {
        return Some(("this is no URL of a webhook", "https://HOST/PATH"));
    };
    if rest.contains(['@', '?', '#']) || !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some((
            "the URL of a webhook has no user, password or query",
            "put a token into a file, one line `Name: value`, and name it in `header_file`",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::why_no_webhook;

    #[test]
    fn a_webhook_is_a_url_without_secrets() {
        for url in ["https://h/x", "http://127.0.0.1:8080", "https://[::1]/a/b"] {
            assert_eq!(why_no_webhook(url), None, "{url}");
        }
        for url in [
            "h/x",
            "ftp://h",
            "https://",
            "https:///x",
            "https://a:b@h",
            "https://h?t=1",
            "https://h h",
        ] {
            assert!(why_no_webhook(url).is_some(), "{url}");
        }
    }
}
