/** `/capabilities.json` over real parts: a package is rendered by what it says. Backends that differ: test/edge/routes/documents.test.ts. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { CAPABILITIES_PATH, type Capabilities } from "../../protocol/capabilities.ts";
import { addPackages } from "../../scripts/packages/package-folder.ts";
import { packageArchive, startPackageRegistry } from "../support/clients/package-registry.ts";
import { readPdf } from "../support/readers/pdf-reader.ts";
import { startBackendAlone, startTestService } from "../support/service/test-service.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

const CHART = { namespace: "preview", name: "chart", version: "1.0.0" };
const AXES = { namespace: "preview", name: "axes", version: "0.2.0" };

/** A folder in which `npm run packages` has put a package that imports another. */
async function packageFolder(): Promise<string> {
  const folder = join(await makeTemporaryFolder("capabilities-test-"), "packages");
  const registry = await startPackageRegistry();
  const publish = async (spec: string, source: string) =>
    registry.publish(spec, await packageArchive(spec, { "lib.typ": source, "note.txt": "from a file" }));
  await publish("@preview/chart:1.0.0", '#import "@preview/axes:0.2.0": axis\n#let chart = [Chart with #axis]');
  await publish("@preview/axes:0.2.0", '#let axis = [an axis #read("note.txt")]');
  await addPackages(folder, [CHART], { registry: registry.url, without: [] });
  return folder;
}

it("a render imports what npm run packages has vendored, with what that imports", async () => {
  const service = await startTestService({ backendSettings: { SERVICE_PACKAGE_PATH: await packageFolder() } });
  onTestFinished(() => service.stop());
  const { packages }: Capabilities = await (await service.send(CAPABILITIES_PATH)).json();
  expect(packages).toEqual([AXES, CHART]);
  const answer = await service.render({ source: '#import "@preview/chart:1.0.0": chart\n#chart' });
  expect(answer.status).toBe(200);
  expect((await readPdf(await answer.bytes())).pageTexts).toEqual(["Chart with an axis from a file"]);
  const missing = await service.render({ source: '#import "@preview/chart:1.0.1": chart' });
  expect(missing.status).toBe(422);
});

it("a backend whose folder of packages is not complete does not start, and says what to do", async () => {
  const folder = await makeTemporaryFolder("capabilities-test-");
  const settings = { SERVICE_PACKAGE_PATH: join(folder, "missing"), SERVICE_SANDBOX: "none" };
  await expect(startBackendAlone(settings)).rejects.toThrow("SERVICE_PACKAGE_PATH: ");
});
