/** The programs of docs/other-programs.md that write Typst: what each writes compiles, and is PDF/UA-1 where the page says so. */
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { typstPath } from "../../support/backend/typst-path.ts";
import { blocksOf } from "../../support/readers/markdown-blocks.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { startTestService, type TestService } from "../../support/service/test-service.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const page = await readFile(join(PROJECT, "docs/other-programs.md"), "utf8");
const blocks = blocksOf(page);

/** In the versions of the page; what they import besides, in versions that go with them. */
const PYTHON_PACKAGES = [
  "pypandoc_binary==1.17",
  "typ-tables==0.4.0",
  "tytable==4.2.0",
  "pypst==0.8.1",
  "pptx-typst==0.1.0",
  "pandas==3.1.1",
];
const NODE_PACKAGE = "tex2typst@0.6.2";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

const REPORT = `---
title: Opening hours
lang: en
---

# Opening hours

The library is **open**[^1] on weekdays: <https://example.com/hours>. $a^2 + b^2 = c^2$

![The "entrance" of the library](entrance.png){width=3cm}

| Day | Hours |
|-----|------:|
| Mon | 9–18  |

[^1]: Not on holidays.
`;

const PAPER = String.raw`\documentclass{article}
\usepackage{graphicx}
\title{Opening hours}\author{Ada Lovelace}
\begin{document}
\maketitle
\section{Hours}\label{sec:hours}
See section~\ref{sec:hours} and \cite{knuth}.
\begin{equation}\label{eq:a} a^2 + b^2 = c^2 \end{equation}
\begin{figure}\includegraphics[width=.5\textwidth,alt={The entrance}]{entrance.png}\caption{Entrance}\end{figure}
\begin{tabular}{lr} Day & Hours \\ \hline Mon & 9 \\ \end{tabular}
\end{document}
`;

const BIBLIOGRAPHY =
  "@book{knuth, author={Knuth, Donald E.}, title={The TeXbook}, year={1984}, publisher={Addison-Wesley}}\n";

const NOTEBOOK = {
  cells: [
    { cell_type: "markdown", metadata: {}, source: ["# Opening hours\n", "\n", "$x^2$"] },
    {
      cell_type: "code",
      execution_count: 1,
      metadata: {},
      source: ["print(42)"],
      outputs: [
        { output_type: "display_data", metadata: {}, data: { "image/png": PNG } },
        { output_type: "stream", name: "stdout", text: ["42\n"] },
      ],
    },
  ],
  metadata: { language_info: { name: "python" } },
  nbformat: 4,
  nbformat_minor: 5,
};

const TALK = `
from pptx import Presentation
from pptx.util import Inches
talk = Presentation()
slide = talk.slides.add_slide(talk.slide_layouts[1])
slide.shapes.title.text = "Opening hours"
slide.placeholders[1].text_frame.text = "Monday to Friday"
slide.shapes.add_picture("entrance.png", Inches(1), Inches(4), Inches(2))
talk.save("talk.pptx")
`;

let service: TestService;
let folder: string;
beforeAll(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), "other-formats-"));
  await mkdir(join(folder, "bin"));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${PROJECT}clients/command-line/main.ts' "$@"\n`;
  await writeFile(join(folder, "bin/document-rendering"), program, { mode: 0o755 });
  await symlink(process.execPath, join(folder, "bin/node"));
  await run(`python3 -m venv venv && venv/bin/pip install --quiet ${PYTHON_PACKAGES.join(" ")}`);
  await run("ln -s \"$(python -c 'import pypandoc; print(pypandoc.get_pandoc_path())')\" bin/pandoc");
  await run(`npm install --no-audit --no-fund --prefix . ${NODE_PACKAGE}`);
  await copyFile(join(PROJECT, "examples/invoice/assets/logo.png"), join(folder, "entrance.png"));
  for (const [name, content] of Object.entries({
    "report.md": REPORT,
    "paper.tex": PAPER,
    "refs.bib": BIBLIOGRAPHY,
    "notebook.ipynb": JSON.stringify(NOTEBOOK),
    "accessible.lua": await readFile(join(PROJECT, "examples/programs/accessible.lua"), "utf8"),
  })) {
    await writeFile(join(folder, name), content);
  }
  await run("pandoc report.md --standalone --output letter.docx");
  await run("python -", TALK);
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

function block(heading: string, language: string, index = 0): string {
  const found = blocks.filter((one) => one.language === language && one.place.startsWith(`${heading}, line `))[index];
  if (found === undefined) throw new Error(`no ${language} below ${heading}`);
  return found.text;
}

async function run(commands: string, input = ""): Promise<string> {
  const { stdout } = await execa("sh", ["-e", "-c", commands], {
    cwd: folder,
    input,
    env: {
      PATH: `${folder}/bin:${folder}/venv/bin:${process.env.PATH}`,
      HOME: join(folder, "home"),
      SERVICE_URL: service.edge.url.origin,
      SERVICE_API_TOKEN: API_TOKEN,
      SERVICE_TYPST_BIN: typstPath(),
      NODE_DISABLE_COMPILE_CACHE: "1",
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
    },
  });
  return stdout;
}

