/** The name under which a file is offered: what a caller suggests, made safe for headers and for every file system. */
import { describe, expect, it } from "vitest";
import { safeFileName } from "../../backend/file-name.ts";

describe("the extension of a file name", () => {
  it.each([
    ["report.pdf", "pdf", "report.pdf"],
    ["report", "pdf", "report.pdf"],
    ["report.PDF", "pdf", "report.pdf"],
    ["report.png", "pdf", "report.pdf"],
    ["report.jpeg", "zip", "report.zip"],
    ["report.typ", "svg", "report.svg"],
  ] as const)("replaces a known one that is wrong: %j as %s is %j", (suggestion, extension, name) => {
    expect(safeFileName(suggestion, extension)).toBe(name);
  });

  it.each([
    ["report.v2", "report.v2.pdf"],
    ["invoice 4.17", "invoice 4.17.pdf"],
    ["page.tar.gz", "page.tar.gz.pdf"],
    ["setup.exe", "setup.exe.pdf"],
  ])("keeps an unknown one and adds the right one: %j is %j", (suggestion, name) => {
    expect(safeFileName(suggestion, "pdf")).toBe(name);
  });
});

it.each([
  ["a.pdf.", "a.pdf"],
  ["a.pdf . ", "a.pdf"],
  ["a.png..", "a.pdf"],
  ["x.pdf\u200c", "x.pdf"],
])("finds the extension under what a name must not end in: %j is %j", (suggestion, name) => {
  expect(safeFileName(suggestion, "pdf")).toBe(name);
});

describe("a file name that holds nothing usable", () => {
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
  ])("are taken out: %s", (_what, suggestion, name) => {
    expect(safeFileName(suggestion, "pdf")).toBe(name);
  });

  it("leaves letters of every script, joiners inside words and emoji alone", () => {
    for (const stem of ["Rechnung für Zoë", "請求書", "فاتورة", "می\u200cخواهم", "👩\u200d🚀 plan"]) {
      expect(safeFileName(stem, "pdf")).toBe(`${stem}.pdf`);
    }
  });

  it("turns runs of blanks into one and takes blanks and dots from both ends", () => {
    expect(safeFileName("  a \u00a0  b  ", "pdf")).toBe("a b.pdf");
    expect(safeFileName(".hidden", "pdf")).toBe("hidden.pdf");
    expect(safeFileName("name. . .", "pdf")).toBe("name.pdf");
  });
});

describe("device names of Windows", () => {
  it.each(["con", "PRN", "aux.pdf", "Nul", "com1", "LPT9", "con.txt"])(
    "are not offered as they are: %j",
    (suggestion) => {
      expect(safeFileName(suggestion, "pdf")).toMatch(/^_/);
    },
  );

  it("leaves names alone that only begin like one", () => {
    expect(safeFileName("console", "pdf")).toBe("console.pdf");
    expect(safeFileName("com10", "pdf")).toBe("com10.pdf");
  });
});

describe("the length of a file name", () => {
  it.each(["pdf", "png", "svg", "zip"] as const)("is at most 150 bytes of UTF-8, .%s and all", (extension) => {
    expect(safeFileName("a".repeat(4096), extension)).toBe(`${"a".repeat(146)}.${extension}`);
  });

  it("keeps a name of exactly 150 bytes", () => {
    const name = `${"a".repeat(146)}.pdf`;
    expect(safeFileName(name, "pdf")).toBe(name);
  });

  it("never cuts a character in two", () => {
    expect(safeFileName("é".repeat(200), "pdf")).toBe(`${"é".repeat(73)}.pdf`);
    expect(safeFileName("📄".repeat(200), "pdf")).toBe(`${"📄".repeat(36)}.pdf`);
  });

  it("leaves no blank or dot at the cut", () => {
    expect(safeFileName(`${"a".repeat(144)}. b`, "pdf")).toBe(`${"a".repeat(144)}.pdf`);
  });
});
