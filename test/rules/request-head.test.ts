/** What is checked before the JSON: the declared length, the media type, and the size of the body as it arrives. */
import { describe, expect, it } from "vitest";
import { BodyCollector } from "../../protocol/body-collector.ts";
import { declaredSize, type RequestHead, validateDeclaredSize, validateMediaType } from "../../rules/request-head.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

const LIMIT = 100_000;
const LIMITS = limitsWith({ max_request_body_bytes: LIMIT });

const head = (fields: Partial<RequestHead>): RequestHead => ({
  contentLength: null,
  contentType: "application/json",
  contentEncoding: null,
  transferEncoding: null,
  ...fields,
});

describe("a declared length", () => {
  it.each([
    [null, null],
    ["0", 0],
    ["12", 12],
    ["012", 12],
    ["", null],
    ["-1", null],
    ["1.5", null],
    ["0x10", null],
    ["12, 12", null],
  ])("of %j is %j", (contentLength, size) => {
    expect(declaredSize(head({ contentLength }))).toBe(size);
  });

  it("is accepted at the limit and rejected one past it, and the problem repeats it", () => {
    expect(validateDeclaredSize(head({ contentLength: String(LIMIT) }), LIMITS)).toBeNull();
    expect(validateDeclaredSize(head({ contentLength: String(LIMIT + 1) }), LIMITS)).toMatchObject({
      code: "request_too_large",
      context: { limit: LIMIT, declared_size: LIMIT + 1 },
    });
  });

  it("is not needed", () => {
    expect(validateDeclaredSize(head({}), LIMITS)).toBeNull();
  });
});

describe("a media type", () => {
  it.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json ; charset=utf8",
    "application/json; profile=x",
    "application/json;",
    "application/json; profile",
    "application/json; charset=utf-8; charset=UTF8",
    'application/json; profile="a\\"; b"; charset=utf-8',
    'application/json; profile="x; charset=latin1"',
    'application/json; profile="x; charset=latin1"; charset=utf-8',
    'application/json; profile="\\"; charset=latin1"',
    "application/json; xcharset=latin1; charset-x=latin1; charset~1~=latin1",
    "application/json; profile=charset",
  ])("of %j is accepted", (contentType) => {
    expect(validateMediaType(head({ contentType }))).toBeNull();
  });

  it.each([
    null,
    "",
    "text/plain",
    "application/jsonp",
    "application/json5",
    "application/problem+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=application/json",
    "text/plain; application/json",
    "application/json; charset=utf-16",
    "application/json; charset=iso-8859-1",
    "application/json; charset=",
    "application/json; charset=utf-8; charset=latin1",
    "application/json; charset=utf-8; charset=latin1; charset=utf-8",
    "application/json; charset = latin1",
    'application/json; charset="utf-8',
    'application/json; profile="x; charset=utf-8',
    'application/json; profile="x; charset=utf-8"; charset=latin1',
    'application/json; profile=a"; charset=latin1; b="',
    "application/json; charset~2~=utf-8; CHARSET=utf-8; Charset=latin1",
    "application/json; charset=utf-8, application/json; charset=latin1",
    "application/json, text/plain",
  ])("of %j is rejected", (contentType) => {
    const problem = validateMediaType(head({ contentType }));
    expect(problem).toMatchObject({ code: "invalid_request", context: {} });
    expect(problem?.context).toEqual({});
  });

  it.each(["identity", " Identity "])("with the content coding %j is accepted", (contentEncoding) => {
    expect(validateMediaType(head({ contentEncoding }))).toBeNull();
  });

  it.each(["chunked", " Chunked "])("with the transfer coding %j is accepted", (transferEncoding) => {
    expect(validateMediaType(head({ transferEncoding }))).toBeNull();
  });

  it.each(["gzip", "gzip, chunked", "chunked, chunked", ""])(
    "with the transfer coding %j is rejected",
    (transferEncoding) => {
      expect(validateMediaType(head({ transferEncoding }))).toMatchObject({ code: "invalid_request", context: {} });
    },
  );

  it.each(["gzip", "br", "identity, gzip", ""])("with the content coding %j is rejected", (contentEncoding) => {
    expect(validateMediaType(head({ contentEncoding }))).toMatchObject({ code: "invalid_request", context: {} });
  });
});

