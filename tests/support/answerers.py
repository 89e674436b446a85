"""Those who answer what workflows and calls wait for."""

from loci.workflows.run import Answerer

AGENT = Answerer("an agent", "agent", is_person=False)
PERSON = Answerer("a person", "page", is_person=True)
