// A server of both revisions (2025-11-25 with sessions, 2026-07-28 without) that has what the public conformance
// suite asks for, over standard input and output (`stdio`) or HTTP (a port). It uses no SDK, so that nothing stands
// between the suite and what is said; a line of it is right if the suite, run directly against it, says so.
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const LATER = "2026-07-28";
const EARLIER = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const INFO = { name: "fixture", version: "1.0.0" };
const META = (name) => `io.modelcontextprotocol/${name}`;
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

class Refused extends Error {
  constructor(code, message, data, status = 200) {
    super(message);
    Object.assign(this, { code, data, status });
  }
}
const badParams = (message, data) => new Refused(-32602, message, data);

// --- what there is -------------------------------------------------------------------------------------------

const text = (text) => ({ type: "text", text });
const said = (...content) => ({ content });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const NOTHING = { type: "object", properties: {} };
const texts = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});

const SCHEMA_2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

const options = (...all) => all.map(([value, title]) => ({ const: value, title }));
const FORMS = {
  test_elicitation_sep1034_defaults: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  test_elicitation_sep1330_enums: {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: options(["value1", "First Option"], ["value2", "Second Option"], ["value3", "Third Option"]) },
    legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: options(["value1", "First Choice"], ["value2", "Second Choice"], ["value3", "Third Choice"]) } },
  },
};
const form = (message, properties, required = Object.keys(properties)) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties, required } },
});
const sampling = (prompt, maxTokens = 100) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: text(prompt) }], maxTokens },
});
const ROOTS = { method: "roots/list", params: {} };
const asString = { type: "string" };

const KEY = randomBytes(32);
const sign = (body) => createHmac("sha256", KEY).update(body).digest("base64url");
const seal = (state) => {
  const body = Buffer.from(JSON.stringify(state)).toString("base64url");
  return `${body}.${sign(body)}`;
};
const unseal = (sealed) => {
  const [body, signature, ...more] = String(sealed).split(".");
  const [given, right] = [Buffer.from(signature ?? ""), Buffer.from(sign(body))];
  if (more.length || given.length !== right.length || !timingSafeEqual(given, right)) {
    throw badParams("requestState failed its integrity check");
  }
  return JSON.parse(Buffer.from(body, "base64url"));
};

// What a result that needs input asks for; and what it comes to with all of it.
const asks = (inputRequests, state) => ({
  resultType: "input_required",
  inputRequests,
  ...(state === undefined ? {} : { requestState: seal(state) }),
});
const ROUNDS = {
  test_input_required_result_elicitation: [{ user_name: form("What is your name?", { name: asString }) }, (given) => said(text(`Hello, ${given.user_name.content.name}!`))],
  test_input_required_result_sampling: [{ capital_question: sampling("What is the capital of France?") }, (given) => said(text(`It said: ${given.capital_question.content?.text}`))],
  test_input_required_result_list_roots: [{ client_roots: ROOTS }, (given) => said(text(`Roots: ${given.client_roots.roots.map((root) => root.uri).join(", ")}`))],
  test_input_required_result_request_state: [{ confirm: form("Please confirm", { ok: { type: "boolean" } }) }, () => said(text("state-ok")), true],
  test_input_required_result_tampered_state: [{ confirm: form("Please confirm", { ok: { type: "boolean" } }) }, () => said(text("state-ok")), true],
  test_input_required_result_multiple_inputs: [
    { user_name: form("What is your name?", { name: asString }), greeting: sampling("Generate a greeting", 50), client_roots: ROOTS },
    (given) => said(text(`${given.greeting.content?.text} ${given.user_name.content?.name}, ${given.client_roots.roots.length} roots`)),
    true,
  ],
  test_streaming_elicitation: [{ user_name: form("What is your name?", { name: asString }) }, () => said(text("done"))],
};
const isGiven = (request, given) =>
  given !== null &&
  typeof given === "object" &&
  (request.method === "elicitation/create"
    ? ["accept", "decline", "cancel"].includes(given.action) && (given.action !== "accept" || typeof given.content === "object")
    : request.method === "roots/list"
      ? Array.isArray(given.roots)
      : given.content !== undefined);
const round = ([requests, done, hasState], { inputResponses, requestState }) => {
  const state = requestState === undefined ? undefined : unseal(requestState);
  const given = inputResponses ?? {};
  const isDone = Object.entries(requests).every(([key, request]) => isGiven(request, given[key]));
  if (!isDone || (hasState && state === undefined)) return asks(requests, hasState ? { round: 1 } : undefined);
  return done(given);
};

