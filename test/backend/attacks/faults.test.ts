/** Faults of the machine and of clients. */
import { once } from "node:events";
import { mkdtemp, readdir, readlink, rm, statfs, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { CAUSES } from "../../../rules/causes.ts";
import { type LocalBackend, startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { runMountCommand } from "../../long/attacks/mount-helper.ts";
import { ENDLESS, NO_TIME_LIMIT, noisePng, svg } from "../../support/backend/bombs.ts";
import { processesOf, readProc, typstProcessesOf } from "../../support/backend/processes.ts";
import { binaryFile, textFile } from "../../support/backend/request-files.ts";
import {
  expectNothingLeft,
  projectsIn,
  renderInit,
  startTemporaryBackend,
  startTestBackend,
  type TestBackend,
} from "../../support/backend/test-backend.ts";
import { eachSandbox } from "../../support/backend/test-sandbox.ts";
import { expectProblem } from "../../support/problems.ts";
import { parseMetrics, sampleValue } from "../../support/readers/metrics-text.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { readZip } from "../../support/readers/zip-reader.ts";
import {
  backendRenderHead,
  declared,
  RawConnection,
  sendWithoutReading,
} from "../../support/service/raw-connection.ts";
import { backendEnvironment } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const MEBIBYTE = 1024 ** 2;
const ZIP_OF_SVG = { format: "svg", archive: "zip" };

type Settings = Readonly<Record<string, string>>;

async function startProcess(settings: Settings): Promise<LocalBackend> {
  const environment = { SERVICE_SETPRIV_BIN: inject("setprivPath") ?? "", ...backendEnvironment() };
  const backend = await startBackend({ ...environment, ...settings }, await takeFreePort());
  onTestFinished(() => backend.stop());
  return backend;
}

const send = ({ url }: LocalBackend, body: object) =>
  fetch(new URL("/v1/render", url), renderInit(body, { headers: { Connection: "close" } }));

eachSandbox(it, [
  ["bubblewrap", "2"],
  ["landlock", "0"],
])(
  "a backend that is killed in the middle of renders takes every Typst with it, and the next backend cleans up (%s, %s warm)",
  async (sandbox = "", warm = "") => {
    const folder = await makeTemporaryFolder("faults-test-");
    const settings = {
      SERVICE_WORK_DIRECTORY: folder,
      SERVICE_SANDBOX: sandbox,
      SERVICE_WARM_RENDERS: warm,
      SERVICE_MAX_CONCURRENT_RENDERS: "3",
      ...NO_TIME_LIMIT,
    };
    const first = await startProcess(settings);
    for (const output of [{}, ZIP_OF_SVG]) expect((await send(first, { source: "x", output })).status).toBe(200);
    const answers = [{}, ZIP_OF_SVG].map((output) => send(first, { source: ENDLESS, output }).catch(() => "lost"));
    await expect.poll(() => typstProcessesOf(folder).length).toBe(2);
    // Leaves a process that waits, where processes are started ahead.
    expect((await send(first, { source: "x" })).status).toBe(200);
    await expect.poll(() => typstProcessesOf(folder).length).toBe(warm === "0" ? 2 : 3);
    const pids = typstProcessesOf(folder);
    onTestFinished(() => {
      for (const pid of pids) if (processesOf(folder).includes(pid)) process.kill(pid, "SIGKILL");
    });
    first.process.kill("SIGKILL");
    await once(first.process, "exit");
    expect(await Promise.all(answers)).toEqual(["lost", "lost"]);
    await expect.poll(() => processesOf(folder)).toEqual([]);
    expect((await projectsIn(folder)).length).toBeGreaterThanOrEqual(2);
    const next = await startProcess({ ...settings, SERVICE_WARM_RENDERS: "0" });
    expect(await projectsIn(folder)).toEqual([]);
    expect((await send(next, { source: "x" })).status).toBe(200);
    await next.stop();
    expect(processesOf(folder)).toEqual([]);
  },
);

/** Whether this process may mount, itself or by the attack suite's helper. */
const canMount = await (async () => {
  const folder = await mkdtemp(join(tmpdir(), "mount-test-"));
  const isMounted = await mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", folder);
  if (isMounted) await unmount(folder);
  await rm(folder, { recursive: true, force: true });
  return isMounted;
})();

function mount(...options: string[]): Promise<boolean> {
  return runMountCommand({ program: "mount", arguments: options });
}

function unmount(folder: string): Promise<boolean> {
  return runMountCommand({ program: "umount", arguments: ["--lazy", folder] });
}

describe.skipIf(!canMount)("a work directory (skipped without the right to mount)", () => {
  /** The path for a work directory on a file system of its own, whose root belongs to the user that mounted it. */
  async function onOwnDisk(): Promise<string> {
    const disk = await makeTemporaryFolder("faults-test-");
    expect(await mount("-t", "tmpfs", "tmpfs", disk)).toBe(true);
    onTestFinished(async () => void (await unmount(disk)));
    return join(disk, `on-${basename(disk)}`);
  }

  /** A backend whose work directory has this much space left. */
  async function backendOnSmallDisk(left: Left): Promise<TestBackend> {
    const backend = await startTestBackend({ SERVICE_WORK_DIRECTORY: await onOwnDisk() });
    onTestFinished(() => backend.close().catch(() => {}));
    await leave(backend, left);
    return backend;
  }

  /** With these options alone: those that the kernel lists may name users unknown to a user namespace. */
  function remount({ workDirectory }: Pick<TestBackend, "workDirectory">, options: string): Promise<boolean> {
    const alone = ["--options-mode", "ignore", "--options-source", "disable", "-t", "tmpfs"];
    return mount(...alone, "-o", `remount,${options}`, "tmpfs", dirname(workDirectory));
  }

  type Left = Readonly<{ bytes: number; names?: number }>;

  async function leave(backend: TestBackend, { bytes, names }: Left): Promise<void> {
    const { blocks, bfree, bsize, files, ffree } = await statfs(backend.workDirectory);
    const limits = [`size=${(blocks - bfree) * bsize + bytes}`];
    if (names !== undefined) limits.push(`nr_inodes=${files - ffree + names}`);
    expect(await remount(backend, limits.join(","))).toBe(true);
  }

  it("that is read-only makes the service unavailable until it is writable again", async () => {
    const backend = await backendOnSmallDisk({ bytes: MEBIBYTE });
    expect(await remount(backend, "ro")).toBe(true);
    await expectProblem(await backend.render({ source: "x" }), "service_unavailable");
    await expectProblem(await backend.fetch("/ready"), "service_unavailable");
    expect(await remount(backend, "rw")).toBe(true);
    expect((await backend.fetch("/ready")).status).toBe(200);
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expectNothingLeft(backend);
  });

  it("that is read-only when the backend stops is left as it is, with one line and exit code 1", async () => {
    const workDirectory = await onOwnDisk();
    const backend = await startProcess({ SERVICE_WORK_DIRECTORY: workDirectory, SERVICE_WARM_RENDERS: "1" });
    expect((await send(backend, { source: "x" })).status).toBe(200);
    expect(await remount({ workDirectory }, "ro")).toBe(true);
    backend.process.kill("SIGTERM");
    await once(backend.process, "close");
    expect(backend.errorText()).toBe(`The work directory ${workDirectory} cannot be emptied: EROFS.`);
    expect(backend.process.exitCode).toBe(1);
    expect(processesOf(workDirectory)).toEqual([]);
  });

  it("without room for a file of the request makes the service unavailable until there is room", async () => {
    const backend = await backendOnSmallDisk({ bytes: MEBIBYTE });
    const { bavail, bsize } = await statfs(backend.workDirectory);
    const filler = join(backend.workDirectory, "filler");
    await writeFile(filler, Buffer.alloc(bavail * bsize - 65_536));
    const body = { source: "x", files: { "a.txt": textFile("x".repeat(300_000)) } };
    await expectProblem(await backend.render(body), "service_unavailable");
    await expect.poll(() => backend.projects()).toEqual([]);
    // A render that needs no room is served meanwhile.
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await unlink(filler);
    expect((await backend.render(body)).status).toBe(200);
    await expectNothingLeft(backend);
  });

  it.each<[string, Left]>([
    ["byte", { bytes: 0 }],
    ["inode", { bytes: 64 * MEBIBYTE, names: 0 }],
  ])("without a free %s makes the backend say that it is not ready, and why", async (_what, left) => {
    const backend = await backendOnSmallDisk({ bytes: 64 * MEBIBYTE });
    expect((await backend.fetch("/ready")).status).toBe(200);
    await leave(backend, left);
    const { detail } = await expectProblem(await backend.fetch("/ready"), "service_unavailable");
    expect(detail).toContain(CAUSES.service_unavailable.disk_full);
    const refused = await backend.render({ source: "x", data: "y".repeat(10_000) });
    expect(refused.headers.get("X-Service-Problem-Cause")).toBe("disk_full");
    await leave(backend, { bytes: 64 * MEBIBYTE, names: 99 });
    expect((await backend.fetch("/ready")).status).toBe(200);
    expect((await backend.render({ source: "x" })).status).toBe(200);
  });

  it("of no size, such as a tmpfs without a limit, is not taken for a full one", async () => {
    const backend = await backendOnSmallDisk({ bytes: 64 * MEBIBYTE });
    expect(await remount(backend, "size=0")).toBe(true);
    expect((await statfs(backend.workDirectory)).blocks).toBe(0);
    expect((await backend.fetch("/ready")).status).toBe(200);
    expect(await backend.metric("service_work_directory_free_bytes")).toBe(Number.POSITIVE_INFINITY);
  });

  it("without room for the pages of an archive makes the service unavailable, and does not blame the template", async () => {
    const backend = await backendOnSmallDisk({ bytes: MEBIBYTE });
    const shapes = { "a.svg": textFile(svg('<rect width="1" height="1"/>'.repeat(9000))) };
    const body = { source: '#for i in range(9) { page(image("a.svg")) }', files: shapes, output: ZIP_OF_SVG };
    await expectProblem(await backend.render(body), "service_unavailable");
    await leave(backend, { bytes: 64 * MEBIBYTE });
    expect(readZip(await backend.renderFile(body))).toHaveLength(9);
    await expectNothingLeft(backend);
  });
});

describe("clients that go away leave nothing", () => {
  const SETTINGS = { SERVICE_MAX_CONCURRENT_RENDERS: "2", SERVICE_QUEUE_DEADLINE_SECONDS: "300", ...NO_TIME_LIMIT };
  const CLIENTS = 8;

  /** Clients that leave before their request is complete. */
  const gone = (backend: TestBackend) =>
    backend.metric("service_render_requests_total", { format: "none", outcome: "client_gone" });

  /**
   * Lets clients go away twice: the first time opens what stays open, connections of this process for example; what the
   * second time adds would be lost each time.
   */
  async function expectNoLoss(scenario: (backend: TestBackend) => Promise<void>): Promise<void> {
    const backend = await startTemporaryBackend(SETTINGS);
    const run = async (): Promise<void> => {
      await scenario(backend);
      await expectNothingLeft(backend);
      expect((await backend.render({ source: "x" })).status).toBe(200);
      await expectNothingLeft(backend);
    };
    await run();
    const before = await descriptorCount();
    await run();
    await expect.poll(descriptorCount).toBeLessThan(before + CLIENTS / 2);
  }

  const descriptorCount = async () => (await readdir("/proc/self/fd")).length;

  it.each([
    ["while they send the body", '{"source": "x'],
    ["before they send the body", ""],
  ])("%s", async (_what, start) => {
    await expectNoLoss(async (backend) => {
      const goneBefore = await gone(backend);
      for (let client = 0; client < CLIENTS; client++) {
        const arrived = once(backend.server, "request");
        const connection = new RawConnection(backend.url);
        await connection.write(`${backendRenderHead(declared(1000))}${start}`);
        await arrived;
        connection.socket.destroy();
      }
      await expect.poll(() => gone(backend)).toBe(goneBefore + CLIENTS);
    });
  });

  it("while they wait and while they are served", async () => {
    await expectNoLoss(async (backend) => {
      const leaving = new AbortController();
      const answers = Array.from({ length: CLIENTS }, () =>
        backend.render({ source: ENDLESS }, { signal: leaving.signal }).catch(() => "left"),
      );
      await expect.poll(() => backend.metric("service_renders_waiting")).toBe(CLIENTS - 2);
      await expect.poll(() => typstProcessesOf(backend.workDirectory)).toHaveLength(2);
      leaving.abort();
      expect(new Set(await Promise.all(answers))).toEqual(new Set(["left"]));
    });
  });

  it("at any moment of a short render", async () => {
    const backend = await startTemporaryBackend({ ...SETTINGS, SERVICE_WARM_RENDERS: "2" });
    for (let milliseconds = 0; milliseconds < 40; milliseconds++) {
      const signal = AbortSignal.timeout(milliseconds);
      await backend.render({ source: "x" }, { signal }).then(
        (answer) => answer.bytes().catch(() => {}),
        () => {},
      );
    }
    await expect.poll(() => backend.metric("service_renders_running")).toBe(0);
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expect.poll(async () => (await backend.projects()).length).toBeLessThanOrEqual(2);
    await expect.poll(() => typstProcessesOf(backend.workDirectory).length).toBeLessThanOrEqual(2);
  });

  it("while they read the answer", async () => {
    // About 9 MB: more than the sockets between the two hold. An SVG contains its images as they are.
    const files = { "a.png": binaryFile(noisePng(500)) };
    const body = {
      source: '#set page(height: auto)\n#for i in range(9) { image("a.png") }',
      files,
      output: { format: "svg" },
    };
    await expectNoLoss(async (backend) => {
      for (let client = 0; client < 4; client++) {
        const { socket } = sendWithoutReading(backend.url, body);
        const beginning = once(socket.resume(), "data");
        expect(String(await beginning)).toMatch(/^HTTP\/1\.1 200 /);
        socket.destroy();
      }
    });
  });
});

describe("two hundred clients at once, ten times what can be served or wait", () => {
  /** At least this many of each outcome, however slow the machine is. */
  const ENOUGH = 8;
  /** `npm run soak` goes on for this long in any case, to find what shows only with time. */
  const SECONDS = Number(process.env.SOAK_SECONDS ?? 0);
  const OUTCOMES = ["ok", "template_compile_failed", "render_queue_full"];
  const SLOTS = 2;
  const PLACES = 18;
  const CLIENTS = 10 * (SLOTS + PLACES);
  const WARM = 2;

  it("each get a correct render or a correct problem, and nothing leaks", {
    timeout: (SECONDS + 300) * 1000,
  }, async () => {
    const folder = await makeTemporaryFolder("faults-test-");
    const backend = await startProcess({
      SERVICE_WORK_DIRECTORY: folder,
      SERVICE_MAX_CONCURRENT_RENDERS: String(SLOTS),
      SERVICE_MAX_QUEUED_RENDERS: String(PLACES),
      SERVICE_QUEUE_DEADLINE_SECONDS: "1",
      SERVICE_WARM_RENDERS: String(WARM),
    });
    const { pid } = backend.process;
    /**
     * The FIFOs of programs that run or wait, the Unix sockets, of which each shell has two, and all other descriptors.
     */
    const descriptors = async () => {
      const names = await readdir(`/proc/${pid}/fd`);
      const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => "")));
      const lines = readProc(`${pid}/net/unix`).split("\n");
      const unixSockets = new Set(lines.map((line) => `socket:[${line.split(/\s+/)[6]}]`));
      const fifos = targets.filter((target) => target.startsWith(join(folder, "launcher"))).length;
      const sockets = targets.filter((target) => unixSockets.has(target)).length;
      return { fifos, sockets, others: targets.length - fifos - sockets };
    };
    const { sockets } = await descriptors();
    const settled = () => expect.poll(() => typstProcessesOf(folder).length).toBe(WARM);
    await Promise.all(Array.from({ length: CLIENTS }, () => send(backend, { source: "x" })));
    await settled();
    const before = (await descriptors()).others;

    const counts = new Map<string, number>();
    const count = (outcome: string) => counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const end = performance.now() + SECONDS * 1000;
    const isOver = () => performance.now() >= end && OUTCOMES.every((outcome) => (counts.get(outcome) ?? 0) >= ENOUGH);
    const client = async (number: number): Promise<void> => {
      for (let round = 0; !isOver(); round++) {
        const text = `client ${number} round ${round}`;
        const isWrong = (number + round) % 4 === 0;
        const answer = await send(backend, { source: isWrong ? "#panic()" : text });
        if (answer.status === 200) {
          expect(isWrong).toBe(false);
          expect((await readPdf(await answer.bytes())).pageTexts).toEqual([text]);
          count("ok");
        } else if (answer.status === 422) {
          expect(isWrong).toBe(true);
          await expectProblem(answer, "template_compile_failed");
          count("template_compile_failed");
        } else {
          const { context } = await expectProblem(answer, "render_queue_full");
          expect(answer.headers.get("Retry-After")).toBe(String(context.retry_after));
          count("render_queue_full");
          // A client that is refused comes back later, so that the processor is left to the renders.
          await delay(100);
        }
      }
    };
    let healthAnswers = 0;
    const watch = async (): Promise<void> => {
      while (!isOver()) {
        expect((await fetch(new URL("/health", backend.url), { headers: { Connection: "close" } })).status).toBe(200);
        healthAnswers++;
        // As a load balancer asks: now and then.
        await delay(100);
      }
    };
    await Promise.all([watch(), ...Array.from({ length: CLIENTS }, (_, number) => client(number))]);

    expect([...counts.keys()].sort()).toEqual([...OUTCOMES].sort());
    expect(healthAnswers).toBeGreaterThan(1);
    await expect.poll(() => typstProcessesOf(folder).length).toBeLessThanOrEqual(WARM);
    await expect.poll(async () => (await projectsIn(folder)).length).toBeLessThanOrEqual(WARM);
    const samples = parseMetrics(await (await fetch(new URL("/metrics", backend.url))).text());
    const gauges = ["service_renders_running", "service_renders_waiting", "service_temp_reserved_bytes"];
    expect(gauges.map((name) => sampleValue(samples, name, {}))).toEqual([0, 0, 0]);
    // One is the connection that asked for the metrics.
    await expect.poll(async () => (await descriptors()).others).toBeLessThanOrEqual(before + 1);
    // How many shells there are depends on how many renders have run at once.
    await expect.poll(async () => (await descriptors()).sockets).toBeLessThanOrEqual(sockets + 2 * (SLOTS + WARM));
    await expect.poll(async () => (await descriptors()).fifos).toBeLessThanOrEqual(2 * WARM);
    await backend.stop();
    expect(processesOf(folder)).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });
});