/** Passes a body to a collector in chunks of one size; returns the bytes, or the code of the problem. */
function collect(declared: number | null, size: number, pieceSize: number): Uint8Array | string {
  const body = Uint8Array.from({ length: size }, (_, index) => index % 251);
  const collector = new BodyCollector(declared, LIMIT);
  for (let at = 0; at < size; at += pieceSize) {
    const rejection = collector.add(body.subarray(at, at + pieceSize));
    if (rejection !== null) return rejection.code;
  }
  return collector.finish();
}

describe("a body collector", () => {
  const bytes = (size: number) => Uint8Array.from({ length: size }, (_, index) => index % 251);

  it.each([
    ["without a declared length", null, 10, 3],
    ["without a declared length, in one chunk larger than the first room", null, 70_000, 70_000],
    ["without a declared length, growing past the first room", null, 99_999, 1000],
    ["up to the limit without a declared length", null, LIMIT, 4096],
    ["up to the limit as declared", LIMIT, LIMIT, 4096],
    ["as long as declared", 1000, 1000, 7],
    ["shorter than declared", 1000, 10, 10],
    ["longer than declared", 10, 1000, 7],
    ["though none was declared to come", 0, 1000, 999],
    ["of no bytes", null, 0, 1],
    ["of no bytes as declared", 0, 0, 1],
  ])("gives back a body %s", (_name, declared, size, pieceSize) => {
    expect(collect(declared, size, pieceSize)).toEqual(bytes(size));
  });

  it.each([
    ["that declares no length", null],
    ["that lies about its length", 10],
    ["that declares none", 0],
    ["that declares the limit", LIMIT],
  ])("rejects a body one byte over the limit %s", (_name, declared) => {
    expect(collect(declared, LIMIT + 1, 1000)).toBe("request_too_large");
    expect(collect(declared, LIMIT + 1, LIMIT + 1)).toBe("request_too_large");
  });

  it("repeats the declared length in its problem, though it was a lie, and none if none was sent", () => {
    const rejection = (declared: number | null) =>
      new BodyCollector(declared, LIMIT).add(new Uint8Array(LIMIT + 1))?.context;
    expect(rejection(10)).toEqual({ limit: LIMIT, declared_size: 10 });
    expect(rejection(null)).toEqual({ limit: LIMIT });
  });

  it.each([
    ["no length is declared", null],
    ["the limit is declared", LIMIT],
    ["little is declared", 1000],
    ["much is declared", LIMIT - 12_345],
  ])("says before each chunk how much memory it takes, and doubles that as bytes arrive, if %s", (_name, declared) => {
    const collector = new BodyCollector(declared, LIMIT);
    const capacities = new Set<number>();
    for (let size = 1000; size <= LIMIT; size += 1000) {
      const expected = collector.capacityWith(1000);
      expect(collector.add(new Uint8Array(1000))).toBeNull();
      const capacity = collector.finish().buffer.byteLength;
      expect(capacity).toBe(expected);
      expect(capacity).toBeGreaterThanOrEqual(size);
      expect(capacity).toBeLessThanOrEqual(Math.min(LIMIT, Math.max(2 * size, 64 * 1024)));
      if (size <= (declared ?? 0)) expect(capacity).toBeLessThanOrEqual(declared ?? 0);
      capacities.add(capacity);
    }
    expect(capacities.size).toBeLessThan(10);
    expect(collector.capacityWith(LIMIT)).toBe(collector.finish().buffer.byteLength);
  });

  it("frees its memory on request, and the body that it returned is empty then", () => {
    const collector = new BodyCollector(null, LIMIT);
    collector.add(bytes(5000));
    const body = collector.finish();
    collector.free();
    expect([body.length, collector.finish().buffer.byteLength]).toEqual([0, 0]);
  });
});
