//! The words of the program table: roles, acts, languages, outputs, handlers.
//!
//! One function a kind, each a plain list. Refused: a word with two meanings.

use crate::effect::Verb;
use crate::program::table::{Act, Handler, Lang, Out, Role, Spec};
use crate::things;

pub(crate) fn role(word: &str) -> Option<Role> {
    if let Some((word, name)) = word.split_once('=') {
        let lang = lang(name)?;
        return match word {
            "code" => Some(Role::Code(lang)),
            "script" => Some(Role::Script(lang)),
            _ => None,
        };
    }
    Some(match word {
        "skip" => Role::Skip,
        "read" => Role::Read,
        "write" => Role::Write,
        "tree" => Role::Tree,
        "delete" => Role::Delete,
        "deltree" => Role::DeleteTree,
        "move" => Role::Move,
        "into" => Role::Into,
        "host" => Role::Host,
        "url" => Role::Url,
        "send" => Role::Send,
        "data" => Role::Data,
        "remote" => Role::Remote,
        "rinto" => Role::RemoteInto,
        "shell" => Role::Shell,
        "argv" => Role::Argv,
        "shellrest" => Role::ShellRest,
        "folder" => Role::Folder,
        "sql" => Role::Sql,
        "sqlfile" => Role::SqlFile,
        "assign" => Role::Assign,
        "program" => Role::Program,
        "mount" => Role::Mount,
        "method" => Role::Method,
        "device" => Role::Device,
        "package" => Role::Package,
        word => Role::Spec(spec(word)?),
    })
}

fn spec(word: &str) -> Option<Spec> {
    Some(match word {
        "source" => Spec::Source,
        "repo" => Spec::Repository,
        "manifest" => Spec::Manifest,
        "rev" => Spec::Revision,
        "hosts" => Spec::Hosts,
        "serve" => Spec::Served,
        "edit" => Spec::Edited,
        "show" => Spec::Shown,
        "lookup" => Spec::Lookup,
        "setting" => Spec::Setting,
        "registry" => Spec::Registry,
        "carried" => Spec::Carried,
        "form" => Spec::Form,
        "template" => Spec::Template,
        "config" => Spec::Options,
        "module" => Spec::Module,
        "among" => Spec::Among,
        "made" => Spec::Made,
        "key" => Spec::Key,
        "object" => Spec::Object,
        "alias" => Spec::Alias,
        _ => return None,
    })
}

pub(crate) fn lang(name: &str) -> Option<Lang> {
    Some(match name {
        "sh" => Lang::Shell,
        "python" => Lang::Python,
        "node" => Lang::Node,
        "perl" => Lang::Perl,
        "ruby" => Lang::Ruby,
        "php" => Lang::Php,
        "lua" => Lang::Lua,
        "awk" => Lang::Awk,
        "sed" => Lang::Sed,
        "powershell" => Lang::Powershell,
        "cmd" => Lang::Cmd,
        "editor" => Lang::Editor,
        "other" => Lang::Other,
        _ => return None,
    })
}

pub(crate) fn verb(name: &str) -> Option<Verb> {
    Some(match name {
        "reads" => Verb::Reads,
        "writes" => Verb::Writes,
        "deletes" => Verb::Deletes,
        "destroys" => Verb::Destroys,
        "escalates" => Verb::Escalates,
        "persists" => Verb::Persists,
        "publishes" => Verb::Publishes,
        "sends" => Verb::Sends,
        "exposes" => Verb::Exposes,
        _ => return None,
    })
}

