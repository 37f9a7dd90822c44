//! What a text fetches and then runs: folders that are cloned or unpacked, and servers that packages
//! come from.
//!
//! Code of the project is the person's own; code that the same text fetched a moment ago is read by
//! nobody. A registry that everybody uses is daily work, another one gives a package's name another
//! meaning. Refused: judging what a later call runs; the text of that one does not say where it is from.

use crate::effect::{Reason, Verb};
use crate::mark;
use crate::net;
use crate::path;
use crate::program::invoke::Running;
use crate::run::Run;
use crate::shell::scope::Scope;

/// A folder whose content comes from the network.
#[derive(Debug)]
pub(crate) struct Fetched {
    folder: String,
    /// From a forge that everybody uses: building it is daily work, running its scripts unread is not.
    forge: bool,
}

/// Forges where the projects of most people lie.
const FORGES: &[&str] =
    &["github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com", "git.sr.ht"];

/// Domains of registries and of the mirrors that many use.
const REGISTRIES: &[&str] = &[
    "pypi.org",
    "pythonhosted.org",
    "download.pytorch.org",
    "nvidia.com",
    "npmjs.org",
    "npmjs.com",
    "yarnpkg.com",
    "npm.pkg.github.com",
    "jsr.io",
    "golang.org",
    "goproxy.io",
    "goproxy.cn",
    "rubygems.org",
    "rubygems.pkg.github.com",
    "crates.io",
    "rust-lang.org",
    "maven.org",
    "maven.apache.org",
    "gradle.org",
    "packagist.org",
    "packagist.com",
    "anaconda.org",
    "anaconda.com",
    "luarocks.org",
    "hex.pm",
    "pub.dev",
    "cpan.org",
    "metacpan.org",
    "flathub.org",
    "hashicorp.com",
    "vagrantup.com",
    "npmmirror.com",
    "mirrors.aliyun.com",
    "tuna.tsinghua.edu.cn",
    "mirrors.ustc.edu.cn",
    "nodejs.org",
    "huggingface.co",
    "nuget.org",
    "cran.r-project.org",
    "cloud.r-project.org",
    "pkg.dev",
    "pkgs.dev.azure.com",
];

/// Domains of modules of Go that many use.
const MODULE_DOMAINS: &[&str] = &[
    "golang.org",
    "google.golang.org",
    "cloud.google.com",
    "gopkg.in",
    "k8s.io",
    "uber.org",
    "mongodb.org",
    "opentelemetry.io",
    "etcd.io",
    "helm.sh",
    "istio.io",
    "dagger.io",
    "tailscale.com",
    "honnef.co",
    "mvdan.cc",
    "gotest.tools",
    "entgo.io",
    "gorm.io",
    "goa.design",
    "rsc.io",
    "filippo.io",
    "modernc.org",
    "cuelang.org",
    "connectrpc.com",
    "buf.build",
    "oras.land",
    "gocloud.dev",
    "fyne.io",
    "gioui.org",
    "wails.io",
    "4d63.com",
    "mellium.im",
    "zx2c4.com",
    "cloudfoundry.org",
    "storj.io",
    "go-simpler.org",
    "pulumi.com",
    "temporal.io",
    "charm.sh",
];

/// Variables that say which server packages or tools come from.
const VARIABLES: &[&str] = &[
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIPENV_PYPI_MIRROR",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "GOPROXY",
    "NPM_CONFIG_REGISTRY",
    "YARN_REGISTRY",
    "YARN_NPM_REGISTRY_SERVER",
    "BUN_CONFIG_REGISTRY",
    "COREPACK_NPM_REGISTRY",
    "GEM_SOURCE",
    "RUBYGEMS_HOST",
    "RUSTUP_DIST_SERVER",
    "RUSTUP_UPDATE_ROOT",
    "HOMEBREW_BOTTLE_DOMAIN",
    "HOMEBREW_ARTIFACT_DOMAIN",
    "HOMEBREW_API_DOMAIN",
    "HOMEBREW_BREW_GIT_REMOTE",
    "HOMEBREW_CORE_GIT_REMOTE",
    "PUB_HOSTED_URL",
    "FLUTTER_STORAGE_BASE_URL",
    "HEX_MIRROR",
    "NVM_NODEJS_ORG_MIRROR",
    "ELECTRON_MIRROR",
    "PUPPETEER_DOWNLOAD_BASE_URL",
    "PLAYWRIGHT_DOWNLOAD_HOST",
    "CONDA_CHANNEL_ALIAS",
    "PERL_CPANM_MIRROR",
];

/// Fronts and ends of such variables that have a registry's name in them.
const NAMED_VARIABLES: &[(&str, &str)] =
    &[("CARGO_REGISTRIES_", "_INDEX"), ("BUNDLE_MIRROR__", ""), ("UV_INDEX_", "_URL")];

/// How many such folders of a text are kept.
const FOLDERS_MAX: usize = 32;

