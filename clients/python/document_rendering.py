"""Client of the document rendering service, in one file and without dependencies, for Python 3.9 and later.

    client = ServiceClient("https://render.example", token)
    result = client.render({"source": "= Hello #data.name", "data": {"name": "Ada"}})
    if result.ok:
        pathlib.Path(result.filename).write_bytes(result.content)
    else:
        print(result.problem.code, result.problem.detail)

A request is validated before it is sent, by the rules that the deployment publishes. Problems are returned as values;
an exception means that there is no answer from the service. See docs/recipes.md and docs/api.md.
"""

# Older Pythons must be able to parse this file, or they do not get to the check: `from __future__ import annotations`,
# for example, is a syntax error in 3.6.
import sys

if sys.version_info < (3, 9):
    raise ImportError(f"document_rendering needs Python 3.9 or newer. This is Python {sys.version.split()[0]}.")

import base64
import calendar
import datetime
import decimal
import email.message
import email.utils
import errno
import http.client
import json
import math
import pathlib
import random
import re
import socket
import ssl
import struct
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Literal, Optional, TypedDict, Union

__version__ = "1.3.0"
"""That of the service with which this file came: `npm run generate` writes it."""

__all__ = [
    "Check",
    "Problem",
    "Rejected",
    "RenderRequest",
    "RenderResult",
    "RenderedFile",
    "RetryEvent",
    "ServiceClient",
    "ServiceUnreachableError",
    "UnexpectedResponseError",
    "UnreachableReason",
    "__version__",
    "binary_file",
    "check_request",
    "run_vectors",
    "text_file",
]

# --- Requests ---------------------------------------------------------------------------------------------------------


class RequestFile(TypedDict):
    """An entry of `files`: see `text_file` and `binary_file`."""

    encoding: Literal["text", "base64"]
    content: str


class Output(TypedDict, total=False):
    format: Literal["pdf", "png", "svg"]
    filename: Optional[str]
    version: Optional[Literal["1.4", "1.5", "1.6", "1.7", "2.0"]]
    standards: Sequence[str]
    page: Optional[int]
    pages: Optional[str]
    archive: Optional[Literal["zip"]]
    ppi: int


class _Source(TypedDict):
    source: str


class RenderRequest(_Source, total=False):
    """The body of `POST /v1/render`. `data` is whatever `json.dumps` takes; integers keep all their digits."""

    files: Mapping[str, RequestFile]
    data: Any
    output: Output


Body = Union[RenderRequest, Mapping[str, Any], bytes]
"""A request, or its JSON text in UTF-8, which is sent unchanged."""


def text_file(content: str) -> RequestFile:
    """An entry of `files` that holds text."""
    return {"encoding": "text", "content": content}


def binary_file(content: bytes) -> RequestFile:
    """An entry of `files` that holds bytes."""
    return {"encoding": "base64", "content": base64.b64encode(content).decode("ascii")}


def _encode(request: Body) -> bytes:
    if isinstance(request, bytes):
        return request
    # `json.dumps` raises ValueError for NaN and infinity, and for what contains itself.
    try:
        return json.dumps(request, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError) as cause:
        found = None if "Circular" in str(cause) else _find_unsendable(request, [])
        if found is None:
            raise
        raise type(cause)(found) from cause


_MAX_SEARCH_DEPTH = 200
_ADVICE: tuple[tuple[tuple[type, ...], str], ...] = (
    ((decimal.Decimal,), "send str(value), and read it in the template by decimal()"),
    ((datetime.datetime, datetime.date, datetime.time), "send value.isoformat()"),
    ((bytes, bytearray, memoryview), "send text, or a file by binary_file()"),
    ((set, frozenset), "send sorted(value)"),
    ((uuid.UUID, pathlib.PurePath), "send str(value)"),
)


def _find_unsendable(value: Any, place: list[Union[str, int]]) -> Optional[str]:
    """A sentence on the first value that JSON does not have: where it is, and what to send instead."""
    if len(place) > _MAX_SEARCH_DEPTH:
        return None
    if isinstance(value, dict):
        members: Any = value.items()
    elif isinstance(value, (list, tuple)):
        members = enumerate(value)
    elif isinstance(value, float) and not math.isfinite(value):
        words = "NaN" if math.isnan(value) else "infinite"
        return f"{'.'.join(map(str, place))} is {words}, which JSON does not have: send None, or a text."
    elif value is None or isinstance(value, (str, int, float)):
        return None
    else:
        advice = next((words for types, words in _ADVICE if isinstance(value, types)), "send what JSON has")
        return f"{'.'.join(map(str, place)) or 'the request'} is a {type(value).__name__}, which JSON does not have: {advice}."
    for name, member in members:
        if not isinstance(name, (str, int, float, type(None))):
            return f"{'.'.join(map(str, place)) or 'the request'} has a key that is a {type(name).__name__}: send str(key)."
        found = _find_unsendable(member, [*place, name])
        if found is not None:
            return found
    return None


# --- Results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A problem with which the service answered, or would answer. Decide by `code`, `origin` and `context`."""

    code: str
    origin: str
    status: int
    title: str
    detail: str
    context: Mapping[str, Any]
    instance: Optional[str] = None
    """The URL of the request with its request id. None for a problem that was found before sending."""
    request_id: Optional[str] = None
    """The id by which the operator finds the request in the logs, if it was sent."""


@dataclass(frozen=True)
class RenderedFile:
    content: bytes
    content_type: str
    filename: str
    """A name without folders."""
    request_id: Optional[str]
    ok: Literal[True] = True


@dataclass(frozen=True)
class Rejected:
    problem: Problem
    checked_locally: bool
    """Whether the problem was found before sending: the service has not seen the request."""
    ok: Literal[False] = False


RenderResult = Union[RenderedFile, Rejected]


@dataclass(frozen=True)
class Check:
    """What the service would answer to a request, found without sending it."""

    verdict: Literal["accepted", "refused", "unknown", "unavailable"]
    """`unknown`: the deployment has rules that this version lacks. `unavailable`: it did not give its constraints."""
    problem: Optional[Problem] = None
    """With `refused` and `unavailable`."""
    disagreements: Sequence[Mapping[str, Any]] = field(default=())
    """With `unknown`: the published vectors on which this version disagrees."""


UnreachableReason = Literal[
    "refused", "name_not_found", "no_route", "certificate", "wrong_protocol",
    "timed_out", "no_answer", "connection_broken", "gateway", "unknown"
]  # fmt: skip


class ServiceUnreachableError(Exception):
    """The network, or a gateway in front of the service, failed, in the last attempt too.

    Nothing is known about the render. Since the service keeps nothing, sending the request again does no harm.
    """

    attempts = 1
    elapsed_seconds = 0.0
    """From the first attempt to the end of the last one, waits included."""
    retry_after_seconds: Optional[float] = None
    """How long the gateway asks to wait."""
    is_permanent = False
    """Whether another attempt would meet the same: an unknown name, a certificate, another protocol."""

    def __init__(self, sentence: str, url: str, reason: UnreachableReason, status: Optional[int] = None) -> None:
        """`url`: of the service, without a path. `status`: that of a gateway, for the reason `gateway`."""
        super().__init__(sentence, url, reason, status)
        self.url, self.reason, self.status = url, reason, status

    def __str__(self) -> str:
        tries = f" Tried {self.attempts} times in {self.elapsed_seconds:.1f} s." if self.attempts > 1 else ""
        return f"{self.args[0]}{tries}"


