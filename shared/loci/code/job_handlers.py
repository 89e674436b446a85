"""What errands do, by the tool that was called."""

from loci.code import python, typescript
from loci.code.api import Code
from loci.code.detached_runs import Work
from loci.code.tools.python import kept
from loci.core.identity import Caller
from loci.core.json import JsonObject


def works(code: Code) -> dict[str, Work]:
    """Each as its run goes on."""

    def run_python(caller: Caller, asked: JsonObject) -> JsonObject:
        return kept(code.runner.run(caller.owner, str(asked["id"]), str(asked["code"])))

    def run_typescript(caller: Caller, asked: JsonObject) -> JsonObject:
        return code.typescript.work(caller, asked)

    return {python.TOOL: run_python, typescript.TOOL: run_typescript}
