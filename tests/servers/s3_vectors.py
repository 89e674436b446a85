"""S3 Vectors with searches, as moto's storage has none: what the service's documents say, and its limits.

Words are cut as the standard analyzer does it: letters and digits stay together, all else parts them; small letters.
"""

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.s3vectors import responses, urls
from moto.s3vectors.exceptions import ValidationError

TOKEN = re.compile(r"[^\W_]+")
K1, B = 1.2, 0.75
MOST_CONSTRAINTS = 100
MOST_FILTERABLE, MOST_METADATA = 2_048, 40_960
MOST_HITS, A_PAGE = 10_000, 1_000
MOST_INDEXES = [10_000]
"""Indexes in a bucket; a test sets fewer."""


OPERATORS: dict[str, Callable[[list[Any], Any], bool]] = {
    "$eq": lambda some, one: one in some,
    "$ne": lambda some, one: one not in some,
    "$in": lambda some, these: any(one in these for one in some),
    "$nin": lambda some, these: all(one not in these for one in some),
    "$gt": lambda some, least: any(one > least for one in some),
    "$gte": lambda some, least: any(one >= least for one in some),
    "$lt": lambda some, most: any(one < most for one in some),
    "$lte": lambda some, most: any(one <= most for one in some),
    "$startsWith": lambda some, start: any(str(one).startswith(start) for one in some),
}


class Full(ServiceException):
    __module__ = ValidationError.__module__  # moto finds the service by it
    code = "ServiceQuotaExceededException"

    def __init__(self) -> None:
        super().__init__("The request exceeds the number of indexes in a bucket")


class IndexExists(ServiceException):
    __module__ = ValidationError.__module__
    code = "ConflictException"

    def __init__(self) -> None:
        super().__init__("An index with the specified name already exists")


def install() -> None:
    """Add what is missing to moto."""
    response = responses.S3VectorsResponse
    if hasattr(response, "query_vectors"):
        return
    urls.url_paths["{0}/QueryVectors$"] = response.dispatch
    response.create_index = _create_index  # pyright: ignore[reportAttributeAccessIssue]
    response.put_vectors = _put_vectors  # pyright: ignore[reportAttributeAccessIssue]
    response.get_vectors = _checked(response.get_vectors, 100)  # pyright: ignore[reportAttributeAccessIssue]
    response.delete_vectors = _checked(response.delete_vectors, 500)  # pyright: ignore[reportAttributeAccessIssue]
    response.query_vectors = _query_vectors  # pyright: ignore[reportAttributeAccessIssue]


def _checked(call: Any, most: int) -> Any:
    def checked(self: Any) -> Any:
        if not 1 <= len(self._get_param("keys")) <= most:
            raise ValidationError(f"Member must have length between 1 and {most}, inclusive")
        return call(self)

    return checked


def _index(self: Any) -> Any:
    return self.s3vectors_backend.get_index(
        self._get_param("vectorBucketName"), self._get_param("indexName"), self._get_param("indexArn")
    )


def _create_index(self: Any) -> ActionResult:
    backend, name = self.s3vectors_backend, self._get_param("indexName")
    bucket = backend.get_vector_bucket(self._get_param("vectorBucketName"), self._get_param("vectorBucketArn"))
    if any(one.index_name == name for one in bucket.indexes.values()):
        raise IndexExists
    if len(bucket.indexes) >= MOST_INDEXES[0]:
        raise Full
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", name):
        raise ValidationError("Invalid index name")
    backend.create_index(
        vector_bucket_name=self._get_param("vectorBucketName"),
        vector_bucket_arn=self._get_param("vectorBucketArn"),
        index_name=name,
        data_type=self._get_param("dataType"),
        dimension=self._get_param("dimension"),
        distance_metric=self._get_param("distanceMetric"),
        tags=self._get_param("tags"),
    )
    made = backend.get_index(self._get_param("vectorBucketName"), name, None)
    made.metadata = self._get_param("metadataConfiguration") or {}
    return ActionResult(result={"indexArn": made.index_arn})


