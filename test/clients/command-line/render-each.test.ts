/** `render --each`: one template, many lines of data. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Pace } from "../../../clients/command-line/each/pace.ts";
import { isWholeFile } from "../../../protocol/whole-file.ts";
import { problem } from "../../../rules/problem.ts";
import { breakOff, FRAMINGS, sentFile } from "../../support/clients/broken-answers.ts";
import {
  makeProject,
  runCommand,
  runInTerminal,
  shortenWaits,
  startCommand,
} from "../../support/clients/command-line.ts";
import {
  answer,
  full,
  reject,
  sendPdf,
  startScriptedService,
  WHOLE_PDF,
} from "../../support/clients/scripted-service.ts";
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

const outcomesIn = (stdout: string): unknown[] => Array.from(stdout.matchAll(/.+/g), ([line]) => JSON.parse(line));

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

it("waits a second for a busy service that asks for no wait, and sends the documents that it has not refused first", async () => {
  const times: number[] = [];
  const service = await startScriptedService((response, count) => {
    times.push(performance.now());
    (count > 1 ? sendPdf : full(0))(response);
  });
  const args = [...EACH, "--jobs", "1"];
  const { exitCode } = await runCommand(await makeFolder(people(3)), args, { env: { SERVICE_URL: service.url } });
  const [refused = 0, next = 0] = times;
  // A timer may be a little early.
  expect(next - refused).toBeGreaterThan(990);
  expect(service.bodies.map(({ data }) => Object(data).id)).toEqual(["p0", "p1", "p2", "p0"]);
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

it("names each document that it could not make when the service went away, and ends if that goes on", async () => {
  shortenWaits();
  const service = await startScriptedService((response, count) => {
    if (count > 3) response.destroy();
    else sendPdf(response);
  });
  const env = { SERVICE_URL: service.url };
  const few = await runCommand(await makeFolder(people(10)), [...EACH, "--jobs", "1"], { env });
  expect(few.stderr).toMatch(/^line 4, letters\/p3\.pdf: .*the connection broke.* Tried 4 times in /m);
  expect(few.stderr).toContain("3 of 10 documents rendered, 7 failed.");
  expect(few.exitCode).toBe(8);
  const many = await runCommand(await makeFolder(people(30)), [...EACH, "--jobs", "1"], { env });
  expect(many.stderr).toContain("The last 20 documents got no answer of the service, so the rest were not sent.");
  expect(many.stderr).toContain("0 of 30 documents rendered, 20 failed, 10 not rendered.");
  expect(many.exitCode).toBe(7);
});

/** What a server in front of the service does to documents, by their numbers: a status of its own, or a connection that breaks. */
const FOREIGN = [403, 408, 413, 500, 502, 504, 520, 524];

it("makes the other documents in one run, each once, if a gateway limits, breaks connections, and answers some by itself", async () => {
  shortenWaits();
  const whole = await sharedService();
  const asked: number[] = [];
  const gateway = await startScriptedService((response) => {
    const body = gateway.bodies.at(-1);
    const { id = 0 } = Object(body?.data);
    const tries = asked.filter((other) => other === id).length;
    asked.push(id);
    const status = FOREIGN[id - 3];
    if (status !== undefined) return answer(status, { "Content-Type": "text/html" }, "<h1>No</h1>")(response);
    if (id === 0 && tries === 0) return answer(429, { "Retry-After": "1" }, "slow down")(response);
    const later = { "Retry-After": new Date(Date.now() + 1000).toUTCString() };
    if (id === 1 && tries === 0) return answer(503, later, "slow down")(response);
    void whole.render({ ...body }).then(async (file) => {
      const sent = sentFile(await file.bytes(), "pdf", id === 11);
      const framing = FRAMINGS[id % FRAMINGS.length] ?? "chunks";
      const isBroken = id >= 2 && tries < 2;
      if (isBroken) breakOff(sent, Math.floor(sent.leastBytes / 2), framing)(response);
      else answer(200, sent.headers, sent.bytes)(response);
    });
  });
  const rows = Array.from({ length: 12 }, (_, id) => `${JSON.stringify({ id, name: `Guest ${id}` })}\n`).join("");
  const folder = await makeFolder(rows);
  const args = ["render", "letter.typ", "--each", "people.jsonl", "-o", "letters/{id}.pdf"];
  const { exitCode, stderr } = await runCommand(folder, args, { env: { SERVICE_URL: gateway.url } });
  for (const [index, status] of FOREIGN.entries()) {
    const id = index + 3;
    expect(stderr).toMatch(
      new RegExp(`^line ${id + 1}, letters/${id}\\.pdf: .* in front of .* answered ${status}`, "m"),
    );
  }
  expect(stderr).toContain("4 of 12 documents rendered, 8 failed.");
  expect(exitCode).toBe(8);
  expect(await letters(folder)).toEqual(["0.pdf", "1.pdf", "11.pdf", "2.pdf"]);
  for (const id of [0, 1, 2, 11]) {
    expect(isWholeFile("pdf", await readFile(join(folder, `letters/${id}.pdf`)))).toBe(true);
  }
  expect(asked.filter((id) => id === 0)).toHaveLength(2);
  expect(asked.filter((id) => id === 11)).toHaveLength(3);
  expect(asked.filter((id) => id === 3 || id === 5)).toEqual([3, 5]);
  expect(asked.filter((id) => id === 8)).toHaveLength(4);

  asked.length = 0;
  const again = await runCommand(folder, args, { env: { SERVICE_URL: gateway.url } });
  expect(new Set(asked)).toEqual(new Set([3, 4, 5, 6, 7, 8, 9, 10]));
  expect(again.stderr).toContain("0 of 12 documents rendered, 4 already existed, 8 failed.");
});

