"""An app that runs code as a test wants it to."""

from dataclasses import replace

from loci.app import App
from loci.code.api import Code
from loci.code.python import Runner
from loci.code.typescript import TypeScript
from loci.core.lazy import Lazy


def with_python(app: App, runner: Runner) -> App:
    """The app with this runner in place of its own."""
    return replace(app, lazy_code=Lazy(lambda: Code(replace(app.code.parts, python=Lazy(lambda: runner)))))


def with_typescript(app: App, typescript: TypeScript) -> App:
    """The app with this TypeScript in place of its own."""
    return replace(app, lazy_code=Lazy(lambda: Code(replace(app.code.parts, typescript=Lazy(lambda: typescript)))))


def with_patience(app: App, seconds: float) -> App:
    """The app, whose calls wait so long for their runs."""
    return replace(app, lazy_code=Lazy(lambda: Code(replace(app.code.parts, patience=seconds))))
