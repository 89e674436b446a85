"""An app that runs TypeScript as a test wants it to."""

from dataclasses import replace

from loci.app import App
from loci.code.typescript import TypeScript
from loci.later import Later


def with_typescript(app: App, typescript: TypeScript) -> App:
    """The app with this one in the place of its own."""
    return replace(app, later_code=Later(lambda: replace(app.code, later_typescript=Later(lambda: typescript))))
