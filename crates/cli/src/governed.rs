//! Which commands only a person may give: those that answer, switch, forget or take away from what
//! governs an agent. A process that a governed agent has started is refused them, whatever script it
//! hides them in. One table, so that a new command must say on which side it is.
//!
//! It is no sandbox: what one user's processes can prove to each other is in docs/threat-model.md.

use crate::args::{
    ApprovalsCommand, ApproverKeyCommand, AuditCommand, Command, Globals, HooksCommand,
    KeysCommand, LimitsCommand, McpCommand, PinsCommand, ReviewCommand, SessionsCommand,
};
use crate::desk::{Desk, misplaced, refuse_governed};
use crate::exit::Failure;
use tollgate::store::DiskState;

/// Who may give a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Giver {
    Anybody,
    /// A person, as far as the sessions of the named state folder tell.
    Person,
    /// A person, as far as those of the user's own state folder tell as well: what it does reaches
    /// beyond the state folder that is named.
    PersonAnywhere,
}

/// Refuses a command that an agent may not give, when an agent has started this process.
pub(crate) fn refuse(globals: &Globals, command: &Command) -> Result<(), Failure> {
    let giver = giver(command);
    if giver == Giver::Anybody {
        return Ok(());
    }
    let desk = Desk::new(globals)?;
    let mut folders = vec![desk.state()?];
    if giver == Giver::PersonAnywhere && globals.state.is_some() {
        let own = Globals { policy: Vec::new(), state: None };
        // A user without a home has no state folder of their own.
        folders.extend(Desk::new(&own)?.places.state().map_err(|error| misplaced(&error)).ok());
    }
    folders
        .iter()
        .try_for_each(|folder| refuse_governed(&DiskState::new(folder, desk.clock.clone(), None)))
}

fn giver(command: &Command) -> Giver {
    match command {
        Command::Pause(_) | Command::Allow(_) | Command::Trust(_) => Giver::Person,
        Command::Install(arguments) if !arguments.dry_run => Giver::PersonAnywhere,
        Command::Uninstall(arguments) if !arguments.dry_run => Giver::PersonAnywhere,
        Command::Hooks(arguments) => match arguments.command {
            HooksCommand::List { .. } => Giver::Anybody,
            HooksCommand::Disable { .. } | HooksCommand::Enable { .. } => Giver::Person,
        },
        Command::Audit(arguments) => match &arguments.command {
            AuditCommand::Prune(_) | AuditCommand::Erase(_) => Giver::PersonAnywhere,
            AuditCommand::Tail(_)
            | AuditCommand::List(_)
            | AuditCommand::Show(_)
            | AuditCommand::Stats(_)
            | AuditCommand::Verify(_)
            | AuditCommand::Export(_)
            | AuditCommand::Anchor(_)
            | AuditCommand::Proof(_) => Giver::Anybody,
        },
        Command::Review(arguments) => match arguments.command {
            Some(ReviewCommand::True(_) | ReviewCommand::False(_)) => Giver::Person,
            Some(ReviewCommand::Stats { .. } | ReviewCommand::Labels) | None => Giver::Anybody,
        },
        Command::Keys(arguments) => match arguments.command {
            KeysCommand::Rotate { .. }
            | KeysCommand::Approver { command: ApproverKeyCommand::New { .. } } => Giver::Person,
            KeysCommand::Show { .. } => Giver::Anybody,
        },
        Command::Approvals(arguments) => answering(&arguments.command),
        Command::Sessions(arguments) => match arguments.command {
            SessionsCommand::Abort { .. } | SessionsCommand::Resume { .. } => Giver::Person,
            SessionsCommand::List { .. } | SessionsCommand::Show { .. } => Giver::Anybody,
        },
        Command::Limits(arguments) => match arguments.command {
            LimitsCommand::Reset { .. } => Giver::Person,
            LimitsCommand::Show { .. } => Giver::Anybody,
        },
        Command::Mcp(arguments) => match arguments.command {
            Some(McpCommand::Pins { command: PinsCommand::Accept { .. } }) => Giver::Person,
            Some(_) | None => Giver::Anybody,
        },
        Command::Install(_)
        | Command::Uninstall(_)
        | Command::Demo(_)
        | Command::Init(_)
        | Command::Check(_)
        | Command::Decide(_)
        | Command::Hook(_)
        | Command::Test(_)
        | Command::Explain(_)
        | Command::Try(_)
        | Command::Backtest(_)
        | Command::Doctor(_)
        | Command::Exec(_)
        | Command::Status(_)
        | Command::Alerts(_)
        | Command::Scan(_)
        | Command::Redact(_)
        | Command::Schema(_) => Giver::Anybody,
    }
}

/// A signature that was made elsewhere proves more than where this runs, and printing answers nothing.
fn answering(command: &ApprovalsCommand) -> Giver {
    match command {
        ApprovalsCommand::Approve { answer, .. } | ApprovalsCommand::Deny { answer, .. } => {
            match answer.print || answer.signature.is_some() {
                true => Giver::Anybody,
                false => Giver::Person,
            }
        }
        ApprovalsCommand::Cancel { .. } => Giver::Person,
        ApprovalsCommand::List { .. } | ApprovalsCommand::Show { .. } => Giver::Anybody,
    }
}
