// Renders main.typ as PDF/A and as a ZIP of pages, and reads the problem of a request that contradicts itself.
import { readFile, writeFile } from "node:fs/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./service.d.ts";

const { SERVICE_URL = "", SERVICE_API_TOKEN = "" } = process.env;
const headers = { "X-Service-Api-Token": SERVICE_API_TOKEN };
const client = createClient<paths>({ baseUrl: SERVICE_URL, headers });

async function render(name: string, output: components["schemas"]["RenderOutput"]): Promise<void> {
  const body = { source: await readFile("main.typ", "utf8"), data: { name: "world" }, output };
  const { data, error } = await client.POST("/v1/render", { body, parseAs: "arrayBuffer" });
  if (data !== undefined) await writeFile(name, Buffer.from(data));
  else if (error.code === "invalid_request") console.log(error.code, error.context.rule);
  else throw new Error(`${error.code}: ${error.detail}`);
}

async function main(): Promise<void> {
  await render("document.pdf", { standards: ["a-2b"] });
  await render("pages.zip", { format: "png", archive: "zip" });
  await render("contradiction.pdf", { version: "1.4", standards: ["a-2b"] });
}

void main();
