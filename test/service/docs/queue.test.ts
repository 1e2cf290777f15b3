/** The worker of examples/programs/queue/, with a webhook and a worker that is killed. */
import { cp, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it, onTestFinished } from "vitest";
import { hasPython } from "../../support/clients/python-driver.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const QUEUE = join(PROJECT, "examples/programs/queue");

/** SQLite of this Python, which may be older than the page says. */
async function canRunWorker(): Promise<boolean> {
  const check = "import sqlite3, sys; sys.exit(sqlite3.sqlite_version_info < (3, 35))";
  return hasPython() && !(await execa("python3", ["-c", check], { reject: false })).failed;
}

const test = it.skipIf(!(await canRunWorker()));

type Queue = Awaited<ReturnType<typeof makeQueue>>;

/** @param failures the statuses of the webhook's first answers; after these it is well */
async function makeQueue(failures: number[] = []) {
  const folder = await makeTemporaryFolder("queue-");
  await cp(join(PROJECT, "clients/python/document_rendering.py"), join(folder, "document_rendering.py"));
  await cp(join(QUEUE, "worker.py"), join(folder, "worker.py"));
  /** What the webhook was told. */
  const told: unknown[] = [];
  const webhook = createServer((request, response) => {
    void json(request).then((body) => {
      told.push(body);
      response.writeHead(failures.shift() ?? 204).end();
    });
  });
  const { href } = await listenOnLoopback(webhook);
  const database = new DatabaseSync(join(folder, "jobs.db"), { timeout: 60_000 });
  database.exec(await readFile(join(QUEUE, "jobs.sql"), "utf8"));
  onTestFinished(async () => {
    database.close();
    await closeServer(webhook);
  });
  const insert = database.prepare("INSERT INTO jobs (request, webhook) VALUES (?, ?)");
  return { folder, database, told, add: (request: object) => void insert.run(JSON.stringify(request), href) };
}

function startWorker({ folder }: Queue, url: string) {
  const worker = execa("python3", ["-B", "worker.py"], {
    cwd: folder,
    reject: false,
    env: { SERVICE_URL: url, SERVICE_API_TOKEN: API_TOKEN },
  });
  onTestFinished(async () => {
    worker.kill("SIGKILL");
    await worker;
  });
  return worker;
}

const unfinished = ({ database }: Queue) =>
  database.prepare("SELECT id, tries FROM jobs WHERE NOT finished ORDER BY id").all();

test("the worker renders what is in the table, and tells the webhook of files and of mistakes", async () => {
  const service = await sharedService();
  const queue = await makeQueue();
  queue.add({ source: "= Hello #data.name", data: { name: "Ada" } });
  queue.add({ source: "#panic()" });
  void startWorker(queue, service.edge.url.origin);
  await expect.poll(() => unfinished(queue)).toEqual([]);
  expect(queue.told).toEqual([
    { id: 1, file: "1.pdf" },
    { id: 2, code: "template_compile_failed", detail: expect.any(String) },
  ]);
  expect(await readFile(join(queue.folder, "1.pdf"), "latin1")).toMatch(/^%PDF-/);
});

test("a job whose worker was killed, or whose webhook was down, is taken again when its lease ends", async () => {
  const server = await startScriptedService((response, count) => {
    // The first answer never comes.
    if (count > 1) sendPdf(response);
  });
  const queue = await makeQueue([503]);
  const endLease = () => queue.database.exec("UPDATE jobs SET taken_until = 0");
  queue.add({ source: "x" });
  const killed = startWorker(queue, server.url);
  await expect.poll(() => server.bodies).toHaveLength(1);
  killed.kill("SIGKILL");
  await killed;
  expect(unfinished(queue)).toEqual([{ id: 1, tries: 1 }]);

  endLease();
  void startWorker(queue, server.url);
  await expect.poll(() => queue.told).toHaveLength(1);
  expect(unfinished(queue)).toEqual([{ id: 1, tries: 2 }]);

  endLease();
  await expect.poll(() => unfinished(queue)).toEqual([]);
  expect(queue.told).toEqual([
    { id: 1, file: "1.pdf" },
    { id: 1, file: "1.pdf" },
  ]);
  expect(server.bodies).toHaveLength(3);
});