class UnexpectedResponseError(Exception):
    """Something other than the service has answered, usually because the URL is wrong. Never tried again."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, status)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class RetryEvent:
    attempt: int
    """The number of the attempt that failed, from 1."""
    wait_seconds: float
    reason: Union[Problem, ServiceUnreachableError]


# --- Validation -------------------------------------------------------------------------------------------------------

_MAX_REPORTED_ERRORS = 20
_MAX_SEGMENT_CODE_POINTS = 80
_MAX_MESSAGE_CODE_POINTS = 200
_MAX_DATA_DEPTH = 127
_MAX_OUTPUT_NUMBER_LENGTH = 1024
_DATE_KEY = "$__toml_private_datetime"
_EMPTY = text_file("")

_TITLES: dict[str, tuple[int, str, str]] = {
    "invalid_request": (400, "request", "Invalid request"),
    "unsupported_format": (400, "request", "Unsupported output format"),
    "invalid_template_path": (400, "request", "Invalid files key"),
    "invalid_file_data": (400, "request", "Invalid file data"),
    "request_too_large": (413, "request", "Request too large"),
    "template_source_too_large": (413, "template", "Template source too large"),
    "template_file_too_large": (413, "template", "Template file too large"),
    "string_too_large": (413, "request", "String too large"),
    "page_selection_too_large": (413, "request", "Page selection too large"),
}
"""Status, origin and title of each code that validation can find. Where a request has several, the first one counts."""

_OUTPUT_FIELDS: dict[str, tuple[str, ...]] = {
    "pdf": ("filename", "version", "standards", "pages"),
    "png": ("filename", "page", "pages", "archive", "ppi"),
    "svg": ("filename", "page", "pages", "archive"),
}
_ALL_OUTPUT_FIELDS = {"format"}.union(*_OUTPUT_FIELDS.values())

_Loc = list[Union[str, int]]


@dataclass
class _Number:
    """A JSON number, as written in the text."""

    text: str


@dataclass
class _Object:
    """The members of a JSON object in their original order, duplicates included."""

    members: list[tuple[str, Any]]

    def __contains__(self, name: str) -> bool:
        return any(name == member for member, _ in self.members)


def check_request(request: Body, constraints: Mapping[str, Any]) -> Optional[Problem]:
    """The problem with which a deployment with these constraints would answer, or None if it would accept the request.

    `constraints` is the document of `GET /v1/constraints`, from which all rules, lists and limits are taken.
    """
    body = _encode(request)
    limit = _limit(constraints, "max_request_body_bytes")
    if len(body) > limit:
        return _problem("request_too_large", f"The request body is over the limit of {limit} bytes.", limit=limit, declared_size=len(body))
    if body.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return _problem("invalid_request", "The body is not valid JSON: it begins with a byte order mark. Send UTF-8 without one.")
    try:
        numbers = {"parse_int": _Number, "parse_float": _Number, "parse_constant": _reject_constant}
        root = json.loads(body.decode("utf-8"), object_pairs_hook=_Object, **numbers)
    except UnicodeDecodeError:
        return _problem("invalid_request", "The body is not valid JSON: it is not UTF-8.")
    except ValueError:
        return _problem("invalid_request", "The body is not valid JSON.")
    except RecursionError:
        # Only `data` may be nested freely, and at most 127 levels deep.
        return _problem("invalid_request", "The body is nested too deep.")
    return _Validator(constraints).validate(root)


def run_vectors(constraints: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The published conformance vectors on which this version disagrees. Empty if it agrees with all."""
    # Vectors test the rules, so they hold in every deployment, whatever its limits.
    unlimited = {**constraints, "limits": {"effective_max_files": constraints["max_keys"]}}
    disagreements: list[Mapping[str, Any]] = []
    for vector in [*constraints["conformance_vectors"], *constraints["output_rules"]["conformance_vectors"]]:
        files = dict.fromkeys(vector.get("keys", ()), _EMPTY)
        request = {"source": "x", "files": files, "output": vector.get("output", {"format": "pdf"})}
        problem = check_request(request, unlimited)
        found = (None, None) if problem is None else (problem.code, problem.context.get("rule"))
        if found != (vector.get("code"), vector.get("rule")) or vector["accepted"] != (problem is None):
            disagreements.append({"published": vector, "found": {"code": found[0], "rule": found[1]}})
    return disagreements


def _limit(constraints: Mapping[str, Any], name: str) -> float:
    """A limit of the deployment; infinite if it publishes none, as deployments of other versions may."""
    limit: float = constraints["limits"].get(name, math.inf)
    return limit


def _reject_constant(_name: str) -> None:
    raise ValueError("NaN and Infinity are not JSON")


def _problem(code: str, detail: str, **context: Any) -> Problem:
    status, origin, title = _TITLES[code]
    return Problem(code, origin, status, title, detail, context)


