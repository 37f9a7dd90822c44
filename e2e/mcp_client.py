"""The official Python client: what it gets, step by step, as JSON."""
import asyncio, json, sys
from mcp import Client, StdioServerParameters
async def main(spec):
    where = spec["url"] if "url" in spec else StdioServerParameters(command=spec["cmd"][0], args=spec["cmd"][1:])
    out = []
    async def step(name, what):
        try: out.append([name, await asyncio.wait_for(what(), 120)])
        except Exception as e: out.append([name, "ERR " + type(e).__name__ + " " + str(e)[:120]])
    async with Client(where) as c:
        async def version(): return [str(c.protocol_version)]
        await step("version", version)
        async def tools(): return sorted(t.name for t in (await c.list_tools()).tools)
        await step("tools", tools)
        async def text(n, a):
            r = await c.call_tool(n, a)
            return [r.is_error, r.structured_content, [getattr(b, "text", None) for b in r.content]]
        for at, (n, a) in enumerate(spec["calls"]): await step(f"call {at} {n}", lambda: text(n, a))
        if spec.get("more"):
            async def res(): return [str(r.uri) for r in (await c.list_resources()).resources]
            await step("resources", res)
            async def read(): return [x.text for x in (await c.read_resource("note://one")).contents]
            await step("read", read)
            async def prompt(): return [m.content.text for m in (await c.get_prompt("hello", {"name": "x"})).messages]
            await step("prompt", prompt)
        async def unknown(): return (await c.call_tool("nope", {})).is_error
        await step("unknown", unknown)
        async def par():
            n, a = spec["calls"][0]
            return len([r for r in await asyncio.gather(*[c.call_tool(n, a) for _ in range(10)]) if not r.is_error])
        await step("parallel", par)
    print(json.dumps({"steps": out}))
asyncio.run(main(json.loads(sys.argv[1])))
