//! Arguments of `tollgate mcp`: the relay, and the pins of tools' definitions.

use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Put it where your client starts the server:
  before:  npx -y @modelcontextprotocol/server-filesystem .
  after:   tollgate mcp --server files -- npx -y @modelcontextprotocol/server-filesystem .

A server behind a URL, for a client that starts programs:
  tollgate mcp --server tracker --upstream https://tracker.example.com/mcp

For a client that speaks HTTP, at http://127.0.0.1:8931/mcp:
  tollgate mcp --listen 127.0.0.1:8931 --upstream https://tracker.example.com/mcp
  tollgate mcp --listen 127.0.0.1:8931 -- npx -y @modelcontextprotocol/server-filesystem .

Tokens are in files that only you can read, or in TOLLGATE_MCP_UPSTREAM_TOKEN and
TOLLGATE_MCP_CLIENT_TOKEN; never in a flag or a URL.

Standard input and output belong to the protocol; what people should know is on standard error."
)]
pub(crate) struct McpArguments {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,

    /// The server's name, as policies and the ledger know it (default: the program's)
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// Serve clients over HTTP at this address of this machine, at the path /mcp
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,

    /// The URL of the server, where it is no program
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    pub(crate) upstream: Option<String>,

    /// A file with the token that the server is given
    #[arg(long, value_name = "FILE", requires = "upstream")]
    pub(crate) upstream_token_file: Option<PathBuf>,

    /// A file with the token that clients must send
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) client_token_file: Option<PathBuf>,

    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) program: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Look at the definitions of tools that were pinned, and accept changed ones
    Pins {
        #[command(subcommand)]
        command: PinsCommand,
    },
    /// Run a server that ends with its relay (used by the relay itself)
    #[command(hide = true)]
    Child {
        /// Become the server instead of keeping it
        #[arg(long)]
        bound: bool,
        #[arg(last = true, required = true)]
        program: Vec<OsString>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PinsCommand {
    /// List all pins, and which definitions changed since
    List {
        /// How the answer is written
        #[arg(long, value_enum, default_value_t = super::Format::Text)]
        format: super::Format,
    },
    /// Accept what a server now says about its tools
    Accept {
        /// The server
        server: String,
        /// Only this tool; may be repeated
        #[arg(long = "tool", value_name = "TOOL")]
        tools: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}
