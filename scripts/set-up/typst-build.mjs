/** Builds Typst from source with `cargo install`, for machines that cannot download the official release or run it. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { homeFolder } from "../../typst/cache-folder.mjs";
import { findOnPath } from "../../typst/programs.mjs";
import { TYPST_VERSION, typstProblem } from "../../typst/typst-release.mjs";
import { SetUpError, say, withProgress } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

/** `rust-version` of typst-cli 0.15.1. */
const OLDEST_RUST = { major: 1, minor: 92 };
const OLDEST_RUST_TEXT = `${OLDEST_RUST.major}.${OLDEST_RUST.minor}`;

const ADVICE_FOR_RUST =
  `for Rust ${OLDEST_RUST_TEXT} or newer, run \`curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y\` ` +
  "(https://rustup.rs), or `rustup update stable` if rustup is installed; the cargo of Debian and Ubuntu is too old";
const ADVICE_FOR_COMPILER =
  process.platform === "darwin"
    ? "for the C compiler, run `xcode-select --install`"
    : "for the C compiler, run `sudo apt-get install -y build-essential` or your system's equivalent";
const OTHER_WAY = `name a Typst ${TYPST_VERSION} binary in SERVICE_TYPST_BIN.`;

const CARGO_ENVIRONMENT = { ...process.env, CARGO_TERM_COLOR: "never" };

/** Lines of cargo's output that say nothing of a failure. @param {string} line */
const isNoise = (line) => /^\s*(Compiling|Downloading|Downloaded|Fetch|Updating) /.test(line);

/** @param {string} workFolder @param {AbortSignal} signal @returns {Promise<string>} the path of the binary */
export async function buildTypst(workFolder, signal) {
  const tools = await findBuildTools(signal);
  if ("problem" in tools) throw new SetUpError(`Typst ${TYPST_VERSION} has to be built here: ${tools.problem}`);
  const { cargo } = tools;
  say(`building Typst ${TYPST_VERSION} with ${cargo}: about ten minutes on two cores, once for this user`);

  const installRoot = path.join(workFolder, "install");
  const args = ["install", "--locked", `typst-cli@${TYPST_VERSION}`, "--root", installRoot];
  // In the work folder, because cargo's default is TMPDIR, which is often small and not cleaned up after a kill.
  args.push("--target-dir", path.join(workFolder, "target"));
  const build = (/** @type {readonly string[]} */ options) => {
    // In the work folder, so that no .cargo/config.toml or rust-toolchain.toml of a parent folder applies.
    const building = runCommand(cargo, [...args, ...options], {
      cwd: workFolder,
      env: CARGO_ENVIRONMENT,
      signal,
      isNoise,
    });
    return withProgress((elapsed) => `Typst build: ${elapsed}`, building);
  };
  const options = await staticLinking(cargo, workFolder, signal);
  let outcome = await build(options);
  if (options.length > 0 && outcome.output.some((line) => line.includes("error: linking with"))) {
    say(`Typst ${TYPST_VERSION} cannot be linked statically here; it is being built with shared libraries`);
    outcome = await build([]);
  }
  const binary = path.join(installRoot, "bin", "typst");
  const problem = outcome.problem ?? (await typstProblem(binary));
  if (problem === undefined) return binary;
  throw new SetUpError(
    `Building Typst ${TYPST_VERSION} failed: ${problem}. It needs Rust ${OLDEST_RUST_TEXT} or newer ` +
      "(`rustup update stable`), a C compiler and the registry of Rust crates. Fix that and run the set-up again, or " +
      OTHER_WAY,
    outcome.output,
  );
}

/**
 * Options that link Typst statically, as the release is: shared libraries take 1.3 ms of each start (2026-11-23). Empty
 * if one is missing here. Fixed addresses would save another 1.1 ms and help an attacker.
 *
 * @param {string} cargo @param {string} workFolder @param {AbortSignal} signal
 */
async function staticLinking(cargo, workFolder, signal) {
  if (process.platform !== "linux") return [];
  const { output } = await runCommand(cargo, ["--version", "--verbose"], { cwd: workFolder, signal });
  const [, target] = /^host: (\w+-unknown-linux-gnu)$/m.exec(output.join("\n")) ?? [];
  if (target === undefined) return [];
  const source = path.join(workFolder, "probe.c");
  await writeFile(source, "char SSL_CTX_new(void);\nint main(void) { return SSL_CTX_new(); }\n");
  const probe = ["-static-pie", source, "-lssl", "-lcrypto", "-lgcc_eh", "-o", path.join(workFolder, "probe")];
  if ((await runCommand("cc", probe, { signal })).problem !== undefined) return [];
  // With `--target`, the flags do not apply to build scripts and procedural macros, which cannot be static.
  return ["--target", target, "--config", `target.${target}.rustflags=["-Ctarget-feature=+crt-static"]`];
}

/** @param {AbortSignal} signal @returns {Promise<{ cargo: string } | { problem: string }>} */
export async function findBuildTools(signal) {
  const { env } = process;
  // rustup adds its folder to PATH in the shell's start-up files, so a shell that was open before does not have it.
  const searchPath = [env.PATH ?? "", path.join(homeFolder(env), ".cargo", "bin")].join(path.delimiter);
  const candidates = findOnPath("cargo", { ...env, PATH: searchPath });
  const problems = await Promise.all(candidates.map((cargo) => cargoProblem(cargo, signal)));
  const cargo = candidates.find((_, index) => problems[index] === undefined);
  // The compiler is run, because the `cc` of macOS may only print that the tools are missing.
  const hasCompiler = (await runCommand("cc", ["--version"], { signal })).problem === undefined;
  if (cargo !== undefined && hasCompiler) return { cargo };
  const missing = [
    ...(cargo === undefined ? [[problems[0] ?? "there is no Rust (`cargo`)", ADVICE_FOR_RUST]] : []),
    ...(hasCompiler ? [] : [["there is no C compiler (`cc`)", ADVICE_FOR_COMPILER]]),
  ];
  const what = missing.map(([problem]) => problem).join(" and ");
  const advice = missing.map(([, each]) => each).join("; ");
  return { problem: `${what}. To get what is missing: ${advice}. Then run the set-up again, or ${OTHER_WAY}` };
}

/** @param {string} cargo @param {AbortSignal} signal */
async function cargoProblem(cargo, signal) {
  // Outside the project, because a rust-toolchain.toml would choose another Rust.
  const answer = await runCommand(cargo, ["--version"], { cwd: "/", signal });
  const [line] = answer.output;
  if (answer.problem !== undefined) return `${cargo} does not run (${line ?? answer.problem})`;
  const [, major = 0, minor = 0] = (/^cargo (\d+)\.(\d+)/.exec(line ?? "") ?? []).map(Number);
  if (major > OLDEST_RUST.major || (major === OLDEST_RUST.major && minor >= OLDEST_RUST.minor)) return undefined;
  return `${cargo} is older than Rust ${OLDEST_RUST_TEXT} (${line ?? "it prints no version"})`;
}
