// Tools as code calls them: github.listCommits({…}), github.list_commits({…}), mcp["github:list_commits"]({…}).
const { freeze } = Object;

/** A tool failed, or may not be called: `code` says which. */
class ToolError extends Error {
  constructor({ code, message }) { super(message); this.name = "ToolError"; this.code = code; }
}

/** The clients by the names that code has for them, and who takes the answers. `ask` sends a call and says its number. */
export function clients(servers, ask) {
  const waiting = new Map();
  const call = (tool) => (args = {}) => new Promise((done, failed) => { waiting.set(ask(tool, args), { done, failed }); });
  const named = Object.create(null);
  const all = Object.create(null);
  for (const { names, tools } of servers) {
    const methods = Object.create(null);
    for (const { id, spellings } of tools) {
      const method = call(id);
      all[id] = method;
      for (const name of spellings) methods[name] = method;
    }
    const client = telling(freeze(methods), names[0], tools.map(({ spellings }) => spellings.at(-1)));
    for (const name of names) named[name] = client;
  }
  const mcp = telling(freeze(all), "mcp", Object.keys(all));
  const answered = ({ n, ok, value, error }) => {
    const one = waiting.get(n);
    if (!waiting.delete(n)) return;
    if (ok) one.done(value); else one.failed(new ToolError(error));
  };
  return { named, mcp, answered, open: () => waiting.size };
}

function telling(methods, name, known) {
  return new Proxy(methods, {
    get(target, key) {
      if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
      if (key in target) return target[key];
      throw new ToolError({ code: "TOOL_DENIED", message: `${name} has no tool '${key}' here; it has: ${known.join(", ") || "none"}` });
    },
  });
}
