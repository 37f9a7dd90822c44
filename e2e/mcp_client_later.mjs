// The official TypeScript client of the later revision, held to it: what it gets, step by step, as JSON.
const root = process.env.MODULES + "/node_modules/@modelcontextprotocol/client/dist/";
const { Client, StreamableHTTPClientTransport } = await import(root + "index.mjs");
const { StdioClientTransport } = await import(root + "stdio.mjs");
const spec = JSON.parse(process.argv[2]);
const transport = spec.url ? new StreamableHTTPClientTransport(new URL(spec.url)) : new StdioClientTransport({ command: spec.cmd[0], args: spec.cmd.slice(1), stderr: "ignore" });
const client = new Client({ name: "later", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
const out = [];
const step = async (name, f) => { try { out.push([name, await f()]); } catch (e) { out.push([name, "thrown " + (e.code ?? e.message)]); } };
const called = async (name, args) => { const r = await client.callTool({ name, arguments: args }); return [r.isError ?? false, r.structuredContent ?? null, r.content]; };
await step("connect", async () => { await client.connect(transport); return client.getNegotiatedProtocolVersion(); });
await step("tools", async () => (await client.listTools()).tools.map(t => t.name).sort());
for (const [at, [name, args]] of spec.calls.entries()) await step(`call ${at} ${name}`, () => called(name, args));
await step("unknown", () => called("nope", {}));
await step("parallel", async () => { const [name, args] = spec.calls[0]; return (await Promise.all([...Array(20)].map(() => called(name, args)))).filter(r => !r[0]).length; });
await step("close", async () => { await client.close(); return true; });
console.log(JSON.stringify({ steps: out }));
process.exit(0);
