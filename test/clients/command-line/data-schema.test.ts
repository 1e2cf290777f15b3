/** Data and its schema on the command line: nothing is sent or compiled before all of the data fits. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { OUT_OF_TIME, runWithinSeconds } from "../../../clients/command-line/files/time-limit.ts";
import { readSchema } from "../../../clients/data-schema/data-schema.ts";
import { EXAMPLE_NAMES } from "../../../protocol/routes.ts";
import { exampleRequest } from "../../../scripts/examples/example-request.ts";
import { makeProject, type ProjectFiles, runCommand, writeProject } from "../../support/clients/command-line.ts";
import { DATA_MISTAKES, dataWith, SCHEMA_OF_MISTAKES } from "../../support/clients/data-mistakes.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const EXAMPLES = new URL("../../../examples/", import.meta.url);
let requests: string[];
let env: Record<string, string>;

beforeAll(async () => {
  requests = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    response.writeHead(500).end();
  });
  env = { SERVICE_URL: (await listenOnLoopback(server)).origin };
  return () => closeServer(server);
});

async function makeLetter(files: ProjectFiles) {
  return makeProject({ "letter.typ": "#data", "data.schema.json": SCHEMA_OF_MISTAKES, ...files });
}

it("render reports the first twenty mistakes with path and line, and how many more there are, and sends nothing", async () => {
  const { text, told } = dataWith(DATA_MISTAKES.slice(0, 21));
  const folder = await makeLetter({ "d.json": text });
  const { exitCode, stderr } = await runCommand(folder, ["render", "letter.typ", "--data", "d.json"], { env });
  expect(stderr.trimEnd().split("\n")).toEqual([
    ...told.slice(0, 20).map((line) => `d.json:${line}`),
    "… and 1 more.",
    "Nothing was sent: d.json does not fit data.schema.json.",
  ]);
  expect(exitCode).toBe(3);
  expect(requests).toEqual([]);
});

it("stops a regular expression that would run forever", async () => {
  const read = await readSchema('{"pattern": "^(a+)+$"}');
  if (!("schema" in read)) throw new Error("no schema");
  const { schema } = read;
  expect(runWithinSeconds(0.2, () => schema.judge(`"${"a".repeat(60)}!"`))).toBe(OUT_OF_TIME);
  expect(runWithinSeconds(60, () => schema.judge('"aaa"').count)).toBe(0);
});

describe("schema", () => {
  it("claims a format only for strings that have it", async () => {
    const folder = await makeTemporaryFolder("command-");
    const data = {
      day: "2024-02-29",
      noDay: "2026-02-30",
      time: "2026-01-31T23:59:59.5+02:00",
      noTime: "2026-01-31T24:00:00Z",
    };
    await writeProject(folder, { "a.json": `\ufeff${JSON.stringify(data)}` });
    const { properties } = JSON.parse((await runCommand(folder, ["schema", "a.json"])).stdout);
    expect(properties).toEqual({
      day: { type: "string", format: "date" },
      noDay: { type: "string" },
      time: { type: "string", format: "date-time" },
      noTime: { type: "string" },
    });
  });

  it("drafts one that all of the given data fits, and requires the members that all of it has", async () => {
    const folder = await makeProject({
      "a.json": '{"id": 1, "when": "2026-03-31", "lines": [{"price": 1}, {"price": 1.5, "note": null}]}',
      "b.jsonl":
        '{"id": 2, "when": "2026-04-01", "lines": []}\n\n{"id": "x", "when": "2026-04-01", "lines": [{"price": 2}]}\n',
    });
    const { stdout } = await runCommand(folder, ["schema", "a.json", "b.jsonl"]);
    expect(JSON.parse(stdout)).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        id: { type: ["integer", "string"] },
        when: { type: "string", format: "date" },
        lines: {
          type: "array",
          items: {
            type: "object",
            properties: { price: { type: "number" }, note: { type: "null" } },
            required: ["price"],
            additionalProperties: false,
          },
        },
      },
      required: ["id", "when", "lines"],
      additionalProperties: false,
    });
  });
});

it("the data of every example fits its schema", async () => {
  for (const name of EXAMPLE_NAMES) {
    const { data } = JSON.parse(await exampleRequest(name));
    const read = await readSchema(await readFile(new URL(`${name}/data.schema.json`, EXAMPLES), "utf8"));
    if (!("schema" in read)) throw new Error(`${name} has no schema`);
    expect(read.schema.judge(JSON.stringify(data)).findings, name).toEqual([]);
  }
});
