/** `npm run bench:pdf-tools`: what other programs leave of PDF/A and PDF/UA, as tables in bench/pdf-tools.md. */
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { downloadMavenArtifact } from "../scripts/pinned/maven-artifact.ts";
import { invoiceXml } from "../test/long/pdf/invoice-xml.ts";
import { fetchValidators } from "../test/long/pdf/validators.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { findOnPath } from "../typst/programs.mjs";
import { KINDS, OPERATIONS, type Operation, PACKAGES } from "./pdf-tools/operations.ts";

const PAGE = new URL("pdf-tools.md", import.meta.url);
const DEBIAN = {
  ...{ qpdf: "qpdf", gs: "ghostscript", mutool: "mupdf-tools", exiftool: "libimage-exiftool-perl" },
  ...{ pdfunite: "poppler-utils", java: "default-jre-headless", mvn: "maven", go: "golang", python3: "python3-venv" },
};
/** How the tools of the machine say which version they are. */
const VERSIONS = {
  qpdf: "qpdf --version",
  Ghostscript: "gs --version",
  mutool: "mutool -v",
  exiftool: "exiftool -ver",
  poppler: "pdfinfo -v",
};
const INSTALL_TIMEOUT_MILLISECONDS = 1_200_000;
const RUN_TIMEOUT_MILLISECONDS = 120_000;

/** Three pages with a word each, by which the tags are recognized. */
const template = (
  word: string,
  more = "",
) => `#set document(title: "${word}", date: datetime(year: 2026, month: 11, day: 28))
#set text(lang: "en")
#for page in range(1, 4) [
  = ${word}#page
  Some text on a page.
  ${more}
  #if page < 3 { pagebreak() }
]`;
const DOCUMENTS = {
  in: template("ALPHA"),
  attached: `${template("ALPHA")}
#pdf.attach("first.csv", bytes("a;b"), mime-type: "text/csv", relationship: "data", description: "First")`,
  // Of the same template, and of another: a link, a table and a footnote have tags of their own.
  like: template("BETA"),
  unlike: template("GAMMA", 'A #link("https://example.com")[link]#footnote[A note.]\n  #table(columns: 2, [a], [b])'),
  stamp:
    '#set document(title: "Stamp", date: datetime(year: 2026, month: 11, day: 28))\n#set text(lang: "en")\n#set page(width: 200pt, height: 60pt)\nSTAMP',
};
type DocumentName = keyof typeof DOCUMENTS;

/** What an operation is tried on, and the standard of veraPDF that is asked about besides PDF/UA-1. */
const INPUTS = {
  "2b": { standards: "a-2b,ua-1", input: "in", more: "like" },
  unlike: { standards: "a-2b,ua-1", input: "in", more: "unlike" },
  "3b": { standards: "a-3b,ua-1", input: "attached", more: "like" },
  "1b": { standards: "a-1b", input: "in", more: "like" },
} as const satisfies Record<string, { standards: string; input: DocumentName; more: DocumentName }>;
type InputName = keyof typeof INPUTS;

/** On what an operation of a kind is tried; of the first, the table says what became of standards and tags. */
const INPUTS_OF = {
  save: ["2b", "3b", "1b"],
  merge: ["2b", "3b", "unlike"],
  take: ["2b", "3b"],
  stamp: ["2b", "3b"],
  attach: ["3b"],
  encrypt: ["2b", "3b"],
  invoice: ["3b"],
} as const satisfies Record<Operation["kind"], readonly InputName[]>;

interface Made {
  readonly path: string;
  /** The exit code and what was written to standard error, if no file was made. */
  readonly refusal: string | null;
  readonly pages: number;
  readonly words: readonly string[];
  readonly attachments: string;
}

/** @throws Error that says what to install */
function requirePrograms(): void {
  const missing = Object.entries(DEBIAN).filter(([name]) => findOnPath(name).length === 0);
  if (missing.length === 0) return;
  const packages = missing.map(([, debian]) => debian).join(" ");
  throw new Error(
    `${missing.map(([name]) => name).join(", ")} not found. On Debian and Ubuntu: apt-get install ${packages}`,
  );
}