it("says in JSON which document a server in front of the service has refused", async () => {
  const service = await startScriptedService((response, count) =>
    (count === 1 ? answer(403, { "Content-Type": "text/html" }, "<h1>No</h1>") : sendPdf)(response),
  );
  const args = [...EACH, "--json", "--jobs", "1"];
  const { stdout } = await runCommand(await makeFolder(people(2)), args, { env: { SERVICE_URL: service.url } });
  const lines = outcomesIn(stdout);
  const message = `A server in front of the service at ${service.url} answered 403.`;
  expect(lines).toContainEqual({ outcome: "failed", exitCode: 7, message, line: 1, file: "letters/p0.pdf" });
  expect(lines.at(-1)).toMatchObject({ outcome: "summary", made: 1, failed: 1, left: 0 });
});

it("begins no pause after it was interrupted, although a request that was under way is refused", async () => {
  const pace = new Pace(2);
  const done = Promise.withResolvers<void>();
  pace.add(async () => {
    pace.stop();
    expect(pace.recordRefusal(300)).toBe(false);
    done.resolve();
  });
  await done.promise;
  await pace.waitForAll();
});

it("reports each line in JSON, with notes about the folder, and a summary at the end", async () => {
  const service = await startScriptedService(sendPdf);
  const letter = '\ufeffDear #data.name, #image("lgo.png")';
  const folder = await makeProject({ "letter.typ": letter, "logo.png": "x", "p.csv": "id,name\n1,Ada\n2,Ben\n" });
  const args = ["render", "letter.typ", "--each", "p.csv", "-o", "letters/{id}.pdf", "--json"];
  const { stdout } = await runCommand(folder, args, { env: { SERVICE_URL: service.url } });
  const lines = outcomesIn(stdout);
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatchObject({ outcome: "rendered", bytes: WHOLE_PDF.length });
  expect(lines[2]).toEqual({
    outcome: "summary",
    documents: 2,
    made: 2,
    present: 0,
    failed: 0,
    left: 0,
    reading: 'p.csv: columns "id", "name", separated by ","; 2 rows',
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

it.each(["pdf", "png"])("names documents that are the same although their rows differ: %s", async (format) => {
  const service = await sharedService();
  const folder = await makeProject({
    // The data is a parameter here, whatever its name says.
    "a.typ": '#let letter(row) = if row.name == "Linus" [= Other] else [= Same]\n#letter(data)',
    "people.jsonl": '{"name": "Grace"}\n{"name": "Ada"}\n{"name": "Linus"}\n{"name": "Linus"}\n',
  });
  const env = { SERVICE_URL: service.edge.url.origin };
  const args = ["render", "a.typ", "--each", "people.jsonl", "-o", `out/{#}.${format}`, "--jobs", "1"];
  const run = await runCommand(folder, args, { env });
  const sentence = `2 documents are the same although their rows differ (out/1.${format}, out/2.${format}): does the template use \`data\`?`;
  expect(run).toMatchObject({ exitCode: 0, stderr: `note: ${sentence}\n4 of 4 documents rendered.\n` });
  const json = await runCommand(folder, [...args, "--overwrite", "--json", "--strict"], { env });
  expect(json.exitCode).toBe(4);
  expect(outcomesIn(json.stdout).at(-1)).toMatchObject({ made: 4, notes: [sentence] });
});
