/** What the command makes of answers that no service gives; its client's part is network-faults.test.ts. */
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import { makeProject, runCommand } from "../../support/clients/command-line.ts";
import { brokenZip, crowdedZip, LOW_LIMITS, lyingZip } from "../../support/clients/hostile-answers.ts";
import { answer, startScriptedService } from "../../support/clients/scripted-service.ts";

const NO_SERVICE = 7;
const ARCHIVE_LIMITS = { ...LOW_LIMITS, max_output_bytes: 1024 ** 2 };

it.each([
  ["writes nothing and says why", ["-o", "made/a.pdf"], "Something else answers there"],
  [
    "ends --each with its summary",
    ["--each", "rows.jsonl", "-o", "made/{n}.pdf", "--jobs", "1"],
    "0 of 3 documents rendered, 3 failed.",
  ],
])("%s if the answer is a page", async (_what, args, words) => {
  const server = await startScriptedService(answer(200, { "Content-Type": "text/html" }, "<h1>Log in</h1>"));
  const folder = await makeProject({ "a.typ": "#data", "rows.jsonl": '{"n":1}\n{"n":2}\n{"n":3}\n' });
  await mkdir(join(folder, "made"));
  const { exitCode, stderr } = await runCommand(folder, ["render", "a.typ", "--url", server.url, ...args]);
  expect(stderr).toContain(words);
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect(exitCode).toBe(NO_SERVICE);
  expect(await readdir(join(folder, "made"))).toEqual([]);
  expect(server.bodies).toHaveLength(args.includes("--each") ? 3 : 1);
});

it.each([
  ["inflates to more than an output may have", lyingZip(ARCHIVE_LIMITS.max_output_bytes + 1, 10), "too large"],
  ["has too many entries", crowdedZip(2 * LIMIT_SETTINGS.max_output_files.max), "too many entries"],
  ["is broken", brokenZip(), "broken"],
])("compares no pages of an archive that %s", async (_what, archive, words) => {
  const sendArchive = answer(200, { "Content-Type": "application/zip" }, archive);
  const server = await startScriptedService(sendArchive, ARCHIVE_LIMITS);
  const folder = await makeProject({ "a.typ": "x", "cases/one.json": "{}" });
  const { exitCode, stderr } = await runCommand(folder, ["test", "a.typ", "--update", "--url", server.url]);
  expect(stderr).toContain(`not an archive of pages: it is ${words}.`);
  expect(exitCode).toBe(NO_SERVICE);
});
