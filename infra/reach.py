"""The settings and permissions of the functions that use documents: the gateway and the ingestion."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infra import search
from infra.acknowledged import acknowledge
from infra.defaults import allow, deny
from infra.stacks.data import Data
from infra.stage import Stage
from infra.uploads import queue_name, queue_url
from loci.core.storage_keys import FILES_IN, INGEST_BLOBS, INGEST_KINDS, LANGUAGE_TOKENS, READS, UPLOADS

RECORDS = [f"dynamodb:{one}Item" for one in ("Get", "BatchGet", "Put", "Delete", "BatchWrite")] + ["dynamodb:Query"]
OBJECTS = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
OWNER = "?" * 32
"""An owner's key, with which the names of their objects begin."""

MODELS = "/opt/models"
"""The path at which Lambda puts the folder `models` of a layer."""


def settings_of(stack: Stack, stage: Stage, data: Data) -> dict[str, str]:
    """Return the stage's settings, and the names of its resources."""
    settings = {
        **stage.settings,
        "mode": "aws",
        "auth": "required",
        "log_level": stage.log_level,
        "table": data.table.table_name,
        "bucket": data.bucket.bucket_name,
    }
    if stage.search == "vectors":
        settings |= {"search": "vectors", "vector_bucket": search.vector_bucket(stage)}
    if url := search.url(stack, stage):
        settings["search_url"] = url
    if stage.model_in_gateway:
        settings |= {"models": MODELS, "embedder": stage.model_in_gateway}
    if stage.infers:
        settings["inference_function"] = stage.function_name("inference")
    if stage.searches:
        settings["ingest_queue"] = queue_url(stage)
    if stage.reads_files:
        settings |= {"extract_function": stage.function_name("extract"), "executor_bucket": data.executors.bucket_name}
    return settings


def permissions(stack: Stack, stage: Stage, data: Data) -> list[iam.PolicyStatement]:
    """Allow access to the table, the objects except uploads, the index and the inference."""
    known = bucket_in_findings(stack, stage, data)
    for path, why in (("*", "The objects of Loci's bucket"), (f"{FILES_IN}/*", "Files that are sent in parts")):
        acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{known}/{path}]": why})
    queue = stack.format_arn(service="sqs", resource=queue_name(stage))
    return [
        allow(RECORDS, [data.table.table_arn]),
        allow(OBJECTS, [data.bucket.arn_for_objects("*")]),
        _found(data),
        deny(OBJECTS, [data.bucket.arn_for_objects(f"{UPLOADS}/*"), _of_executors(data)]),
        # To put an upload in parts together, it must know them.
        allow(["s3:ListMultipartUploadParts"], [data.bucket.arn_for_objects(f"{FILES_IN}/*")]),
        # Its signature lets people send files there, which only the ingestion reads.
        deny(["s3:GetObject", "s3:DeleteObject"], [data.bucket.arn_for_objects(f"{FILES_IN}/*")]),
        *([allow(["sqs:SendMessage"], [queue])] if stage.searches else []),
        *_search(stack, stage),
    ]


def permissions_to_ingest(stack: Stack, stage: Stage, data: Data) -> list[iam.PolicyStatement]:
    """Allow the ingestion to read uploads, and to use its own kinds of records and objects, index and inference."""
    paths = [f"{OWNER}/{prefix}*" for prefix in INGEST_BLOBS]
    uploads, arriving = f"{UPLOADS}/*", f"{FILES_IN}/*"
    known = bucket_in_findings(stack, stage, data)
    for path in (*paths, uploads, arriving):
        acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{known}/{path}]": "What the ingestion reads and writes"})
    kinds = [*INGEST_KINDS, *([LANGUAGE_TOKENS] if "language_model" in stage.settings else [])]
    those = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"*#{kind}" for kind in kinds]}}
    return [
        allow(RECORDS, [data.table.table_arn], those),
        allow(["s3:GetObject"], [data.bucket.arn_for_objects(uploads)]),
        allow(["s3:GetObject", "s3:DeleteObject"], [data.bucket.arn_for_objects(arriving)]),
        allow(OBJECTS, [data.bucket.arn_for_objects(path) for path in paths]),
        _found(data),
        # The paths above match some uploads, too.
        deny(["s3:PutObject", "s3:DeleteObject"], [data.bucket.arn_for_objects(uploads)]),
        deny(OBJECTS, [_of_executors(data)]),
        *_search(stack, stage),
        *_reading(stack, stage, data),
    ]


def _reading(stack: Stack, stage: Stage, data: Data) -> list[iam.PolicyStatement]:
    """Allow the ingestion to have files read: a copy of each lies where the function can reach it."""
    if not stage.reads_files:
        return []
    copies = f"{OWNER}/{READS}/*"
    known = exported(stack, data, data.executors.bucket_arn)
    acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{known}/{copies}]": "Files that are being read"})
    function = stack.format_arn(service="lambda", resource=f"function:{stage.function_name('extract')}")
    return [
        allow(OBJECTS, [data.executors.arn_for_objects(copies)]),
        allow(["s3:ListBucket"], [data.executors.bucket_arn]),
        allow(["lambda:InvokeFunction"], [function]),
    ]


def _search(stack: Stack, stage: Stage) -> list[iam.PolicyStatement]:
    """Allow access to the index and the inference, and acknowledge the wildcard in it."""
    statements = search.access_to_vectors(stack, stage)
    for one in statements:
        for path in one.resources:
            if "*" in path:
                acknowledge(
                    stack, {f"AwsSolutions-IAM5[Resource::{quoted(stack, path)}]": "Indexes that are made later"}
                )
    if stage.search == "domain":
        paths = f"{search.arn(stack, stage)}/*"
        statements.append(allow(search.VERBS, [paths]))
        acknowledge(stack, {f"AwsSolutions-IAM5[Resource::{quoted(stack, paths)}]": "The paths of Loci's domain"})
    if stage.infers:
        function = stack.format_arn(service="lambda", resource=f"function:{stage.function_name('inference')}")
        statements.append(allow(["lambda:InvokeFunction"], [function]))
    return statements


def quoted(stack: Stack, arn: str) -> str:
    """Return the ARN as cdk-nag writes it."""
    parts = stack.resolve(arn)["Fn::Join"][1]
    return "".join(f"<{part['Ref']}>" if isinstance(part, dict) else part for part in parts)


def bucket_in_findings(stack: Stack, stage: Stage, data: Data) -> str:
    """Return the bucket's ARN as cdk-nag writes it."""
    bucket = data.bucket.bucket_arn
    return quoted(stack, bucket) if stage.existing.bucket else exported(stack, data, bucket)


def exported(stack: Stack, data: Data, arn: str) -> str:
    """Return the name under which this stack imports the ARN of a bucket: cdk-nag writes that name."""
    return stack.resolve(data.export_value(arn))["Fn::ImportValue"]


def _found(data: Data) -> iam.PolicyStatement:
    """Without it, S3 answers 403 instead of 404 for a missing object."""
    return allow(["s3:ListBucket"], [data.bucket.bucket_arn])


def _of_executors(data: Data) -> str:
    """Executors had their files here before they had a bucket of their own."""
    return data.bucket.arn_for_objects(f"{OWNER}/executors/*")
