/**
 * `/capabilities.json` over real parts: the edge with two backends that differ, and a package rendered by what it says.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CAPABILITIES_PATH, type Capabilities } from "../../protocol/capabilities.ts";
import { addPackages } from "../../scripts/packages/package-folder.ts";
import { packageArchive, startPackageRegistry } from "../support/clients/package-registry.ts";
import { LIBERATION_FAMILY, LIBERATION_FOLDER } from "../support/fonts.ts";
import { readPdf } from "../support/readers/pdf-reader.ts";
import { EDGE_PLATFORMS } from "../support/service/service-parts.ts";
import {
  sharedService,
  startBackendAlone,
  startTestService,
  type TestService,
} from "../support/service/test-service.ts";
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

const familiesOf = ({ fonts }: Capabilities) => fonts.map(({ family }) => family);

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

describe.each(EDGE_PLATFORMS)("two backends with different fonts and packages, and the edge on %s", (platform) => {
  let service: TestService;

  beforeAll(async () => {
    const { backend } = await sharedService();
    service = await startTestService({
      platform,
      // The shared backend has fewer.
      backendSettings: { SERVICE_FONT_PATHS: LIBERATION_FOLDER },
      otherBackendUrls: [backend.url.origin],
    });
    return () => service.stop();
  });

  const get = (init: RequestInit = {}) => fetch(new URL(CAPABILITIES_PATH, service.edge.url), init);

  it("are described by what both have, to everyone, with validators for caches", async () => {
    const own: Capabilities = await (await fetch(new URL(CAPABILITIES_PATH, service.backend.url))).json();
    expect(familiesOf(own)).toContain(LIBERATION_FAMILY);
    const answer = await get();
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Cache-Control")).toBe("public, max-age=60");
    const common: Capabilities = await answer.json();
    expect(familiesOf(common)).not.toContain(LIBERATION_FAMILY);
    expect(familiesOf(common)).toContain("Libertinus Serif");
    const etag = answer.headers.get("ETag") ?? "";
    const again = await get({ headers: { "If-None-Match": etag } });
    expect([again.status, await again.text(), again.headers.get("ETag")]).toEqual([304, "", etag]);
    expect(again.headers.get("Cache-Control")).toBe("public, max-age=60");
  });

  it("are shown to differ in /metrics", async () => {
    const metrics = await (await fetch(new URL("/metrics", service.edge.url))).text();
    const digests = [...metrics.matchAll(/^service_capabilities_info\{origin="[^"]+",digest="([0-9a-f]+)"\} 1$/gm)];
    expect(new Set(digests.map(([, digest]) => digest)).size).toBe(2);
  });
});