/// Whether modules of Go that many use come from a domain.
pub(crate) fn is_known_module_domain(domain: &str) -> bool {
    let below = |known: &&str| {
        domain.strip_suffix(*known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    FORGES.iter().chain(MODULE_DOMAINS).any(below)
}

pub(crate) fn is_registry_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    VARIABLES.contains(&name.as_str())
        || NAMED_VARIABLES.iter().any(|(front, end)| name.starts_with(front) && name.ends_with(end))
}

/// Whether packages from this address are as good as any of their names.
pub(crate) fn is_known_registry(address: &str) -> bool {
    let below = |host: &str, domain: &str| {
        host.strip_suffix(domain).is_some_and(|front| front.is_empty() || front.ends_with('.'))
    };
    net::is_local(address)
        || net::host_of(address).is_some_and(|host| {
            !mark::has_mark(&host) && REGISTRIES.iter().any(|known| below(&host, known))
        })
}

impl Run<'_> {
    /// Code runs that is not read here: the project's, or what this text has fetched. Without a file it
    /// is what a tool of the project finds in its folder.
    pub(crate) fn of_project(&mut self, cwd: &str, file: Option<&str>, reason: Reason) {
        let at = path::normalise(cwd, file.unwrap_or(".")).unwrap_or_default();
        if self.is_fetched(&at, file.is_some()) {
            self.unknown(Verb::Runs, Reason::RunText);
        } else {
            self.unknown(Verb::Does, reason);
        }
    }

    pub(crate) fn is_fetched(&self, at: &str, is_script: bool) -> bool {
        self.foreign.iter().any(|fetched| {
            let below = at
                .strip_prefix(&*fetched.folder)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            // What is unpacked into the project does not make the project's own build another's.
            let is_root = self.ctx.root.is_some_and(|root| root == at);
            below && (is_script || !(fetched.forge || is_root))
        })
    }

    /// A repository is cloned: `ADDRESS [FOLDER]`.
    pub(crate) fn fetched(&mut self, scope: &Scope, running: &Running<'_, '_>) {
        let mut words = running.args.positionals.iter();
        let Some(address) = words.next() else { return };
        let remote = net::is_url(address) || net::remote_host(address).is_some();
        // `gh repo clone owner/name`, `degit owner/name`.
        let shorthand = running.name != "git" && !address.starts_with(['.', '/', '~']);
        if address.starts_with("file:") || !(remote || shorthand) {
            return;
        }
        let name = path::base_name(address.trim_end_matches('/'));
        let name = name.rsplit(':').next().unwrap_or_default();
        let name = name.strip_suffix(".git").unwrap_or(name);
        let folder = words.next().map_or(name, String::as_str);
        let host = net::remote_host(address).and_then(net::host_of);
        let forge = host.is_none_or(|host| FORGES.contains(&host.as_str()));
        self.foreign(scope, folder, forge);
    }

    /// An archive is unpacked: what came over the network is as unread as before.
    pub(crate) fn unpacked(&mut self, scope: &Scope, archive: &str, stdin: &str, folder: &str) {
        let remote = match archive {
            "-" | "" => stdin.contains(mark::REMOTE),
            file => self.content(scope, file).is_some_and(|text| text.contains(mark::REMOTE)),
        };
        if remote {
            self.foreign(scope, folder, false);
        }
    }

    fn foreign(&mut self, scope: &Scope, folder: &str, forge: bool) {
        if self.foreign.len() >= FOLDERS_MAX {
            return;
        }
        if let Some(folder) = path::normalise(&scope.cwd, folder) {
            self.foreign.push(Fetched { folder, forge });
        }
    }

    /// A package by its name, its address, or its file.
    pub(crate) fn package_place(&mut self, scope: &Scope, value: &str, shorthand: bool) {
        self.package_source(value, shorthand);
        let is_place = value.starts_with(['.', '/', '~']) || value.contains('/');
        if !is_place || net::is_url(value) || mark::has_mark(value) {
            return;
        }
        let Some(at) = path::normalise(&scope.cwd, value) else { return };
        let remote = self.written.get(&at).is_some_and(|text| text.contains(mark::REMOTE));
        let shared = value.starts_with('/') && self.is_shared(&at);
        if remote || shared || self.is_fetched(&at, true) {
            self.unknown(Verb::Runs, Reason::RunText);
        }
    }

    /// A server that packages come from, or several: another one than everybody's gives their names
    /// another meaning.
    pub(crate) fn registry(&mut self, value: &str) {
        for address in value.split([',', '|', ' ', '\n']) {
            let address = address.strip_prefix("sparse+").unwrap_or(address);
            let address = address.strip_prefix("git+").unwrap_or(address);
            if !net::is_url(address) {
                continue;
            }
            self.host(address);
            if !is_known_registry(address) {
                self.unknown(Verb::Runs, Reason::RunText);
            }
        }
    }
}
