/**
 * Every client against a server that is not the service, over real connections: one table of answers for all of them.
 */
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { ServiceClient } from "../../../clients/typescript/client.ts";
import { MAX_OUTPUT_BYTES } from "../../../clients/typescript/constraints-cache.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS, LIMIT_SETTINGS } from "../../../rules/limits.ts";
import { runCommand, writeProject } from "../../support/clients/command-line.ts";
import {
  BROKEN_ANSWERS,
  crowdedZip,
  HOSTILE_ANSWERS,
  HOSTILE_DELAYS,
  LOW_LIMITS,
  lyingZip,
  MAX_SENT_BYTES,
} from "../../support/clients/hostile-answers.ts";
import { hasPython, PythonDriver } from "../../support/clients/python-driver.ts";
import {
  answer,
  type Behaviour,
  endlessAnswer,
  full,
  PDF,
  ScriptedAnswers,
} from "../../support/clients/scripted-answers.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const REQUEST = { source: "x" };

/** A service that gives this answer to every render, and allows only small outputs. */
const startHostile = (behaviour: Behaviour, limits = LOW_LIMITS) =>
  startScriptedService((response) => behaviour(response, response.req), limits);

async function render(url: string): Promise<unknown> {
  const result = await new ServiceClient({ url, token: API_TOKEN }).render(REQUEST);
  return result.ok ? await result.bytes() : result.problem;
}

async function makeProject(): Promise<string> {
  const folder = await makeTemporaryFolder("hostile-");
  await writeProject(folder, { "a.typ": "x", "rows.jsonl": '{"n":1}\n{"n":2}\n{"n":3}\n' });
  await mkdir(join(folder, "made"));
  return folder;
}

const made = (folder: string) => readdir(join(folder, "made"));

describe("the TypeScript client", () => {
  it.each(HOSTILE_ANSWERS)("says that it is not the service: %s", async (_what, behaviour) => {
    const server = await startHostile(behaviour);
    await expect(render(server.url)).rejects.toMatchObject({ name: "UnexpectedResponseError" });
    expect(server.bodies).toHaveLength(1);
    expect(server.sentBytes()).toBeLessThan(MAX_SENT_BYTES);
  });

  it.each(BROKEN_ANSWERS)("says that the connection broke: %s", async (_what, behaviour) => {
    const server = await startHostile(behaviour);
    const client = new ServiceClient({ url: server.url, token: API_TOKEN, retry: false });
    const rendering = client.render(REQUEST).then((result) => (result.ok ? result.bytes() : null));
    await expect(rendering).rejects.toMatchObject({ name: "ServiceUnreachableError" });
  });

  it("reads no more than any deployment may send if it does not know the constraints", async () => {
    expect(MAX_OUTPUT_BYTES).toBe(LIMIT_SETTINGS.max_output_bytes.max);
    const server = await startHostile(endlessAnswer(200, PDF, "%PDF-"));
    const client = new ServiceClient({ url: server.url, token: API_TOKEN, checkBeforeSending: false });
    const file = await client.render(REQUEST);
    if (!file.ok) throw new Error("no file");
    expect(file.maxBytes).toBe(MAX_OUTPUT_BYTES);
    await file.body.cancel();
    expect(await client.constraints()).toMatchObject({ ok: true });
    const bounded = await client.render(REQUEST);
    expect(bounded).toMatchObject({ maxBytes: LOW_LIMITS.max_output_bytes });
    // The limit may have been raised since then.
    const later = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 301_000);
    onTestFinished(() => later.mockRestore());
    expect(await client.render(REQUEST)).toMatchObject({ maxBytes: MAX_OUTPUT_BYTES });
    later.mockRestore();
    const limits = { ...LOW_LIMITS, max_output_bytes: 1e15 };
    const lying = await startHostile(sendPdf, limits);
    const result = await new ServiceClient({ url: lying.url, token: API_TOKEN }).render(REQUEST);
    expect(result).toMatchObject({ maxBytes: MAX_OUTPUT_BYTES });
  });

  it("takes a file of as many bytes as it may have", async () => {
    const body = `%PDF-${" ".repeat(LOW_LIMITS.max_output_bytes - 5)}`;
    const server = await startHostile((response) => void response.writeHead(200, PDF).end(body));
    expect(await render(server.url)).toHaveLength(LOW_LIMITS.max_output_bytes);
  });

  it.each(HOSTILE_DELAYS)("waits a bounded time if it is asked to wait %d s", async (asked, seconds) => {
    const server = await startHostile(full(asked));
    const client = new ServiceClient({ url: server.url, token: API_TOKEN, retry: { maxTotalSeconds: 1e9 } });
    const stop = new AbortController();
    const waits: number[] = [];
    const rendering = client.render(REQUEST, {
      signal: stop.signal,
      onRetry: ({ waitSeconds }) => {
        waits.push(waitSeconds);
        stop.abort(new Error("enough"));
      },
    });
    await expect(rendering).rejects.toThrow("enough");
    expect(waits[0]).toBeGreaterThanOrEqual(seconds);
    expect(waits[0]).toBeLessThanOrEqual(seconds + 0.5);
  });
});

