//! A call: before it goes to the server, and when its answer comes back.

use super::{Asked, Conversation, Fate, Outlet, What, fit, inputs, lock};
use crate::mcp::answer;
use crate::mcp::frame::{Frame, Id};
use crate::mcp::limits::WAITING_MS;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tollgate::gate::{
    Code, Decision, Event, Failure, Json, Name, Object, Passage, Payload, Performed, Ruling,
    Settled, Ticket, ToolCall, ToolResult,
};

/// The tag of every event that comes from here.
const TAG: &str = "mcp";

/// In which form a call is answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// A tool's call has results that say they failed; other methods have errors.
    is_tool: bool,
    is_modern: bool,
}

impl Form {
    pub(super) fn new(is_tool: bool, is_modern: bool) -> Form {
        Form { is_tool, is_modern }
    }

    pub(super) fn of(asked: &Asked) -> Form {
        Form { is_tool: &*asked.method == "tools/call", is_modern: asked.is_modern }
    }
}

/// A call on its way to the gate.
struct UnderWay {
    call: Arc<ToolCall>,
    progress: Option<Id>,
    form: Form,
}

impl Conversation {
    /// The call of a `tools/call`.
    pub(super) fn tool_call(&self, frame: &Frame) -> Result<ToolCall, &'static str> {
        let Some(tool) = frame.param("name").and_then(Json::as_str) else {
            return Err("`params.name` must be the name of a tool");
        };
        let arguments = match frame.param("arguments") {
            None | Some(Json::Null) => Json::from(Object::new()),
            Some(arguments @ Json::Object(_)) => arguments.clone(),
            Some(_) => return Err("`params.arguments` must be an object"),
        };
        Ok(self.call_of(tool, arguments))
    }

    /// A request of another method as a call: the method is the tool, its parameters the arguments.
    pub(super) fn method_call(&self, frame: &Frame, method: &str) -> ToolCall {
        let mut arguments = frame.params().and_then(Json::as_object).cloned().unwrap_or_default();
        arguments.remove("_meta");
        self.call_of(method, arguments.into())
    }

    /// A method that is no call, as what a text belongs to.
    pub(super) fn method_named(&self, method: &str) -> Arc<ToolCall> {
        Arc::new(self.call_of(method, Object::new().into()))
    }

    fn call_of(&self, tool: &str, arguments: Json) -> ToolCall {
        let mut call = ToolCall::new(tool, arguments);
        call.server = Some(Name::clone(&self.relay.server));
        call
    }

    pub(super) fn event(&self, payload: impl Into<Payload>) -> Event {
        let now = self.relay.gate.clock().now();
        Event::new(self.session(), payload, now).with_tags([TAG])
    }

    /// Shows the call to the gate and passes it on, or answers in its place.
    pub(super) async fn call(
        self: &Arc<Self>,
        frame: Frame,
        id: Id,
        client: &Arc<dyn Outlet>,
        cancelled: Arc<Notify>,
    ) -> Fate {
        let Some(under_way) = self.call_under_way(&id) else { return Fate::Drop };
        let UnderWay { call, progress, form } = under_way;
        if form.is_tool && self.relay.definitions.must_be_listed(&call.tool) {
            self.learn_list(meta_of(&frame), &call.tool).await;
        }
        let mut judged = (*call).clone();
        judged.call_id = Some(id.as_json().into());
        let event = self.event(judged);
        let way = Some((self, client));
        let event_id = event.id.clone();
        let deciding = self.decide_with_signs_of_life(event, progress, client);
        let ruling = self.relay.asking.decided(&event_id, way, deciding, &cancelled).await;
        let Some(Ruling { decision, passage }) = ruling else {
            lock(&self.asked).remove(&id);
            return Fate::Drop;
        };
        match passage {
            Passage::Open(permit) => {
                let (payload, ticket) = permit.redeem();
                let Some(ran) = payload.tool_call() else { return Fate::Drop };
                let text = with_arguments(frame, &call, ran, form);
                match self.put_ticket(&id, ran.clone(), ticket) {
                    // Dropping the ticket records a call of which nothing is known; it never left.
                    Err(ticket) => {
                        drop(ticket);
                        Fate::Drop
                    }
                    Ok(()) => Fate::Pass(text),
                }
            }
            Passage::Closed(closed) => {
                let settled = self.relay.gate.settle_closed(closed).await;
                if form.is_tool && self.is_unknown(&call, &settled.performed) {
                    return self.pass_as_nobody(&frame, &id, &call);
                }
                match lock(&self.asked).remove(&id) {
                    Some(asked) if !asked.is_cancelled => {}
                    // Nobody waits for an answer.
                    Some(_) | None => return Fate::Drop,
                }
                refuse(&id, &decision, settled, form)
            }
        }
    }

    fn call_under_way(&self, id: &Id) -> Option<UnderWay> {
        let asked = lock(&self.asked);
        let asked = asked.get(id)?;
        let What::Call { call, .. } = &asked.what else { return None };
        Some(UnderWay {
            call: Arc::clone(call),
            progress: asked.progress.clone(),
            form: Form::of(asked),
        })
    }

    /// The call goes to the server now. Gives the ticket back when the call was cancelled meanwhile.
    fn put_ticket(&self, id: &Id, ran: ToolCall, ticket: Ticket) -> Result<(), Ticket> {
        let mut asked = lock(&self.asked);
        match asked.get_mut(id) {
            Some(request) if !request.is_cancelled => {
                request.what = What::Call { call: Arc::new(ran), ticket: Some(ticket) };
                Ok(())
            }
            _ => {
                asked.remove(id);
                Err(ticket)
            }
        }
    }

    /// Decides, and while that takes long (a person is asked) tells the client that the call lives:
    /// a client that hears of progress does not give up. What people take is no time of the tool's.
    async fn decide_with_signs_of_life(
        &self,
        event: Event,
        progress: Option<Id>,
        client: &Arc<dyn Outlet>,
    ) -> Ruling {
        let decided = self.relay.gate.decide(event);
        let Some(token) = progress else { return decided.await };
        let mut decided = std::pin::pin!(decided);
        let mut count = 0_u64;
        loop {
            let timer = tokio::time::sleep(Duration::from_millis(WAITING_MS));
            tokio::select! {
                biased;
                ruling = &mut decided => return ruling,
                () = timer => {
                    count += 1;
                    client.send(format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":{count},"message":"waiting for a decision"}}}}"#,
                        token.as_json()
                    ));
                }
            }
        }
    }

    /// Whether a refused call is answered as one of a tool that does not exist.
    fn is_unknown(&self, call: &ToolCall, performed: &Performed) -> bool {
        let Performed::Tool(result) = performed else { return false };
        let code = result.error.as_ref().map(|failure| &failure.code);
        code == Some(&Code::UnknownTool)
            || code.is_some() && self.relay.definitions.is_unlisted(&call.tool)
    }

    /// The answer to a call: through the after-chain, and on to the client as the hooks left it.
    pub(super) async fn settle(
        self: &Arc<Self>,
        frame: Frame,
        id: &Id,
        call: &Arc<ToolCall>,
        ticket: Ticket,
        (form, meta): (Form, Object),
    ) -> Fate {
        if let Some(task) = task_of(&frame) {
            self.remember_task(task, call);
        }
        let came = came_back(&frame, call);
        let settled = self.relay.gate.settle(ticket, Performed::Tool(came.clone())).await;
        let Performed::Tool(result) = settled.performed else { return Fate::Drop };
        if let Some(after) = settled.decision.as_ref().filter(|after| !after.goes_through())
            && let Some(failure) = &result.error
        {
            return Fate::Pass(refusal(id, failure, Some(after), form));
        }
        let asks = inputs::asks(&frame);
        let after = After { result: &result, decision: settled.decision.as_ref(), meta };
        let text = self.written(frame, call, &came, &after).await;
        if !asks {
            return Fate::Pass(text);
        }
        match self.govern_inputs(text, call).await {
            Ok(text) => Fate::Pass(text),
            Err(refused) => {
                Fate::Pass(refusal(id, &refused.failure, refused.decision.as_deref(), form))
            }
        }
    }

    /// The answer with what the hooks changed.
    async fn written(
        self: &Arc<Self>,
        frame: Frame,
        call: &ToolCall,
        came: &ToolResult,
        settled: &After<'_>,
    ) -> String {
        let result = settled.result;
        if came == result {
            return frame.into_text();
        }
        let is_error = frame.get("error").is_some();
        let message = result.error.as_ref().map(|failure| &*failure.message).unwrap_or_default();
        if is_error {
            let mut error =
                frame.get("error").and_then(Json::as_object).cloned().unwrap_or_default();
            error.insert("message", message);
            if error.contains_key("data") {
                error.insert("data", (*result.content).clone());
            }
            return frame.with("error", error.into());
        }
        let mut content = (*result.content).clone();
        // A hook that changed what is said of the failure, and not the content it stands in.
        if result.content == came.content
            && result.error != came.error
            && let Json::Object(object) = &mut content
        {
            let block =
                Object::from_iter([("type", Json::from("text")), ("text", Json::from(message))]);
            object.insert("content", vec![Json::from(block)]);
        }
        self.fit_schema(call, &came.content, &mut content, settled).await;
        frame.with("result", content)
    }

    /// A structured result that hooks changed must still be valid for the tool's schema. Where the tool was
    /// not listed yet, the server is asked.
    async fn fit_schema(
        self: &Arc<Self>,
        call: &ToolCall,
        came: &Json,
        content: &mut Json,
        settled: &After<'_>,
    ) {
        let (Some(before), Json::Object(object)) = (came.get("structuredContent"), content) else {
            return;
        };
        let Some(after) = object.get("structuredContent").filter(|after| *after != before) else {
            return;
        };
        // A failed result is held against no schema.
        if object.get("isError").and_then(Json::as_bool) == Some(true) {
            return;
        }
        let definitions = &self.relay.definitions;
        if !definitions.is_known(&call.tool) {
            self.learn_list(settled.meta.clone(), &call.tool).await;
        }
        let schema = definitions.output_schema(&call.tool);
        if schema.is_none() && definitions.is_listed(&call.tool) {
            return;
        }
        match fit::fit(before, after, schema.as_deref()) {
            Ok(fitted) => _ = object.insert("structuredContent", fitted),
            Err(places) => *object = fit::failed(object, &places, &settled.hooks()),
        }
    }
}