class _Validator:
    """Validates one request in the order of docs/api.md#order-of-validation."""

    def __init__(self, constraints: Mapping[str, Any]) -> None:
        self._constraints = constraints
        self._output_rules = constraints["output_rules"]
        self._key_character = re.compile(constraints["segment_character_class"])
        self._errors: list[dict[str, Any]] = []
        self._codes: set[str] = set()
        """Those of the errors, also of those that are only counted."""
        self._error_count = 0
        self._invalid_key: Optional[str] = None
        self._invalid_file: tuple[Optional[str], str] = (None, "is not valid")
        """The key of the first file with invalid data, or None for the source, and what is wrong with it."""
        self._oversize: Optional[Problem] = None

    def validate(self, root: Any) -> Optional[Problem]:
        source = ""
        files: list[tuple[str, int]] = []
        file_count = 0
        output: Optional[dict[str, Any]] = {"format": "pdf", "standards": []}
        if not isinstance(root, _Object):
            self._add([], "wrong_type", f"the request must be a JSON object, not {_kind(root)}")
            return self._shape_problem()
        for name, value in self._read_fields(root, [], ("source", "files", "data", "output")):
            if name == "source":
                source = self._read_source(value)
            elif name == "files":
                files, file_count = self._read_files(value)
            elif name == "data":
                self._read_data(value, [], 0)
            else:
                output = self._read_output(value)
        if "source" not in root:
            self._add(["source"], "missing", "source is required")
        if self._errors or output is None:
            return self._shape_problem()
        return (
            self._check_file_set([key for key, _ in files], file_count)
            or self._check_sizes(source, files)
            or self._check_output(output)
        )

    # Fields

    def _add(self, loc: _Loc, type_: str, msg: str, code: str = "invalid_request") -> None:
        error = {"loc": _shortened(loc), "msg": _shorten(msg, _MAX_MESSAGE_CODE_POINTS), "type": type_}
        self._error_count += 1
        if len(self._errors) < _MAX_REPORTED_ERRORS:
            self._errors.append(error)
        self._codes.add(code)

    def _shape_problem(self) -> Problem:
        code = min(self._codes, key=list(_TITLES).index)
        context: dict[str, Any] = {"errors": self._errors}
        if self._error_count > _MAX_REPORTED_ERRORS:
            context["errors_total"] = self._error_count
        if code == "invalid_request":
            return _problem(code, self._summary(), **context)
        if code == "unsupported_format":
            return _problem(code, "output.format must be pdf, png or svg.", **context)
        if code == "invalid_template_path":
            key = self._invalid_key or ""
            words = _describe_invalid_key(key, self._constraints)
            return _problem(code, f"The files key {_quote(key)} is not valid: {words}.", **context)
        file, fault = self._invalid_file
        if file is None:
            return _problem(code, f"source {fault}.", **context)
        return _problem(code, f"The content of the file {_quote(file)} {fault}.", key=file, **context)

    def _summary(self) -> str:
        first = next((error for error in self._errors if error["type"] != "invalid_key"), None)
        if first is None:
            return "The request is not valid: a field is not valid."
        place = f"{_shorten('.'.join(map(str, first['loc'])), _MAX_MESSAGE_CODE_POINTS)}: " if first["loc"] else ""
        more = f" (and {self._error_count - 1} more)" if self._error_count > 1 else ""
        return f"The request is not valid. {place}{first['msg']}{more}."

    def _read_fields(self, value: _Object, loc: _Loc, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        """The fields of these names, each once, in the order of the text."""
        seen = set()
        for name, member in value.members:
            if name not in names:
                self._add([*loc, name], "unknown_field", "unknown field")
            elif name in seen:
                self._add([*loc, name], "duplicate_field", "duplicate field")
            else:
                seen.add(name)
                yield name, member

    def _read_string(self, value: Any, loc: _Loc) -> Optional[str]:
        if isinstance(value, str):
            return value
        self._add(loc, "wrong_type", f"{loc[-1]} must be a string, not {_kind(value)}")
        return None

    def _read_source(self, value: Any) -> str:
        source = self._read_string(value, ["source"])
        if source == "":
            self._add(["source"], "too_short", "source must not be empty")
        elif source is not None and not _is_unicode(source):
            self._add_invalid_file(None, ["source"], "lone_surrogate", _LONE_SURROGATE)
        return source or ""

    def _read_files(self, value: Any) -> tuple[list[tuple[str, int]], int]:
        """The keys and sizes of the valid files, and the number of all files."""
        valid: list[tuple[str, int]] = []
        seen: set[str] = set()
        if not isinstance(value, _Object):
            self._add(["files"], "wrong_type", f"expected an object, got {_kind(value)}")
            return valid, 0
        count = 0
        for key, entry in value.members:
            is_valid = self._is_valid_key(key)
            if is_valid and key in seen:
                self._add(["files", key], "duplicate_field", "duplicate field")
                continue
            if not is_valid:
                # An invalid key must not appear in the context.
                if self._invalid_key is None:
                    self._invalid_key = key
                words = _describe_invalid_key(key, self._constraints)
                self._add(["files"], "invalid_key", words, "invalid_template_path")
            seen.add(key)
            count += 1
            size = self._read_file(key, ["files", key] if is_valid else ["files"], entry)
            if size is not None and is_valid:
                valid.append((key, size))
        return valid, count

    def _read_file(self, key: str, loc: _Loc, entry: Any) -> Optional[int]:
        """The size of a file after decoding, or None if it is not valid."""
        if not isinstance(entry, _Object):
            self._add(loc, "wrong_type", f"expected an object, got {_kind(entry)}")
            return None
        encoding: Optional[str] = None
        content: Optional[str] = None
        for name, value in self._read_fields(entry, loc, ("encoding", "content")):
            if name == "content":
                content = self._read_string(value, [*loc, name])
            else:
                encoding = self._read_string(value, [*loc, name])
                if encoding not in (None, "text", "base64"):
                    self._add([*loc, name], "not_allowed", "encoding must be one of text, base64")
                    encoding = None
        for name in ("encoding", "content"):
            if name not in entry:
                self._add([*loc, name], "missing", f"{name} is required")
        if encoding is None or content is None:
            return None
        is_text = encoding == "text"
        size = _text_size(content) if is_text else _base64_size(content)
        if size is None:
            type_, fault = ("lone_surrogate", _LONE_SURROGATE) if is_text else ("invalid_base64", _base64_fault(content))
            self._add_invalid_file(key, [*loc, "content"] if len(loc) == 2 else loc, type_, fault)
        return size

    def _add_invalid_file(self, key: Optional[str], loc: _Loc, type_: str, fault: str) -> None:
        is_valid_key = loc != ["files"]
        if is_valid_key and "invalid_file_data" not in self._codes:
            self._invalid_file = (key, fault)
        self._add(loc, type_, f"{'source' if key is None else 'content'} {fault}", "invalid_file_data")

    def _is_valid_key(self, key: str) -> bool:
        rules = self._constraints
        if not rules["min_key_length"] <= len(key) <= rules["max_key_length"]:
            return False
        return all(
            rules["min_segment_length"] <= len(segment) <= rules["max_segment_length"]
            and all(self._key_character.fullmatch(character) for character in segment)
            and not (rules["segments_may_not_be_only_dots"] and set(segment) == {"."})
            for segment in key.split("/")
        )

    def _read_data(self, value: Any, path: _Loc, depth: int) -> None:
        """Visits `data` in the order of its text. The content of a container that is too deep is not visited."""
        if isinstance(value, str):
            self._read_data_string(value, path, "value")
        elif isinstance(value, _Number):
            if not _is_read_by_typst(value.text):
                words = "the number is out of range: Typst cannot read it as a floating-point number"
                self._add(["data", *path], "number_out_of_range", words)
        elif isinstance(value, (list, _Object)) and depth == _MAX_DATA_DEPTH:
            words = f"arrays and objects are nested more than {_MAX_DATA_DEPTH} levels deep"
            self._add(["data", *path], "nesting_too_deep", words)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._read_data(item, [*path, index], depth + 1)
        elif isinstance(value, _Object):
            last = len(value.members) - 1 if _is_date_for_typst(value.members) else None
            for index, (key, member) in enumerate(value.members):
                self._read_data_string(key, [*path, key], "key")
                if index == last:
                    words = "the key is reserved: Typst would turn this object into a date"
                    self._add(["data", *path, key], "reserved_key", words)
                self._read_data(member, [*path, key], depth + 1)

    def _read_data_string(self, text: str, path: _Loc, subject: str) -> None:
        if not _is_unicode(text):
            self._add(["data", *path], "lone_surrogate", f"the string {_LONE_SURROGATE}")
        limit = _limit(self._constraints, "max_string_bytes")
        # No character takes more than four bytes, so most strings need not be encoded to be measured.
        size = _byte_size(text) if 4 * len(text) > limit else 0
        if size > limit and self._oversize is None:
            context = {"path": _shortened(path), "subject": subject, "size": size, "limit": limit}
            self._oversize = _problem("string_too_large", f"A string in data has {size} bytes; the limit is {limit}.", **context)

    # Output

    def _read_output(self, value: Any) -> Optional[dict[str, Any]]:
        if not isinstance(value, _Object):
            self._add(["output"], "wrong_type", "output must be an object")
            return None
        known = dict(self._read_fields(value, ["output"], _ALL_OUTPUT_FIELDS))
        format_ = known.pop("format", "pdf")
        if not isinstance(format_, str) or format_ not in self._output_rules["formats"]:
            if isinstance(format_, str):
                words, code = f"format must be pdf, png or svg, not {_quote(format_)}", "unsupported_format"
                self._add(["output", "format"], code, words, code)
            else:
                self._add(["output", "format"], "wrong_type", "format must be a string")
            return None
        fields = _OUTPUT_FIELDS.get(format_, ())
        for name in known:
            if name not in fields:
                self._add(["output", name], "unknown_field", f"{name} is not an option of {format_}")
        read = {name: self._read_output_field(name, known[name]) for name in fields if name in known}
        return {"format": format_, "standards": [], **read}

    def _read_output_field(self, name: str, value: Any) -> Any:
        loc: _Loc = ["output", name]
        pdf, image = self._output_rules["pdf"], self._output_rules["image"]
        ranges = {"ppi": (image["png"]["min_ppi"], image["png"]["max_ppi"]), "page": (image["min_page"], math.inf)}
        choices = {"version": pdf["versions"], "archive": image["archives"]}
        if name == "standards":
            return self._read_standards(value, loc)
        if value is None and name != "ppi":
            return None
        if name in ranges:
            return self._read_integer(value, loc, *ranges[name])
        if name in choices:
            return self._read_choice(value, loc, choices[name])
        if not isinstance(value, str):
            self._add_output_error(loc, "wrong_type", "must be a string", value)
            return None
        return value

    def _add_output_error(self, loc: _Loc, type_: str, expectation: str, value: Any) -> None:
        self._add(loc, type_, f"{loc[1]} {expectation}, not {_describe(value)}")

    def _read_integer(self, value: Any, loc: _Loc, minimum: float, maximum: float) -> Optional[float]:
        if not isinstance(value, _Number):
            self._add_output_error(loc, "wrong_type", "must be a number", value)
            return None
        number = math.nan if len(value.text) > _MAX_OUTPUT_NUMBER_LENGTH else float(value.text)
        if not number.is_integer():
            self._add_output_error(loc, "out_of_range", "must be an integer", value)
        elif number < minimum:
            self._add_output_error(loc, "out_of_range", f"must be at least {minimum}", value)
        elif number > maximum:
            self._add_output_error(loc, "out_of_range", f"must be at most {maximum}", value)
        return number

    def _read_choice(self, value: Any, loc: _Loc, choices: Sequence[str]) -> Optional[str]:
        if isinstance(value, str) and value in choices:
            return value
        if isinstance(value, str):
            self._add_output_error(loc, "not_allowed", f"must be one of {', '.join(choices)}", value)
        else:
            self._add_output_error(loc, "wrong_type", "must be a string", value)
        return None

    def _read_standards(self, value: Any, loc: _Loc) -> list[Optional[str]]:
        pdf = self._output_rules["pdf"]
        if isinstance(value, list) and len(value) <= pdf["max_standards"]:
            return [self._read_choice(item, [*loc, index], pdf["standards"]) for index, item in enumerate(value)]
        if isinstance(value, list):
            maximum = pdf["max_standards"]
            # The service reads no more than one item too many.
            words = f"standards must have at most {maximum} items, not an array of {maximum + 1}"
            self._add(loc, "too_long", words)
        else:
            self._add_output_error(loc, "wrong_type", "must be an array", value)
        return []

    # Limits and rules of several fields

    def _check_file_set(self, keys: list[str], count: int) -> Optional[Problem]:
        max_keys = self._constraints["max_keys"]
        limit = _limit(self._constraints, "effective_max_files")
        if count > max_keys:
            detail = f"files has {count} entries; the limit is {max_keys}."
            return _problem("invalid_file_data", detail, count=count, limit=max_keys, rule="too_many_keys")
        if count > limit:
            detail = f"files has {count} entries; the limit is {limit}."
            return _problem("invalid_file_data", detail, count=count, limit=limit)
        # Valid keys are ASCII.
        folded = [key.lower() for key in keys]
        directories = {name[:end] for name in folded for end in range(len(name)) if name[end] == "/"}
        repeated = (key for index, key in enumerate(keys) if folded[index] in folded[:index])
        ancestors = (key for key, name in zip(keys, folded) if name in directories)
        for rule, colliding, words in (
            ("case_collision", repeated, "equals another key when case is ignored"),
            ("ancestor_collision", ancestors, "is also a directory of another key"),
        ):
            for key in colliding:
                return _problem("invalid_file_data", f"The files key {_quote(key)} {words}.", key=key, rule=rule)
        return None

    def _check_sizes(self, source: str, files: list[tuple[str, int]]) -> Optional[Problem]:
        size, limit = _byte_size(source), _limit(self._constraints, "max_template_source_bytes")
        if size > limit:
            return _problem("template_source_too_large", f"source has {size} bytes; the limit is {limit}.", size=size, limit=limit)
        limit = _limit(self._constraints, "max_inline_file_bytes")
        for key, size in files:
            if size > limit:
                detail = f"The file {_quote(key)} has {size} bytes after decoding; the limit is {limit}."
                return _problem("template_file_too_large", detail, key=key, size=size, limit=limit)
        return self._oversize

    def _check_output(self, output: dict[str, Any]) -> Optional[Problem]:
        pages = output.get("pages")
        rule = None if pages is None else self._broken_selection_rule(pages)
        # Pages can be counted only in a well-formed selection. The limit on their number precedes the other rules.
        if rule is None and pages is not None and output.get("archive") is not None:
            count, limit = _count_pages(pages), _limit(self._constraints, "max_output_files")
            if count > limit:
                detail = f"pages selects {count} pages; the limit for an archive is {limit}."
                return _problem("page_selection_too_large", detail, count=count, limit=limit)
        name, rule = ("pages", rule) if rule is not None else self._broken_rule(output)
        if rule is None:
            return None
        description = next((known["description"] for known in self._output_rules["rules"] if known["id"] == rule), rule)
        error = {"loc": ["output", name], "msg": description, "type": rule}
        return _problem("invalid_request", description, errors=[error], rule=rule)

    def _broken_selection_rule(self, pages: str) -> Optional[str]:
        rules = self._output_rules["page_selection"]
        selections = pages.split(",")
        if len(pages) > rules["max_length"]:
            return "page_selection_too_long"
        if len(selections) > rules["max_selections"]:
            return "page_selection_too_many_segments"
        if not all(re.fullmatch(rules["selection_pattern"], selection) for selection in selections):
            return "page_selection_malformed"
        return "page_range_end_precedes_start" if any(last < first for first, last in map(_range, selections)) else None

    def _broken_rule(self, output: dict[str, Any]) -> tuple[str, Optional[str]]:
        """The field and the id of the first broken rule, except for rules on the text of `pages`."""
        pdf = self._output_rules["pdf"]
        standards, version = output["standards"], output.get("version")
        has = {name: output.get(name) is not None for name in ("version", "page", "pages", "archive")}
        profiles = [name for name in standards if name in pdf["pdf_a_version"]]
        has_ua_1 = "ua-1" in standards
        is_image = output["format"] in self._output_rules["image"]["formats"]
        is_tagged = any(name in pdf["tagged_standards"] for name in standards)
        is_pdf_a_4 = any(name in pdf["pdf_a_4_standards"] for name in profiles)
        conflicts = has["version"] and any(pdf["pdf_a_version"][name] != version for name in profiles)
        rules = (
            ("standards", "duplicate_standards", len(set(standards)) < len(standards)),
            ("standards", "multiple_pdf_a_standards", len(profiles) > 1),
            ("standards", "ua_1_with_pdf_a_4", has_ua_1 and is_pdf_a_4),
            ("version", "version_conflicts_with_standard", conflicts),
            ("version", "ua_1_with_pdf_2_0", has_ua_1 and version == "2.0"),
            ("pages", "pages_with_tagged_standard", has["pages"] and is_tagged),
            ("pages", "pages_requires_archive", is_image and has["pages"] and not has["archive"]),
            ("page", "page_with_archive", has["page"] and has["archive"]),
        )
        return next(((name, rule) for name, rule, is_broken in rules if is_broken), ("", None))


def _count_pages(pages: str) -> int:
    """How many pages are selected, each counted once."""
    count, counted_to = 0, 0
    for first, last in sorted(map(_range, pages.split(","))):
        count += max(0, last - max(first - 1, counted_to))
        counted_to = max(counted_to, last)
    return count


def _range(selection: str) -> tuple[int, int]:
    """The first and last page of a selection. An open range counts as its first page."""
    first, _, last = selection.partition("-")
    return int(first), int(last or first)


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    return re.search("[\\ud800-\\udfff]", text) is None


def _byte_size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _text_size(text: str) -> Optional[int]:
    return _byte_size(text) if _is_unicode(text) else None


def _base64_size(content: str) -> Optional[int]:
    """The size after decoding; None if it is not padded Base64 whose unused bits are zero."""
    try:
        decoded = base64.b64decode(content, validate=True)
    except ValueError:
        return None
    return len(decoded) if base64.b64encode(decoded).decode("ascii") == content else None


def _shortened(path: _Loc) -> _Loc:
    """A path as the service sends it."""
    return [part if isinstance(part, int) else _shorten(part, _MAX_SEGMENT_CODE_POINTS) for part in path]


# The words of the service (rules/quote.ts and the files that use it), so that a test can compare them.


def _shorten(text: str, limit: int) -> str:
    """Lone surrogates are escaped, then the text is cut."""
    escaped = re.sub("[\\ud800-\\udfff]", lambda it: f"\\u{ord(it[0]):x}", text)
    return escaped if len(escaped) <= limit else escaped[: limit - 1] + "…"


def _quote(text: str) -> str:
    return f'"{_shorten(text, _MAX_SEGMENT_CODE_POINTS)}"'


_LONE_SURROGATE = "contains a lone surrogate, which UTF-8 cannot encode"
_ALLOWED_CHARACTERS = (
    "allowed are the letters A-Z and a-z, digits, dots, underscores, hyphens, and slashes between folders"
)


def _describe_invalid_key(key: str, rules: Mapping[str, Any]) -> str:
    """In words that follow "a key": what its author most likely meant goes first. The key is never quoted."""
    if key == "":
        return "a key must not be empty"
    if len(key.encode("utf-16-le", "surrogatepass")) // 2 > rules["max_key_length"]:
        return f"a key has at most {rules['max_key_length']} characters"
    if "\\" in key:
        return "a key must separate folders by /, not by \\"
    relative = "a key is a path within the project, not an absolute path or a URL"
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", key):
        return relative
    if not key.isascii():
        return f"a key has only ASCII, so no umlauts or accents: {_ALLOWED_CHARACTERS}"
    if " " in key:
        return f"a key must not contain spaces: {_ALLOWED_CHARACTERS}"
    if not all(re.fullmatch(rules["segment_character_class"], it) for it in key if it != "/"):
        return f"a key contains a character that is not allowed: {_ALLOWED_CHARACTERS}"
    if key.startswith("/"):
        return f"{relative}: leave out the slash at its beginning"
    segments = key.split("/")
    if "" in segments:
        return "a key must not end with a slash, nor contain two in a row"
    if any(len(segment) > rules["max_segment_length"] for segment in segments):
        return f"each part of a key between slashes has at most {rules['max_segment_length']} characters"
    if ".." in segments:
        return 'a key must not contain "..": it cannot lead out of the project'
    if key.startswith("./"):
        return 'a key must begin with the name itself, without "./"'
    return "no part of a key between slashes may consist of dots alone"


def _base64_fault(content: str) -> str:
    """What a text that is no Base64 seems to be."""
    start = content[:1024]
    inspected = start + content[-1:]
    size = _byte_size(content)
    if re.match("data:", start, re.IGNORECASE):
        return "is a data: URL: send only what follows the comma"
    if re.search(r"[^A-Za-z0-9+/=\-_ \r\n\\]", start):
        return "is not Base64: send text with the encoding text"
    if re.search(r"[\r\n]", inspected):
        return "has line breaks: encode without them"
    if " " in inspected:
        return "has spaces, perhaps where + was: Base64 has none"
    if re.fullmatch(r"[A-Za-z0-9_-]+=*", start) and re.search("[-_]", start):
        return "is URL-safe Base64: use + for - and / for _, and pad with ="
    if re.fullmatch("[A-Za-z0-9+/]+={0,2}", inspected) and size % 4 != 0:
        return (
            "is cut off: no Base64 has this length"
            if size % 4 == 1
            else "lacks padding: add = until its length is a multiple of four"
        )
    return "is not valid Base64 (RFC 4648 section 4: padded, no spaces, unused bits zero)"


def _kind(value: Any) -> str:
    kinds = ((_Object, "an object"), (list, "an array"), (str, "a string"), (_Number, "a number"), (bool, "a boolean"))
    return next((words for type_, words in kinds if isinstance(value, type_)), "null")


def _describe(value: Any) -> str:
    """A value of `output` in words."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, (list, _Object)):
        return _kind(value)
    if isinstance(value, _Number):
        number = math.inf if len(value.text) > _MAX_OUTPUT_NUMBER_LENGTH else float(value.text)
        if math.isinf(number):
            above = f"a number above 1.8e308 or of more than {_MAX_OUTPUT_NUMBER_LENGTH} bytes"
            return above if number > 0 else "a number below -1.8e308"
        return _format_number(number)
    return {True: "true", False: "false", None: "null"}[value]


def _format_number(number: float) -> str:
    """As JavaScript writes it: exponents only below 1e-6 and from 1e21 on."""
    if number == 0:
        return "0"
    if 1e-6 <= abs(number) < 1e21:
        return re.sub(r"\.0$", "", format(decimal.Decimal(repr(number)), "f"))
    return re.sub(r"e([+-])0+", r"e\1", repr(number).replace(".0e", "e"))


def _is_read_by_typst(number: str) -> bool:
    """Whether Typst can read a JSON number. Typst takes as many digits as fit into 64 bits, and rounds in two steps."""
    match = re.fullmatch(r"-?([0-9]+)(?:\.([0-9]+))?(?:[eE]\+?(-?)([0-9]+))?", number)
    if match is None:
        raise ValueError("not a JSON number")
    integer, fraction, sign, exponent_digits = (group or "" for group in match.groups())
    digits = (integer + fraction).lstrip("0")
    if digits == "":
        return True
    exponent_digits = exponent_digits.lstrip("0")
    # No body has room for enough digits to compensate for such an exponent.
    if len(exponent_digits) > 9:
        return sign == "-"
    kept = 20 if int(digits[:20]) < 2**64 else 19
    kept = min(kept, len(digits))
    power = int(sign + (exponent_digits or "0")) - len(fraction) + len(digits) - kept
    if power < 0:
        return True
    return power <= 308 and not math.isinf(float(int(digits[:kept])) * float(10**power))


def _is_date_for_typst(members: list[tuple[str, Any]]) -> bool:
    """Whether Typst makes a date of an object: its only key, perhaps repeated, has a date or time as its value."""
    if not members or any(key != _DATE_KEY for key, _ in members) or not isinstance(members[-1][1], str):
        return False
    clock = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    match = re.fullmatch(rf"{clock}|[+-]?([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:T{clock}Z?)?", members[-1][1])
    if match is None:
        return False
    if match.group(1) is None:
        return True
    year, month, day = map(int, match.groups())
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


# --- Client -----------------------------------------------------------------------------------------------------------

_FILE_TYPES: dict[str, tuple[str, tuple[bytes, ...]]] = {
    "application/pdf": ("pdf", (b"%PDF-",)),
    "image/png": ("png", (b"\x89PNG\r\n\x1a\n",)),
    "image/svg+xml": ("svg", (b"<svg", b"<?xml")),
    "application/zip": ("zip", (b"PK\x03\x04", b"PK\x05\x06")),
}
"""The extension of each type of file, and how a file of it may begin."""
_ENDINGS = {
    "pdf": re.compile(rb"[\r\n]%%EOF[\0\t\n\f\r ]*\Z"),
    "png": re.compile(rb"\0\0\0\0IEND\xaeB`\x82\Z"),
    # Without content, the root is all there is.
    "svg": re.compile(rb"</svg\s*>\s*\Z|\A(?:<\?xml[^<>]*>\s*)?<svg[^<>]*/>\s*\Z"),
}
_MAX_ENDING_BYTES = 1024
_END_RECORD_BYTES = 22
# The most that any deployment can set as `max_output_bytes`: the bound where the constraints are not known.
_MAX_OUTPUT_BYTES = 512 * 1024 * 1024
# At most this much is read of what is no rendered file: of constraints and problems, for example.
_MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
_READ_BYTES = 64 * 1024
_CONSTRAINTS_AGE_SECONDS = 300
_MAX_SILENCE_SECONDS = 3600
# The edge answers by itself what is no render.
_MAX_DOCUMENT_SILENCE_SECONDS = 60.0
# The service asks for a minute at most. Whatever asks for more than this is not waited for longer.
_MAX_RETRY_AFTER_SECONDS = 300.0
_FIRST_BACKOFF_SECONDS = 0.5
_MAX_BACKOFF_SECONDS = 8.0
# What Python raises for a document that does not have the expected form.
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, re.error)


def _is_gateway_status(status: int) -> bool:
    """Whether a server in front of the service says that it could not pass the request on: 524 is Cloudflare's."""
    return status in (408, 429) or status >= 500


class _EveryAnswer(urllib.request.HTTPErrorProcessor):
    """Answers of every status are answers: none is an exception, and no redirect is followed with the token."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return response

    https_response = http_response


@dataclass(frozen=True)
class _Response:
    """An answer that is neither a problem nor a failure."""

    status: int
    headers: email.message.Message
    content: bytes

    @property
    def media_type(self) -> str:
        return (self.headers.get("Content-Type") or "").split(";")[0].strip().lower()


_Answer = Union[_Response, Problem, ServiceUnreachableError]


@dataclass(frozen=True)
class _Constraints:
    document: Mapping[str, Any]
    disagreements: Sequence[Mapping[str, Any]]
    valid_until: float

    @staticmethod
    def read(response: _Response) -> "_Constraints":
        """Reads a constraints document, and compares its rules with those of this version by their vectors."""
        try:
            document = json.loads(response.content)
            # This also shows that the document has every member that validation needs.
            disagreements = run_vectors(document)
            if not all(isinstance(limit, int) for limit in document["limits"].values()):
                raise ValueError("a limit is not an integer")
        except _MALFORMED as cause:
            raise UnexpectedResponseError("The response has no constraints.", response.status) from cause
        return _Constraints(document, disagreements, time.monotonic() + _CONSTRAINTS_AGE_SECONDS)


class ServiceClient:
    """A client of one deployment. It keeps no connections open and need not be closed; several threads may use it.

    Each method raises `ServiceUnreachableError` after the last attempt, and `UnexpectedResponseError` when something
    other than the service answers. It reads no more of an answer than `max_output_bytes` in the constraints of the
    deployment, or 512 MiB where they are not known.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str],
        *,
        max_attempts: int = 5,
        max_total_seconds: float = 60,
        silence_timeout_seconds: float = 300,
        check_before_sending: bool = True,
    ) -> None:
        """A request is sent again if the service cannot be reached, and after `Retry-After` if no slot is free.

        `max_attempts`: how often a request is sent at most, the first time included; with 1, it is never repeated.
        `max_total_seconds`: no attempt begins later than this after the first.
        `silence_timeout_seconds`: how long an attempt waits while nothing comes, before the answer or within it; at most a
        minute for what is no render. The default is more than a deployment takes by default, the upload included.
        """
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError("url must be an absolute http or https URL without a user name.")
        if not token:
            raise ValueError("There is no token: pass the one that the operator has given you, as in SERVICE_API_TOKEN.")
        if not re.fullmatch(r"[!-~]+", token):
            raise ValueError("token must hold visible ASCII characters.")
        if max_attempts < 1 or not max_total_seconds >= 0:
            raise ValueError("max_attempts must be at least 1, and max_total_seconds at least 0.")
        if not 0 < silence_timeout_seconds <= _MAX_SILENCE_SECONDS:
            raise ValueError(f"silence_timeout_seconds must be above 0, and at most {_MAX_SILENCE_SECONDS}.")
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._base = f"{self._origin}{parts.path.rstrip('/')}/"
        self._token = token
        self._max_attempts = max_attempts
        self._max_total_seconds = max_total_seconds
        self._silence_timeout_seconds = silence_timeout_seconds
        self._check_before_sending = check_before_sending
        self._constraints: Optional[_Constraints] = None
        self._opener = urllib.request.build_opener(_EveryAnswer())

    def render(self, request: Body, *, on_retry: Optional[Callable[[RetryEvent], None]] = None) -> RenderResult:
        """Renders a document. `on_retry` is called before each wait for another attempt."""
        body = _encode(request)
        if self._check_before_sending:
            # One attempt: if the constraints cannot be fetched, the request is sent unchecked, and the service decides.
            constraints = self._fetch_constraints(self._send)
            if isinstance(constraints, _Constraints):
                check = _check(body, constraints)
                if check.verdict == "refused" and check.problem is not None:
                    return Rejected(check.problem, checked_locally=True)
        answer = self._send_with_retries("v1/render", body=body, on_retry=on_retry)
        if isinstance(answer, Problem):
            return Rejected(answer, checked_locally=False)
        extension, _ = _FILE_TYPES[answer.media_type]
        name = _file_name(answer.headers.get("Content-Disposition")) or f"document.{extension}"
        return RenderedFile(answer.content, answer.media_type, name, answer.headers.get("X-Request-Id"))

    def check(self, request: Body) -> Check:
        """Validates a request by the constraints of the deployment, without sending it."""
        constraints = self._fetch_constraints(self._send_with_retries)
        if isinstance(constraints, _Constraints):
            return _check(_encode(request), constraints)
        return Check("unavailable", constraints if isinstance(constraints, Problem) else None)

    def constraints(self) -> Union[Mapping[str, Any], Problem]:
        """The constraints of the deployment. They are kept for five minutes."""
        constraints = self._fetch_constraints(self._send_with_retries)
        return constraints.document if isinstance(constraints, _Constraints) else constraints

    def _fetch_constraints(self, send: Callable[..., _Answer]) -> Any:
        """The constraints, or the answer that came instead of them."""
        kept = self._constraints
        if kept is not None and time.monotonic() < kept.valid_until:
            return kept
        answer = send("v1/constraints")
        if isinstance(answer, _Response):
            self._constraints = answer = _Constraints.read(answer)
        return answer

    def _send_with_retries(
        self,
        path: str,
        body: Optional[bytes] = None,
        on_retry: Optional[Callable[[RetryEvent], None]] = None,
    ) -> Union[_Response, Problem]:
        start = time.monotonic()
        for attempt in range(1, self._max_attempts + 1):
            answer = self._send(path, body)
            if isinstance(answer, _Response):
                return answer
            is_retryable = not answer.is_permanent if isinstance(answer, ServiceUnreachableError) else answer.origin == "capacity"
            elapsed_seconds = time.monotonic() - start
            wait_seconds = self._wait_before_retry(attempt, elapsed_seconds, answer)
            if not is_retryable or wait_seconds is None:
                break
            if on_retry is not None:
                on_retry(RetryEvent(attempt, wait_seconds, answer))
            time.sleep(wait_seconds)
        if isinstance(answer, ServiceUnreachableError):
            answer.attempts, answer.elapsed_seconds = attempt, elapsed_seconds
            raise answer
        return answer

    def _wait_before_retry(self, attempt: int, elapsed: float, answer: Any) -> Optional[float]:
        """How long to wait before the next attempt, at least `Retry-After`; None to give up."""
        if attempt >= self._max_attempts:
            return None
        asked = answer.context.get("retry_after") if isinstance(answer, Problem) else answer.retry_after_seconds
        backoff = min(_MAX_BACKOFF_SECONDS, _FIRST_BACKOFF_SECONDS * 2 ** (attempt - 1))
        least = backoff if asked is None else min(max(asked, 0.0), _MAX_RETRY_AFTER_SECONDS)
        # The random part keeps callers who were rejected at the same time from coming back at the same time.
        wait: float = least + random.random() * backoff
        return None if elapsed + wait > self._max_total_seconds else wait

    def _send(self, path: str, body: Optional[bytes] = None) -> _Answer:
        """Sends a request once."""
        headers = {"X-Service-Api-Token": self._token}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self._base + path, data=body, headers=headers)
        silence = self._silence_timeout_seconds
        if body is None:
            silence = min(silence, _MAX_DOCUMENT_SILENCE_SECONDS)
        try:
            with self._opener.open(request, timeout=silence) as response:
                answer = self._read(response)
        except (TimeoutError, socket.timeout) as cause:
            # `urllib` wraps what happens before the request is sent.
            sentence = f"{self._origin} does not answer: nothing has come for {silence:g} s."
            error = ServiceUnreachableError(sentence, self._origin, "no_answer")
            error.__cause__ = cause
            return error
        except (OSError, http.client.HTTPException) as cause:
            return _unreachable(self._origin, cause)
        is_success = 200 <= answer.status < 300
        if self._is_cut_off(answer, body is not None and is_success):
            sentence = f"The connection to {self._origin} broke before the whole answer had arrived."
            return ServiceUnreachableError(sentence, self._origin, "connection_broken")
        return answer if is_success else self._classify(answer)

    def _is_cut_off(self, answer: _Response, is_file: bool) -> bool:
        """Whether an answer lacks its end. A render's answer that is no file, or does not begin like one, raises."""
        if not is_file:
            return answer.media_type.endswith("json") and _is_cut_off(answer.content)
        extension, beginnings = _FILE_TYPES.get(answer.media_type, ("", ()))
        content = answer.content
        if any(len(content) < len(beginning) and beginning.startswith(content) for beginning in beginnings):
            return True
        if not content.startswith(beginnings):
            raise UnexpectedResponseError("The response is not a rendered file.", answer.status)
        return not _is_whole(extension, content)

    def _classify(self, response: _Response) -> _Answer:
        """What an answer is that is not a success: a problem, a failure of a gateway, or not from the service."""
        status = response.status
        if response.media_type == "application/problem+json":
            problem = _as_problem(response.content)
            if problem is not None:
                return problem
            # Gateways have problems of their own, which have no code.
            if not _is_gateway_status(status) or not _has_no_code(response.content):
                raise UnexpectedResponseError("The response is a problem from another service.", status)
        if _is_gateway_status(status):
            sentence = f"A gateway in front of the service at {self._origin} answered {status}."
            error = ServiceUnreachableError(sentence, self._origin, "gateway", status)
            error.retry_after_seconds = _seconds_until(response.headers)
            return error
        if 300 <= status < 400:
            raise UnexpectedResponseError("The URL redirects: use the URL that it redirects to.", status)
        raise UnexpectedResponseError(f"The {status} response did not come from this service.", status)

    def _read(self, response: http.client.HTTPResponse) -> _Response:
        """The answer with as much of its body as it may have."""
        answer = _Response(response.status, response.headers, b"")
        is_file = 200 <= answer.status < 300 and answer.media_type in _FILE_TYPES
        limit = self._max_output_bytes() if is_file else _MAX_DOCUMENT_BYTES
        content = bytearray()
        buffer = bytearray(_READ_BYTES)
        # Not asked for, but some servers compress all the same.
        encoding = (answer.headers.get("Content-Encoding") or "").strip().lower()
        unzip = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding in ("gzip", "x-gzip") else None
        while len(content) + (response.length or 0) <= limit:
            try:
                # Not `read`: in an answer whose chunks have a negative size, it has no bound.
                size = response.readinto(buffer)
            except ValueError as cause:
                raise http.client.HTTPException("The chunks of the answer are malformed.") from cause
            if size == 0:
                if response.length:
                    raise http.client.IncompleteRead(b"", response.length)
                return replace(answer, content=bytes(content))
            part = memoryview(buffer)[:size]
            content += part if unzip is None else self._unzipped(unzip, part, limit - len(content) + 1)
        raise UnexpectedResponseError(f"The response has more than {limit} bytes.", answer.status)

    @staticmethod
    def _unzipped(unzip: Any, part: memoryview, most: int) -> bytes:
        """At most this many bytes of what a part of an answer unpacks to: more is too large in any case."""
        try:
            unpacked: bytes = unzip.decompress(part, most)
        except zlib.error as cause:
            raise http.client.HTTPException("The compressed answer is malformed.") from cause
        return unpacked

    def _max_output_bytes(self) -> int:
        kept = self._constraints
        # Constraints that are out of date may name a limit that has been raised.
        if kept is None or time.monotonic() >= kept.valid_until:
            return _MAX_OUTPUT_BYTES
        return min(int(kept.document["limits"].get("max_output_bytes", _MAX_OUTPUT_BYTES)), _MAX_OUTPUT_BYTES)


