/** The images in podman: health checks, and the sandbox that podman's own profile of system calls leaves. */
import { type Images, imageName } from "./images.ts";
import { BACKEND_TOKEN, type Context, inNetworkOf, run, startNetwork, until } from "./part.ts";

/** By default, podman asks for more open files than a superuser without all capabilities may allow. */
const LIMITS = ["--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"];

export async function tryPodman({ podman }: Images, { say, atEnd }: Context): Promise<void> {
  const network = await startNetwork(atEnd);
  const inPodman = (...options: string[]) => run(inNetworkOf(network, podman(...options)));
  const start = async (target: "backend" | "all-in-one", ...options: string[]) => {
    const id = (await inPodman("run", "--detach", ...LIMITS, ...options, imageName(target))).trim();
    atEnd(() => inPodman("rm", "--force", "--time=0", id).catch(() => ""));
    return id;
  };
  const all = await start("all-in-one");
  await until("a health check of all-in-one in podman", () => inPodman("healthcheck", "run", all).then(() => true));
  await inPodman("stop", all);
  const exitCode = (await inPodman("inspect", "--format", "{{.State.ExitCode}}", all)).trim();
  if (exitCode !== "0") throw new Error(`on SIGTERM all-in-one ended with ${exitCode} in podman`);
  say("all-in-one: the image's health check succeeds, and it stops with 0");
  const settings = ["--env=SERVICE_SANDBOX=bubblewrap", `--env=SERVICE_BACKEND_TOKENS=${BACKEND_TOKEN}`];
  const refused = await start("backend", ...settings);
  await inPodman("wait", refused);
  const logs = inNetworkOf(network, podman("logs", refused));
  const text = await run(["sh", "-c", 'exec "$@" 2>&1', "sh", ...logs]);
  if (!text.includes("Podman's default seccomp profile")) throw new Error(`bubblewrap in podman: ${text}`);
  say(`SERVICE_SANDBOX=bubblewrap names the cause: ${text.trim().slice(0, 150)}…`);
}
