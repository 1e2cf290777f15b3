/**
 * `npm run build:edge`: one program and its files answer as the Worker does, hold no settings, and outlive their host's limits.
 * Only Node has a program, files, a limit on open files and a signal that ends it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { EDGE_PROGRAM, writeEdge } from "../../../scripts/build/edge-folder.ts";
import { startBuiltEdge } from "../../../scripts/start/built-edge.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import type { LocalWorker } from "../../support/service/local-worker.ts";
import { startEdge } from "../../support/service/local-worker.ts";
import { RawConnection, renderRequest } from "../../support/service/raw-connection.ts";
import { ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { clientOf } from "../../support/service/test-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../support/tokens.ts";

const STATIC = fileURLToPath(new URL("../../../edge/static", import.meta.url));

let folder: string;
let built: Awaited<ReturnType<typeof startBuiltEdge>>;
let local: LocalWorker;

beforeAll(async () => {
  // What the build finds in its environment must not become part of what it makes.
  process.env.SERVICE_API_TOKENS = API_TOKEN;
  folder = await mkdtemp(join(tmpdir(), "built-edge-"));
  await writeEdge(folder);
  delete process.env.SERVICE_API_TOKENS;
  [built, local] = await Promise.all([
    startBuiltEdge(folder, { SERVICE_API_TOKENS: API_TOKEN }),
    startEdge({ SERVICE_API_TOKENS: API_TOKEN }),
  ]);
  return async () => {
    await built.stop();
    await local.stop();
    await rm(folder, { recursive: true });
  };
});

/** Everything of an answer that does not differ from one to the next. */
async function answerOf(edge: { readonly url: URL }, path: string, init: RequestInit = {}) {
  const response = await fetch(new URL(path, edge.url), { ...init, headers: { "Accept-Encoding": "identity" } });
  // Of Miniflare or Node, or different for each request; and what stands for Cloudflare, which compresses by itself, varies nothing.
  const omitted = ["cf-cache-status", "x-request-id", "date", "connection", "keep-alive", "vary", "content-length"];
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => !omitted.includes(name))),
    body: Buffer.from(await response.arrayBuffer()),
  };
}

async function staticPaths(): Promise<string[]> {
  const entries = await readdir(STATIC, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/^\.|\.(?:tmp|br|gz)$/.test(entry.name));
  return files.map((entry) => join(entry.parentPath, entry.name).slice(STATIC.length));
}