const textOf = async (name: string) => (await readPdf(await readFile(join(folder, name)))).pageTexts.join(" ");

const PDF_UA = "document-rendering check . --standards a-2a,ua-1";

describe("pandoc", () => {
  it.each([
    ["Markdown", 0, "report.pdf", "The “entrance” of the library"],
    ["Word", 1, "letter.pdf", "Not on holidays"],
    ["LaTeX", 2, "paper.pdf", "Knuth 1984"],
  ])("%s becomes a document", async (_from, index, name, text) => {
    await run(block("Markdown, Word, LaTeX, notebooks", "sh", index));
    expect(await textOf(name)).toContain(text);
  });

  it("a notebook becomes a document with its outputs", async () => {
    expect(await textOf("notebook.pdf")).toMatch(/print \( 42 \) 42/);
  });

  it("the result is PDF/UA-1 with the filter alone, from Markdown, Word and LaTeX", async () => {
    await expect(run("document-rendering check report.typ --standards ua-1")).rejects.toThrow(/missing alt text/);
    await run(block("What PDF/UA-1 needs", "sh"));
    const filtered = (from: string, more = "") =>
      run(
        `pandoc ${from} --standalone --extract-media . ${more} --lua-filter accessible.lua -M lang=en --to typst -o filtered.typ
        document-rendering check filtered.typ --standards a-2a,ua-1`,
      );
    await filtered("letter.docx");
    await filtered("paper.tex", "--number-sections --citeproc --bibliography refs.bib");
    const typst = await readFile(join(folder, "filtered.typ"), "utf8");
    expect(typst).toContain('alt: "The entrance"');
    expect(typst).toContain("<eq:a>");
  });

  it("writes names of symbols that Typst no longer has, which the filter replaces, but not in texts", async () => {
    const formula = String.raw`$A \cap B \otimes C \bigsqcap_i A_i \circleddash \lBrack x \rBrack \aleph \emptyset \text{sect of "dot.circle"}$`;
    await writeFile(join(folder, "symbols.md"), `---\ntitle: P\nlang: en\n---\n# Sets\n\n${formula}\n`);
    const pandoc = "pandoc symbols.md --standalone --to typst -o symbols.typ";
    const check = "document-rendering check symbols.typ --standards a-2a,ua-1";
    await expect(run(`${pandoc}\n${check}`)).rejects.toThrow("unknown variable: sect");
    await run(`${pandoc} --lua-filter accessible.lua\n${check}`);
    expect(await readFile(join(folder, "symbols.typ"), "utf8")).toContain(String.raw`"sect of \"dot.circle\""`);
  });

  it("makes text of Typst in Markdown if it is told to", async () => {
    const pandoc = (from: string) => run(`pandoc --from ${from} --to typst`, "`#oops`{=typst}");
    expect(await pandoc("markdown")).toBe("#oops");
    expect(await pandoc("markdown-raw_attribute")).not.toContain("\n#oops");
  });
});

describe("data frames", () => {
  it("are the data of a template", async () => {
    await run(`rm -rf data && mkdir data && cd data && python -`, block("pandas and Polars", "python"));
    await writeFile(join(folder, "data/main.typ"), block("pandas and Polars", "typst"));
    await run(`cd data && ${PDF_UA} && document-rendering render . -o ../data.pdf`);
    expect(await textOf("data.pdf")).toBe("Opening hours Day Hours Monday 9.5 Tuesday #1 10.25");
    const polars = "import polars; polars.DataFrame({'day': ['Monday'], 'hours': [9.5]}).write_json('data.json')";
    await run(`cd data && python - && ${PDF_UA}`, polars);
  });

  it("become tables with headers, whose text is only text", async () => {
    await run("rm -rf tables && mkdir tables && cd tables && python -", block("pandas and Polars", "python", 1));
    await writeFile(join(folder, "tables/main.typ"), block("pandas and Polars", "typst", 1));
    await run(`cd tables && ${PDF_UA} && document-rendering render . -o ../tables.pdf`);
    expect((await textOf("tables.pdf")).match(/Tuesday #1 10\.25/g)).toHaveLength(3);
  });
});

it("a formula of LaTeX becomes one of Typst", async () => {
  await mkdir(join(folder, "formula"));
  await writeFile(join(folder, "formula/make.mjs"), block("Formulas of LaTeX", "js"));
  await writeFile(join(folder, "formula/main.typ"), block("Formulas of LaTeX", "typst"));
  await run(`cd formula && node make.mjs && ${PDF_UA}`);
  const tex = /(?<=String\.raw`)[^`]*/;
  const symbols = block("Formulas of LaTeX", "js").replace(tex, String.raw`A \cap B \otimes C \odot \ominus \aleph`);
  await writeFile(join(folder, "formula/make.mjs"), symbols);
  await run(`cd formula && node make.mjs && ${PDF_UA}`);
});

it("slides of PowerPoint become pages, which are not PDF/UA", async () => {
  await run(block("PowerPoint", "sh"));
  expect(await textOf("talk.pdf")).toMatch(/Opening hours.*Monday to Friday|Monday to Friday.*Opening hours/);
  await expect(run("document-rendering check talk --standards ua-1")).rejects.toThrow(/missing/);
});