const progress = async (ctx) => {
  const progressToken = ctx.params._meta?.progressToken;
  for (const done of [0, 50, 100]) {
    if (progressToken !== undefined) ctx.say("notifications/progress", { progressToken, progress: done, total: 100 });
    if (done < 100) await pause(50);
  }
};
const logs = async (ctx) => {
  for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
    ctx.log("info", data);
    await pause(50);
  }
};

const TOOLS = {
  test_simple_text: ["Says a text", NOTHING, () => said(text("This is a simple text response for testing."))],
  test_image_content: ["Shows an image", NOTHING, () => said(image)],
  test_audio_content: ["Plays a sound", NOTHING, () => said({ type: "audio", data: WAV, mimeType: "audio/wav" })],
  test_embedded_resource: ["Embeds a resource", NOTHING, () => said({ type: "resource", resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." } })],
  test_multiple_content_types: ["Says several things", NOTHING, () =>
    said(text("Multiple content types test:"), image, { type: "resource", resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: '{"test":"data","value":123}' } })],
  test_tool_with_logging: ["Logs", NOTHING, async (ctx) => (await logs(ctx), said(text("Logged three times")))],
  test_logging_tool: ["Logs where that is wanted", NOTHING, async (ctx) => (await logs(ctx), said(text("Logged three times")))],
  test_tool_with_progress: ["Tells its progress", NOTHING, async (ctx) => (await progress(ctx), said(text("It is done")))],
  test_error_handling: ["Fails", NOTHING, () => ({ ...said(text("This tool intentionally returns an error for testing")), isError: true })],
  test_sampling: ["Asks the client's model", texts("prompt"), async (ctx, { prompt }) => said(text(`LLM response: ${(await ctx.ask(sampling(prompt), "sampling")).content.text}`))],
  test_elicitation: ["Asks the person", texts("message"), async (ctx, { message }) => {
    const properties = { username: { type: "string", description: "User's response" }, email: { type: "string", description: "User's email address" } };
    const { action, content } = await ctx.ask(form(message, properties), "elicitation");
    return said(text(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`));
  }],
  test_reconnection: ["Closes its stream and answers on the next", NOTHING, async (ctx) => (ctx.close(), await pause(200), said(text("Reconnected")))],
  test_missing_capability: ["Needs sampling", NOTHING, (ctx) => (ctx.needs("sampling"), said(text("Sampling is there")))],
  test_trigger_tool_change: ["Changes the tools", NOTHING, () => (changed("tools"), said(text("changed")))],
  test_trigger_prompt_change: ["Changes the prompts", NOTHING, () => (changed("prompts"), said(text("changed")))],
  test_custom_header: ["Has an argument that a header repeats", { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } }, (_, { region }) => said(text(`In ${region}`))],
  json_schema_2020_12_tool: ["Has a schema of JSON Schema 2020-12", SCHEMA_2020, () => said(text("valid"))],
  test_input_required_result_capabilities: ["Asks for what the client can give", NOTHING, (ctx) => {
    const able = ctx.capabilities();
    const all = { q1: ["sampling", sampling("Hello?")], q2: ["elicitation", form("Who?", { name: asString })], q3: ["roots", ROOTS] };
    const requests = Object.fromEntries(Object.entries(all).filter(([, [needs]]) => able[needs]).map(([key, [, request]]) => [key, request]));
    return ctx.params.inputResponses ? said(text("enough")) : asks(requests);
  }],
  test_input_required_result_multi_round: ["Asks twice", NOTHING, (ctx) => {
    const { inputResponses: given, requestState } = ctx.params;
    const state = requestState === undefined ? { round: 0 } : unseal(requestState);
    if (state.round === 2 && given?.step2) return said(text(`Hello ${state.name}`));
    if (state.round === 1 && given?.step1) return asks({ step2: form("Step 2: What is your favorite color?", { color: asString }) }, { round: 2, name: given.step1.content?.name });
    return asks({ step1: form("Step 1: What is your name?", { name: asString }) }, { round: 1 });
  }],
};
for (const [name, properties] of Object.entries(FORMS)) {
  TOOLS[name] = ["Asks the person with a form", NOTHING, async (ctx) => {
    const { action, content } = await ctx.ask(form("Please fill this in", properties, []), "elicitation");
    return said(text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`));
  }];
}
for (const [name, rounds] of Object.entries(ROUNDS)) {
  TOOLS[name] = ["Needs input", NOTHING, (ctx) => round(rounds, ctx.params)];
}

const RESOURCES = {
  "test://static-text": ["static-text", "A text", "text/plain", { text: "This is the content of the static text resource." }],
  "test://static-binary": ["static-binary", "An image", "image/png", { blob: PNG }],
  "test://watched-resource": ["watched", "One that changes", "text/plain", { text: "watched" }],
};
const read = (uri) => {
  const known = RESOURCES[uri];
  if (known) return { contents: [{ uri, mimeType: known[2], ...known[3] }] };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(String(uri))?.[1];
  if (id === undefined) return undefined;
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify(data) }] };
};

