/**
 * What is done to a finished PDF, by which tool, in bash. A line has $IN, $MORE (another document), $STAMP, $NOTE (a CSV file),
 * $XML (an invoice) and $OUT, and `python` and `node` have them as names. `$PDFBOX` and `$MUSTANG` are archives of Java.
 */
export const KINDS = {
  save: "Save, compress, change the title",
  merge: "Merge two documents",
  take: "Take the first page",
  stamp: "Put text or a page on top",
  attach: "Attach a file",
  encrypt: "Encrypt",
  invoice: "Make an e-invoice",
} as const;

export interface Operation {
  readonly tool: string;
  /** The call, as its users know it. */
  readonly call: string;
  readonly kind: keyof typeof KINDS;
  readonly run: string;
}

/** The packages that the script installs. qpdf, Ghostscript, mutool, exiftool and poppler are the machine's own. */
export const PACKAGES = {
  python: { pikepdf: "10.18.0", pypdf: "7.1.1", PyMuPDF: "2.0", "factur-x": "7.8", cryptography: "50.0.2" },
  node: { "pdf-lib": "1.17.1", "@libpdf/core": "0.4.2" },
  go: { pdfcpu: "0.15.0" },
} as const;

const QPDF = "qpdf --newline-before-endstream";
const GHOSTSCRIPT = "gs -q -sDEVICE=pdfwrite -o $OUT";
const PDFBOX = "java -jar $PDFBOX";

const shell = (kind: Operation["kind"], tool: string, calls: Readonly<Record<string, string>>): Operation[] =>
  Object.entries(calls).map(([call, run]) => ({ kind, tool, call, run }));

/** Python, after `import`. */
const python = (kind: Operation["kind"], tool: string, module: string, calls: Readonly<Record<string, string>>) =>
  Object.entries(calls).map(([call, run]) => ({
    ...{ kind, tool, call },
    run: `python - <<'END'\nimport os, ${module}\nIN, MORE, STAMP, NOTE, XML, OUT = (os.environ[name] for name in "IN MORE STAMP NOTE XML OUT".split())\n${run}\nEND`,
  }));

/** JavaScript that makes `pdf` of the document, which is then saved. */
const node = (kind: Operation["kind"], tool: string, load: string, calls: Readonly<Record<string, string>>) =>
  Object.entries(calls).map(([call, run]) => ({
    ...{ kind, tool, call },
    run: `node --input-type=module - <<'END'
import { readFileSync as read, writeFileSync } from "node:fs";
const { IN, MORE, STAMP, NOTE, OUT } = process.env;
${load}
${run}
writeFileSync(OUT, await pdf.save());
END`,
  }));

const PIKEPDF_NEW = "pdf = pikepdf.new()";
const PIKEPDF = "pdf = pikepdf.open(IN)";
const PYPDF = "pdf = pypdf.PdfWriter(clone_from=IN)";
const PYMUPDF = "pdf = pymupdf.open(IN)";
const END_OF = { pikepdf: "pdf.save(OUT)", pypdf: "pdf.write(OUT)", pymupdf: "pdf.save(OUT)" };

const pikepdf = (kind: Operation["kind"], calls: Readonly<Record<string, string>>) =>
  python(kind, "pikepdf", "pikepdf", calls);
const pypdf = (kind: Operation["kind"], calls: Readonly<Record<string, string>>) =>
  python(kind, "pypdf", "pypdf", calls);
const pymupdf = (kind: Operation["kind"], calls: Readonly<Record<string, string>>) =>
  python(kind, "PyMuPDF", "pymupdf", calls);

