/** What the Dockerfile says of the images that it makes. */
import { readFile } from "node:fs/promises";
import { DockerfileParser, type From, type Instruction } from "dockerfile-ast";

export interface ImageStage {
  readonly name: string | null;
  /** The image that it begins with. */
  readonly from: string;
  readonly instructions: readonly Instruction[];
}

const ROOT = new URL("../../", import.meta.url);

export async function readDockerfile(): Promise<readonly ImageStage[]> {
  const stages: { name: string | null; from: string; instructions: Instruction[] }[] = [];
  for (const instruction of DockerfileParser.parse(
    await readFile(new URL("Dockerfile", ROOT), "utf8"),
  ).getInstructions()) {
    if (instruction.getKeyword() === "FROM") {
      const from = instruction as From;
      stages.push({ name: from.getBuildStage(), from: from.getImage() ?? "", instructions: [] });
    } else stages.at(-1)?.instructions.push(instruction);
  }
  return stages;
}

/** The arguments of the last instruction of a kind in the stage of this name, or in those that it begins with. */
export async function imageInstruction(target: string, keyword: string): Promise<string> {
  const stages = await readDockerfile();
  for (let name = target; ; ) {
    const stage = stages.find((each) => each.name === name);
    if (stage === undefined) throw new Error(`the image ${target} has no ${keyword}`);
    const found = stage.instructions.findLast((instruction) => instruction.getKeyword() === keyword);
    if (found !== undefined) return found.getArgumentsContent() ?? "";
    name = stage.from;
  }
}

/** The command of an image. */
export async function imageCommand(target: string): Promise<string[]> {
  const command: unknown = JSON.parse(await imageInstruction(target, "CMD"));
  if (Array.isArray(command) && command.every((part): part is string => typeof part === "string")) return command;
  throw new Error(`the command of ${target} is not in the JSON form`);
}
