/**
 * The edge's log lines over real sockets: also for clients that disconnect, after which the code of the Worker no
 * longer runs.
 */
import { readdir, readFile } from "node:fs/promises";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { tableOfPage } from "../../support/readers/page-table.ts";
import { type EdgeStage, startEdgeStages } from "../../support/service/edge-stage.ts";
import { CHUNKED, chunk, renderHead, renderRequest } from "../../support/service/raw-connection.ts";
import { EDGE_PLATFORMS } from "../../support/service/service-parts.ts";

const ROOT = new URL("../../../", import.meta.url);
const BODY = '{"source":"x"}';

describe.each(EDGE_PLATFORMS)("the edge on %s", (platform) => {
  let stage: EdgeStage;
  let lines: { readonly [field: string]: unknown }[] = [];

  beforeAll(async () => {
    const { stages, stop } = await startEdgeStages(platform, { SERVICE_LOG_REQUESTS: "json" });
    stage = stages[0] ?? expect.unreachable("a stage has been started");
    return stop;
  });

  beforeEach(() => {
    lines = [];
    stage.backend.behaviour = (response) => stage.backend.answer(response);
    // What workerd writes comes out of Miniflare here.
    vi.spyOn(console, "log").mockImplementation((line: string) => {
      lines.push(JSON.parse(line));
    });
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** The lines so far, without those of `takenIn`. */
  const ownLines = () => lines.filter(({ route }) => route !== "/health");

  /** The lines of all requests so far: a later one has been logged, so that none of theirs is on its way. */
  async function allLines() {
    const before = lines.length - ownLines().length;
    await stage.takenIn();
    await expect.poll(() => lines.length - ownLines().length).toBe(before + 1);
    return ownLines();
  }

  describe("the edge logs a request", () => {
    it("once, when its client leaves in the middle of the answer", async () => {
      stage.backend.behaviour = (response) => {
        response.writeHead(200, { "Content-Type": "application/pdf" }).write("%PDF-");
      };
      const client = await stage.open(renderRequest(BODY));
      await expect.poll(() => lines.length).toBe(1);
      client.reset();
      await expect.poll(stage.backend.countOpen).toBe(0);
      expect(await allLines()).toMatchObject([{ status: 200, code: "ok" }]);
    });

    it("once, when its client leaves during the render", async () => {
      stage.backend.behaviour = () => {};
      const client = await stage.open(renderRequest(BODY));
      await expect.poll(stage.backend.countOpen).toBe(1);
      client.reset();
      await expect.poll(() => lines.length).toBe(1);
      expect(await allLines()).toMatchObject([
        { route: "/v1/render", code: "client_gone", caller: "caller-1", requestBytes: 14 },
      ]);
      expect(lines[0]).not.toHaveProperty("status");
      expect(lines[0]?.milliseconds).toEqual({
        receive: expect.any(Number),
        validate: expect.any(Number),
        total: expect.any(Number),
      });
    });

    it("once, when its client leaves while backends are asked what they have installed", async () => {
      stage.backend.elsewhere = () => {};
      const client = await stage.open("GET /capabilities.json HTTP/1.1\r\nHost: edge.example\r\n\r\n");
      await expect.poll(stage.backend.countOpen).toBe(1);
      client.reset();
      await expect.poll(() => lines.length).toBe(1);
      expect(lines).toMatchObject([{ route: "/capabilities.json", code: "client_gone" }]);
    });

    it("once, when its client leaves during the upload", async () => {
      const client = await stage.open(renderHead(CHUNKED), chunk('{"source":'));
      await stage.takenIn();
      client.reset();
      await expect.poll(() => ownLines().length).toBe(1);
      expect(ownLines()).toMatchObject([{ code: "client_gone", caller: "caller-1" }]);
      expect(ownLines()[0]).not.toHaveProperty("requestBytes");
    });

    it("with the problem that it was answering, when its client leaves before that", async () => {
      const client = await stage.open(renderHead({ ...CHUNKED, "X-Service-Api-Token": "wrong" }), chunk("{"));
      await stage.takenIn();
      client.reset();
      await expect.poll(() => ownLines().length).toBe(1);
      expect(ownLines()).toMatchObject([{ code: "forbidden" }]);
    });

    it("with the fields that docs/monitoring.md lists", async () => {
      const client = await stage.open(renderRequest(BODY));
      await client.answer();
      await expect.poll(() => lines.length).toBe(1);
      const listed = (await tableOfPage("monitoring.md", "### Of the edge")).map(([field]) => field);
      const ofFailures = ["timeoutCause, capacityCause, unavailableCause", "nextStep", "failures"];
      expect(listed.filter((field = "") => !ofFailures.includes(field))).toEqual(Object.keys(lines[0] ?? {}));
    });
  });
});

it("has the words in which the documentation quotes its lines", async () => {
  const textsOf = async (folder: string, ending: string) => {
    const names = (await readdir(new URL(folder, ROOT), { recursive: true })).filter((name) => name.endsWith(ending));
    return await Promise.all(names.map((name) => readFile(new URL(`${folder}/${name}`, ROOT), "utf8")));
  };
  const code = (await Promise.all(["edge", "backend", "protocol"].map((folder) => textsOf(folder, ".ts")))).join();
  const pages = (await textsOf("docs", ".md")).join();
  const quoted = [...pages.matchAll(/\bline\s+`([a-z\s]+)`|^\| `([a-z ]+)` \| (?:error|warning) \|/gm)].map(
    ([, inText, inTable = ""]) => (inText ?? inTable).replaceAll(/\s+/g, " "),
  );
  expect(quoted.length).toBeGreaterThan(8);
  expect(quoted.filter((words) => !code.includes(`"${words}"`))).toEqual([]);
});
