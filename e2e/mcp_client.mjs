// The official TypeScript client: what it gets, step by step, as JSON. With `calls` these and what all servers have;
// otherwise what server-everything has.
const root = process.env.MODULES;
const { Client } = await import(root + "/node_modules/@modelcontextprotocol/sdk/dist/esm/client/index.js");
const { StdioClientTransport } = await import(root + "/node_modules/@modelcontextprotocol/sdk/dist/esm/client/stdio.js");
const { StreamableHTTPClientTransport } = await import(root + "/node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js");
const T = await import(root + "/node_modules/@modelcontextprotocol/sdk/dist/esm/types.js");
const spec = JSON.parse(process.argv[2]);
const transport = spec.url ? new StreamableHTTPClientTransport(new URL(spec.url)) : new StdioClientTransport({ command: spec.cmd[0], args: spec.cmd.slice(1), stderr: "ignore" });
// Over HTTP a server that asks for folders before the client's stream is open asks nobody, also directly: where
// calls are compared, it is not to depend on that.
const roots = spec.calls ? {} : { roots: { listChanged: true } };
const client = new Client({ name: "live", version: "1" }, { capabilities: { sampling: {}, elicitation: {form:{}}, ...roots } });
client.setRequestHandler(T.CreateMessageRequestSchema, async (r) => ({ model: "m", role: "assistant", content: { type: "text", text: "sampled" } }));
client.setRequestHandler(T.ElicitRequestSchema, async () => ({ action: "decline" }));
if (!spec.calls) client.setRequestHandler(T.ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///tmp", name: "t" }] }));
let notes = 0; client.fallbackNotificationHandler = async () => { notes++; };
const out = []; const step = async (name, f) => { const t = setTimeout(() => { console.log(JSON.stringify({ steps: out, hung: name })); process.exit(3); }, 120000); try { out.push([name, await f()]); } catch (e) { out.push([name, "ERR " + String(e.message).slice(0, 200)]); } clearTimeout(t); };
await step("connect", async () => { await client.connect(transport); return client.getServerVersion()?.name; });
await step("tools", async () => (await client.listTools()).tools.map(t => t.name).sort());
if (spec.calls) {
  for (const [at, [name, args]] of spec.calls.entries()) await step(`call ${at} ${name}`, async () => { const r = await client.callTool({ name, arguments: args }); return [r.isError ?? false, r.structuredContent, r.content]; });
  await step("unknown", async () => (await client.callTool({ name: "nope", arguments: {} })));
  await step("parallel", async () => { const [name, args] = spec.calls[0]; return (await Promise.all([...Array(10)].map(() => client.callTool({ name, arguments: args })))).filter(r => !r.isError).length; });
  await step("close", async () => { if (transport.terminateSession) await transport.terminateSession(); await client.close(); return true; });
  console.log(JSON.stringify({ steps: out }));
  process.exit(0);
}
await step("echo", async () => (await client.callTool({ name: "echo", arguments: { message: "hi" } })).content);
let prog = 0;
await step("progress", async () => { const r = await client.callTool({ name: "trigger-long-running-operation", arguments: { duration: 1, steps: 3 } }, undefined, { onprogress: () => { prog++; } }); return [r.content?.[0]?.text, prog > 0]; });
await step("sampling", async () => (await client.callTool({ name: "trigger-sampling-request", arguments: { prompt: "p", maxTokens: 10 } })).content?.map(c => c.text?.slice(0, 80)));
await step("elicit", async () => (await client.callTool({ name: "trigger-elicitation-request", arguments: {} })).content?.map(c => c.text?.slice(0, 80)));
await step("structured", async () => (await client.callTool({ name: "get-structured-content", arguments: { location: "New York" } })).structuredContent);
await step("resources", async () => (await client.listResources()).resources.length);
await step("read", async () => { const r = (await client.listResources()).resources[0]; const c = (await client.readResource({ uri: r.uri })).contents[0]; return [c.uri, c.text?.length]; });
await step("prompts", async () => (await client.listPrompts()).prompts.map(p => p.name));
await step("prompt", async () => (await client.getPrompt({ name: "simple-prompt" })).messages.length);
await step("complete", async () => (await client.complete({ ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "E" } })).completion.values);
await step("unknown", async () => (await client.callTool({ name: "nope", arguments: {} })));
await step("cancel", async () => { const a = new AbortController(); setTimeout(() => a.abort("x"), 200); return await client.callTool({ name: "trigger-long-running-operation", arguments: { duration: 5, steps: 5 } }, undefined, { signal: a.signal }); });
await step("parallel", async () => (await Promise.all([...Array(50).keys()].map(i => client.callTool({ name: "get-sum", arguments: { a: i, b: 1 } })))).map(r => r.content[0].text).join("|").length);
await step("close", async () => { if (transport.terminateSession) await transport.terminateSession(); await client.close(); return true; });
console.log(JSON.stringify({ steps: out }));
process.exit(0);