def _put_vectors(self: Any) -> ActionResult:
    index, vectors = _index(self), self._get_param("vectors")
    if not 1 <= len(vectors) <= 500:
        raise ValidationError("Member must have length between 1 and 500, inclusive")
    if len(json.dumps(vectors)) > 20 << 20:
        raise ValidationError("The request is larger than 20 MiB")
    hidden = {*index.metadata.get("nonFilterableMetadataKeys", ())}
    for one in vectors:
        numbers: list[float] = one["data"]["float32"]
        metadata: dict[str, Any] = one.get("metadata") or {}
        if not 1 <= len(one["key"]) <= 1024:
            raise ValidationError("Member must have length between 1 and 1024, inclusive")
        if not any(numbers) or not all(map(math.isfinite, numbers)):
            raise ValidationError("Vectors of zeros, NaN or Infinity aren't allowed")
        if len(metadata) > 50 or len(json.dumps(metadata, ensure_ascii=False).encode()) > MOST_METADATA:
            raise ValidationError("The metadata has more than 50 keys, or more than 40 KB")
        filterable = {name: value for name, value in metadata.items() if name not in hidden}
        if len(json.dumps(filterable, ensure_ascii=False).encode()) > MOST_FILTERABLE:
            raise ValidationError("Filterable metadata must have at most 2048 bytes")
        for value in filterable.values():
            some = _listed(value)
            if not some or not all(isinstance(each, str | int | float | bool) for each in some):
                raise ValidationError("Filterable metadata are strings, numbers, booleans and lists of these")
    self.s3vectors_backend.put_vectors(
        vector_bucket_name=self._get_param("vectorBucketName"),
        index_name=self._get_param("indexName"),
        index_arn=self._get_param("indexArn"),
        vectors=vectors,
    )
    return ActionResult(result={})


def _query_vectors(self: Any) -> ActionResult:
    index, most = _index(self), self._get_param("topK")
    vector, texts = self._get_param("queryVector"), self._get_param("queryTexts")
    where, token = self._get_param("filter"), self._get_param("nextToken")
    if not 1 <= most <= MOST_HITS or not (vector or texts):
        raise ValidationError("topK must be between 1 and 10000, with a vector, texts or both")
    hidden = {*index.metadata.get("nonFilterableMetadataKeys", ())}
    if where and _constraints(where, hidden) > MOST_CONSTRAINTS:
        raise ValidationError("A filter has at most 100 constraints")
    fitting = {key: one for key, one in index.vectors.items() if not where or _fits(where, one.metadata or {})}
    near = _nearest(index, fitting, vector["float32"]) if vector else {}
    words = _best(index, fitting, texts) if texts else {}
    near, words = _first(near, most, -1), _first(words, most, 1)
    if vector and texts:
        fused = Counter[str]()
        for leg in (near, words):
            for rank, key in enumerate(leg, 1):
                fused[key] += 1 / (60 + rank)  # pyright: ignore[reportArgumentType]
        order = [*_first(dict(fused), most, 1)]
    else:
        fused, order = None, [*(near or words)]
    start = int(token or 0)
    found = [_hit(self, key, index, near, words, fused, texts) for key in order[start : start + A_PAGE]]
    result: dict[str, Any] = {"vectors": found, "distanceMetric": index.distance_metric}
    if start + A_PAGE < len(order):
        result["nextToken"] = str(start + A_PAGE)
    return ActionResult(result=result)


def _hit(self: Any, key: str, index: Any, near: Any, words: Any, fused: Any, texts: Any) -> dict[str, Any]:
    hit: dict[str, Any] = {"key": key}
    if fused is None and near and self._get_bool_param("returnDistance", False):
        hit["distance"] = near[key]
    if texts and self._get_bool_param("returnScores", False):
        scores: dict[str, Any] = {}
        if key in words:
            scores["bm25Scores"] = [{"metadataKey": texts[0]["metadataKey"], "score": words[key]}]
        if fused is not None:
            scores["fused"] = fused[key]
            if key in near:
                scores["vectorDistance"] = near[key]
        hit["scores"] = scores
    if self._get_bool_param("returnMetadata", False):
        hit["metadata"] = index.vectors[key].metadata
    return hit