def _is_whole(extension: str, content: bytes) -> bool:
    """Whether a file that begins as its type does also ends so. A proxy may have taken the length of a broken answer away."""
    if extension != "zip":
        return _ENDINGS[extension].search(content[-_MAX_ENDING_BYTES:]) is not None
    # The record that ends a ZIP names the length of the comment behind it, and the directory before it (APPNOTE.TXT, 4.3.16).
    last = len(content) - _END_RECORD_BYTES
    at = last + 1
    while (at := content.rfind(b"PK\x05\x06", max(0, last - 0xFFFF), at + 3)) != -1:
        size, offset, comment = struct.unpack_from("<LLH", content, at + 12)
        is_zip64 = 0xFFFFFFFF in (size, offset) and content[max(0, at - 20) : at].startswith(b"PK\x06\x07")
        if comment == last - at and (is_zip64 or offset + size == at):
            return True
    return False


def _is_cut_off(text: bytes) -> bool:
    """Whether a text is nothing, or the beginning of a JSON object that does not end."""
    depth = 0
    for mark in re.finditer(rb'"(?:[^"\\]|\\.)*("?)|[{}\[\]]', text, re.DOTALL):
        if mark[0][:1] == b'"':
            if not mark[1]:
                return text.lstrip()[:1] == b"{"
        else:
            depth += 1 if mark[0] in b"{[" else -1
    return text.strip() == b"" or (depth > 0 and text.lstrip()[:1] == b"{")


