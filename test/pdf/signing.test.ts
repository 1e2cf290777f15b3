/** The program of docs/signing.md, run as it stands: a signed PDF keeps its standards, as veraPDF finds. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf } from "../support/readers/markdown-blocks.ts";
import { startTestService, type TestService } from "../support/service/test-service.ts";
import { fetchValidators, verdictsOfVeraPdf } from "./validators.ts";

const PAGE = fileURLToPath(new URL("../../docs/signing.md", import.meta.url));
const VALIDATE = `import sys
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.validation import validate_pdf_signature
with open(sys.argv[1], "rb") as file:
    status = validate_pdf_signature(PdfFileReader(file).embedded_signatures[0])
print(status.intact, status.valid, status.coverage.name)`;

let folder: string;
let service: TestService;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signing-"));
  service = await startTestService();
});

afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

it("a signed PDF is still PDF/A-2b and PDF/UA-1, and its signature is valid", async () => {
  const source = '#set document(title: "Contract")\n#set text(lang: "en")\n= Contract\nSigned below.';
  const answer = await service.render({ source, output: { format: "pdf", standards: ["a-2b", "ua-1"] } });
  await writeFile(join(folder, "document.pdf"), await answer.bytes());
  const selfSigned = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Signer", "-days", "1"];
  await execa("openssl", [...selfSigned, "-keyout", "key.pem", "-out", "certificate.pem"], { cwd: folder });

  const [program, commands] = blocksOf(await readFile(PAGE, "utf8"));
  await writeFile(join(folder, "sign.py"), program?.text ?? "");
  await execa("python3", ["-m", "venv", join(folder, "venv")]);
  const script = `set -e\n. venv/bin/activate\n${commands?.text}`;
  await execa("sh", ["-c", script], { cwd: folder, env: { PIP_DISABLE_PIP_VERSION_CHECK: "1" } });

  const signed = join(folder, "signed.pdf");
  const { stdout } = await execa(join(folder, "venv/bin/python"), ["-c", VALIDATE, signed]);
  expect(stdout).toBe("True True ENTIRE_FILE");
  const files = [join(folder, "document.pdf"), signed];
  const valid = await verdictsOfVeraPdf(await fetchValidators(), files);
  expect([...valid]).toEqual(files.map((file) => [file, "2b ua1"]));
});
