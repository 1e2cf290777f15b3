/** `render --e-invoice` against the running service. What it refuses before is in what-is-said.txt. */
import { access, cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { runCommand, runProcess } from "../../support/clients/command-line.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const EXAMPLE = fileURLToPath(new URL("../../../examples/e-invoice", import.meta.url));
const service = await sharedService();

/** Runs `render` on a copy of the example. */
async function render(
  args: readonly string[],
  change: (folder: string) => Promise<void> = async () => {},
  run = runCommand,
) {
  const folder = await makeTemporaryFolder("command-");
  await cp(EXAMPLE, join(folder, "invoice"), { recursive: true });
  await change(join(folder, "invoice"));
  const options = { env: { SERVICE_URL: service.edge.url.origin } };
  return { folder, ...(await run(folder, ["render", "invoice", ...args], options)) };
}

const withAnotherName = (name: string) => async (folder: string) => {
  const path = join(folder, "main.typ");
  const text = await readFile(path, "utf8");
  expect(text).toContain('"factur-x.xml",\n  bytes');
  await writeFile(path, text.replace('"factur-x.xml",\n  bytes', `${name},\n  bytes`));
};

it("writes a finished e-invoice, which is PDF/A-3 by default", async () => {
  const args = ["--e-invoice", "factur-x", "--profile", "en16931", "-o", "a.pdf"];
  const { folder, exitCode, stderr } = await render(args, async () => {}, runProcess);
  // Nothing else: the attachment's name is no file that the template reads.
  expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/^a\.pdf: [0-9.]+ KiB\n$/)]);
  const pdf = await readFile(join(folder, "a.pdf"));
  expect((await readPdf(pdf)).claims).toMatchObject({ "pdfaid:part": "3" });
  expect(pdf.toString("latin1")).toContain("<fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>");
});

it("writes no document that cannot become one, and says why", async () => {
  const change = withAnotherName('"invoice.xml"');
  const { folder, exitCode, stderr } = await render(["--e-invoice", "factur-x", "-o", "a.pdf"], change);
  expect(exitCode).toBe(4);
  expect(stderr).toMatch(
    /^The document cannot become an e-invoice, so it was not written:\n {2}attachment-name: .* \(attachments\)\n$/m,
  );
  await expect(access(join(folder, "a.pdf"))).rejects.toThrow("ENOENT");
});

it("reports the findings in JSON", async () => {
  const args = ["--e-invoice", "factur-x", "--json", "-o", "a.pdf"];
  const { stdout } = await render(args, withAnotherName('"invoice.xml"'));
  expect(JSON.parse(stdout)).toMatchObject({
    outcome: "failed",
    exitCode: 4,
    findings: [{ rule: "attachment-name", place: "attachments" }],
  });
});

it("finishes each document, and counts those that cannot be finished as failed", async () => {
  const { folder, exitCode, stderr } = await render(
    ["--e-invoice", "factur-x", "--each", "invoices.jsonl", "-o", "{number}.pdf"],
    async (invoice) => {
      const data = JSON.parse(await readFile(join(invoice, "data.json"), "utf8"));
      const lines = ["1", "2"].map((number) => `${JSON.stringify({ ...data, number })}\n`);
      await withAnotherName('if data.number == "2" { "invoice.xml" } else { "factur-x.xml" }')(invoice);
      await writeFile(join(invoice, "../invoices.jsonl"), lines.join(""));
    },
  );
  expect([exitCode, stderr]).toEqual([8, expect.stringContaining("The document cannot become an e-invoice")]);
  expect(await readFile(join(folder, "1.pdf"), "latin1")).toContain("<fx:Version>1.0</fx:Version>");
  await expect(access(join(folder, "2.pdf"))).rejects.toThrow("ENOENT");
});
