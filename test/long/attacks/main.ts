/**
 * `npm run test:attacks`: the attack suite as an ordinary user, once in each sandbox. A test that is skipped is a
 * failure.
 *
 * Everything runs in a new mount namespace, which ends with the last process in it. The superuser becomes `nobody`
 * there; bind mounts make the checkout and the cache visible, whatever the permissions of the folders above them. An
 * ordinary user stays the same user. Only the helper that mounts disks for the tests of full disks keeps its privileges
 * (`mount-helper.ts`).
 */
import { chmod, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { cacheFolder } from "../../../typst/cache-folder.mjs";
import { requireTypst } from "../../../typst/program-location.mjs";
import { ensureSetpriv } from "../../support/debian-13/setpriv.ts";
import { ensureStaticPrograms, STATIC_PROGRAM_FOLDERS } from "../../support/debian-13/static-programs.ts";
import { MOUNT_SOCKET_VARIABLE, serveMounts } from "./mount-helper.ts";

const CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));
const SELF = fileURLToPath(import.meta.url);
const NOBODY = "65534";
const SANDBOXES = ["bubblewrap", "landlock"] as const;

/** The attacks, and the tests of the parts that must withstand them. */
const ATTACK_SUITE = ["attacks", "sandbox", "launcher", "compiler"].map((folder) => `test/backend/${folder}/`);

const INSIDE = "--inside";

const [option, ...others] = process.argv.slice(2);
if (option === INSIDE) {
  const [stage = "", caller = "", ...files] = others;
  await runSuites(stage, caller, files);
} else {
  await runInNamespace(option === undefined ? ATTACK_SUITE : [option, ...others]);
}

async function runInNamespace(files: readonly string[]): Promise<void> {
  await requireTypst();
  await ensureSetpriv();
  await ensureStaticPrograms();
  // A short name, because socket addresses inside it have room for few bytes.
  const stage = await mkdtemp("/tmp/attacks-");
  try {
    const userId = String(process.getuid?.());
    const namespaces = userId === "0" ? ["--mount"] : ["--user", "--map-root-user", "--mount"];
    const command = [...namespaces, "--propagation", "private", "--", process.execPath, SELF, INSIDE, stage, userId];
    const { exitCode } = await execa("unshare", [...command, ...files], { stdio: "inherit", reject: false });
    process.exitCode = exitCode ?? 1;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** Runs inside the namespace, with permission to mount there. */
async function runSuites(stage: string, caller: string, files: readonly string[]): Promise<void> {
  const inStage = (name: string) => join(stage, name);
  await chmod(stage, 0o755);
  await mountAt(inStage("checkout"), CHECKOUT);
  const cache = inStage("cache/document-rendering-service");
  await mountAt(cache, cacheFolder());
  const temporary = inStage("t");
  await mkdir(temporary);
  await chmod(temporary, 0o1777);
  const mounts = await serveMounts(inStage("mounts"), temporary);
  const user =
    caller === "0"
      ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
      : ["unshare", "--user", `--map-user=${caller}`, `--map-group=${caller}`];
  try {
    for (const sandbox of SANDBOXES) {
      const report = inStage(`t/${sandbox}.json`);
      const [program = "", ...rest] = [
        ...[...user, "--"],
        ...[inStage(join("checkout", relative(CHECKOUT, process.execPath))), "node_modules/vitest/vitest.mjs", "run"],
        // Nothing is written into the checkout, which may belong to another user.
        ...["--project", "node", "--configLoader", "native", "--cache", "false", "--no-color"],
        ...["--fsModuleCachePath", inStage("t/modules")],
        ...["--reporter", "dot", "--reporter", "json", `--outputFile.json=${report}`, ...files],
      ];
      await execa(program, rest, {
        cwd: inStage("checkout"),
        stdin: "ignore",
        stdout: "inherit",
        stderr: "inherit",
        reject: false,
        extendEnv: false,
        env: {
          // Those last, so that they are used only where the machine has none.
          PATH: [process.env.PATH, ...STATIC_PROGRAM_FOLDERS.map((folder) => join(cache, folder))].join(":"),
          HOME: temporary,
          TMPDIR: temporary,
          XDG_CACHE_HOME: inStage("cache"),
          SERVICE_SANDBOX: sandbox,
          [MOUNT_SOCKET_VARIABLE]: inStage("mounts"),
        },
      });
      if (!(await hasPassed(report, sandbox))) process.exitCode = 1;
    }
  } finally {
    mounts.close();
  }
}

async function mountAt(target: string, source: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await execa("mount", ["--rbind", source, target]);
}

async function hasPassed(report: string, sandbox: string): Promise<boolean> {
  const text = await readFile(report, "utf8").catch(() => "{}");
  const { numTotalTests = 0, numPassedTests = 0, numFailedTests = 0 } = JSON.parse(text);
  const skipped = numTotalTests - numPassedTests - numFailedTests;
  console.log(
    `attack suite in ${sandbox}, as an ordinary user: ${numPassedTests} passed, ${numFailedTests} failed, ${skipped} skipped`,
  );
  return numPassedTests > 0 && numPassedTests === numTotalTests;
}
