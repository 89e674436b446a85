// A client of the official TypeScript SDK, 1.x or 2.x, as its guide shows it. It lists the tools, so it knows their output
// schemas, cancels the plan's call that waits, makes its other calls one after the other, and says what came.
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";

type Call = { name: string; arguments: Record<string, unknown> };
const [version, plan, how, ...rest]: string[] = process.argv.slice(2);
const { calls, waits, journal }: { calls: Call[]; waits?: Call; journal: string } = JSON.parse(plan);
const me = { name: "my-client", version: "1.0.0" };
const env = process.env as Record<string, string>;

function transport1() {
  if (how === "http") return new Http1(new URL(rest[0]));
  return new StdioClientTransport({ command: rest[0], args: rest.slice(1), env, stderr: "ignore" });
}

async function connected() {
  if (version === "1.x") {
    const client = new Client1(me);
    await client.connect(transport1());
    return { client, ask: (call: Call, options?: object) => client.callTool(call, undefined, options) };
  }
  const client = new Client2(me, version === "2.x" ? {} : { versionNegotiation: { mode: { pin: version } } });
  await client.connect(new Http2(new URL(rest[0])));
  return { client, ask: (call: Call, options?: object) => client.callTool(call, options) };
}

const { client, ask } = await connected();
const listed = (await client.listTools()).tools.map((tool) => tool.name);
const thrown = (error: unknown) => ({ thrown: String(error) });
const answers: unknown[] = [];
if (waits) {
  const cancel = new AbortController();
  const cancelled = ask(waits, { signal: cancel.signal }).catch(thrown);
  while (!(existsSync(journal) && readFileSync(journal, "utf-8").includes("wait_for"))) await pause(20);
  cancel.abort("Nobody wants it any more");
  answers.push(await cancelled);
}
for (const call of calls) answers.push(await ask(call).catch(thrown));
console.log(JSON.stringify({ listed, answers }));
await client.close();