const user = (content) => ({ role: "user", content });
const PROMPTS = {
  test_simple_prompt: [[], () => ({ messages: [user(text("This is a simple prompt for testing."))] })],
  test_prompt_with_arguments: [["arg1", "arg2"], ({ arg1, arg2 }) => ({ messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))] })],
  test_prompt_with_embedded_resource: [["resourceUri"], ({ resourceUri }) => ({
    messages: [user({ type: "resource", resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." } }), user(text("Please process the embedded resource above."))],
  })],
  test_prompt_with_image: [[], () => ({ messages: [user(image), user(text("Please analyze the image above."))] })],
  test_input_required_result_prompt: [[], (_, params) =>
    round([{ user_context: form("What context should the prompt use?", { context: asString }) }, (given) => ({ messages: [user(text(`Context: ${given.user_context.content?.context}`))] })], params)],
};

const CAPABILITIES = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true, listChanged: true }, completions: {}, logging: {} };

// --- what is asked -------------------------------------------------------------------------------------------

const fresh = { ttlMs: 60000, cacheScope: "public" };
const METHODS = {
  "tools/list": () => ({ tools: Object.entries(TOOLS).map(([name, [description, inputSchema]]) => ({ name, description, inputSchema })), ...fresh }),
  "tools/call": async (ctx) => {
    const tool = TOOLS[ctx.params.name];
    if (!tool) throw badParams(`Unknown tool: ${ctx.params.name}`);
    return tool[2](ctx, ctx.params.arguments ?? {});
  },
  "resources/list": () => ({ resources: Object.entries(RESOURCES).map(([uri, [name, description, mimeType]]) => ({ uri, name, description, mimeType })), ...fresh }),
  "resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", description: "By id", mimeType: "application/json" }], ...fresh }),
  "resources/read": (ctx) => {
    const found = read(ctx.params.uri);
    if (!found) throw new Refused(ctx.isLater ? -32602 : -32002, "Resource not found", { uri: ctx.params.uri });
    return { ...found, ...fresh };
  },
  "prompts/list": () => ({ prompts: Object.entries(PROMPTS).map(([name, [names]]) => ({ name, description: `The prompt ${name}`, arguments: names.map((name) => ({ name, description: name, required: true })) })), ...fresh }),
  "prompts/get": (ctx) => {
    const prompt = PROMPTS[ctx.params.name];
    if (!prompt) throw badParams(`Unknown prompt: ${ctx.params.name}`);
    return prompt[1](ctx.params.arguments ?? {}, ctx.params);
  },
  "completion/complete": (ctx) => {
    const values = ["paris", "park", "party"].filter((value) => value.startsWith(ctx.params.argument?.value ?? ""));
    return { completion: { values, total: values.length, hasMore: false } };
  },
};
const EARLIER_ONLY = {
  initialize: (ctx) => {
    const asked = ctx.params.protocolVersion;
    ctx.session.able = ctx.params.capabilities ?? {};
    return { protocolVersion: EARLIER.includes(asked) ? asked : EARLIER[0], capabilities: CAPABILITIES, serverInfo: INFO, instructions: "A fixture." };
  },
  ping: () => ({}),
  "logging/setLevel": (ctx) => ((ctx.session.level = ctx.params.level), {}),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
};
const LATER_ONLY = {
  "server/discover": () => ({ supportedVersions: [LATER], capabilities: CAPABILITIES, instructions: "A fixture.", ...fresh }),
  "subscriptions/listen": (ctx) => {
    const tag = { [META("subscriptionId")]: ctx.id };
    const wanted = ctx.params.notifications ?? {};
    ctx.say("notifications/subscriptions/acknowledged", { notifications: wanted, _meta: tag });
    const listener = { wanted, tell: (method) => ctx.say(method, { _meta: tag }) };
    listeners.add(listener);
    return new Promise((over) => ctx.onGone(() => (listeners.delete(listener), over(undefined))));
  },
};
const listeners = new Set();
const sessions = new Map();
const changed = (what) => {
  for (const { wanted, tell } of listeners) if (wanted[`${what}ListChanged`]) tell(`notifications/${what}/list_changed`);
};

