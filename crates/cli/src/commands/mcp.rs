//! `tollgate mcp`: the relay between an MCP client and an MCP server.
//!
//! This opens the policy in force like every other command and hands the gate to the relay. Whatever
//! keeps the policy from being opened ends the command before the server is started.

mod keeper;

use crate::args::{Globals, McpArguments, McpCommand, PinsCommand};
use crate::desk::{Desk, agreed, unopened};
use crate::exit::{Exit, Failure};
use crate::output;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tollgate::Tollgate;
use tollgate::gate::text::shown;
use tollgate::gate::{EventId, Name, RecordKind, Session};
use tollgate::places::user_name;
use tollgate_server::mcp::http::{
    self, AddressError, CLIENT_TOKEN, Listening, Token, UPSTREAM_TOKEN, Upstream, listen_address,
};
use tollgate_server::mcp::standard::{Sink, Source};
use tollgate_server::mcp::{
    Asking, Command, Definitions, Ended, PinFile, Relay, RelayOptions, stdio,
};

/// Most tools that are named in an error.
const NAMES_MAX: usize = 20;

/// Programs that only start another one: the server's name is in their arguments.
const RUNNERS: [&str; 10] =
    ["npx", "uvx", "uv", "node", "python", "python3", "bunx", "deno", "docker", "pipx"];

pub(crate) fn run(globals: &Globals, arguments: &McpArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        None => relay(globals, arguments),
        Some(McpCommand::Child { bound: false, program }) => keeper::keep(program),
        Some(McpCommand::Child { bound: true, program }) => keeper::become_server(program),
        Some(McpCommand::Pins { command: PinsCommand::List { format } }) => {
            list(&Desk::new(globals)?, *format)
        }
        Some(McpCommand::Pins { command: PinsCommand::Accept { server, tools, yes } }) => {
            accept(&Desk::new(globals)?, server, tools, *yes)
        }
    }
}

/// Where the relay's server is.
enum Behind {
    Url(Box<Upstream>),
    Program(Command),
}

fn relay(globals: &Globals, arguments: &McpArguments) -> Result<Exit, Failure> {
    let behind = behind(arguments)?;
    let door = door(arguments)?;
    let desk = Desk::new(globals)?;
    let server = match (&arguments.server, &arguments.upstream) {
        (Some(name), _) => name.clone(),
        (None, Some(url)) => host_of(url),
        (None, None) => name_of(&arguments.program),
    };
    let (opened, relay) = open(&desk, &server)?;
    let (watched, definitions) = (Arc::downgrade(&opened), Arc::clone(relay.definitions()));
    let watch = opened.watch(move |heard| match heard {
        Ok((_, digest)) => {
            if let Some(opened) = watched.upgrade() {
                definitions.set_pinning(opened.pinning());
            }
            output::note(&format!("what is in force changed: {digest}"));
        }
        Err(error) => output::note(&format!("what was in force stays in force: {error}")),
    });
    let _watch = watch.map_err(Failure::internal)?;
    // One conversation is one thread's work: handing each message to another costs more than looking at
    // it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(format!("no runtime: {error}")))?;
    let session = Session {
        user: Some(Name::from(user_name())),
        host: Some(Name::from("mcp")),
        cwd: std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into()),
        ..Session::new(format!("mcp-{}", EventId::made(desk.now())))
    };
    let ended = runtime.block_on(run_hop(&relay, session, behind, door));
    let flushed = runtime.block_on(opened.gate().flush());
    // The thread that reads standard input may wait for ever.
    runtime.shutdown_background();
    flushed
        .map_err(|error| Failure::internal(format!("the last records are not written: {error}")))?;
    match ended? {
        // It said itself why it does not run.
        Some(Ended::Itself(status, _)) if status.code() == Some(keeper::CANNOT_RUN) => {
            Ok(Exit::Usage)
        }
        Some(Ended::Itself(status, true)) => Err(Failure::internal(format!(
            "the server `{server}` ended before its client: {status}"
        ))),
        Some(Ended::Unheard) => Err(Failure::internal(format!(
            "the server `{server}` closed its output before its client had finished"
        ))),
        Some(Ended::Itself(status, false)) if !status.success() => {
            Err(Failure::internal(format!("the server `{server}` ended with {status}")))
        }
        Some(Ended::Itself(_, false) | Ended::Terminated | Ended::Killed) | None => Ok(Exit::Done),
    }
}

