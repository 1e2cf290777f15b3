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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Literal, Optional, TypedDict, Union

__version__ = "2.0.0"
"""That of the service with which this file came: `npm run generate` writes it."""

__all__ = [
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


# --- Sizes ------------------------------------------------------------------------------------------------------------

_TITLES: dict[str, tuple[int, str, str]] = {
    "request_too_large": (413, "request", "Request too large"),
    "template_source_too_large": (413, "template", "Template source too large"),
    "template_file_too_large": (413, "template", "Template file too large"),
}


def _problem(code: str, detail: str, **context: Any) -> Problem:
    status, origin, title = _TITLES[code]
    return Problem(code, origin, status, title, detail, context)


def _find_oversize(body: bytes, limits: Mapping[str, int]) -> Optional[Problem]:
    """What the service would say of the sizes of a request, so that megabytes are not sent in vain.

    The service itself judges everything else: it answers in milliseconds, and its rules may be newer than this file.
    """

    def over(name: str, size: int) -> Optional[int]:
        """The limit that a size is over. Deployments of other versions may publish none of that name."""
        limit = limits.get(name)
        return limit if limit is not None and size > limit else None

    limit = over("max_request_body_bytes", len(body))
    if limit is not None:
        detail = f"The request body is over the limit of {limit} bytes."
        return _problem("request_too_large", detail, limit=limit, declared_size=len(body))
    smallest = min(limits.get("max_template_source_bytes", 0), limits.get("max_inline_file_bytes", 0))
    if len(body) <= smallest:
        return None
    try:
        request = json.loads(body)
        size = _byte_size(request["source"])
        sizes = [(key, _file_size(**entry)) for key, entry in request.get("files", {}).items()]
    except _MALFORMED:
        return None
    limit = over("max_template_source_bytes", size)
    if limit is not None:
        return _problem("template_source_too_large", f"source has {size} bytes; the limit is {limit}.", size=size, limit=limit)
    for key, size in sizes:
        limit = over("max_inline_file_bytes", size)
        if limit is not None:
            detail = f'The file "{key}" has {size} bytes after decoding; the limit is {limit}.'
            return _problem("template_file_too_large", detail, key=key, size=size, limit=limit)
    return None


def _byte_size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _file_size(encoding: str, content: str) -> int:
    return _byte_size(content) if encoding == "text" else len(content) * 3 // 4 - content[-2:].count("=")


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
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


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
    valid_until: float

    @staticmethod
    def read(response: _Response) -> "_Constraints":
        try:
            document = json.loads(response.content)
            if not all(isinstance(limit, int) for limit in document["limits"].values()):
                raise ValueError("a limit is not an integer")
        except _MALFORMED as cause:
            raise UnexpectedResponseError("The response has no constraints.", response.status) from cause
        return _Constraints(document, time.monotonic() + _CONSTRAINTS_AGE_SECONDS)


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
                problem = _find_oversize(body, constraints.document["limits"])
                if problem is not None:
                    return Rejected(problem, checked_locally=True)
        answer = self._send_with_retries("v1/render", body=body, on_retry=on_retry)
        if isinstance(answer, Problem):
            return Rejected(answer, checked_locally=False)
        extension, _ = _FILE_TYPES[answer.media_type]
        name = _file_name(answer.headers.get("Content-Disposition")) or f"document.{extension}"
        return RenderedFile(answer.content, answer.media_type, name, answer.headers.get("X-Request-Id"))

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


def _is_number(value: Any) -> bool:
    # Not `math.isfinite`, which raises OverflowError for integers of a few hundred digits.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _as_problem(content: bytes) -> Optional[Problem]:
    try:
        document = json.loads(content)
        texts = [document[name] for name in ("code", "origin", "title", "detail", "instance")]
        status, context = document["status"], document["context"]
    except _MALFORMED:
        return None
    code, origin, title, detail, instance = texts
    is_problem = (
        all(isinstance(text, str) for text in texts)
        and origin in ("request", "template", "capacity", "service")
        and _is_number(status)
        and isinstance(context, dict)
        # The only member that this client reads itself.
        and _is_number(context.get("retry_after", 0))
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