// What a request of the later revision must say of itself.
const checkMeta = (params) => {
  const meta = params?._meta ?? {};
  for (const name of ["protocolVersion", "clientCapabilities"]) {
    if (meta[META(name)] === undefined) throw new Refused(-32602, `_meta lacks ${META(name)}`, undefined, 400);
  }
  const requested = meta[META("protocolVersion")];
  if (requested !== LATER) throw new Refused(-32022, "Unsupported protocol version", { supported: [LATER], requested }, 400);
};

class Context {
  constructor(message, isLater, session, way) {
    Object.assign(this, { id: message.id, params: message.params ?? {}, isLater, session, way });
  }
  say(method, params) {
    this.way.say({ jsonrpc: "2.0", method, params });
  }
  log(level, data) {
    const isWanted = !this.isLater || this.params._meta?.[META("logLevel")] !== undefined;
    if (isWanted) this.say("notifications/message", { level, logger: "fixture", data });
  }
  capabilities() {
    return (this.isLater ? this.params._meta?.[META("clientCapabilities")] : this.session.able) ?? {};
  }
  needs(capability) {
    if (this.capabilities()[capability]) return;
    throw new Refused(-32021, `The client has no ${capability}`, { requiredCapabilities: { [capability]: {} } }, 400);
  }
  ask({ method, params }, capability) {
    if (this.isLater) throw badParams("This tool is of the earlier revision");
    this.needs(capability);
    const id = `fixture-${this.session.next++}`;
    this.way.say({ jsonrpc: "2.0", id, method, params });
    return new Promise((done, failed) => this.session.asked.set(id, { done, failed }));
  }
  close() {
    this.way.close?.();
  }
  onGone(act) {
    this.way.onGone(act);
  }
}

const session = () => ({ able: {}, asked: new Map(), next: 1, level: "info", gone: new Map() });
const isLater = (message) => message.params?._meta?.[META("protocolVersion")] !== undefined;

// The answer to a request, and the status that goes with it; none where the client is gone.
const answer = async (message, later, session, way) => {
  const { id, method } = message;
  try {
    if (later) checkMeta(message.params);
    const methods = { ...METHODS, ...(later ? LATER_ONLY : EARLIER_ONLY) };
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!run) throw new Refused(-32601, "Method not found", undefined, 404);
    const result = await run(new Context(message, later, session, way));
    if (result === undefined) return undefined;
    if (later) {
      result.resultType ??= "complete";
      result._meta = { ...result._meta, [META("serverInfo")]: INFO };
    } else {
      delete result.ttlMs;
      delete result.cacheScope;
    }
    return { status: 200, message: { jsonrpc: "2.0", id, result } };
  } catch (error) {
    const { code = -32603, message: text, data, status = 200 } = error;
    const told = { code, message: text, ...(data === undefined ? {} : { data }) };
    return { status, message: { jsonrpc: "2.0", id, error: told } };
  }
};

// An answer or a notification of the client.
const hear = (message, session) => {
  if (message.method === "notifications/cancelled") session.gone.get(message.params?.requestId)?.();
  const asked = session.asked.get(message.id);
  if (message.method !== undefined || !asked) return;
  session.asked.delete(message.id);
  if (message.error) asked.failed(new Error(message.error.message));
  else asked.done(message.result);
};

// --- standard input and output -------------------------------------------------------------------------------

const overStdio = () => {
  const own = session();
  const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined || message.id === undefined) return hear(message, own);
    const way = { say: write, onGone: (act) => own.gone.set(message.id, act) };
    const answered = await answer(message, isLater(message), own, way);
    own.gone.delete(message.id);
    if (answered) write(answered.message);
  }).on("close", () => process.exit(0));
};

// --- HTTP ----------------------------------------------------------------------------------------------------