/** @returns the environment in which the lines of the operations run */
async function install(folder: string): Promise<Record<string, string>> {
  const options = { cwd: folder, stdin: "ignore", timeout: INSTALL_TIMEOUT_MILLISECONDS } as const;
  const wanted = (packages: Readonly<Record<string, string>>, sign: string) =>
    Object.entries(packages).map(([name, version]) => `${name}${sign}${version}`);
  process.stderr.write("installing the tools …\n");
  await execa("python3", ["-m", "venv", "venv"], options);
  await execa(
    join(folder, "venv/bin/pip"),
    ["install", "--quiet", "--only-binary=:all:", ...wanted(PACKAGES.python, "==")],
    options,
  );
  await execa("npm", ["install", "--ignore-scripts", "--prefix", ".", ...wanted(PACKAGES.node, "@")], options);
  const pdfcpu = `github.com/pdfcpu/pdfcpu/cmd/pdfcpu@v${PACKAGES.go.pdfcpu}`;
  await execa("go", ["install", pdfcpu], { ...options, env: { GOBIN: join(folder, "venv/bin") } });
  return {
    PATH: `${join(folder, "venv/bin")}:${process.env.PATH}`,
    XDG_CONFIG_HOME: folder,
    PDFBOX: await downloadMavenArtifact("pdfbox-app"),
    MUSTANG: await downloadMavenArtifact("Mustang-CLI"),
    NOTE: join(folder, "more.csv"),
    XML: join(folder, "factur-x.xml"),
  };
}

/** Renders each document as each of the inputs, in a folder of the input's name. */
async function renderInputs(folder: string): Promise<void> {
  const typst = await requireTypst();
  await writeFile(join(folder, "more.csv"), "a;b\n");
  await writeFile(join(folder, "factur-x.xml"), invoiceXml("EN 16931"));
  for (const [name, { standards, input, more }] of Object.entries(INPUTS)) {
    await mkdir(join(folder, name));
    for (const document of [input, more, "stamp"] as const) {
      const args = ["compile", "--ignore-system-fonts", "--pdf-standard", standards, "-"];
      await execa(typst, [...args, join(folder, name, `${document}.pdf`)], { input: DOCUMENTS[document] });
    }
  }
}

async function perform(operation: Operation, input: InputName, folder: string, env: Record<string, string>) {
  const path = join(folder, input, `out-${OPERATIONS.indexOf(operation)}.pdf`);
  const { input: first, more } = INPUTS[input];
  const files = { IN: `${first}.pdf`, MORE: `${more}.pdf`, STAMP: "stamp.pdf" };
  const paths = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(folder, input, file)]));
  const options = { cwd: folder, reject: false, stdin: "ignore", timeout: RUN_TIMEOUT_MILLISECONDS } as const;
  const run = await execa("bash", ["-e", "-c", operation.run], { ...options, env: { ...env, ...paths, OUT: path } });
  const made = await stat(path).catch(() => null);
  const refusal = run.exitCode === 0 && made !== null ? null : `exit code ${run.exitCode}: ${run.stderr.slice(-300)}`;
  if (refusal !== null) process.stderr.write(`${operation.tool} ${operation.call}, ${input}: ${refusal}\n`);
  const read = async (...command: [string, ...string[]]) => {
    const [program, ...args] = command;
    return (await execa(program, [...args, path], { reject: false, stdin: "ignore" })).stdout;
  };
  // Lines of text; a line of a tag may quote the title that the tag has without any text.
  const tagged = (await read("pdfinfo", "-struct-text")).match(/^ *".*/gm)?.join("\n") ?? "";
  return {
    path,
    refusal,
    pages: Number(/^Pages: +(\d+)/m.exec(await read("pdfinfo"))?.[1] ?? 0),
    words: [...new Set(tagged.match(/(?:ALPHA|BETA|GAMMA)\d|STAMP|DRAFT/g))],
    attachments: await read("pdfdetach", "-list"),
  } satisfies Made;
}

/** @returns the rules of the standard that each file breaks; none has the files that veraPDF could not read */
async function judge(flavour: string, files: readonly string[]): Promise<Map<string, readonly string[]>> {
  process.stderr.write(`veraPDF: ${files.length} files by ${flavour} …\n`);
  const veraPdf = ["-cp", (await fetchValidators()).veraPdf, "org.verapdf.apps.GreenfieldCliWrapper"];
  const options = { reject: false, stdin: "ignore", maxBuffer: 512 * 1024 ** 2 } as const;
  const args = [...veraPdf, "--flavour", flavour, "--format", "json", ...files];
  const { report } = JSON.parse((await execa("java", args, options)).stdout);
  const broken = new Map<string, readonly string[]>();
  for (const { itemDetails, validationResult } of report.jobs) {
    if (validationResult === undefined) continue;
    const rules: { clause: string; testNumber: number }[] = validationResult[0].details.ruleSummaries;
    // veraPDF lists them in another order each time.
    const names = new Set(rules.map(({ clause, testNumber }) => `${clause}-${testNumber}`));
    broken.set(itemDetails.name, [...names].sort(new Intl.Collator("en", { numeric: true }).compare));
  }
  return broken;
}

type Verdicts = ReadonlyMap<string, readonly string[]>;

