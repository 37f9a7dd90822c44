//! Channels: every place where text of an event leaves.
//!
//! The list is closed. Two tests walk it, one in the facade and one of the binary, each with a `match`
//! over all of it and one corpus of secrets and personal data: whoever adds a place where text leaves
//! adds a variant, and nothing compiles until a test says how the place is covered. A place that is not
//! in this list is a mistake of its own.

/// A place where text of an event leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// What a session starts with.
    Context,
    /// The assembled prompt.
    Prompt,
    /// Stored memory that enters the context.
    Memory,
    /// A request to a model.
    ModelRequest,
    /// What a model answered.
    ModelReply,
    /// What a tool is called with.
    ToolArguments,
    /// What a tool gave back.
    ToolResult,
    /// The error of a tool.
    ToolError,
    /// The agent's final answer.
    FinalAnswer,
    /// A decision as JSON, for hosts and programs.
    Decision,
    /// The trace of a decision: votes, reasons, faults, findings.
    Trace,
    /// A record in the ledger.
    Record,
    /// A question to a person.
    Approval,
    /// The message about an event that cannot be read.
    ErrorMessage,
    /// Metrics.
    Metrics,
    /// An explanation, as text and as JSON.
    Explanation,
    /// The report of policy tests.
    TestReport,
    /// The report of a backtest.
    BacktestReport,
    /// What a scan of files tells of its findings.
    ScanReport,
    /// A text that a filter has masked.
    FilteredText,
    /// Records of the ledger, as a person or a program asks for them.
    AuditReport,
    /// A proof that a record stands in the ledger.
    Proof,
    /// Records in the formats of others, to a file or a collector.
    Export,
    /// An alert to a webhook.
    Alert,
    /// Questions that wait, as a person or a program asks for them.
    ApprovalReport,
    /// Sessions, as a person or a program asks for them.
    SessionReport,
    /// Limits, as a person or a program asks for them.
    LimitReport,
    /// Findings and dry hits that a person is to mark.
    ReviewReport,
    /// The exception that a person is offered for a refused call.
    Exception,
    /// What a host is told, and what its user is shown.
    HookAnswer,
    /// What the relay passes on between a client and a server, and what it answers by itself.
    RelayMessage,
    /// What a wrapped command prints.
    CommandOutput,
}

impl Channel {
    /// All of them.
    pub const ALL: [Channel; 32] = [
        Channel::Context,
        Channel::Prompt,
        Channel::Memory,
        Channel::ModelRequest,
        Channel::ModelReply,
        Channel::ToolArguments,
        Channel::ToolResult,
        Channel::ToolError,
        Channel::FinalAnswer,
        Channel::Decision,
        Channel::Trace,
        Channel::Record,
        Channel::Approval,
        Channel::ErrorMessage,
        Channel::Metrics,
        Channel::Explanation,
        Channel::TestReport,
        Channel::BacktestReport,
        Channel::ScanReport,
        Channel::FilteredText,
        Channel::AuditReport,
        Channel::Proof,
        Channel::Export,
        Channel::Alert,
        Channel::ApprovalReport,
        Channel::SessionReport,
        Channel::LimitReport,
        Channel::ReviewReport,
        Channel::Exception,
        Channel::HookAnswer,
        Channel::RelayMessage,
        Channel::CommandOutput,
    ];
}