/// What the hooks of results left of a call's result.
struct After<'a> {
    result: &'a ToolResult,
    decision: Option<&'a Decision>,
    /// What a request to the server must say of itself, in the later revision.
    meta: Object,
}

impl After<'_> {
    /// The hooks that changed it, in words.
    fn hooks(&self) -> String {
        let votes = self.decision.map(|decision| &*decision.votes);
        let rewrote = votes.into_iter().flatten().filter(|cast| cast.rewrote && !cast.dry_run);
        let names: Vec<String> = rewrote.map(|cast| format!("hook `{}`", cast.hook)).collect();
        if names.is_empty() { "a hook".to_owned() } else { names.join(" and ") }
    }
}

/// The answer to a call that does not go to the server.
fn refuse(id: &Id, decision: &Decision, settled: Settled, form: Form) -> Fate {
    let Performed::Tool(result) = settled.performed else { return Fate::Drop };
    let decided = settled.decision.as_ref().filter(|after| !after.goes_through());
    let decided = decided.unwrap_or(decision);
    let text = match &result.error {
        None if form.is_tool => {
            answer::result(id, &answer::answered_result(&result.content, form.is_modern))
        }
        None => answer::result(id, &result.content),
        Some(failure) => refusal(id, failure, Some(decided), form),
    };
    Fate::Answer(text)
}

