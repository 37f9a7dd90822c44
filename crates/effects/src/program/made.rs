//! What comes to be and harms nothing by itself, and settings that say more than their program's name: empty
//! folders, keys, objects of a cluster, containers that are thrown away.
//!
//! Refused: the programs that make them; those are the table's.

use crate::effect::Verb;
use crate::files::Entry;
use crate::mark;
use crate::path::{self, Within};
use crate::program::invoke::Running;
use crate::run::Run;
use crate::shell::scope::Scope;

/// Signs that a container of a cluster gets what is the machine's.
const OF_THE_HOST: &[&str] =
    &["hostPID", "hostNetwork", "hostIPC", "hostPath", "\"privileged\":true", "privileged: true"];

impl Run<'_> {
    /// An empty folder below the home folder changes nothing; anywhere else its place is written.
    pub(crate) fn folder_made(&mut self, scope: &Scope, value: &str) {
        let at = path::normalise(&scope.cwd, value).unwrap_or_default();
        let home = self.home();
        let below = path::within(&at, &home) == Within::Below;
        // The gate's own folders are the gate's.
        if !below || mark::has_void(&at) || mark::has_mark(&home) || at.contains("tollgate") {
            self.path(scope, Verb::Writes, value, false);
        }
    }

    /// A new key in the folder of keys: a person's to have, unless it takes the place of another one.
    pub(crate) fn key_made(&mut self, scope: &Scope, value: &str) {
        let at = path::normalise(&scope.cwd, value).unwrap_or_default();
        let files = self.ctx.files;
        let is_new = !files.is_present() || files.look(&at) == Entry::Absent;
        let name = path::base_name(&at);
        let usual = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "config", "authorized_keys"];
        if at.contains("/.ssh/") && is_new && !usual.contains(&name) && !mark::has_mark(&at) {
            self.thing(Verb::Escalates, "keys");
        } else {
            self.path(scope, Verb::Writes, value, false);
        }
    }

    /// `--overrides`, `-p`: what a container may do on its machine, and what keeps an object from going.
    pub(crate) fn cluster_object(&mut self, text: &str) {
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if OF_THE_HOST.iter().any(|sign| plain.contains(sign)) {
            self.thing(Verb::Escalates, "host-from-container");
        }
        if ["\"finalizers\":null", "\"finalizers\":[]", "/metadata/finalizers"]
            .iter()
            .any(|sign| plain.contains(sign))
        {
            self.thing(Verb::Destroys, "cluster-object");
        }
    }

    /// `terraform show -json` without a plan: the state, with the secrets in it.
    pub(crate) fn state_shown(&mut self, running: &Running<'_, '_>) -> Option<String> {
        if running.args.has("-json") && running.args.positionals.is_empty() {
            self.thing(Verb::Exposes, "app-config");
        }
        None
    }

    /// `mvn exec:exec -Dexec.executable=PROGRAM -Dexec.args=".."`.
    pub(crate) fn maven_exec(
        &mut self,
        scope: &Scope,
        running: &Running<'_, '_>,
    ) -> Option<String> {
        let property = |front: &str| running.argv.iter().find_map(|word| word.strip_prefix(front));
        if let Some(program) = property("-Dexec.executable=") {
            let args = property("-Dexec.args=").or(property("-Dexec.arguments="));
            let text = format!("{program} {}", args.unwrap_or_default());
            self.run_text(&mut scope.clone(), &text, "");
        }
        None
    }
}

/// Whether a mode takes rights from others and leaves the owner what a private file needs.
pub(crate) fn tightens(mode: &str, file: &str) -> bool {
    let digits = mode.trim_start_matches('0');
    let is_key = file.contains("/.ssh/")
        || [".pem", ".key", ".ppk"].iter().any(|ending| file.ends_with(ending));
    matches!(digits, "600" | "700")
        || (is_key && matches!(digits, "400" | "500"))
        || matches!(
            mode,
            "go-rwx"
                | "og-rwx"
                | "go="
                | "og="
                | "go-w"
                | "og-w"
                | "o-rwx"
                | "g-w"
                | "o-w"
                | "u=rw,go="
                | "u=rwx,go="
        )
}
