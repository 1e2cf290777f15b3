/** The images in podman: health checks, and the sandbox that podman's own profile of system calls leaves. */
import { type Images, imageName, TARGETS, type Target } from "./images.ts";
import { BACKEND_TOKEN, type Context, inNetworkOf, run, startNetwork, TOKEN_VARIABLES, until } from "./part.ts";

/** By default, podman asks for more open files than a superuser without all capabilities may allow. */
const LIMITS = ["--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"];

type Start = (target: Target, ...options: string[]) => Promise<string>;

export async function tryPodman({ podman }: Images, { say, atEnd }: Context): Promise<void> {
  const network = await startNetwork(atEnd);
  const inPodman = (...options: string[]) => run(inNetworkOf(network, podman(...options)));
  const start: Start = async (target, ...options: string[]) => {
    const id = (await inPodman("run", "--detach", ...LIMITS, ...options, imageName(target))).trim();
    atEnd(() => inPodman("rm", "--force", "--time=0", id).catch(() => ""));
    return id;
  };
  for (const target of TARGETS) {
    const find = [
      "--entrypoint=/usr/bin/find",
      "--user=0",
      imageName(target),
      ..."/ -xdev -type f -perm /6000".split(" "),
    ];
    const found = await inPodman("run", "--rm", ...LIMITS, ...find);
    if (found !== "") throw new Error(`setuid or setgid in ${target}: ${found}`);
  }
  say("no image has a setuid or setgid program");
  await tryProcess1(inPodman, start, say);
  const settings = ["--env=SERVICE_SANDBOX=bubblewrap", `--env=SERVICE_BACKEND_TOKENS=${BACKEND_TOKEN}`];
  const refused = await start("backend", ...settings);
  await inPodman("wait", refused);
  const logs = inNetworkOf(network, podman("logs", refused));
  const text = await run(["sh", "-c", 'exec "$@" 2>&1', "sh", ...logs]);
  if (!text.includes("Podman's default seccomp profile")) throw new Error(`bubblewrap in podman: ${text}`);
  say(`SERVICE_SANDBOX=bubblewrap names the cause: ${text.trim().slice(0, 150)}…`);
}

/** A signal that process 1 does not handle is dropped: the service would be killed after its grace period. */
async function tryProcess1(
  inPodman: (...options: string[]) => Promise<string>,
  start: Start,
  say: Context["say"],
): Promise<void> {
  const variables = { ...TOKEN_VARIABLES, SERVICE_BACKEND_URLS: "http://127.0.0.1:8788" };
  const settings = Object.entries(variables).map(([name, value]) => `--env=${name}=${value}`);
  for (const target of TARGETS) {
    for (const signal of ["TERM", "INT"]) {
      for (const when of ["at once", "when it serves"]) {
        const id = await start(target, ...settings);
        if (when !== "at once") {
          await until(`a healthy ${target}`, () => inPodman("healthcheck", "run", id).then(() => true));
        }
        const stopped = performance.now();
        await inPodman("kill", "--signal", signal, id);
        const state = async (field: string) =>
          (await inPodman("inspect", "--format", `{{.State.${field}}}`, id)).trim();
        await until(`the end of ${target}`, async () => (await state("Status")) === "exited");
        const exitCode = Number(await state("ExitCode"));
        // 128 and the number of the signal: it came before the program could handle it, or the program leaves it to the
        // kernel.
        const isClean = [0, 128 + (signal === "TERM" ? 15 : 2)].includes(exitCode);
        if (!isClean) throw new Error(`${target} ended with ${exitCode} on SIG${signal} ${when}`);
        say(
          `${target}: SIG${signal} ${when} ends it with ${exitCode} in ${((performance.now() - stopped) / 1000).toFixed(1)} s`,
        );
        await inPodman("rm", "--force", id);
      }
    }
  }
}
