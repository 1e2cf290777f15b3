/**
 * The images of the Dockerfile, built by podman in a storage of their own. Where an image of its FROM lines is not on
 * this machine and `--pull` does not allow to fetch it, a stand-in has its name: Debian made by mmdebstrap, the Node of
 * the tests with this machine's npm, and the Typst of the tests.
 */
import { copyFile, cp, mkdir, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { requireTypst } from "../../../typst/program-location.mjs";
import { findOnPath } from "../../../typst/programs.mjs";
import { readBaseImages } from "../../support/deploy/dockerfile.ts";
import { makeDebian } from "./debian.ts";
import { CHECKOUT, type Command, run as runCommand } from "./part.ts";

export const TARGETS = ["edge", "backend", "all-in-one"] as const;
export type Target = (typeof TARGETS)[number];

export interface Images {
  /** Runs podman on the storage of these images. */
  readonly podman: (...options: readonly string[]) => Command;
  /** The path of an archive with all images, for `docker load`. */
  readonly archive: string;
}

/** The name under which compose.yaml looks for an image. */
export const imageName = (target: Target) => `document-rendering-${target}`;

export async function buildImages(folder: string, mayPull: boolean, say: (line: string) => void): Promise<Images> {
  const place = (name: string) => join(folder, name);
  const storage = ["--root", place("podman"), "--runroot", place("podman-run"), "--tmpdir", place("podman-tmp")];
  const podman = (...options: readonly string[]) =>
    ["podman", ...storage, "--cgroup-manager=cgroupfs", "--runtime=runc", ...options] as const;
  const run = (...options: readonly string[]) => runCommand(podman(...options));
  const chosen: string[] = [];
  // Those that others are made from come first.
  for (const [argument, pinned] of [...(await readBaseImages())].toSorted(([, one], [, two]) => (one < two ? -1 : 1))) {
    const isPulled = mayPull && (await run("pull", "--quiet", fullName(pinned)).catch(() => null)) !== null;
    const [image = ""] = pinned.split("@");
    say(`${image}: ${isPulled ? "pulled" : await standIn(image, fullName(image), folder, run)}`);
    // Nothing else than the real image can have its digest.
    chosen.push("--build-arg", `${argument}=${fullName(isPulled ? pinned : image)}`);
  }
  for (const target of TARGETS) {
    const started = performance.now();
    // The format of Docker, because that of OCI has no health check.
    const options = ["--pull=never", "--format=docker", "--network=host", "--target", target];
    await run("build", ...options, "--tag", imageName(target), ...chosen, ".");
    const bytes = Number(await run("image", "inspect", "--format", "{{.Size}}", imageName(target)));
    say(`${imageName(target)}: ${Math.round(bytes / 1e6)} MB, built in ${seconds(started)}`);
  }
  const archive = join(folder, "images.tar");
  await run("save", "--quiet", "--multi-image-archive", "--output", archive, ...TARGETS.map(imageName));
  return { podman, archive };
}

const fullName = (image: string) => (image.includes("/") ? image : `docker.io/library/${image}`);

async function standIn(
  image: string,
  name: string,
  folder: string,
  run: (...options: readonly string[]) => Promise<string>,
): Promise<string> {
  if (image.startsWith("debian:")) {
    const suite = /:(\w+)-slim$/.exec(image)?.[1] ?? "";
    const archive = join(folder, "base.tar");
    await makeDebian(archive, suite, []);
    await run("import", "--quiet", archive, name);
    return "made by mmdebstrap";
  }
  const context = join(folder, "stand-in");
  await mkdir(context, { recursive: true });
  if (image.includes("typst")) {
    const typstPath = await requireTypst();
    await copyFile(typstPath, join(context, "typst"));
    await writeFile(join(context, "typst.Dockerfile"), "FROM scratch\nCOPY typst /bin/typst\n");
    await run("build", "--file", join(context, "typst.Dockerfile"), "--tag", name, context);
    return `the Typst of the tests, ${typstPath}`;
  }
  const [, version, suite] = /^node:([\d.]+)-(\w+)-slim$/.exec(image) ?? [];
  if (version !== process.versions.node) throw new Error(`nothing stands in for ${image}`);
  await copyFile(process.execPath, join(context, "node"));
  const [npm = ""] = findOnPath("npm");
  await cp(dirname(dirname(await realpath(npm))), join(context, "npm"), { recursive: true });
  const setting = async (key: string) => (await execa("npm", ["config", "get", key], { cwd: CHECKOUT })).stdout.trim();
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  if (certificates) await copyFile(certificates, join(context, "npm/trusted.pem"));
  const npmrc = [
    `registry=${await setting("registry")}`,
    ...(certificates ? ["cafile=/usr/local/lib/npm/trusted.pem"] : []),
  ];
  await writeFile(join(context, "npmrc"), `${npmrc.join("\n")}\n`);
  await writeFile(
    join(context, "node.Dockerfile"),
    `FROM debian:${suite}-slim
RUN apt-get update && apt-get install -y --no-install-recommends libatomic1
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/npm
COPY npmrc /usr/local/etc/npmrc
RUN ln -s ../lib/npm/bin/npm-cli.js /usr/local/bin/npm
`,
  );
  const options = ["--pull=never", "--network=host", "--file", join(context, "node.Dockerfile"), "--tag", name];
  await run("build", ...options, context);
  return "Debian with the Node of the npm package, and this machine's npm";
}

const seconds = (started: number) => `${((performance.now() - started) / 1000).toFixed(1)} s`;
