/** `render --each`: one template, many lines of data. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { problem } from "../../../rules/problem.ts";
import {
  makeProject,
  runCommand,
  runInTerminal,
  startCommand,
  writeProject,
} from "../../support/clients/command-line.ts";
import { full, reject, sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";

const people = (count: number) =>
  Array.from({ length: count }, (_, index) => `${JSON.stringify({ id: `p${index}`, name: `Person ${index}` })}\n`).join(
    "",
  );

const EACH = ["render", "letter.typ", "--each", "people.jsonl", "-o", "letters/{id}.pdf"];

async function makeFolder(lines: string): Promise<string> {
  const folder = await makeProject({ "letter.typ": "Dear #data.name,", "people.jsonl": lines });
  return folder;
}

const letters = async (folder: string) => (await readdir(join(folder, "letters")).catch(() => [])).toSorted();

it("makes forty letters, each complete and only once, although it is interrupted and resumed", async () => {
  const service = await sharedService();
  const env = { SERVICE_URL: service.edge.url.origin };
  const folder = await makeFolder(people(40));
  const running = startCommand(folder, EACH, { env });
  await expect.poll(async () => (await letters(folder)).length).toBeGreaterThan(3);
  running.kill("SIGINT");
  const interrupted = await running;
  expect(interrupted.exitCode).toBe(130);
  const names = await letters(folder);
  expect(names.length).toBeLessThan(40);
  expect(names.every((name) => /^p[0-9]+\.pdf$/.test(name))).toBe(true);
  expect(Buffer.from(interrupted.stderr).toString("utf8")).toContain("Run the same command again to continue.");
  const first = await stat(join(folder, "letters", names[0] ?? ""));

  const resumed = await runCommand(folder, EACH, { env });
  expect(resumed.stderr).toContain(`${40 - names.length} of 40 documents rendered, ${names.length} already existed.`);
  expect(resumed.exitCode).toBe(0);
  expect(await letters(folder)).toHaveLength(40);
  expect((await stat(join(folder, "letters", names[0] ?? ""))).mtimeMs).toBe(first.mtimeMs);
  for (const index of [0, 27, 39]) {
    const { pageTexts } = await readPdf(await readFile(join(folder, `letters/p${index}.pdf`)));
    expect(pageTexts.join("")).toContain(`Dear Person ${index},`);
  }
});

it("sends fewer requests at once to a busy service, waits for its Retry-After, and loses no document", async () => {
  let open = 0;
  let most = 0;
  const service = await startScriptedService((response) => {
    most = Math.max(most, ++open);
    // Two slots and no queue.
    const isBusy = open > 2;
    // How many are open at the same time is what is tested: each takes a moment.
    setTimeout(() => {
      open--;
      (isBusy ? full(1) : sendPdf)(response);
    }, 20);
  });
  const folder = await makeFolder(people(20));
  const { exitCode, stderr } = await runCommand(folder, EACH, { env: { SERVICE_URL: service.url } });
  expect(stderr).toContain("20 of 20 documents rendered.");
  expect(exitCode).toBe(0);
  expect(await letters(folder)).toHaveLength(20);
  expect(most).toBeLessThanOrEqual(8);
});

it("waits a second for a busy service that asks for no wait", async () => {
  const times: number[] = [];
  const service = await startScriptedService((response, count) => {
    times.push(performance.now());
    (count > 1 ? sendPdf : full(0))(response);
  });
  const { exitCode } = await runCommand(await makeFolder(people(1)), EACH, { env: { SERVICE_URL: service.url } });
  const [refused = 0, again = 0] = times;
  // A timer may be a little early.
  expect(again - refused).toBeGreaterThan(990);
  expect(exitCode).toBe(0);
});

it("says how long it waits for a busy service, and why", async () => {
  const service = await startScriptedService(full(90));
  const running = startCommand(await makeFolder(people(9)), EACH, { env: { SERVICE_URL: service.url } });
  running.stderr?.once("data", () => running.kill("SIGINT"));
  const { exitCode, stderr } = await running;
  expect(Buffer.from(stderr).toString("utf8")).toMatch(
    /^The service is busy: waiting 90 s\.\n0 of 9 documents rendered, 9 not rendered\.\n/,
  );
  expect(exitCode).toBe(130);
});

it("stops if the template fails with all data", async () => {
  const service = await startScriptedService(reject(problem("template_compile_failed", "No.", {})));
  const folder = await makeFolder(people(100));
  const { exitCode, stderr } = await runCommand(folder, EACH, { env: { SERVICE_URL: service.url } });
  expect(stderr).toContain("The first 10 documents all failed");
  expect(stderr).toContain("\nOnce the cause is corrected, the same command renders them.\n");
  expect(service.requests.length).toBeLessThan(30);
  expect(exitCode).toBe(4);
});

it("stops if the service goes away, and says how many documents are left", async () => {
  const service = await startScriptedService((response, count) => {
    if (count > 3) response.destroy();
    else sendPdf(response);
  });
  const folder = await makeFolder(people(10));
  const { exitCode, stderr } = await runCommand(folder, [...EACH, "--jobs", "1"], {
    env: { SERVICE_URL: service.url },
  });
  expect(stderr).toContain("cannot be reached");
  expect(stderr).toContain("7 not rendered");
  expect(exitCode).toBe(7);
});

it("reports each line in JSON, with notes about the folder, and a summary at the end", async () => {
  const service = await startScriptedService(sendPdf);
  const folder = await makeFolder(people(2));
  await writeProject(folder, { "letter.typ": '\ufeffDear #data.name, #image("lgo.png")', "logo.png": "x" });
  const { stdout } = await runCommand(folder, [...EACH, "--json"], { env: { SERVICE_URL: service.url } });
  const lines = stdout
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatchObject({ outcome: "rendered", bytes: 5 });
  expect(lines[2]).toEqual({
    outcome: "summary",
    documents: 2,
    made: 2,
    present: 0,
    failed: 0,
    left: 0,
    notes: [
      'letter.typ:1 reads "lgo.png", which does not exist. Did you mean logo.png?',
      "letter.typ begins with a byte order mark, which is not sent.",
    ],
  });
});

it("shows a bar in a terminal", async () => {
  const service = await startScriptedService(sendPdf);
  const folder = await makeFolder(people(20));
  const { screen, exitCode } = await runInTerminal(folder, EACH, { SERVICE_URL: service.url });
  expect(screen).toMatch(/█+░* \d+ of 20, \d at once/);
  expect(screen).toContain("20 of 20 documents rendered.");
  expect(exitCode).toBe(0);
});

it("makes existing documents again only with --overwrite", async () => {
  const service = await startScriptedService(sendPdf);
  const folder = await makeFolder(people(2));
  await writeProject(folder, { "letters/p0.pdf": "old" });
  await runCommand(folder, EACH, { env: { SERVICE_URL: service.url } });
  expect(await readFile(join(folder, "letters/p0.pdf"), "utf8")).toBe("old");
  await runCommand(folder, [...EACH, "--overwrite"], { env: { SERVICE_URL: service.url } });
  expect(await readFile(join(folder, "letters/p0.pdf"), "utf8")).toBe("%PDF-");
});
