"""Files as MCP resources: the newest are listed, and each has its facts under its id."""

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from mcp_types import Annotations, Resource, ResourceTemplate, TextResourceContents

from loci.core.identity import Owner

if TYPE_CHECKING:
    from loci.files.api import Files
    from loci.files.file import StoredFile

FILES: Final = "loci://files/"
JSON: Final = "application/json"
LISTED: Final = 100
TEMPLATES: Final = (
    ResourceTemplate(
        uri_template=f"{FILES}{{id}}",
        name="file",
        title="A file",
        description="The facts about a file, by the id that searches give: summary, counts, status and versions.",
        mime_type=JSON,
    ),
)


class FileResources:
    """The files of each owner."""

    def __init__(self, files: "Files") -> None:
        self._files = files

    def newest(self, owner: Owner) -> list[Resource]:
        """The files that are listed."""
        return [_resource(one) for one in self._files.listed(owner, newest_first=True)[:LISTED]]

    def content(self, owner: Owner, uri: str) -> TextResourceContents:
        """The facts about a file, as `fetch_memory` tells them, without the link."""
        from loci.files.tools.file_views import fetched  # with pydantic models, which cost time at a cold start

        [file] = self._files.status(owner, [unquote(uri.removeprefix(FILES))])
        facts = fetched(file, self._files.versions(owner, file.id), None)
        return TextResourceContents(uri=uri, mime_type=JSON, text=facts.model_dump_json(exclude={"presigned_url"}))


def _resource(file: "StoredFile") -> Resource:
    return Resource(
        uri=f"{FILES}{file.id}",
        name=file.full_path,
        description=file.shown.summary or None,
        mime_type=JSON,
        annotations=Annotations(last_modified=file.newest.added_at),
    )
