// The AI SDK of Vercel with its MCP client, as its own loop calls a tool and makes the model's text of the result.
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { createMCPClient } from "@ai-sdk/mcp";
import { asSchema } from "ai";

type Call = [name: string, input: Record<string, unknown>];
const { url, calls, waits, journal }: { url: string; calls: Call[]; waits: Call; journal: string } = JSON.parse(process.argv[2]);
const client = await createMCPClient({ transport: { type: "http", url } });
const tools = await client.tools();

async function call([name, input]: Call, abortSignal?: AbortSignal) {
  const output = await tools[name].execute!(input, { toolCallId: "1", messages: [], context: {}, abortSignal });
  const seen = await tools[name].toModelOutput!({ toolCallId: "1", input, output });
  return (seen.value as { text: string }[]).map((part) => part.text).join("\n");
}

const schemas: Record<string, unknown> = {};
for (const [name, tool] of Object.entries(tools)) schemas[name] = await asSchema(tool.inputSchema).jsonSchema;
const cancel = new AbortController();
const waiting = call(waits, cancel.signal).then(() => false, () => cancel.signal.aborted);
while (!(existsSync(journal) && readFileSync(journal, "utf-8").includes("wait_for"))) await pause(20);
cancel.abort();
const cancelled = await waiting;
const answers = [];
for (const one of calls) answers.push(await call(one));
console.log(JSON.stringify({ schemas, strict: {}, cancelled, answers }));
await client.close();
