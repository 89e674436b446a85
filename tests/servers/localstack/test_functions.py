"""Functions as child processes: what the plugin promises."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.servers.localstack.fixtures import Aws
from tests.servers.localstack.functions import executable, image, invoke, layer, python, unique
from tests.servers.localstack.running import IMAGES
from tests.support.each import each
from tests.support.polling import until

pytestmark = pytest.mark.aws

ECHO = "def main(event, context):\n    return event"
TROUBLE = """
import os, time
def main(event, context):
    if event == "raise": raise ValueError("no good")
    if event == "exit": os._exit(3)
    if event == "sleep": time.sleep(60)
    return os.getpid()
"""
MEETING = """
import os, time
def main(event, context):
    mine = os.getpid()
    open(f"{os.environ['PLACE']}/{mine}", "w").close()
    while len(os.listdir(os.environ["PLACE"])) < 2: time.sleep(0.02)
    return mine
"""


def test_a_function_answers(aws: Aws) -> None:
    assert invoke(aws, python(aws, ECHO), {"name": "é"}).body == {"name": "é"}


def test_an_environment_is_used_again(aws: Aws) -> None:
    name = python(aws, TROUBLE)
    assert invoke(aws, name).body == invoke(aws, name).body


def test_two_calls_at_once_have_an_environment_each(aws: Aws, tmp_path: Path) -> None:
    name = python(aws, MEETING, variables={"PLACE": str(tmp_path)})
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(invoke, [aws, aws], [name, name])
    assert first.body != second.body


def test_new_variables_bring_a_new_environment(aws: Aws) -> None:
    name = python(
        aws, "import os\ndef main(event, context):\n    return os.environ['COLOR']", variables={"COLOR": "red"}
    )
    before = invoke(aws, name).body
    aws("lambda").update_function_configuration(FunctionName=name, Environment={"Variables": {"COLOR": "blue"}})
    aws("lambda").get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 0.05})
    assert (before, invoke(aws, name).body) == ("red", "blue")


def test_a_layer_is_on_the_path(aws: Aws) -> None:
    shelf = layer(aws, {"python/shelf.py": "BOOK = 'Emma'"})
    source = "import shelf\ndef main(event, context):\n    return shelf.BOOK"
    assert invoke(aws, python(aws, source, layers=[shelf])).body == "Emma"


def test_of_two_layers_the_later_wins_and_the_function_before_both(aws: Aws) -> None:
    first = layer(aws, {"python/one.py": "FROM = 'first'", "python/app.py": "", "python/two.py": "FROM = 'first'"})
    second = layer(aws, {"python/two.py": "FROM = 'second'"})
    source = "import one, two\ndef main(event, context):\n    return [one.FROM, two.FROM]"
    assert invoke(aws, python(aws, source, layers=[first, second])).body == ["first", "second"]


@each("module", ["pydantic", "localstack", "loci"])
def test_what_no_layer_brings_is_missing(aws: Aws, module: str) -> None:
    assert invoke(aws, python(aws, f"import {module}\n{ECHO}")).error == "Runtime.ImportModuleError"


@each(("event", "error"), [("raise", "ValueError"), ("exit", "Runtime.ExitError")])
def test_a_failure_has_the_name_that_aws_gives_it(aws: Aws, event: str, error: str) -> None:
    assert invoke(aws, python(aws, TROUBLE), event).error == error


def test_a_function_that_takes_too_long_is_stopped_and_starts_anew(aws: Aws) -> None:
    name = python(aws, TROUBLE, seconds=1)
    assert invoke(aws, name, "sleep").error == "Sandbox.Timedout"
    assert until(lambda: invoke(aws, name).error is None)  # its second may be over again before a slow machine answers


def test_a_function_that_crashed_starts_anew(aws: Aws) -> None:
    name = python(aws, TROUBLE)
    before = invoke(aws, name).body
    invoke(aws, name, "exit")
    assert invoke(aws, name).body != before


def test_what_it_prints_at_start_and_in_a_call_is_logged(aws: Aws) -> None:
    name = python(aws, "print('starts')\ndef main(event, context):\n    print('works')")
    invoke(aws, name)
    group = f"/aws/lambda/{name}"
    until(lambda: aws("logs").describe_log_groups(logGroupNamePrefix=group)["logGroups"])
    said = until(lambda: aws("logs").filter_log_events(logGroupName=group)["events"])
    lines = [event["message"].strip() for event in said]
    assert lines.index("starts") < lines.index("works")


def test_it_logs_where_its_configuration_says(aws: Aws) -> None:
    group, name = unique("group"), python(aws, "def main(event, context):\n    print('works')")
    aws("logs").create_log_group(logGroupName=group)
    aws("lambda").update_function_configuration(
        FunctionName=name, LoggingConfig={"LogFormat": "Text", "LogGroup": group}
    )
    aws("lambda").get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 0.05})
    invoke(aws, name)
    assert "works" in str(until(lambda: aws("logs").filter_log_events(logGroupName=group)["events"]))


def test_a_call_can_be_left_to_run(aws: Aws) -> None:
    queue = aws("sqs").create_queue(QueueName=unique("queue"))["QueueUrl"]
    sender = """
import json, os, urllib.parse, urllib.request
def main(event, context):
    body = urllib.parse.urlencode({"Action": "SendMessage", "MessageBody": json.dumps(event)}).encode()
    urllib.request.urlopen(os.environ["QUEUE"], body).close()
"""
    name = python(aws, sender, variables={"QUEUE": queue})
    answer = aws("lambda").invoke(FunctionName=name, InvocationType="Event", Payload=json.dumps("later"))
    assert answer["StatusCode"] == 202
    [message] = until(lambda: aws("sqs").receive_message(QueueUrl=queue).get("Messages"))
    assert message["Body"] == '"later"'


def test_a_message_of_a_queue_is_a_call(aws: Aws) -> None:
    queues = [aws("sqs").create_queue(QueueName=unique("queue"))["QueueUrl"] for _ in range(2)]
    arn = aws("sqs").get_queue_attributes(QueueUrl=queues[0], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    worker = """
import os, urllib.parse, urllib.request
def main(event, context):
    for record in event["Records"]:
        body = urllib.parse.urlencode({"Action": "SendMessage", "MessageBody": record["body"] + " done"}).encode()
        urllib.request.urlopen(os.environ["QUEUE"], body).close()
"""
    name = python(aws, worker, variables={"QUEUE": queues[1]})
    mapping = aws("lambda").create_event_source_mapping(FunctionName=name, EventSourceArn=arn, BatchSize=1)["UUID"]
    aws("sqs").send_message(QueueUrl=queues[0], MessageBody="job")
    [message] = until(lambda: aws("sqs").receive_message(QueueUrl=queues[1]).get("Messages"))
    assert message["Body"] == "job done"
    aws("lambda").delete_event_source_mapping(UUID=mapping)


@pytest.mark.parametrize(("repository", "command"), [("echo", ["app.main"]), ("loop", [])])
def test_an_image_is_the_folder_and_the_command_that_the_rules_give(
    aws: Aws, repository: str, command: list[str]
) -> None:
    name = image(aws, f"registry/{repository}:1", command=command, variables={"COLOR": "red"})
    assert invoke(aws, name, 1).body == {"event": 1, "color": "red"}


def test_a_program_of_its_own_is_started_as_bootstrap(aws: Aws) -> None:
    program = "#!/usr/bin/env python3\n" + (IMAGES.parent / "loop" / "loop.py").read_text("utf-8")
    name = executable(aws, program, variables={"COLOR": "red"})
    assert invoke(aws, name, 1).body == {"event": 1, "color": "red"}
