/** The programs of examples/programs/signing/: which standards a signed PDF keeps, as veraPDF finds. */
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PDF_STANDARDS } from "../../../rules/pdf-standards.ts";
import { startTestService, type TestService } from "../../support/service/test-service.ts";
import { fetchValidators, INVALID, type Validators, verdictsOfVeraPdf } from "./validators.ts";

const PROGRAMS = fileURLToPath(new URL("../../../examples/programs/signing/", import.meta.url));
const VALIDATE = `import sys
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.validation import validate_pdf_signature
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        status = validate_pdf_signature(PdfFileReader(file).embedded_signatures[0])
    print(status.intact, status.valid, status.coverage.name)`;
const SUB_FILTER = /\/SubFilter \/([\w.]+)/;
const PADES = "ETSI.CAdES.detached";
/** Runs a program with arguments, and a PDF and its signed copy after them, for each PDF that is named after `--`. */
const RUN_FOR_EACH = `import runpy, sys
program, *args = sys.argv[1:sys.argv.index("--")]
for name in sys.argv[sys.argv.index("--") + 1:]:
    sys.argv = [program, *args, name, f"signed-by-{program}-{name}"]
    runpy.run_path(program)`;
/** Every standard, and every pair of them, with the names that veraPDF has for them. */
const CASES = PDF_STANDARDS.flatMap((standard) => {
  const name = standard === "ua-1" ? "ua1" : standard.slice("a-".length);
  const alone = { standards: [standard], name };
  return standard.startsWith("a-4") || standard === "ua-1"
    ? [alone]
    : [alone, { standards: [standard, "ua-1"], name: `${name} ua1` }];
});

let folder: string;
let service: TestService;
let validators: Validators;

beforeAll(async () => {
  validators = await fetchValidators();
  folder = await mkdtemp(join(tmpdir(), "signing-"));
  service = await startTestService();
  await cp(PROGRAMS, folder, { recursive: true });
  const appearance = await readFile(join(folder, "appearance.typ"), "utf8");
  await render("appearance", appearance, { standards: ["a-1b"], pages: "1" });
  for (const { standards } of CASES) {
    const attachment =
      '#pdf.attach("a.csv", bytes("a;b"), mime-type: "text/csv", relationship: "data", description: "A")';
    const source = `#set document(title: "Contract", date: datetime(year: 2026, month: 11, day: 28))
#set text(lang: "en")
${standards.includes("a-4f") ? attachment : ""}
= Contract
Signed below.#pagebreak()
== Names`;
    await render(standards.join("-"), source, { standards });
  }
  const selfSigned = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Signer", "-days", "1"];
  await execa("openssl", [...selfSigned, "-keyout", "key.pem", "-out", "certificate.pem"], { cwd: folder });
  await execa("python3", ["-m", "venv", join(folder, "venv")]);
  await execa(join(folder, "venv/bin/pip"), ["install", "--disable-pip-version-check", "pyhanko"], { cwd: folder });
});

afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function render(name: string, source: string, output: object): Promise<void> {
  const answer = await service.render({ source, output: { format: "pdf", ...output } });
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`);
  await writeFile(join(folder, `${name}.pdf`), await answer.bytes());
}

/** Signs the documents of all cases, in one process. @returns the paths of the signed ones */
async function signAll(program: string, ...args: readonly string[]): Promise<string[]> {
  const names = CASES.map(({ standards }) => `${standards.join("-")}.pdf`);
  await execa(join(folder, "venv/bin/python"), ["-c", RUN_FOR_EACH, program, ...args, "--", ...names], { cwd: folder });
  return names.map((name) => join(folder, `signed-by-${program}-${name}`));
}

/** What veraPDF says of the files, one for each case. PDF/UA-1 beside PDF/A-1 is asked about separately. */
async function verdictsOf(files: readonly string[]): Promise<(string | undefined)[]> {
  const verdicts = await verdictsOfVeraPdf(validators, files);
  const accessible = files.filter((_, index) => /^1. ua1$/.test(CASES[index]?.name ?? ""));
  const byUa1 = await verdictsOfVeraPdf(validators, accessible, "ua1");
  return files.map((path) => {
    const all = [verdicts.get(path), byUa1.get(path)].filter((verdict) => verdict !== undefined);
    return all.includes(INVALID) ? INVALID : all.join(" ");
  });
}

async function validityOf(files: readonly string[]): Promise<Set<string>> {
  const { stdout } = await execa(join(folder, "venv/bin/python"), ["-c", VALIDATE, ...files]);
  return new Set(stdout.split("\n"));
}

it("a PDF that is signed invisibly keeps each standard but those of PDF/A-1", async () => {
  const signed = await signAll("sign.py", "key.pem", "certificate.pem");
  for (const path of signed) expect((await readFile(path, "latin1")).match(SUB_FILTER)?.[1]).toBe(PADES);
  expect(await validityOf(signed)).toEqual(new Set(["True True ENTIRE_FILE"]));
  expect(await verdictsOf(signed)).toEqual(CASES.map(({ name }) => (name.startsWith("1") ? INVALID : name)));
});

it("a PDF that is signed visibly by an appearance from the service, with a tag, keeps each standard", async () => {
  const signed = await signAll("sign-visibly.py", "key.pem", "certificate.pem", "appearance.pdf");
  for (const path of signed) expect((await readFile(path, "latin1")).match(SUB_FILTER)?.[1]).toBe(PADES);
  expect(await validityOf(signed)).toEqual(new Set(["True True ENTIRE_FILE"]));
  expect(await verdictsOf(signed)).toEqual(CASES.map(({ name }) => name));
});

it("pyHanko's own stamp breaks PDF/A-2 and PDF/UA-1", async () => {
  const program = (await readFile(join(folder, "sign.py"), "utf8"))
    .replace("import SigSeedSubFilter", "import SigFieldSpec, SigSeedSubFilter")
    .replace("signer=signer)\n", 'signer=signer, new_field_spec=SigFieldSpec("Signature", box=(70, 70, 250, 120)))\n');
  await writeFile(join(folder, "stamp.py"), program);
  const path = join(folder, "stamped.pdf");
  const args = ["stamp.py", "key.pem", "certificate.pem", "a-2b-ua-1.pdf", path];
  await execa(join(folder, "venv/bin/python"), args, { cwd: folder });
  expect(await verdictsOfVeraPdf(validators, [path], "2b")).toEqual(new Map([[path, INVALID]]));
  expect(await verdictsOfVeraPdf(validators, [path], "ua1")).toEqual(new Map([[path, INVALID]]));
  const unsigned = join(folder, "a-2b-ua-1.pdf");
  expect(await verdictsOfVeraPdf(validators, [unsigned])).toEqual(new Map([[unsigned, "2b ua1"]]));
});