def _has_no_code(content: bytes) -> bool:
    try:
        document = json.loads(content)
    except _MALFORMED:
        return False
    return isinstance(document, dict) and "code" not in document


def _seconds_until(headers: email.message.Message) -> Optional[float]:
    """The seconds of a `Retry-After` field. A date counts from the `Date` of the same answer, whatever this machine's clock says."""
    text = (headers.get("Retry-After") or "").strip()
    if re.fullmatch("[0-9]{1,300}", text):
        return min(float(text), _MAX_RETRY_AFTER_SECONDS)
    until, now = (email.utils.parsedate_tz(field or "") for field in (text, headers.get("Date")))
    if until is None:
        return None
    try:
        start = time.time() if now is None else email.utils.mktime_tz(now)
        return min(max(0.0, email.utils.mktime_tz(until) - start), _MAX_RETRY_AFTER_SECONDS)
    except (ValueError, OverflowError):
        return None


def _check(body: bytes, constraints: _Constraints) -> Check:
    if constraints.disagreements:
        return Check("unknown", disagreements=constraints.disagreements)
    try:
        problem = check_request(body, constraints.document)
    except _MALFORMED as cause:
        # A hostile document may publish vectors that miss what it lacks.
        raise UnexpectedResponseError("The constraints of the service are malformed.", 200) from cause
    return Check("accepted") if problem is None else Check("refused", problem)


