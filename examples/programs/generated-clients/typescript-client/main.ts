// Renders main.typ as PDF/A and as a ZIP of pages, and reads the problem of a request that contradicts itself.
import { readFile, writeFile } from "node:fs/promises";
import { BadRequestProblemFromJSON, Configuration, RenderingApi, type RenderOutput, ResponseError } from "./client";

const { SERVICE_URL, SERVICE_API_TOKEN } = process.env;
const api = new RenderingApi(new Configuration({ basePath: SERVICE_URL, apiKey: SERVICE_API_TOKEN }));

async function render(name: string, output: RenderOutput): Promise<void> {
  const renderRequest = { source: await readFile("main.typ", "utf8"), data: { name: "world" }, output };
  try {
    const file = await api.render({ renderRequest });
    await writeFile(name, Buffer.from(await file.arrayBuffer()));
  } catch (error) {
    if (!(error instanceof ResponseError) || error.response.status !== 400) throw error;
    const problem = BadRequestProblemFromJSON(await error.response.json());
    if (problem.code !== "invalid_request") throw error;
    console.log(problem.code, problem.context.rule);
  }
}

async function main(): Promise<void> {
  await render("document.pdf", { standards: ["a-2b"] });
  await render("pages.zip", { format: "png", archive: "zip" });
  await render("contradiction.pdf", { version: "1.4", standards: ["a-2b"] });
}

void main();
