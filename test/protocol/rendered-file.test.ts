/** The file name of a download: the caller's suggestion, made safe for headers and for every file system. */
import { describe, expect, it } from "vitest";
import type { FileExtension } from "../../protocol/file-types.ts";
import { contentDisposition, safeFileName } from "../../protocol/rendered-file.ts";

const A_146 = "a".repeat(146);

it.each<[rule: string, names: readonly (readonly [suggestion: string, name: string, extension?: FileExtension])[]]>([
  [
    "has its extension, or gets it",
    [
      ["report.pdf", "report.pdf"],
      ["report", "report.pdf"],
      ["report.PDF", "report.pdf"],
    ],
  ],
  [
    "gets the extension of its content for a known one that is wrong",
    [
      ["report.png", "report.pdf"],
      ["report.jpeg", "report.zip", "zip"],
      ["report.typ", "report.svg", "svg"],
    ],
  ],
  [
    "keeps an unknown extension before its own",
    [
      ["report.v2", "report.v2.pdf"],
      ["invoice 4.17", "invoice 4.17.pdf"],
      ["page.tar.gz", "page.tar.gz.pdf"],
      ["setup.exe", "setup.exe.pdf"],
    ],
  ],
  [
    "has its extension recognised before dots, spaces and joiners at the end",
    [
      ["a.pdf.", "a.pdf"],
      ["a.pdf . ", "a.pdf"],
      ["a.png..", "a.pdf"],
      ["x.pdf\u200c", "x.pdf"],
    ],
  ],
  ["has no line ends or other controls", [["a\r\nb\tc\u0000d\u007fe\u0085f", "abcdef.pdf"]]],
  ["has no path separators and drive colons", [["../..\\c:/etc/passwd", "cetcpasswd.pdf"]]],
  ["has no quotes and header separators", [["a\"b'c;d`e", "abcde.pdf"]]],
  ["has nothing that shells and Windows refuse", [["a*b?c<d>e|f%g", "abcdefg.pdf"]]],
  ["has no bidirectional marks that turn an extension round", [["invoice\u202efdp.exe", "invoicefdp.exe.pdf"]]],
  ["has no isolates, byte order marks and soft hyphens", [["a\u2066b\u2069c\ufeffd\u00ade", "abcde.pdf"]]],
  ["has no line and paragraph separators", [["a\u2028b\u2029c", "abc.pdf"]]],
  ["has no lone surrogates", [["a\ud800b\udc00c", "abc.pdf"]]],
  ["has no private and unassigned characters", [["a\ue000b\u0378c", "abc.pdf"]]],
  [
    "has runs of spaces as one, and no spaces and dots at both ends",
    [
      ["  a \u00a0  b  ", "a b.pdf"],
      [".hidden", "hidden.pdf"],
      ["name. . .", "name.pdf"],
    ],
  ],
  [
    "has at most 150 bytes of UTF-8",
    (["pdf", "png", "svg", "zip"] as const).map((extension) => ["a".repeat(4096), `${A_146}.${extension}`, extension]),
  ],
  ["may have exactly 150 bytes", [[`${A_146}.pdf`, `${A_146}.pdf`]]],
  [
    "is cut between characters",
    [
      ["é".repeat(200), `${"é".repeat(73)}.pdf`],
      ["📄".repeat(200), `${"📄".repeat(36)}.pdf`],
    ],
  ],
  ["is cut without a space or dot at the end", [[`${"a".repeat(144)}. b`, `${"a".repeat(144)}.pdf`]]],
])("a file name %s", (_rule, names) => {
  for (const [suggestion, name, extension = "pdf"] of names) expect(safeFileName(suggestion, extension)).toBe(name);
});

it.each([
  ...["Rechnung für Zoë", "請求書", "فاتورة", "می\u200cخواهم", "👩\u200d🚀 plan"],
  // They only begin like the name of a device.
  ...["console", "com10", "com\u2074", "com\u00b9\u00b2", "conin", "conin$x", "a con"],
])("a file name keeps the letters of any script, joiners inside words and emoji: %s", (stem) => {
  expect(safeFileName(stem, "pdf")).toBe(`${stem}.pdf`);
});

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
])("a suggestion without a usable character becomes the default name: %s", (_what, suggestion) => {
  expect(safeFileName(suggestion, "pdf")).toBe("document.pdf");
});

it.each([
  ...["con", "PRN", "aux.pdf", "Nul", "com1", "LPT9", "con.txt", "com0", "con .txt"],
  ...["COM\u00b9", "lpt\u00b2", "Com\u00b3.pdf", "CONIN$", "conout$", "CONOUT$.txt"],
])("a device name of Windows is changed: %j", (suggestion) => {
  expect(safeFileName(suggestion, "pdf")).toMatch(/^_/);
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