const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
const isLocal = ({ host, origin }) => LOCAL.test(host ?? "") && (origin === undefined || LOCAL.test(origin.replace(/^https?:\/\//, "")));

const decoded = (value) => {
  const packed = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (packed === undefined) return value;
  const bytes = Buffer.from(packed, "base64");
  return bytes.toString("base64") === packed ? bytes.toString("utf8") : undefined;
};
const NAMED = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };
const checkHeaders = (headers, { method, params }) => {
  const same = (name, value) => {
    if (decoded(headers[name] ?? "\0") !== value) throw new Refused(-32020, `The header ${name} says something else`, undefined, 400);
  };
  same("mcp-protocol-version", params?._meta?.[META("protocolVersion")]);
  same("mcp-method", method);
  if (NAMED[method]) same("mcp-name", params[NAMED[method]]);
  const properties = method === "tools/call" ? (TOOLS[params.name]?.[1].properties ?? {}) : {};
  for (const [key, { "x-mcp-header": header }] of Object.entries(properties)) {
    const value = params.arguments?.[key];
    if (header && value !== undefined) same(`mcp-param-${header.toLowerCase()}`, String(value));
  }
};

// The way back of one POST: JSON where nothing is said before the answer, a stream of events otherwise.
const wayOf = (response, session, isLater) => {
  let begun = false;
  const stream = randomUUID();
  const begin = () => {
    if (begun) return;
    begun = true;
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    // A stream that may be taken up again begins with an id.
    if (!isLater) response.write(`id: ${stream}\nretry: 100\ndata: \n\n`);
  };
  return {
    begin,
    say(message) {
      begin();
      response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    },
    // What comes behind it is kept for whoever takes the stream up again.
    close() {
      begin();
      session.kept.set(stream, new Promise((done) => (session.keeping = done)));
      response.end();
    },
    onGone: (act) => response.on("close", act),
    end({ status, message }) {
      if (session?.keeping) {
        session.keeping(message);
        session.keeping = undefined;
      } else if (begun) {
        this.say(message);
        response.end();
      } else {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify(message));
      }
    },
  };
};

const refuse = (response, status, code, message, id = null) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
};

const post = async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const message = JSON.parse(body);
  const version = request.headers["mcp-protocol-version"];
  const named = request.headers["mcp-session-id"];
  const later = isLater(message) || version === LATER || (named === undefined && message.method !== "initialize");
  if (later) {
    try {
      if (message.method !== undefined && isLater(message)) checkHeaders(request.headers, message);
    } catch ({ code, message: text, status }) {
      return refuse(response, status, code, text, message.id);
    }
  }
  let own = later ? { ...session(), kept: new Map() } : sessions.get(named);
  if (!later && message.method === "initialize" && named === undefined) {
    const id = randomUUID();
    sessions.set(id, (own = { ...session(), kept: new Map() }));
    response.setHeader("mcp-session-id", id);
  }
  if (!own) return refuse(response, 404, -32001, "Session not found", message.id);
  if (message.method === undefined || message.id === undefined) {
    hear(message, own);
    return response.writeHead(202).end();
  }
  const way = wayOf(response, own, later);
  const answered = await answer(message, later, own, way);
  if (answered) way.end(answered);
};

const get = async (request, response) => {
  const own = sessions.get(request.headers["mcp-session-id"]);
  if (!own) return refuse(response, 405, -32000, "Method not allowed");
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  const kept = own.kept.get(request.headers["last-event-id"]);
  if (kept) {
    response.write(`id: ${randomUUID()}\ndata: ${JSON.stringify(await kept)}\n\n`);
    response.end();
  }
};

const overHttp = (port) => {
  const server = createServer(async (request, response) => {
    try {
      if (!isLocal(request.headers)) return refuse(response, 403, -32000, "Not from here");
      if (request.method === "POST") return await post(request, response);
      if (request.method === "GET") return await get(request, response);
      const isKnown = request.method === "DELETE" && sessions.delete(request.headers["mcp-session-id"]);
      response.writeHead(isKnown ? 200 : request.method === "DELETE" ? 404 : 405).end();
    } catch (error) {
      refuse(response, 400, -32700, String(error));
    }
  });
  server.listen(port, "127.0.0.1");
};

const [place] = process.argv.slice(2);
if (place === "stdio") overStdio();
else overHttp(Number(place));
