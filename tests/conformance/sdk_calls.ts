// A client of the official TypeScript SDK, 1.x or 2.x, as its guide shows it. It lists the tools, so it knows their output
// schemas, cancels the plan's call that waits, makes its other calls one after the other, and says what came. If the plan
// has a command that adds a tool server, it waits to hear of that, lists the prompts, and completes an argument of one.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { PromptListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";

type Call = { name: string; arguments: Record<string, unknown> };
const [version, plan, how, ...rest]: string[] = process.argv.slice(2);
type Adds = { command: string[]; prompt: string; argument: string };
type Plan = { calls: Call[]; waits?: Call; adds?: Adds; journal: string };
const { calls, waits, adds, journal }: Plan = JSON.parse(plan);
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
    const hear = (told: () => void) => client.setNotificationHandler(PromptListChangedNotificationSchema, told);
    return { client, hear, ask: (call: Call, options?: object) => client.callTool(call, undefined, options) };
  }
  const client = new Client2(me, version === "2.x" ? {} : { versionNegotiation: { mode: { pin: version } } });
  await client.connect(new Http2(new URL(rest[0])));
  const hear = async (told: () => void) => {
    client.setNotificationHandler("notifications/prompts/list_changed", told);
    if (version === "2026-07-28") await client.listen({ promptsListChanged: true });
  };
  return { client, hear, ask: (call: Call, options?: object) => client.callTool(call, options) };
}

async function added({ command, prompt, argument }: Adds) {
  let told = () => {};
  const heard = new Promise<boolean>((resolve) => (told = () => resolve(true)));
  await hear(() => told());
  // A client of an older revision opens its stream when it likes.
  for (let left = 3, has = false; left && !has; left--) {
    execFileSync(command[0], command.slice(1), { env, stdio: "ignore" });
    has = await Promise.race([heard, pause(15_000, false, { ref: false })]);
    if (!has && left === 1) throw new Error("nothing heard");
  }
  const prompts = (await client.listPrompts()).prompts.map((one) => one.name);
  const ref = { type: "ref/prompt" as const, name: prompt };
  const { completion } = await client.complete({ ref, argument: { name: argument, value: "A" } });
  return { prompts, values: completion.values };
}

const { client, hear, ask } = await connected();
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
console.log(JSON.stringify({ listed, answers, added: adds && (await added(adds)) }));
await client.close();
