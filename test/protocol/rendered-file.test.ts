/** The file name of a download: the caller's suggestion, made safe for headers and for every file system. */
import { describe, expect, it } from "vitest";
import { contentDisposition, safeFileName } from "../../protocol/rendered-file.ts";

describe("the extension of a file name", () => {
  it.each([
    ["report.pdf", "pdf", "report.pdf"],
    ["report", "pdf", "report.pdf"],
    ["report.PDF", "pdf", "report.pdf"],
    ["report.png", "pdf", "report.pdf"],
    ["report.jpeg", "zip", "report.zip"],
    ["report.typ", "svg", "report.svg"],
  ] as const)("replaces a known one that is wrong: %j as %s becomes %j", (suggestion, extension, name) => {
    expect(safeFileName(suggestion, extension)).toBe(name);
  });

  it.each([
    ["report.v2", "report.v2.pdf"],
    ["invoice 4.17", "invoice 4.17.pdf"],
    ["page.tar.gz", "page.tar.gz.pdf"],
    ["setup.exe", "setup.exe.pdf"],
  ])("is added after an unknown one: %j becomes %j", (suggestion, name) => {
    expect(safeFileName(suggestion, "pdf")).toBe(name);
  });
});

it.each([
  ["a.pdf.", "a.pdf"],
  ["a.pdf . ", "a.pdf"],
  ["a.png..", "a.pdf"],
  ["x.pdf\u200c", "x.pdf"],
])("the extension is recognised before trailing dots and spaces: %j becomes %j", (suggestion, name) => {
  expect(safeFileName(suggestion, "pdf")).toBe(name);
});

describe("a suggestion without a usable character", () => {
  it.each([
    ["none", null],
    ["an empty one", ""],
    ["blanks", "   "],
    ["dots", "..."],
    ["an extension alone", " .pdf"],
    ["a separator", "/"],
    ["controls", "\u0000\u001f"],
    ["quotes", '"""'],
    ["bidirectional marks", "\u202e\u2066"],
    ["a lone surrogate", "\ud800"],
    ["joiners with nothing to join", "\u200d\u200c"],
  ])("becomes the default name: %s", (_what, suggestion) => {
    expect(safeFileName(suggestion, "pdf")).toBe("document.pdf");
  });
});

describe("unsafe characters of a file name", () => {
  it.each([
    ["line ends and other controls", "a\r\nb\tc\u0000d\u007fe\u0085f", "abcdef.pdf"],
    ["path separators and drive colons", "../..\\c:/etc/passwd", "cetcpasswd.pdf"],
    ["quotes and header separators", "a\"b'c;d`e", "abcde.pdf"],
    ["what shells and Windows refuse", "a*b?c<d>e|f%g", "abcdefg.pdf"],
    ["bidirectional marks that turn an extension round", "invoice\u202efdp.exe", "invoicefdp.exe.pdf"],
    ["isolates, byte order marks and soft hyphens", "a\u2066b\u2069c\ufeffd\u00ade", "abcde.pdf"],
    ["line and paragraph separators", "a\u2028b\u2029c", "abc.pdf"],
    ["lone surrogates", "a\ud800b\udc00c", "abc.pdf"],
    ["private and unassigned characters", "a\ue000b\u0378c", "abc.pdf"],
  ])("are removed: %s", (_what, suggestion, name) => {
    expect(safeFileName(suggestion, "pdf")).toBe(name);
  });

  it("do not include letters of any script, joiners inside words or emoji", () => {
    for (const stem of ["Rechnung für Zoë", "請求書", "فاتورة", "می\u200cخواهم", "👩\u200d🚀 plan"]) {
      expect(safeFileName(stem, "pdf")).toBe(`${stem}.pdf`);
    }
  });

  it("include runs of spaces, which become one, and spaces and dots at both ends, which are removed", () => {
    expect(safeFileName("  a \u00a0  b  ", "pdf")).toBe("a b.pdf");
    expect(safeFileName(".hidden", "pdf")).toBe("hidden.pdf");
    expect(safeFileName("name. . .", "pdf")).toBe("name.pdf");
  });
});

describe("device names of Windows", () => {
  it.each([
    ...["con", "PRN", "aux.pdf", "Nul", "com1", "LPT9", "con.txt", "com0", "con .txt"],
    ...["COM\u00b9", "lpt\u00b2", "Com\u00b3.pdf", "CONIN$", "conout$", "CONOUT$.txt"],
  ])("are changed: %j", (suggestion) => {
    expect(safeFileName(suggestion, "pdf")).toMatch(/^_/);
  });

  it("are not names that only begin like one", () => {
    expect(safeFileName("console", "pdf")).toBe("console.pdf");
    for (const stem of ["com10", "com\u2074", "com\u00b9\u00b2", "conin", "conin$x", "a con"]) {
      expect(safeFileName(stem, "pdf")).toBe(`${stem}.pdf`);
    }
  });
});

describe("the length of a file name", () => {
  it.each(["pdf", "png", "svg", "zip"] as const)("is at most 150 bytes of UTF-8, including .%s", (extension) => {
    expect(safeFileName("a".repeat(4096), extension)).toBe(`${"a".repeat(146)}.${extension}`);
  });

  it("may be exactly 150 bytes", () => {
    const name = `${"a".repeat(146)}.pdf`;
    expect(safeFileName(name, "pdf")).toBe(name);
  });

  it("is cut between characters", () => {
    expect(safeFileName("é".repeat(200), "pdf")).toBe(`${"é".repeat(73)}.pdf`);
    expect(safeFileName("📄".repeat(200), "pdf")).toBe(`${"📄".repeat(36)}.pdf`);
  });

  it("is cut without a trailing space or dot", () => {
    expect(safeFileName(`${"a".repeat(144)}. b`, "pdf")).toBe(`${"a".repeat(144)}.pdf`);
  });
});

describe("Content-Disposition", () => {
  it.each([
    ["report", "pdf", "inline; filename=report.pdf"],
    ["two words", "png", 'inline; filename="two words.png"'],
    [null, "zip", "attachment; filename=document.zip"],
    ["Zo\u00eb", "pdf", "inline; filename=Zo_.pdf; filename*=UTF-8''Zo%C3%AB.pdf"],
    ["\u8acb\u6c42\u66f8", "svg", "inline; filename=___.svg; filename*=UTF-8''%E8%AB%8B%E6%B1%82%E6%9B%B8.svg"],
    ["\u{1f4c4}", "zip", "attachment; filename=_.zip; filename*=UTF-8''%F0%9F%93%84.zip"],
  ] as const)("of %j as %s is %s", (suggestion, extension, field) => {
    expect(contentDisposition(suggestion, extension)).toBe(field);
  });

  it("has an ASCII name for old clients that needs no further change", () => {
    for (const suggestion of [
      "\u00e9",
      "a \u0661",
      "\u00b9com1",
      "COM\u00b9",
      "\u200da\u200cb",
      "x.\u00e9",
      "\u00fcber alles",
    ]) {
      const plain = /filename="?([^";]+)"?/.exec(contentDisposition(suggestion, "pdf"))?.[1] ?? "";
      expect(plain).toMatch(/^[ -~]+$/);
      expect(safeFileName(plain, "pdf")).toBe(plain);
    }
  });
});
