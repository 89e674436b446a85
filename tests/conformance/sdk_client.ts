// A client made with the official TypeScript SDK, as its guide shows it. The SDK is the one that the Inspector comes with.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [query, how, ...rest]: string[] = process.argv.slice(2);
const transport =
  how === "http"
    ? new StreamableHTTPClientTransport(new URL(rest[0]))
    : new StdioClientTransport({
        command: rest[0],
        args: rest.slice(1),
        env: process.env as Record<string, string>,
        stderr: "ignore",
      });
const client = new Client({ name: "my-client", version: "1.0.0" });
await client.connect(transport);
const answer = await client.callTool({ name: "search_documents", arguments: { query, limit: 10 } });
const results = (answer.structuredContent as { results: unknown[] }).results;
console.log(JSON.stringify({ count: results.length, first: results[0] }));
await client.close();
