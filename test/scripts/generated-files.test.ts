/** The generated files on a machine that has other cores than the one on which they were checked in. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";

const GENERATE = fileURLToPath(new URL("../../scripts/generate.ts", import.meta.url));
const SETTINGS = new URL("../../backend/settings.ts", import.meta.url);
const CORES = 61;

/** Loaded first: settings ask for the cores when they are loaded. Says which number they got. */
const MACHINE = `
  import { syncBuiltinESMExports } from "node:module";
  import os from "node:os";
  os.availableParallelism = () => ${CORES};
  syncBuiltinESMExports();
  const { BACKEND_INTEGER_SETTINGS } = await import(${JSON.stringify(SETTINGS)});
  console.log(BACKEND_INTEGER_SETTINGS.maxConcurrentRenders.default);
`;

it("every generated file is checked in as it is generated, whatever the number of cores", async () => {
  const machine = `data:text/javascript,${encodeURIComponent(MACHINE)}`;
  const { stdout, stderr } = await execa(process.execPath, ["--import", machine, GENERATE, "--check"], {
    reject: false,
  });
  expect({ stdout, stderr }).toEqual({ stdout: `${CORES}\ngenerated files are up to date`, stderr: "" });
});