describe("the command line", () => {
  const NO_SERVICE = 7;
  /** Its client is the one above: one answer shows what the command makes of them. */
  const ONE_ANSWER = HOSTILE_ANSWERS.slice(0, 1);
  const ARCHIVE_LIMITS = { ...LOW_LIMITS, max_output_bytes: 1024 ** 2 };

  it.each(ONE_ANSWER)("writes nothing and says why: %s", async (_what, behaviour) => {
    const server = await startHostile(behaviour);
    const folder = await makeProject();
    const env = { SERVICE_URL: server.url };
    const { exitCode, stderr } = await runCommand(folder, ["render", "a.typ", "-o", "made/a.pdf"], { env });
    expect(stderr).toMatch(/Something else answers there/);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(exitCode).toBe(NO_SERVICE);
    expect(await made(folder)).toEqual([]);
    expect(server.bodies).toHaveLength(1);
    expect(server.sentBytes()).toBeLessThan(MAX_SENT_BYTES);
  });

  it.each(ONE_ANSWER)("ends --each with its summary: %s", async (_what, behaviour) => {
    const server = await startHostile(behaviour);
    const folder = await makeProject();
    const args = ["render", "a.typ", "--each", "rows.jsonl", "-o", "made/{n}.pdf", "--jobs", "1"];
    const { exitCode, stderr } = await runCommand(folder, args, { env: { SERVICE_URL: server.url } });
    expect(stderr).toContain("0 of 3 documents rendered, 3 not rendered.");
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(exitCode).toBe(NO_SERVICE);
    expect(await made(folder)).toEqual([]);
    expect(server.bodies).toHaveLength(1);
  });

  it.each([
    ["inflates to more than an output may have", lyingZip(ARCHIVE_LIMITS.max_output_bytes + 1, 10), "too large"],
    ["has too many entries", crowdedZip(2 * LIMIT_SETTINGS.max_output_files.max), "too many entries"],
    ["is broken", lyingZip(1000, 1000).subarray(0, 45), "broken"],
  ])("compares no pages of an archive that %s", async (_what, archive, words) => {
    const headers = { "Content-Type": "application/zip" };
    const sendArchive: Behaviour = (response) => void response.writeHead(200, headers).end(archive);
    const server = await startHostile(sendArchive, ARCHIVE_LIMITS);
    const folder = await makeProject();
    await writeProject(folder, { "cases/one.json": "{}" });
    const { exitCode, stderr } = await runCommand(folder, ["test", "a.typ", "--update", "--url", server.url]);
    expect(stderr).toContain(`no archive of pages: it is ${words}.`);
    expect(exitCode).toBe(NO_SERVICE);
  });
});

describe.skipIf(!hasPython())("the Python client", () => {
  let driver: PythonDriver;

  beforeAll(() => {
    driver = new PythonDriver();
    return () => driver.stop();
  });

  it.each(HOSTILE_ANSWERS)("says that it is not the service: %s", async (_what, behaviour) => {
    const server = await startHostile(behaviour);
    const { result } = await driver.call("render", { url: server.url, token: API_TOKEN }, REQUEST);
    expect(result).toMatchObject({ error: "UnexpectedResponseError" });
    expect(server.bodies).toHaveLength(1);
    expect(server.sentBytes()).toBeLessThan(MAX_SENT_BYTES);
  });

  it.each(BROKEN_ANSWERS)("says that the connection broke: %s", async (_what, behaviour) => {
    const server = await startHostile(behaviour);
    const options = { url: server.url, token: API_TOKEN, max_attempts: 1 };
    expect((await driver.call("render", options, REQUEST)).result).toMatchObject({ error: "ServiceUnreachableError" });
  });

  it.each(HOSTILE_DELAYS)("waits a bounded time if it is asked to wait %d s", async (asked, seconds) => {
    const server = await startHostile(full(asked));
    const { result } = await driver.call("render", { url: server.url, token: API_TOKEN }, REQUEST);
    expect(result).toMatchObject({
      ok: false,
      problem: { code: "render_queue_full", context: { retry_after: asked } },
    });
    // None of five attempts begins later than a minute after the first.
    expect(server.bodies).toHaveLength(seconds > 60 ? 1 : 5);
  });

  it.each([
    ["limits that are texts", { limits: { effective_max_files: 64, max_request_body_bytes: "many" } }],
    [
      "no rules, and no vectors that would miss them",
      { output_rules: { output_rules_version: 1, conformance_vectors: [] } },
    ],
    ["a list of rules", { output_rules: [] }],
    ["a pattern that is none", { segment_character_class: "[" }],
  ])("says that constraints are not those of the service: %s", async (_what, members) => {
    const document = { ...constraintsDocument(DEFAULT_LIMITS), conformance_vectors: [], ...members };
    const server = new ScriptedAnswers();
    const url = await server.start();
    onTestFinished(async () => void (await server.stop()));
    server.behaviours = [answer(200, { "Content-Type": "application/json" }, JSON.stringify(document))];
    const request = { ...REQUEST, files: { a: { encoding: "text", content: "" } }, output: { format: "png", ppi: 72 } };
    const { result } = await driver.call("check", { url: url.href, token: API_TOKEN }, request);
    expect(result).toMatchObject({ error: "UnexpectedResponseError" });
  });
});
