/** `npm run check:openapi`: Redocly's strictest rules, by its engine: its command line reports use to the network. */
import { readFile } from "node:fs/promises";
import { createConfig, formatProblems, getTotals, lintFromString } from "@redocly/openapi-core";

const NAME = "edge/static/openapi.json";

const source = await readFile(new URL(`../${NAME}`, import.meta.url), "utf8");
const config = await createConfig({ extends: ["recommended-strict"] });
const findings = await lintFromString({ source, absoluteRef: NAME, config });
if (findings.length > 0) {
  formatProblems(findings, { format: "codeframe", totals: getTotals(findings), version: "", maxProblems: 100 });
  process.exitCode = 1;
} else {
  process.stdout.write(`${NAME}: nothing found\n`);
}