function pdfLib(): Operation[] {
  const tool = "pdf-lib";
  const load = `import { AFRelationship, PDFDocument, StandardFonts } from "${tool}";
const source = await PDFDocument.load(read(IN)), more = await PDFDocument.load(read(MORE));`;
  const into = "for (const page of await pdf.copyPages(more, more.getPageIndices())) pdf.addPage(page);";
  return [
    ...node("save", tool, load, {
      "`load`, `save`": "const pdf = source;",
      "`setTitle`": 'const pdf = source; pdf.setTitle("Other");',
    }),
    ...node("merge", tool, load, {
      "`copyPages` into the first": `const pdf = source; ${into}`,
      "`copyPages` into a new one": `const pdf = await PDFDocument.create();
for (const page of await pdf.copyPages(source, source.getPageIndices())) pdf.addPage(page);
${into}`,
    }),
    ...node("take", tool, load, {
      "`copyPages` into a new one": `const pdf = await PDFDocument.create(); pdf.addPage((await pdf.copyPages(source, [0]))[0]);`,
      "`removePage`": "const pdf = source; pdf.removePage(2); pdf.removePage(1);",
    }),
    ...node("stamp", tool, load, {
      "`embedPdf`, `drawPage`": "const pdf = source; pdf.getPage(0).drawPage((await pdf.embedPdf(read(STAMP)))[0]);",
      "`drawText`, Helvetica": `const pdf = source;
pdf.getPage(0).drawText("DRAFT", { x: 50, y: 50, font: await pdf.embedFont(StandardFonts.Helvetica) });`,
    }),
    ...node("attach", tool, load, {
      "`attach` with `afRelationship`": `const pdf = source;
await pdf.attach(read(NOTE), "more.csv", { mimeType: "text/csv", description: "More", afRelationship: AFRelationship.Data });`,
    }),
  ];
}

const LIBPDF = 'import { PDF } from "@libpdf/core";\nconst source = await PDF.load(read(IN));';

