/** `npm run build:edge`: writes the edge as a program of Node to `dist/edge` (docs/deploy/one-host.md). */
import { fileURLToPath } from "node:url";
import { writeEdge } from "./build/edge-folder.ts";

const TARGET = "dist/edge";

await writeEdge(fileURLToPath(new URL(`../${TARGET}`, import.meta.url)));
process.stdout.write(`${TARGET} is ready: node ${TARGET}/start.mjs\n`);