describe("the edge as a folder", () => {
  it("serves every static file and page with the bytes, status and headers of the Worker", async () => {
    const paths = ["/", "/reference", "/licenses", "/nothing.json", ...(await staticPaths())];
    expect(paths.length).toBeGreaterThan(15);
    for (const path of paths) {
      for (const method of ["GET", "HEAD"]) {
        const [one, other] = [await answerOf(built, path, { method }), await answerOf(local, path, { method })];
        // The page of an index.html is served at its route alone.
        if (path === "/nothing.json" || path.endsWith("/index.html")) {
          expect([path, one.status, other.status]).toEqual([path, 404, 404]);
          continue;
        }
        expect([path, one.status, one.headers]).toEqual([path, other.status, other.headers]);
        expect(one.body.equals(other.body), path).toBe(true);
      }
    }
  });

  it("sends text in the smallest form that is accepted, with an entity tag of its own", async () => {
    const path = "/playground/playground.js";
    const answers = ["br, gzip", "gzip;q=0.5", "br;q=0, identity", ""].map(async (accepted) => {
      const answer = await fetch(new URL(path, built.url), { headers: { "Accept-Encoding": accepted } });
      const { headers } = answer;
      return [headers.get("Content-Encoding"), headers.get("ETag"), headers.get("Vary"), await answer.text()];
    });
    const [brotli, gzip, refused, plain] = await Promise.all(answers);
    const whole = await readFile(join(STATIC, path), "utf8");
    expect(brotli).toEqual(["br", expect.stringMatching(/^"\w+-br"$/), "Accept-Encoding", whole]);
    expect(gzip).toEqual(["gzip", expect.stringMatching(/^"\w+-gzip"$/), "Accept-Encoding", whole]);
    expect(refused).toEqual([null, expect.stringMatching(/^"\w+"$/), "Accept-Encoding", whole]);
    expect(plain).toEqual(refused);
  });

  it("answers 304 to the entity tag that it gave, alone or in a list, weak or strong", async () => {
    const url = new URL("/openapi.json", built.url);
    const plain = { "Accept-Encoding": "identity" };
    const tag = (await fetch(url, { headers: plain })).headers.get("ETag") ?? "";
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
    expect((await fetch(new URL("/output-rules.json", built.url))).headers.get("ETag")).not.toBe(tag);
    for (const matching of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const answer = await fetch(url, { headers: { ...plain, "If-None-Match": matching } });
      expect([matching, answer.status, answer.headers.get("ETag")]).toEqual([matching, 304, tag]);
    }
    expect((await fetch(url, { headers: { "If-None-Match": '"other"' } })).status).toBe(200);
  });

  it("serves no file by another spelling of its path", async () => {
    for (const path of ["/DESCRIPTIONS", "/%6fpenapi.json", "/openapi.json/", "/static/openapi.json"]) {
      const [one, other] = [await answerOf(built, path), await answerOf(local, path)];
      expect([path, one.status]).toEqual([path, other.status]);
    }
  });

  it("ends with a sentence when a setting is not valid", async () => {
    const started = spawn(process.execPath, [join(folder, EDGE_PROGRAM)], {
      env: { SERVICE_MAX_OUTPUT_FILES: "many" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    expect(await text(started.stderr)).toMatch(/^SERVICE_MAX_OUTPUT_FILES must be a whole number/);
    expect(started.exitCode ?? (await once(started, "exit"))[0]).toBe(1);
  });

  it("is built without the settings of the machine that builds it", async () => {
    for (const name of [EDGE_PROGRAM, "static.json"])
      expect(await readFile(join(folder, name), "utf8")).not.toContain(API_TOKEN);
    const edge = await startBuiltEdge(folder, {});
    onTestFinished(async () => void (await edge.stop()));
    expect((await clientOf(edge.url).render({ source: "x" })).status).toBe(503);
  });

  it("answers what is in flight before it stops", async () => {
    const waiting: ServerResponse[] = [];
    const backend = createServer((_request, response) => waiting.push(response));
    const { origin } = await listenOnLoopback(backend);
    onTestFinished(() => closeServer(backend));
    const edge = await startBuiltEdge(folder, {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: origin,
    });
    const answer = clientOf(edge.url).render({ source: "x" });
    await expect.poll(() => waiting.length).toBe(1);
    const ended = edge.stop();
    waiting[0]?.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": 5 }).end("%PDF-");
    expect([(await answer).status, await (await answer).text()]).toEqual([200, "%PDF-"]);
    expect(await ended).toBe(0);
  });
});

describe("the edge at the limits of its host", () => {
  let backend: ScriptedBackend;
  let environment: Record<string, string>;

  beforeAll(async () => {
    backend = await new ScriptedBackend().start();
    environment = {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: backend.url.origin,
    };
    return () => backend.stop();
  });

  it("outlives more renders that wait, and more idle connections, than the 1,024 open files that it may have", async () => {
    const edge = await startBuiltEdge(folder, environment, { maxOpenFiles: 1024 });
    onTestFinished(async () => void (await edge.stop()));
    const statuses: number[] = [];
    backend.behaviour = (response, { body }) => {
      if (body.includes("quick")) backend.answer(response);
    };
    const connections = [];
    // It holds 139 that wait.
    for (let n = 0; n < 500; n++) connections.push(await RawConnection.open(edge.url, renderRequest('{"source":"x"}')));
    // As many as wait are held, and all others have been answered.
    for (let n = 0; n < 1500; n++) connections.push(await RawConnection.open(edge.url));
    for (let n = 0; n < 20; n++) statuses.push((await clientOf(edge.url).render({ source: "quick" })).status);
    expect(statuses).toEqual(Array(20).fill(429));
    expect(backend.countOpen()).toBeGreaterThan(20);
    expect((await fetch(new URL("/health", edge.url))).status).toBe(200);
    for (const connection of connections) connection.reset();
    await expect.poll(async () => (await clientOf(edge.url).render({ source: "quick" })).status).toBe(200);
    expect(edge.process.exitCode).toBeNull();
  });

  it("does not start with fewer open files than it needs", async () => {
    await expect(startBuiltEdge(folder, environment, { maxOpenFiles: 511 })).rejects.toThrow(
      "has exited (exit code 1)",
    );
  });

  it("ends with a reason when it cannot listen", async () => {
    const edge = await startBuiltEdge(folder, environment);
    onTestFinished(async () => void (await edge.stop()));
    const started = spawn(process.execPath, [join(folder, EDGE_PROGRAM)], {
      env: { ...environment, SERVICE_EDGE_HOST: edge.url.hostname, SERVICE_EDGE_PORT: edge.url.port },
      stdio: ["ignore", "ignore", "pipe"],
    });
    expect(await text(started.stderr)).toMatch(/the edge cannot listen: .*EADDRINUSE/);
    expect(started.exitCode ?? (await once(started, "exit"))[0]).toBe(1);
  });

  it("answers and stops while nobody reads its log", async () => {
    const edge = await startBuiltEdge(folder, { ...environment, SERVICE_LOG_REQUESTS: "json" }, { stdout: "pipe" });
    // 300 bytes a line, and a pipe holds 64 KiB.
    for (let n = 0; n < 500; n += 100) {
      const answers = Array.from({ length: 100 }, () => fetch(new URL("/health", edge.url)).then((one) => one.text()));
      await Promise.all(answers);
    }
    expect(await edge.stop()).toBe(0);
  });
});