/// Relays between the client and the server, whichever way each is spoken to.
async fn run_hop(
    relay: &Arc<Relay>,
    session: Session,
    behind: Behind,
    door: Option<Door>,
) -> Result<Option<Ended>, Failure> {
    match (door, behind) {
        (None, Behind::Program(command)) => {
            let (input, output) = (Source::standard(), Sink::standard());
            let ended = stdio::relay(relay, session, &command, input, output, told_to_end()).await;
            let ended =
                ended.map_err(|error| Failure::usage(error, "check the command behind `--`"));
            Ok(Some(ended?))
        }
        (None, Behind::Url(upstream)) => {
            let (input, output) = (Source::standard(), Sink::standard());
            http::bridge(relay, session, *upstream, input, output, told_to_end()).await;
            Ok(None)
        }
        (Some(door), behind) => {
            let busy = |error| {
                Failure::usage(
                    format!("`{}` cannot be listened at: {error}", door.address),
                    "choose another port, or 0 for any that is free",
                )
            };
            let listener = tokio::net::TcpListener::bind(door.address).await.map_err(busy)?;
            let address = listener.local_addr().map_err(busy)?;
            output::note(&format!("listening at http://{address}/mcp"));
            let behind = match behind {
                Behind::Url(upstream) => http::Behind::Url(upstream),
                Behind::Program(command) => http::Behind::Program(command),
            };
            let relay = Arc::clone(relay);
            let listening = Listening { relay, behind, session, client_token: door.token };
            http::serve(listener, listening, told_to_end()).await.map_err(Failure::internal)?;
            Ok(None)
        }
    }
}

/// Where clients come in over HTTP.
struct Door {
    address: SocketAddr,
    token: Option<Token>,
}

fn door(arguments: &McpArguments) -> Result<Option<Door>, Failure> {
    let Some(address) = &arguments.listen else { return Ok(None) };
    let usage =
        |error: AddressError| Failure::usage(error, "tollgate mcp --listen 127.0.0.1:8931 ..");
    let address = listen_address(address).map_err(usage)?;
    let token = token(arguments.client_token_file.as_deref(), CLIENT_TOKEN)?;
    let remedy = "put a random text into a file with mode 0600 (openssl rand -hex 32), name it with \
                  --client-token-file, and have the client send it as `Authorization: Bearer ..`";
    match &token {
        None if has_upstream_token(arguments) => Err(Failure::usage(
            "whoever reaches this relay would use its credential of the server",
            remedy,
        )),
        Some(token) if !token.is_guarding() => {
            Err(Failure::usage("the token that clients must send is too short", remedy))
        }
        _ => Ok(Some(Door { address, token })),
    }
}

fn behind(arguments: &McpArguments) -> Result<Behind, Failure> {
    let Some(url) = &arguments.upstream else {
        if arguments.program.is_empty() {
            return Err(Failure::usage(
                "there is no server to relay to",
                "tollgate mcp --server NAME -- PROGRAM ARGUMENTS..",
            ));
        }
        return Ok(Behind::Program(command(&arguments.program)?));
    };
    let token = token(arguments.upstream_token_file.as_deref(), UPSTREAM_TOKEN)?;
    let upstream = Upstream::new(url, token);
    let remedy = "tollgate mcp --upstream https://HOST/PATH [--upstream-token-file FILE]";
    Ok(Behind::Url(Box::new(upstream.map_err(|error| Failure::usage(error, remedy))?)))
}

fn has_upstream_token(arguments: &McpArguments) -> bool {
    let named =
        arguments.upstream_token_file.is_some() || std::env::var_os(UPSTREAM_TOKEN).is_some();
    arguments.upstream.is_some() && named
}

/// The token of this file, or of this environment variable.
fn token(file: Option<&Path>, variable: &str) -> Result<Option<Token>, Failure> {
    let found = match (file, std::env::var(variable)) {
        (Some(file), _) => Token::of_file(file),
        (None, Ok(value)) => Token::of_environment(variable, value),
        (None, Err(std::env::VarError::NotPresent)) => return Ok(None),
        (None, Err(std::env::VarError::NotUnicode(_))) => {
            let why = format!("the environment variable {variable} holds no text");
            return Err(Failure::usage(why, "put the token into a file with mode 0600"));
        }
    };
    found
        .map(Some)
        .map_err(|error| Failure::usage(error, "put the token into a file with mode 0600"))
}

/// The name of a server behind a URL that is given none: that of its host.
fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest).to_owned()
}

/// The gate under the policy in force, and the relay before it.
fn open(desk: &Desk, server: &str) -> Result<(Arc<Tollgate>, Arc<Relay>), Failure> {
    let state = desk.state()?;
    let definitions = Arc::new(Definitions::new(server, Some(Arc::new(PinFile::of(&state)))));
    let made = Arc::new(OnceLock::new());
    let make = Arc::clone(&made);
    let opened = Tollgate::builder()
        .places(desk.places.clone())
        .hook(definitions.hook())
        .approver_over(move |durable| {
            let asking = make.get_or_init(|| Asking::or_else(durable));
            Arc::<Asking>::clone(asking)
        })
        .open()
        .map_err(|error| unopened(&error))?;
    for notice in opened.notices() {
        output::note(&notice);
    }
    definitions.set_pinning(opened.pinning());
    let asking = made.get_or_init(|| Asking::or_else(None));
    let relay = Relay::new(RelayOptions {
        gate: Arc::clone(opened.gate()),
        server: Name::from(server),
        definitions,
        asking: Arc::<Asking>::clone(asking),
        tell: Arc::new(output::note),
    });
    Ok((Arc::new(opened), relay))
}

