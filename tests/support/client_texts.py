"""Files of servers as they are on people's machines: what each client writes, and what people make of it."""

from typing import Final

REAL: Final = {
    "claude-code": """{
  "numStartups": 42,
  "autoUpdates": false,
  "tipsHistory": {
    "shift-enter": 3
  },
  "projects": {
    "/home/ann/work": {
      "allowedTools": [],
      "mcpServers": {
        "loci": {
          "type": "stdio",
          "command": "theirs",
          "args": []
        }
      },
      "hasTrustDialogAccepted": true
    }
  },
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/"
    }
  },
  "userID": "0f3a"
}""",
    "claude-desktop": """{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "C:\\\\Users\\\\ann"]
    }
  }
}
""",
    "cursor": """{
  "mcpServers": {
    "db": { "command": "uvx", "args": ["a-server"], "env": { "DB_URL": "${env:DB_URL}" } }
  }
}
""",
    "vscode": """{
\t// Asked for once, and kept
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "description": "Key", "password": true },
\t],
\t"servers": {
\t\t"playwright": {
\t\t\t"type": "stdio",
\t\t\t"command": "npx",
\t\t\t"args": ["@playwright/mcp@latest"], // the newest
\t\t},
\t},
}
""",
    "codex": """# Codex
model = "o"
approval_policy = "on-request"

[projects."/home/ann/work"]
trust_level = "trusted"

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp"]
startup_timeout_sec = 20

[mcp_servers.docs.env]
TOKEN = "x"

[tui]
notifications = true
""",
    "gemini": """{
  "selectedAuthType": "oauth-personal",
  "theme": "Default",
  "mcpServers": {
    "docs": {
      "httpUrl": "https://docs.example.com/mcp",
      "timeout": 5000,
      "trust": false
    }
  },
  "ui": {"hideTips": true}
}
""",
    "windsurf": """{
    "mcpServers": {
        "figma": {
            "serverUrl": "https://mcp.example.com/sse",
            "disabledTools": ["write"]
        }
    }
}
""",
    "zed": """// Zed settings
//
// For information on how to configure Zed, see its documentation.
{
  "theme": {
    "mode": "system",
    "light": "One Light" /* by day */
  },
  "context_servers": {
    "postgres": {
      "enabled": true,
      "command": "pg",
      "args": [],
    },
  },
  "buffer_font_size": 15,
}
""",
}
"""With a server of somebody else."""
OTHER: Final = '"other": {"command": "npx", "args": ["-y", "a server"]}'
JSONS: Final = {
    "comments": '// mine\n{\n  /* all */ "a": 1, // one\n  "@@": {\n    "other": {"url": "//y"} // keep\n  }\n}\n',
    "trailing commas": '{\n\t"a": [1, 2,],\n\t"@@": {\n\t\t"other": {"command": "x",},\n\t},\n}\n',
    "tabs": '{\n\t"@@": {\n\t\t"other": {\n\t\t\t"command": "x"\n\t\t}\n\t},\n\t"b": "\\u00e9 \\" // no comment"\n}',
    "CRLF": '{\r\n    "@@": {\r\n        "other": {"command": "x"}\r\n    }\r\n}\r\n',
    "BOM": '\ufeff{\n  "@@": {\n    "other": {"command": "x"}\n  }\n}\n',
    "one line": '{"a": 1, "@@": {' + OTHER + '}, "z": null}',
    "one line, trailing": '{"@@": {' + OTHER + ",},}",
    "other languages": '{\n  "größe": "日本",\n  "@@": {\n    "other": {"command": "x"}\n  }\n}\n',
    "remark below": '{\n  "a": 1, // one\n  "@@": {\n    // none yet\n  }\n}\n',
}
BARE_JSONS: Final = {
    "empty": "",
    "white space": " \n",
    "BOM alone": "\ufeff",
    "no object": "{}",
    "one line": '{"a": 1}',
    "no section": '{\n  "a": 1 // one\n  // end\n}\n',
    "no section, trailing": '{\n  "a": 1,\n}\n',
    "nothing below": '{\n  "@@": {}\n}\n',
    "nothing below, in one line": '{"@@": {}}',
    "nothing below, in two lines": '{"@@": {\n}, "a": 1}',
    "null": '{"@@": null, "a": 1}\n',
}
"""Without a server. Loci makes the section, if it is not there."""
TOMLS: Final = {
    "comments": '# mine\nmodel = "o" # m\n\n[mcp_servers.other]\ncommand = "x"\n\n# the next\n[tui]\na = 1\n',
    "empty": "",
    "no section": 'model = "o"\n',
    "no end of the line": 'model = "o"',
    "multi-line strings": 'a = """\n[mcp_servers.x]\n"""\n',
    "CRLF": 'model = "o"\r\n\r\n[mcp_servers.other]\r\ncommand = "x"\r\n',
    "BOM": '\ufeffmodel = "o"\n\n[mcp_servers.other]\ncommand = "x"\n',
    "tabs": '[mcp_servers]\n\t[mcp_servers.other]\n\t\tcommand = "x"\t# x\n\n\n[tui]\n\ta = 1\n\n',
}
BROKEN_JSONS: Final = ['{"@@": {', '{"a" 1}', "{} {}", '{"@@": []}', "[]", '{"a": tru}', "{'a': 1}", '{"@@": 5}']
BROKEN_TOMLS: Final = ["a = ", "[mcp_servers\n", "[mcp_servers.a]\n[mcp_servers.a]\n"]
