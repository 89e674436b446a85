"""An app with parts of its own, as a test wants it to."""

from copy import copy

from loci.app import App
from loci.code.api import Code
from loci.code.python import Runner
from loci.code.typescript import TypeScript
from loci.core.lazy import Lazy


def with_parts(app: App, **parts: object) -> App:
    """The app with these parts in place of its own."""
    changed = copy(app)
    changed.__dict__.update(parts)
    return changed


def with_settings(app: App, **settings: object) -> App:
    """The app with these settings, for what asks the app for them."""
    return with_parts(app, settings=app.settings.model_copy(update=settings))


def with_python(app: App, runner: Runner) -> App:
    """The app with this runner in place of its own."""
    return _with_code_parts(app, python=Lazy(lambda: runner))


def with_typescript(app: App, typescript: TypeScript) -> App:
    """The app with this TypeScript in place of its own."""
    return _with_code_parts(app, typescript=Lazy(lambda: typescript))


def with_patience(app: App, seconds: float) -> App:
    """The app, whose calls wait so long for their runs."""
    return _with_code_parts(app, patience=seconds)


def _with_code_parts(app: App, **parts: object) -> App:
    changed = copy(app.code.parts)
    changed.__dict__.update(parts)
    return with_parts(app, code=Code(changed))