_REASONS: tuple[tuple[tuple[type[Exception], ...], UnreachableReason, str], ...] = (
    ((ConnectionRefusedError,), "refused", "the connection was refused"),
    ((socket.gaierror,), "name_not_found", "the host name was not found"),
    ((ssl.SSLCertVerificationError,), "certificate", "its certificate is not accepted"),
    # The second is the first from Python 3.10 on.
    ((TimeoutError, socket.timeout), "timed_out", "it did not answer in time"),
    ((ConnectionError, http.client.IncompleteRead), "connection_broken", "the connection broke"),
    ((ssl.SSLError, http.client.BadStatusLine), "wrong_protocol", "it does not speak the protocol of the URL"),
    ((Exception,), "unknown", "no answer came, or the connection broke"),
)
_NO_ROUTE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}


def _unreachable(url: str, cause: Exception) -> ServiceUnreachableError:
    """`cause` is what `urllib` has raised."""
    inner = getattr(cause, "reason", None) if isinstance(cause, urllib.error.URLError) else cause
    if not isinstance(inner, Exception):
        inner = cause
    _, reason, words = next(known for known in _REASONS if isinstance(inner, known[0]))
    if isinstance(inner, OSError) and inner.errno in _NO_ROUTE:
        reason, words = "no_route", "there is no route to it"
    detail = _system_words(inner)
    error = ServiceUnreachableError(f"{url} cannot be reached: {words}{detail and f' ({detail})'}.", url, reason)
    is_passing = isinstance(inner, socket.gaierror) and inner.errno == socket.EAI_AGAIN
    error.is_permanent = reason in ("name_not_found", "certificate", "wrong_protocol") and not is_passing
    error.__cause__ = cause
    return error