/// What a client of the later revision says of itself in each request.
pub(super) fn meta_of(frame: &Frame) -> Object {
    let mut meta = frame.param("_meta").and_then(Json::as_object).cloned().unwrap_or_default();
    meta.remove("progressToken");
    meta
}

/// The request with the arguments that were judged.
fn with_arguments(frame: Frame, asked: &ToolCall, ran: &ToolCall, form: Form) -> String {
    if asked.arguments == ran.arguments {
        return frame.into_text();
    }
    let mut params = frame.params().and_then(Json::as_object).cloned().unwrap_or_default();
    if form.is_tool {
        params.insert("arguments", (*ran.arguments).clone());
    } else {
        // Another method: its parameters are the arguments, but for what belongs to the protocol.
        let meta = params.remove("_meta");
        params = ran.arguments.as_object().cloned().unwrap_or_default();
        if let Some(meta) = meta {
            params.insert("_meta", meta);
        }
    }
    frame.with("params", params.into())
}

/// What came back, as the gate sees it.
fn came_back(frame: &Frame, call: &ToolCall) -> ToolResult {
    let failure = |message: &str| Failure {
        code: Code::ToolError,
        message: message.into(),
        tool: Name::clone(&call.tool),
    };
    if let Some(error) = frame.get("error") {
        let message = error.get("message").and_then(Json::as_str).unwrap_or_default();
        let mut result = ToolResult::failure(failure(message), true);
        result.content = Arc::new(error.get("data").cloned().unwrap_or_default());
        return result;
    }
    let content = frame.get("result").cloned().unwrap_or_default();
    if content.get("isError").and_then(Json::as_bool) != Some(true) {
        return ToolResult::success(content);
    }
    let texts = content.get("content").and_then(Json::as_array).unwrap_or_default();
    let texts: Vec<&str> = texts.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    let mut result = ToolResult::failure(failure(&texts.join("\n")), true);
    result.content = Arc::new(content);
    result
}

pub(super) fn refusal(
    id: &Id,
    failure: &Failure,
    decision: Option<&Decision>,
    form: Form,
) -> String {
    let told = answer::told(decision, &failure.code);
    if form.is_tool {
        return answer::result(id, &answer::failed_result(failure, told, form.is_modern));
    }
    answer::error(Some(id), answer::error_code(&failure.code), &failure.message, Some(told))
}

/// The id of the task that a call became, in either era's form.
fn task_of(frame: &Frame) -> Option<&str> {
    let result = frame.get("result")?;
    let task = result.get("task").unwrap_or(result);
    task.get("taskId")?.as_str()
}