export const OPERATIONS: readonly Operation[] = [
  ...shell("save", "qpdf", {
    "`--linearize`": "qpdf --linearize $IN $OUT",
    "`--linearize --newline-before-endstream`": `${QPDF} --linearize $IN $OUT`,
  }),
  ...pikepdf("save", {
    "`save(linearize=True)`": `${PIKEPDF}; pdf.save(OUT, linearize=True)`,
    "`open_metadata`, title": `${PIKEPDF}
with pdf.open_metadata() as metadata: metadata["dc:title"] = "Other"
${END_OF.pikepdf}`,
    "`docinfo`, title": `${PIKEPDF}; pdf.docinfo["/Title"] = "Other"; ${END_OF.pikepdf}`,
  }),
  ...pypdf("save", {
    "`PdfWriter(clone_from=…)`": `${PYPDF}; ${END_OF.pypdf}`,
    "`add_metadata`, title": `${PYPDF}; pdf.add_metadata({"/Title": "Other"}); ${END_OF.pypdf}`,
    "`incremental=True`, title": `pdf = pypdf.PdfWriter(IN, incremental=True); pdf.add_metadata({"/Title": "Other"}); ${END_OF.pypdf}`,
  }),
  ...pymupdf("save", {
    "`save(garbage=4, deflate=True)`": `${PYMUPDF}; pdf.save(OUT, garbage=4, deflate=True)`,
    "`set_metadata`, title": `${PYMUPDF}; pdf.set_metadata({**pdf.metadata, "title": "Other"}); ${END_OF.pymupdf}`,
  }),
  ...node("save", "@libpdf/core", LIBPDF, {
    "`load`, `save`": "const pdf = source;",
    "`setTitle`": 'const pdf = source; pdf.setTitle("Other");',
  }),
  ...shell("save", "pdfcpu", {
    "`optimize`": "pdfcpu optimize $IN $OUT",
    "`properties add`": "cp $IN $OUT && pdfcpu properties add $OUT 'Other = 1'",
  }),
  ...shell("save", "Ghostscript", {
    "`-sDEVICE=pdfwrite`": `${GHOSTSCRIPT} $IN`,
    "`-dPDFA=2`": `${GHOSTSCRIPT} -dPDFA=2 -sColorConversionStrategy=RGB -dPDFACompatibilityPolicy=1 $IN`,
  }),
  ...shell("save", "mutool", { "`clean -gggg -z`": "mutool clean -gggg -z $IN $OUT" }),
  ...shell("save", "exiftool", { "`-Title=`": "exiftool -q -Title=Other -o $OUT $IN" }),
  ...shell("merge", "qpdf", {
    "`a --pages a b --`": `${QPDF} $IN --pages $IN $MORE -- $OUT`,
    "`--empty --pages a b --`": `${QPDF} --empty --pages $IN $MORE -- $OUT`,
  }),
  ...pikepdf("merge", {
    "`pages.extend`": `${PIKEPDF}; more = pikepdf.open(MORE); pdf.pages.extend(more.pages); ${END_OF.pikepdf}`,
    "`new()`, `pages.extend`": `${PIKEPDF_NEW}; sources = [pikepdf.open(IN), pikepdf.open(MORE)]
for source in sources: pdf.pages.extend(source.pages)
${END_OF.pikepdf}`,
  }),
  ...pypdf("merge", {
    "`append`": `pdf = pypdf.PdfWriter(); pdf.append(IN); pdf.append(MORE); ${END_OF.pypdf}`,
    "`clone_from`, `append`": `${PYPDF}; pdf.append(MORE); ${END_OF.pypdf}`,
  }),
  ...pymupdf("merge", {
    "`insert_pdf`": `${PYMUPDF}; pdf.insert_pdf(pymupdf.open(MORE)); ${END_OF.pymupdf}`,
  }),
  ...node("merge", "@libpdf/core", LIBPDF, {
    "`PDF.merge`": "const pdf = await PDF.merge([read(IN), read(MORE)]);",
    "`copyPagesFrom`": `const pdf = source, more = await PDF.load(read(MORE));
await pdf.copyPagesFrom(more, [...Array(more.getPageCount()).keys()]);`,
  }),
  ...shell("merge", "pdfcpu", { "`merge`": "pdfcpu merge $OUT $IN $MORE" }),
  ...shell("merge", "Ghostscript", { "`-sDEVICE=pdfwrite`": `${GHOSTSCRIPT} $IN $MORE` }),
  ...shell("merge", "mutool", { "`merge`": "mutool merge -o $OUT $IN $MORE" }),
  ...shell("merge", "poppler", { "`pdfunite`": "pdfunite $IN $MORE $OUT" }),
  ...shell("merge", "PDFBox", { "`merge`": `${PDFBOX} merge -i $IN -i $MORE -o $OUT` }),
  ...shell("take", "qpdf", {
    "`a --pages . 1 --`": `${QPDF} $IN --pages . 1 -- $OUT`,
    "`--empty --pages a 1 --`": `${QPDF} --empty --pages $IN 1 -- $OUT`,
  }),
  ...pikepdf("take", {
    "`del pages[1:]`": `${PIKEPDF}; del pdf.pages[1:]; ${END_OF.pikepdf}`,
    "`new()`, `pages.append`": `${PIKEPDF_NEW}; source = pikepdf.open(IN); pdf.pages.append(source.pages[0]); ${END_OF.pikepdf}`,
  }),
  ...pypdf("take", {
    "`add_page`": `pdf = pypdf.PdfWriter(); pdf.add_page(pypdf.PdfReader(IN).pages[0]); ${END_OF.pypdf}`,
  }),
  ...pymupdf("take", {
    "`select`": `${PYMUPDF}; pdf.select([0]); ${END_OF.pymupdf}`,
    "`delete_pages`": `${PYMUPDF}; pdf.delete_pages(1, 2); ${END_OF.pymupdf}`,
  }),
  ...node("take", "@libpdf/core", LIBPDF, {
    "`extractPages`": "const pdf = await source.extractPages([0]);",
    "`removePage`": "const pdf = source; pdf.removePage(2); pdf.removePage(1);",
  }),
  ...shell("take", "pdfcpu", { "`trim`": "pdfcpu trim --pages 1 $IN $OUT" }),
  ...shell("take", "mutool", { "`clean a b 1`": "mutool clean $IN $OUT 1" }),
  ...shell("take", "Ghostscript", { "`-dLastPage=1`": `${GHOSTSCRIPT} -dLastPage=1 $IN` }),
  ...shell("take", "poppler", { "`pdfseparate`": "pdfseparate -f 1 -l 1 $IN $OUT" }),
  ...shell("take", "PDFBox", {
    "`split`": `${PDFBOX} split -i $IN -startPage=1 -endPage=1 -outputPrefix=$OUT && mv $OUT-1.pdf $OUT`,
  }),
  ...shell("stamp", "qpdf", { "`--overlay`": `${QPDF} $IN --overlay $STAMP --to=1 -- $OUT` }),
  ...pikepdf("stamp", {
    "`add_overlay`": `${PIKEPDF}; stamp = pikepdf.open(STAMP); pdf.pages[0].add_overlay(stamp.pages[0]); ${END_OF.pikepdf}`,
  }),
  ...pypdf("stamp", {
    "`merge_page`": `${PYPDF}; pdf.pages[0].merge_page(pypdf.PdfReader(STAMP).pages[0]); ${END_OF.pypdf}`,
  }),
  ...pymupdf("stamp", {
    "`show_pdf_page`": `${PYMUPDF}; pdf[0].show_pdf_page(pdf[0].rect, pymupdf.open(STAMP), 0); ${END_OF.pymupdf}`,
    "`insert_text`": `${PYMUPDF}; pdf[0].insert_text((50, 50), "DRAFT"); ${END_OF.pymupdf}`,
  }),
  ...node("stamp", "@libpdf/core", LIBPDF, {
    "`embedPage`, `drawPage`": `const pdf = source, stamp = await PDF.load(read(STAMP));
pdf.getPage(0).drawPage(await pdf.embedPage(stamp, 0));`,
  }),
  ...shell("stamp", "pdfcpu", {
    "`stamp add --mode pdf`": "pdfcpu stamp add --pages 1 --mode pdf $STAMP 'scale:1 abs, rot:0' $IN $OUT",
    "`stamp add --mode text`": "pdfcpu stamp add --pages 1 --mode text DRAFT 'scale:.5' $IN $OUT",
  }),
  ...shell("stamp", "PDFBox", {
    "`overlay`": `${PDFBOX} overlay -i $IN -page=1=$STAMP -position=FOREGROUND -o $OUT`,
  }),
  ...shell("attach", "qpdf", {
    "`--add-attachment`": `${QPDF} $IN --add-attachment $NOTE --mimetype=text/csv -- $OUT`,
  }),
  ...pikepdf("attach", {
    "`attachments`": `${PIKEPDF}
pdf.attachments["more.csv"] = pikepdf.AttachedFileSpec(pdf, open(NOTE, "rb").read(), filename="more.csv", description="More", mime_type="text/csv", relationship=pikepdf.Name.Data)
${END_OF.pikepdf}`,
  }),
  ...pypdf("attach", {
    "`add_attachment`": `${PYPDF}; pdf.add_attachment("more.csv", open(NOTE, "rb").read()); ${END_OF.pypdf}`,
  }),
  ...pymupdf("attach", {
    "`embfile_add`": `${PYMUPDF}; pdf.embfile_add("more.csv", open(NOTE, "rb").read(), desc="More"); ${END_OF.pymupdf}`,
  }),
  ...node("attach", "@libpdf/core", LIBPDF, {
    "`addAttachment`": `const pdf = source;
pdf.addAttachment("more.csv", read(NOTE), { mimeType: "text/csv", description: "More" });`,
  }),
  ...shell("attach", "pdfcpu", { "`attachments add`": "cp $IN $OUT && pdfcpu attachments add $OUT $NOTE" }),
  ...shell("attach", "poppler", { "`pdfattach`": "pdfattach $IN $NOTE $OUT" }),
  ...shell("encrypt", "qpdf", { "`--encrypt`, 256 bits": `${QPDF} --encrypt '' owner 256 -- $IN $OUT` }),
  ...pypdf("encrypt", {
    "`encrypt`, AES-256": `${PYPDF}; pdf.encrypt("", "owner", algorithm="AES-256"); ${END_OF.pypdf}`,
  }),
  ...shell("encrypt", "pdfcpu", { "`encrypt`": "pdfcpu encrypt --opw owner $IN $OUT" }),
  ...shell("encrypt", "PDFBox", { "`encrypt`": `${PDFBOX} encrypt -O=owner -i $IN -o $OUT` }),
  ...python("invoice", "factur-x", "facturx", {
    "`generate_from_file`": 'facturx.generate_from_file(IN, open(XML, "rb").read(), output_pdf_file=OUT)',
  }),
  ...shell("invoice", "Mustang", {
    "`--action combine`":
      "java -jar $MUSTANG --action combine --source $IN --source-xml $XML --out $OUT --format fx --version 1 --profile E --no-additional-attachments --disable-file-logging",
  }),
  ...pdfLib(),
];