def _system_words(error: Exception) -> str:
    """What the system says about an error, in a word where it has one."""
    for type_, member in ((ssl.SSLCertVerificationError, "verify_message"), (ssl.SSLError, "reason")):
        if isinstance(error, type_):
            return getattr(error, member) or ""
    if isinstance(error, socket.gaierror):
        return error.strerror or ""
    return errno.errorcode.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    # Not `math.isfinite`, which raises OverflowError for integers of a few hundred digits.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_path(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(segment) or _is_number(segment) for segment in value)


def _is_error(value: Any) -> bool:
    is_object = isinstance(value, dict) and {"loc", "msg", "type"} <= value.keys()
    return is_object and _is_path(value["loc"]) and _is_text(value["msg"]) and _is_text(value["type"])


def _are_errors(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_error, value))


_NUMBERS = ("errors_total", "count", "limit", "size", "declared_size", "timeout_secs", "retry_after")
_CONTEXT_MEMBERS: dict[str, Callable[[Any], bool]] = {
    "errors": _are_errors,
    "path": _is_path,
    **dict.fromkeys(("rule", "key", "subject"), _is_text),
    **dict.fromkeys(_NUMBERS, _is_number),
}
"""The type of each member of a context, which is the same in all problems."""

_REQUIRED_MEMBERS: dict[str, tuple[str, ...]] = {
    "unsupported_format": ("errors",),
    "invalid_template_path": ("errors",),
    "render_timeout": ("timeout_secs",),
    "request_too_large": ("limit",),
    "template_source_too_large": ("size", "limit"),
    "template_file_too_large": ("key", "size", "limit"),
    "string_too_large": ("path", "subject", "size", "limit"),
    "output_too_large": ("size", "limit"),
    "page_selection_too_large": ("count", "limit"),
    "too_many_output_files": ("limit",),
    "render_queue_full": ("retry_after",),
}
"""The members that the context of a code always has."""


