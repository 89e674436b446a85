"""The costs of 1,000 searches, runs of code, documents and files, and of an open page, as `prices.toml` assumes."""

from collections.abc import Mapping
from typing import Any

from infra.costs import ASSUMED, GB, MB_PER_GB, MILLION, ONE_MILLION, THOUSAND, Costs, Deployed

UNITS = ("row_read", "row_write", "object_read", "object_write")


def searches(deployed: Deployed) -> Costs:
    """Return the costs of 1,000 searches."""
    assumed = ASSUMED["search"]
    seconds = assumed["gateway_s"] + (assumed["model_s"] if deployed.model_is_in_gateway else 0)
    waited = assumed["inference_s"] if deployed.function("inference") else 0
    return _thousand(
        {
            **_request(deployed, assumed),
            **_log_of_calls(),
            "functions": deployed.runs("gateway", seconds + waited) + deployed.runs("inference", waited),
            "table and bucket": _of(assumed, "row_read"),
            **_vectors(deployed, assumed),
        }
    )


def pages(deployed: Deployed) -> Costs:
    """Return the costs of an hour of a visible page of runs on which nothing happens."""
    assumed = ASSUMED["page"]
    each = {
        **_request(deployed, assumed),
        "functions": deployed.runs("gateway", assumed["gateway_s"]),
        "table and bucket": _of(assumed, "row_read"),
    }
    return {what: amount * assumed["requests"] for what, amount in each.items()}


def runs(deployed: Deployed) -> Costs:
    """Return the costs of 1,000 runs of code: the gateway waits for each, and drives it in another invocation."""
    if deployed.function("run_python") is None:
        return {}
    assumed = ASSUMED["run"]
    memory = (deployed.function("run_python") or {})["MemorySize"] / MB_PER_GB
    driver = "errand" if deployed.function("errand") else "gateway"
    of_gateway = deployed.runs("gateway", assumed["seconds"]) + deployed.runs(driver, assumed["seconds"])
    return _thousand(
        {
            **_request(deployed, assumed),
            **_log_of_calls(),
            "functions": of_gateway + deployed.runs("run_python", assumed["seconds"]),
            "tenant isolation": assumed["new_machines"] * memory * GB["tenant"],
            "table and bucket": sum(_of(assumed, unit) for unit in UNITS),
            "names that are looked up": assumed["dns_queries"] * MILLION["dns_query"] / ONE_MILLION,
        }
    )


def tool_calls(deployed: Deployed) -> Costs:
    """Return the costs of 1,000 calls of other servers' tools: the gateway waits for the function that reaches them."""
    assumed = ASSUMED["tool_call"]
    return _thousand(
        {
            **_request(deployed, assumed),
            **_log_of_calls(),
            "functions": deployed.runs("gateway", assumed["seconds"]) + deployed.runs("connect", assumed["seconds"]),
            "table and bucket": _of(assumed, "row_read") + _of(assumed, "row_write"),
            "key": _of(assumed, "key_request"),
        }
    )


def workflows(deployed: Deployed) -> Costs:
    """Return the costs of 1,000 workflows: the gateway waits for the function, and that for one after the other."""
    assumed, call = ASSUMED["workflow"], ASSUMED["tool_call"]
    waited = deployed.runs("gateway", assumed["seconds"]) + deployed.runs("workflow", assumed["seconds"])
    return _thousand(
        {
            **_request(deployed, assumed),
            **_log_of_calls(1 + assumed["tasks"]),
            "state machine": assumed["transitions"] * MILLION["transition"] / ONE_MILLION,
            "functions": waited + assumed["tasks"] * deployed.runs("connect", call["seconds"]),
            "table and bucket": _of(assumed, "row_read") + _of(assumed, "row_write"),
            "key": _of(assumed, "key_request"),
        }
    )


