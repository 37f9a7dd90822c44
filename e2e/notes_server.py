"""An MCP server of two tools, for the runs against real agents: standard library only, so that each agent can start it.

`show` gives a file of the workspace as it is, secrets and all; `mark` makes one, so that a call which ran is seen.
"""
import json, os, sys

TOOLS = {
    "show": "Shows a file of the workspace.",
    "mark": "Makes an empty file in the workspace.",
}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def call(folder, tool, name):
    path = os.path.join(folder, os.path.basename(name))
    if tool == "show":
        with open(path) as f:
            return f.read()
    with open(path, "w"):
        return "marked %s" % name


def answer(folder, method, params):
    if method == "initialize":
        return {"protocolVersion": params.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": n, "description": d, "inputSchema": SCHEMA} for n, d in TOOLS.items()]}
    if method == "tools/call":
        try:
            text, bad = call(folder, params["name"], params["arguments"]["name"]), False
        except OSError as error:
            text, bad = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": bad}
    return {}


def main(folder):
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(folder, message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