def _as_problem(content: bytes) -> Optional[Problem]:
    try:
        document = json.loads(content)
        texts = [document[name] for name in ("code", "origin", "title", "detail", "instance")]
        status, context = document["status"], document["context"]
    except _MALFORMED:
        return None
    code, origin, title, detail, instance = texts
    is_problem = (
        all(map(_is_text, texts))
        and origin in ("request", "template", "capacity", "service")
        and _is_number(status)
        and isinstance(context, dict)
        and all(name in context for name in _REQUIRED_MEMBERS.get(code, ()))
        and all(is_valid(context[name]) for name, is_valid in _CONTEXT_MEMBERS.items() if name in context)
    )
    if not is_problem:
        return None
    return Problem(code, origin, status, title, detail, context, instance, instance.partition("#")[2] or None)


def _file_name(disposition: Optional[str]) -> Optional[str]:
    """The name in a `Content-Disposition` field, without folders (RFC 6266 section 4.3)."""
    if disposition is None:
        return None
    message = email.message.Message()
    message["Content-Disposition"] = disposition
    names = [value for name, value in message.get_params([], "Content-Disposition") if name.lower() == "filename"]
    # A tuple is the extended form, which takes precedence over the plain one.
    name = next((value for value in names if isinstance(value, tuple)), names[0] if names else "")
    try:
        last = re.split(r"[/\\]", email.utils.collapse_rfc2231_value(name))[-1]
    except ValueError:
        # The name of the character set holds a NUL.
        return None
    return None if last in ("", ".", "..") or re.search(r"[\x00-\x1f\x7f-\x9f]", last) else last
