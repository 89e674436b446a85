// Two versions of the official TypeScript SDK: the first with this transport, and the second major one.
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";

type Call = [name: string, input: Record<string, unknown>];
const { url, calls, waits, journal }: { url: string; calls: Call[]; waits: Call; journal: string } = JSON.parse(process.argv[2]);
const isOld = process.argv[3] === "1.10";
const me = { name: "my-client", version: "1.0.0" };
const [client, transport] = isOld ? [new Client1(me), new Http1(new URL(url))] : [new Client2(me), new Http2(new URL(url))];
await (client as Client2).connect(transport as Http2);

async function call([name, given]: Call, signal?: AbortSignal) {
  const asked = { name, arguments: given };
  const done = await (client instanceof Client1 ? client.callTool(asked, undefined, { signal }) : client.callTool(asked, { signal }));
  return (done.content as { text: string }[])[0].text;
}

const schemas = Object.fromEntries((await client.listTools()).tools.map((tool) => [tool.name, tool.inputSchema]));
const cancel = new AbortController();
const waiting = call(waits, cancel.signal).then(() => false, () => cancel.signal.aborted);
while (!(existsSync(journal) && readFileSync(journal, "utf-8").includes("wait_for"))) await pause(20);
cancel.abort();
const cancelled = await waiting;
const answers = [];
for (const one of calls) answers.push(await call(one));
console.log(JSON.stringify({ schemas, strict: {}, cancelled, answers }));
await client.close();
