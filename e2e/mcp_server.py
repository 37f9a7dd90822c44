"""A server of both revisions by the official Python package, over either transport."""
import sys
from mcp.server import MCPServer
s = MCPServer("modern")
@s.tool()
def add(a: int, b: int) -> int:
    "Adds."
    return a + b
@s.tool()
def mail() -> str:
    "Names a mailbox."
    return "write to a.b@example.com"
@s.resource("note://one")
def one() -> str:
    return "one"
@s.prompt()
def hello(name: str) -> str:
    return f"hello {name}"
if len(sys.argv) > 1: s.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else: s.run(transport="stdio")