def _first(scores: dict[str, float], most: int, sign: int) -> dict[str, float]:
    """The best. Of those with equal scores any: nothing is said of their order."""
    shuffled = [*scores.items()]
    random.shuffle(shuffled)
    return dict(sorted(shuffled, key=lambda one: -sign * one[1])[:most])


def _nearest(index: Any, fitting: dict[str, Any], asked: list[float]) -> dict[str, float]:
    import numpy as np

    if len(asked) != index.dimension:
        raise ValidationError("Query vector contains invalid dimension")
    if not fitting:
        return {}
    query = np.asarray(asked, "<f4")
    rows = np.asarray([one.data["float32"] for one in fitting.values()], "<f4")
    cosines = rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
    return {key: float(1 - one) for key, one in zip(fitting, cosines, strict=True)}


def _best(index: Any, fitting: dict[str, Any], texts: list[dict[str, str]]) -> dict[str, float]:
    [asked] = texts
    searchable = {one["metadataKey"] for one in index.metadata.get("textSearchConfigurations", ())}
    if asked["metadataKey"] not in searchable or not 1 <= len(asked["text"]) <= 1024:
        raise ValidationError("The key is not searchable, or the text has not 1 to 1024 characters")
    counts = _counts(index, asked["metadataKey"])
    lengths = {key: sum(one.values()) for key, one in counts.items()}
    average = sum(lengths.values()) / max(1, len(lengths))
    found: dict[str, float] = {}
    for word, times in Counter(TOKEN.findall(asked["text"].lower())).items():
        having = [key for key, one in counts.items() if word in one]
        rarity = math.log(1 + (len(counts) - len(having) + 0.5) / (len(having) + 0.5))
        for key in having:
            if key in fitting:
                count = counts[key][word]
                weight = count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[key] / average))
                found[key] = found.get(key, 0.0) + times * rarity * weight
    return found


def _counts(index: Any, name: str) -> dict[str, Counter[str]]:
    """The words of each vector that has any. Cut once: a vector that is put again is a new object."""
    known = index.__dict__.setdefault("words", {})
    for key in [one for one in known if one not in index.vectors]:
        del known[key]
    for key, one in index.vectors.items():
        if key not in known or known[key][0] is not one:
            metadata: dict[str, Any] = one.metadata or {}
            known[key] = one, Counter(TOKEN.findall(str(metadata.get(name, "")).lower()))
    return {key: words for key, (_, words) in known.items() if words}


def _constraints(where: dict[str, Any], hidden: set[str]) -> int:
    count = 0
    for name, value in where.items():
        if name in ("$and", "$or"):
            if not value:
                raise ValidationError("$and and $or take a list that is not empty")
            count += sum(_constraints(one, hidden) for one in value)
            continue
        if name in hidden:
            raise ValidationError(f"{name} is not filterable")
        for operator, operand in _conditions(value).items():
            if operator in ("$gt", "$gte", "$lt", "$lte") and not isinstance(operand, int | float):
                raise ValidationError(f"{operator} takes a number")
            if operator in ("$in", "$nin") and not operand:
                raise ValidationError(f"{operator} takes a list that is not empty")
            count += len(_listed(operand))
    return count


def _fits(where: dict[str, Any], metadata: dict[str, Any]) -> bool:
    return all(_meets(name, value, metadata) for name, value in where.items())


def _meets(name: str, value: Any, metadata: dict[str, Any]) -> bool:
    if name in ("$and", "$or"):
        return (all if name == "$and" else any)(_fits(one, metadata) for one in value)
    conditions = _conditions(value)
    if "$exists" in conditions:
        return (name in metadata) is conditions["$exists"]
    if name not in metadata:  # what is not there meets nothing, also no `$nin`
        return False
    some = _listed(metadata[name])
    return all(OPERATORS[operator](some, operand) for operator, operand in conditions.items())


def _conditions(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"$eq": value}


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]