def documents(deployed: Deployed) -> Costs:
    """Return the costs of 1,000 uploads, from the bucket to the index."""
    if deployed.function("ingest") is None:
        return {}
    assumed = ASSUMED["document"]
    waited = assumed["inference_s"] if deployed.function("inference") else 0
    seconds = assumed["ingest_s"] + waited + (assumed["model_s"] if deployed.model_is_in_gateway else 0)
    return _thousand(
        {
            "event and queue": (MILLION["event"] + assumed["queue"] * MILLION["queue"]) / ONE_MILLION,
            "functions": deployed.runs("ingest", seconds) + deployed.runs("inference", waited),
            "table and bucket": sum(_of(assumed, unit) for unit in UNITS),
            **_vectors(deployed, assumed),
            "log": assumed["log_gb"] * GB["log"],
            "traces": MILLION["trace"] / ONE_MILLION,
        }
    )


def stored(deployed: Deployed) -> Costs:
    """Return the costs of keeping those 1,000 documents for a month."""
    assumed = ASSUMED["document"]
    costs = {"table and bucket": assumed["row_gb"] * GB["row_month"] + assumed["object_gb"] * GB["object_month"]}
    if deployed.index_is_in_vectors:
        costs["S3 Vectors"] = assumed["vector_gb"] * GB["vector_month"]
    return _thousand(costs)


def files(deployed: Deployed) -> Costs:
    """Return the costs of 1,000 files that need a parser, from the form to the index: the ingestion waits for it."""
    if deployed.function("extract") is None:
        return {}
    assumed = ASSUMED["file"]
    waited = assumed["inference_s"] if deployed.function("inference") else 0
    seconds = assumed["ingest_s"] + waited + (assumed["model_s"] if deployed.model_is_in_gateway else 0)
    memory = (deployed.function("extract") or {})["MemorySize"] / MB_PER_GB
    return _thousand(
        {
            "event and queue": (MILLION["event"] + assumed["queue"] * MILLION["queue"]) / ONE_MILLION,
            "functions": deployed.runs("ingest", seconds + assumed["extract_s"])
            + deployed.runs("extract", assumed["extract_s"])
            + deployed.runs("inference", waited),
            "tenant isolation": assumed["new_machines"] * memory * GB["tenant"],
            "names that are looked up": assumed["dns_queries"] * MILLION["dns_query"] / ONE_MILLION,
            "table and bucket": sum(_of(assumed, unit) for unit in UNITS),
            **_vectors(deployed, assumed),
            "log": assumed["log_gb"] * GB["log"],
            "traces": MILLION["trace"] / ONE_MILLION,
        }
    )


def _vectors(deployed: Deployed, assumed: Mapping[str, Any]) -> Costs:
    """Return what an index in S3 Vectors costs, with the records beside it."""
    if not deployed.index_is_in_vectors:
        return {}
    rows = ("vector_row_reads", "row_read"), ("vector_row_writes", "row_write")
    of_rows = sum(assumed.get(name, 0) * MILLION[unit] for name, unit in rows) / ONE_MILLION
    queries = assumed["vector_queries"] * MILLION["vector_query"] / ONE_MILLION
    return {"S3 Vectors": queries + assumed.get("vector_gb", 0) * GB["vector_write"] + of_rows}


def _request(deployed: Deployed, assumed: Mapping[str, Any]) -> Costs:
    """Return what every request costs before a function works on it, and what is written of it."""
    costs = {"API Gateway": MILLION["api"] / ONE_MILLION}
    if deployed.has("AWS::WAFv2::WebACL"):
        costs["firewall"] = MILLION["web_acl"] / ONE_MILLION
    if deployed.has("AWS::CloudFront::Distribution"):
        costs["CloudFront"] = (MILLION["cdn"] + MILLION["cdn_function"]) / ONE_MILLION
    costs["log"] = assumed["log_gb"] * GB["log"]
    costs["traces"] = MILLION["trace"] / ONE_MILLION
    costs["transfer out"] = assumed["out_gb"] * GB["out"]
    return costs


def _log_of_calls(calls: int = 1) -> Costs:
    """Return what the log of calls costs: a row for each call, and keeping that row."""
    assumed = ASSUMED["log_of_calls"]
    kept = assumed["row_gb"] * assumed["months"] * GB["row_month"]
    return {"log of calls": calls * (MILLION["row_write"] / ONE_MILLION + kept)}


def _of(assumed: Mapping[str, Any], unit: str) -> float:
    return assumed[f"{unit}s"] * MILLION[unit] / ONE_MILLION


def _thousand(costs: Costs) -> Costs:
    return {what: amount * THOUSAND for what, amount in costs.items()}
