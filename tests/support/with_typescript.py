"""An app that runs TypeScript as a test wants it to."""

from dataclasses import replace

from loci.app import App
from loci.code.typescript import TypeScript
from loci.core.lazy import Lazy


def with_typescript(app: App, typescript: TypeScript) -> App:
    """The app with this one in the place of its own."""
    return replace(app, later_code=Lazy(lambda: replace(app.code, later_typescript=Lazy(lambda: typescript))))
