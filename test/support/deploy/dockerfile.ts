/** What the Dockerfile says of the images that it makes. */
import { cpSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { DockerfileParser, type From, type Instruction } from "dockerfile-ast";
import { array, parse, string } from "valibot";

const ROOT = new URL("../../../", import.meta.url);

const dockerfile = async () =>
  DockerfileParser.parse(await readFile(new URL("Dockerfile", ROOT), "utf8")).getInstructions();

export async function readDockerfile() {
  const stages: { name: string | null; from: string; instructions: Instruction[] }[] = [];
  for (const instruction of await dockerfile()) {
    if (instruction.getKeyword() === "FROM") {
      const from = instruction as From;
      stages.push({ name: from.getBuildStage(), from: from.getImage() ?? "", instructions: [] });
    } else stages.at(-1)?.instructions.push(instruction);
  }
  return stages;
}

/** The images that are fetched for the stages, by the argument that names each, and that the stages begin with. */
export async function readBaseImages(): Promise<ReadonlyMap<string, string>> {
  const images = new Map<string, string>();
  for (const instruction of await dockerfile()) {
    if (instruction.getKeyword() === "FROM") break;
    const [, name, image] = /^(\w+)=(.+)$/.exec(instruction.getArgumentsContent() ?? "") ?? [];
    if (name !== undefined && image !== undefined) images.set(name, image);
  }
  return images;
}

/** The stage of this name and those that it begins with, the first one last. */
async function stagesOf(target: string) {
  const stages = await readDockerfile();
  const found: typeof stages = [];
  for (let name = target; ; ) {
    const stage = stages.find((each) => each.name === name);
    if (stage === undefined) return found;
    found.push(stage);
    name = stage.from;
  }
}

/** The arguments of the last instruction of a kind in the stage of this name, or in those that it begins with. */
export async function imageInstruction(target: string, keyword: string): Promise<string> {
  for (const { instructions } of await stagesOf(target)) {
    const found = instructions.findLast((instruction) => instruction.getKeyword() === keyword);
    if (found !== undefined) return found.getArgumentsContent() ?? "";
  }
  throw new Error(`the image ${target} has no ${keyword}`);
}

/** What this checkout has built or installed, and a fresh one has not. */
const BUILT = /\/node_modules(?:\/|$)|\/static\/(?:clients|help|playground|licenses[.]txt|reference\/swagger-ui)/;

/** Copies into a folder what the stage of this name, and those that it begins with, copy from the checkout. */
export async function copyImageFiles(target: string, folder: string): Promise<void> {
  for (const instruction of (await stagesOf(target)).toReversed().flatMap(({ instructions }) => instructions)) {
    if (instruction.getKeyword() !== "COPY") continue;
    const paths = instruction.getArguments().map((argument) => argument.getValue());
    const place = paths.pop() ?? "";
    for (const path of paths) {
      // Paths from the root are those of other stages.
      if (path.startsWith("/")) continue;
      const copy = join(folder, place, place.endsWith("/") ? basename(path) : "");
      cpSync(new URL(path, ROOT), copy, { recursive: true, filter: (source) => !BUILT.test(source) });
    }
  }
}

/** @throws if it is not in the JSON form. */
export async function imageCommand(target: string): Promise<string[]> {
  return parse(array(string()), JSON.parse(await imageInstruction(target, "CMD")));
}
