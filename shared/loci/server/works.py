"""What errands do, by the tool that was called."""

from loci.code import runner, typescript
from loci.code.elsewhere import Work
from loci.code.parts import Code
from loci.model.identity import Caller
from loci.model.values import JsonObject
from loci.server.executors import kept


def works(code: Code) -> dict[str, Work]:
    """Each as its run goes on."""

    def run_python(caller: Caller, asked: JsonObject) -> JsonObject:
        return kept(code.runner.run(caller.owner, str(asked["id"]), str(asked["code"])))

    def run_typescript(caller: Caller, asked: JsonObject) -> JsonObject:
        return code.typescript.work(caller, asked)

    return {runner.TOOL: run_python, typescript.TOOL: run_typescript}
