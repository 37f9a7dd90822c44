// Puts a program that speaks over standard input and output behind a URL, by the transports of the official TypeScript
// SDK: a program for each session, each message passed as it is read. Arguments: the port, then the program.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
const root = process.env.MODULES + "/node_modules/@modelcontextprotocol/sdk/dist/esm";
const { StreamableHTTPServerTransport } = await import(root + "/server/streamableHttp.js");
const { StdioClientTransport } = await import(root + "/client/stdio.js");
const [port, command, ...args] = process.argv.slice(2);
const sessions = new Map();

const open = async () => {
  const child = new StdioClientTransport({ command, args, stderr: "ignore" });
  const http = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, http),
  });
  http.onmessage = (message) => child.send(message);
  http.onclose = () => (sessions.delete(http.sessionId), child.close());
  child.onmessage = (message) => http.send(message).catch(() => {});
  child.onclose = () => http.close();
  await child.start();
  await http.start();
  return http;
};

createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"];
  const known = sessions.get(id);
  if (id !== undefined && !known) return response.writeHead(404).end();
  await (known ?? (await open())).handleRequest(request, response);
}).listen(Number(port), "127.0.0.1");