function verdictOf(rules: readonly string[] | undefined): string {
  if (rules === undefined) return "not read by veraPDF";
  return rules.length === 0 ? "yes" : `**no** (${rules.slice(0, 2).join(", ")}${rules.length > 2 ? ", …" : ""})`;
}

function tagsOf({ pages, words }: Made): string {
  const known = words.filter((word) => /\d/.test(word)).length;
  return `${known === pages ? known : `**${known}**`} of ${pages}${words.length > known ? ", and the stamp" : ""}`;
}

/** Whether the attachment is still listed, and still associated with the document, as PDF/A-3 wants it. */
function attachmentOf(made: Made, rules: readonly string[] = []): string {
  if (!made.attachments.includes("first.csv")) return "**lost**";
  return rules.some((rule) => rule.startsWith("6.8-")) ? "**not associated**" : "kept";
}

function rowOf(
  operation: Operation,
  made: ReadonlyMap<InputName, Made>,
  byPdfA: Verdicts,
  byPdfUa: Verdicts,
): string[] {
  const [first] = INPUTS_OF[operation.kind];
  const main = made.get(first);
  if (main === undefined || main.refusal !== null) return [operation.tool, operation.call, "refused"];
  const attached = made.get("3b");
  const extra = made.get(operation.kind === "save" ? "1b" : "unlike");
  const verdicts = operation.kind === "save" ? byPdfA : byPdfUa;
  return [
    ...[operation.tool, operation.call, verdictOf(byPdfA.get(main.path)), verdictOf(byPdfUa.get(main.path))],
    ...[tagsOf(main), attached === undefined ? "" : attachmentOf(attached, byPdfA.get(attached.path))],
    ...(extra === undefined ? [] : [verdictOf(verdicts.get(extra.path))]),
  ];
}

const EXTRA_COLUMN = { save: ["PDF/A-1b"], merge: ["PDF/UA-1, if the templates differ"] };

async function versions(): Promise<string> {
  const installed = Object.values(PACKAGES).flatMap((packages) => Object.entries<string>(packages));
  const own = await Promise.all(
    Object.entries(VERSIONS).map(async ([name, command]) => {
      const { all } = await execa("sh", ["-c", command], { all: true });
      return [name, /\d[\d.]+\d/.exec(all)?.[0] ?? ""] as const;
    }),
  );
  const java = [
    ["PDFBox", "3.0.8"],
    ["Mustang", "2.26.0"],
  ] as const;
  const others = [...own, ...installed, ...java].filter(([name]) => name !== "cryptography");
  return others.map(([name, version]) => `${name} ${version}`).join(", ");
}

requirePrograms();
const folder = await mkdtemp(join(tmpdir(), "pdf-tools-"));
try {
  const env = await install(folder);
  await renderInputs(folder);
  const results = new Map<Operation, Map<InputName, Made>>();
  for (const operation of OPERATIONS) {
    const made = new Map<InputName, Made>();
    for (const input of INPUTS_OF[operation.kind]) made.set(input, await perform(operation, input, folder, env));
    results.set(operation, made);
  }
  const filesOf = (...inputs: readonly InputName[]) =>
    [...results.values()]
      .flatMap((made) => inputs.flatMap((input) => made.get(input) ?? []))
      .flatMap(({ path, refusal }) => (refusal === null ? [path] : []));
  const byPdfA = new Map([
    ...(await judge("2b", filesOf("2b"))),
    ...(await judge("3b", filesOf("3b"))),
    ...(await judge("1b", filesOf("1b"))),
  ]);
  const byPdfUa = await judge("ua1", filesOf("2b", "unlike", "3b"));
  const tables = Object.entries(KINDS).map(([kind, title]) => {
    const extra = kind === "save" || kind === "merge" ? EXTRA_COLUMN[kind] : [];
    const head = ["Tool", "Call", "PDF/A", "PDF/UA-1", "pages with tags", "attachment", ...extra];
    const rows = [...results].filter(([operation]) => operation.kind === kind);
    return `## ${title}\n\n${formatTable(
      head,
      rows.map(([operation, made]) => rowOf(operation, made, byPdfA, byPdfUa)),
    )}`;
  });
  const text = `Made by \`npm run bench:pdf-tools\` on ${new Date().toISOString().slice(0, 10)}, with ${await versions()}; judged by veraPDF 1.30.2.\n\n${tables.join("\n")}`;
  process.stdout.write(text);
  const page = await readFile(PAGE, "utf8");
  await writeFile(
    PAGE,
    page.replace(/(<!-- tools -->\n)[\s\S]*?(<!-- end of tools -->)/, (_, start, end) => `${start}\n${text}\n${end}`),
  );
} finally {
  if (process.env.KEEP === undefined) await rm(folder, { recursive: true, force: true });
}