pub(crate) fn act(word: &str) -> Option<Act> {
    if let Some((name, thing)) = word.split_once('=') {
        if name == "contacts" {
            return Some(Act::Host(thing.into()));
        }
        let verb = verb(name)?;
        let is_path = matches!(verb, Verb::Reads | Verb::Writes | Verb::Deletes);
        return Some(if is_path {
            Act::Path(verb, thing.into())
        } else {
            Act::Thing(verb, things::is_thing(verb, thing).then(|| thing.into())?)
        });
    }
    Some(match word {
        "listens" => Act::Listens,
        "sendsinput" => Act::SendsInput,
        "runsinput" => Act::RunsInput,
        "shellinput" => Act::ShellInput,
        "environment" => Act::Environment,
        "project" => Act::ProjectCode,
        "opaque" => Act::Opaque,
        "hidden" => Act::Hidden,
        "agent" => Act::Agent,
        "unguarded" => Act::Unguarded,
        "noagent" => Act::NoAgent,
        "tree" => Act::Tree,
        "nothing" => Act::Nothing,
        "inplace" => Act::InPlace,
        "deletesargs" => Act::DeletesArgs,
        "readsargs" => Act::ReadsArgs,
        "mirror" => Act::Mirror,
        "fetched" => Act::Fetched,
        "unpacks" => Act::Unpacks,
        _ => return None,
    })
}

pub(crate) fn out(name: &str) -> Option<Out> {
    Some(match name {
        "word" => Out::Word,
        "machine" => Out::Machine,
        "cwd" => Out::Cwd,
        "root" => Out::Root,
        "below" => Out::Below,
        "belowargs" => Out::BelowArgs,
        "listed" => Out::Listed,
        "temp" => Out::Temp,
        "init" => Out::Init,
        "remote" => Out::Remote,
        "content" => Out::Content,
        "input" => Out::Input,
        "name" => Out::Name,
        "folderof" => Out::FolderOf,
        "absolute" => Out::Absolute,
        "which" => Out::Which,
        "nothing" => Out::Nothing,
        "unknown" => Out::Unknown,
        _ => return None,
    })
}

pub(crate) fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "echo" => Handler::Echo,
        "printf" => Handler::Printf,
        "cat" => Handler::Cat,
        "env" => Handler::Env,
        "xargs" => Handler::Xargs,
        "find" => Handler::Find,
        "ssh" => Handler::Ssh,
        "dockerrun" => Handler::DockerRun,
        "git" => Handler::Git,
        "gitconfig" => Handler::GitConfig,
        "gitpush" => Handler::GitPush,
        "gitremote" => Handler::GitRemote,
        "gitcheckout" => Handler::GitCheckout,
        "gitbranch" => Handler::GitBranch,
        "forgeapi" => Handler::ForgeApi,
        "device" => Handler::Device,
        "envsubst" => Handler::Envsubst,
        "tar" => Handler::Tar,
        "dd" => Handler::Dd,
        "curl" => Handler::Curl,
        "wget" => Handler::Wget,
        "make" => Handler::Make,
        "packagescript" => Handler::PackageScript,
        "sed" => Handler::Sed,
        "crontab" => Handler::Crontab,
        "kill" => Handler::Kill,
        "chmod" => Handler::Chmod,
        "made-with-mode" => Handler::MadeWithMode,
        "base64" => Handler::Base64,
        "netcat" => Handler::Netcat,
        "shell" => Handler::Shell,
        "interpreter" => Handler::Interpreter,
        "parallel" => Handler::Parallel,
        "grep" => Handler::Grep,
        "tr" => Handler::Tr,
        "rev" => Handler::Rev,
        "hexdecode" => Handler::HexDecode,
        "decoded" => Handler::Decoded,
        "sqlshell" => Handler::SqlShell,
        "redisshell" => Handler::RedisShell,
        "systemctl" => Handler::Systemctl,
        "socat" => Handler::Socat,
        "windowsshell" => Handler::WindowsShell,
        "tmux" => Handler::Tmux,
        "openssl" => Handler::Openssl,
        "sort" => Handler::Sort,
        "mkfifo" => Handler::Mkfifo,
        "fd" => Handler::Fd,
        "printenv" => Handler::Printenv,
        "jq" => Handler::Jq,
        "tee" => Handler::Tee,
        "serve" => Handler::Serve,
        "patch" => Handler::Patch,
        "tasks" => Handler::Tasks,
        "state" => Handler::State,
        "mavenexec" => Handler::MavenExec,
        "editorinput" => Handler::EditorInput,
        _ => return None,
    })
}
