"""The FastMCP proxy before a program, as a peer of `cargo xtask bench-mcp`: stdio, or HTTP at a port."""
import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

where, program = sys.argv[1], sys.argv[2:]
proxy = create_proxy(StdioTransport(command=program[0], args=program[1:]))
if where == "stdio":
    proxy.run(show_banner=False)
else:
    proxy.run(transport="http", host="127.0.0.1", port=int(where), path="/mcp", show_banner=False)