/// The server's program, started through its keeper, so that it ends with its relay however that ends.
fn command(program: &[OsString]) -> Result<Command, Failure> {
    if let Some(program) = program.first() {
        keeper::find(program)?;
    }
    let this = std::env::current_exe()
        .map_err(|error| Failure::internal(format!("this program cannot be found: {error}")))?;
    Ok(Command { program: this.into(), arguments: keeper::arguments(program) })
}

async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// The name of a server that is given none: that of its program.
fn name_of(program: &[OsString]) -> String {
    let mut words = program.iter().map(|word| word.to_string_lossy());
    let last = |word: &str| {
        let word = word.trim_end_matches('/');
        let word = word.rsplit('/').next().unwrap_or(word);
        // A version behind a package's name.
        let end =
            word.char_indices().skip(1).find(|(_, c)| *c == '@').map_or(word.len(), |(i, _)| i);
        word.get(..end).unwrap_or(word).to_owned()
    };
    let first = last(&words.next().unwrap_or_default());
    if !RUNNERS.contains(&&*first) {
        return first;
    }
    let named = words.find(|word| !word.starts_with('-') && !matches!(&**word, "run" | "tool"));
    named.map_or(first, |word| last(&word))
}

fn list(desk: &Desk, format: crate::args::Format) -> Result<Exit, Failure> {
    let pinned = PinFile::of(&desk.state()?).read().map_err(Failure::internal)?;
    let changed =
        |pin: &tollgate_server::mcp::Pin| if pin.seen.is_some() { "changed" } else { "as pinned" };
    if format == crate::args::Format::Json {
        for (server, tools) in &pinned.servers {
            for (tool, pin) in tools {
                output::say_line(
                    &serde_json::json!({
                        "server": server, "tool": tool, "accepted": pin.accepted, "seen": pin.seen,
                        "changed": pin.seen.is_some(),
                    })
                    .to_string(),
                )?;
            }
        }
        return Ok(Exit::Done);
    }
    if pinned.servers.is_empty() {
        output::say_line("no definitions are pinned yet: a relay pins what it sees first")?;
    }
    for (server, tools) in &pinned.servers {
        output::say_line(&shown(server, 200).to_string())?;
        for (tool, pin) in tools {
            output::say_line(&format!("  {:<40} {}", shown(tool, 200).to_string(), changed(pin)))?;
        }
    }
    Ok(Exit::Done)
}

fn accept(desk: &Desk, server: &str, tools: &[String], yes: bool) -> Result<Exit, Failure> {
    let pins = PinFile::of(&desk.state()?);
    let pinned = pins.read().map_err(Failure::internal)?;
    let Some(known) = pinned.servers.get(server) else {
        let message = format!("nothing is pinned of a server `{}`", shown(server, 200));
        return Err(Failure::usage(message, "tollgate mcp pins list"));
    };
    let is_unknown = |tool: &&String| !known.contains_key(*tool);
    if let Some(unknown) = tools.iter().find(is_unknown) {
        let names = known.keys().take(NAMES_MAX).map(|name| shown(name, 200).to_string());
        let names = names.collect::<Vec<_>>().join(", ");
        let more = known.len().saturating_sub(NAMES_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!(
            "nothing is pinned of a tool `{}` of the server `{}`",
            shown(unknown, 200),
            shown(server, 200)
        );
        return Err(Failure::usage(message, format!("its tools are: {names}{more}")));
    }
    let wanted = |tool: &str| tools.is_empty() || tools.iter().any(|one| one == tool);
    let changed: Vec<(String, String)> = known
        .iter()
        .filter(|(tool, _)| wanted(tool))
        .filter_map(|(tool, pin)| Some((tool.clone(), pin.seen.clone()?)))
        .collect();
    if changed.is_empty() {
        output::say_line("nothing changed since it was pinned")?;
        return Ok(Exit::Done);
    }
    for (tool, _) in &changed {
        output::say_line(&format!(
            "{}: the server says something else about it now",
            shown(tool, 200)
        ))?;
    }
    if !yes && !agreed("Accept what the server says now?")? {
        return Ok(Exit::No);
    }
    let policy = desk.load()?;
    let names = changed.iter().map(|(tool, _)| tool.as_str()).collect::<Vec<_>>().join(", ");
    let detail = [("server", Some(server.to_owned())), ("accepted", Some(names))];
    desk.record(&policy, RecordKind::Trust, None, &detail)?;
    pins.change(|pinned| {
        let Some(tools) = pinned.servers.get_mut(server) else { return };
        for (tool, digest) in &changed {
            if let Some(pin) = tools.get_mut(tool)
                // What a person has looked at, and nothing that came since.
                && pin.seen.as_ref() == Some(digest)
            {
                pin.accepted.clone_from(digest);
                pin.seen = None;
            }
        }
    })
    .map_err(Failure::internal)?;
    output::say_line(&format!("accepted: {}", changed.len()))?;
    Ok(Exit::Done)
}
