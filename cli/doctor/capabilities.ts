/**
 * What is installed: the edge publishes what all origins have, and each origin what it has itself.
 */
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import {
  CAPABILITIES_PATH,
  type Capabilities,
  capabilityDifferences,
  parseCapabilities,
} from "../../protocol/capabilities.ts";
import { faultIn, isAnswer, problemIn } from "./answer-faults.ts";
import { deploymentCheck, found, ok, originCheck, skipped } from "./check.ts";
import type { Exchange } from "./probe.ts";

/** Relative to the URL of the deployment. */
const PATH = CAPABILITIES_PATH.slice(1);
const NONE_PUBLISHED = "a version without capabilities";
/** Differences that are named. */
const MAX_NAMED = 5;

export const capabilitiesPublished = deploymentCheck({
  id: "capabilities",
  title: "capabilities.json",
  looksAt: "`/capabilities.json` says what is installed, and one version of Typst, the one that this program knows",
  needs: ["health"],
  faults: {
    "no-origin": {
      severity: "failure",
      cause: "No origin has recently told the edge what it has: none is configured, or none can be reached.",
      advice: "See origins-up, and SERVICE_BACKEND_URLS of the edge.",
    },
    "several-typst": {
      severity: "warning",
      cause: "Backends of different releases run side by side: the same request gives different documents.",
      advice: "Finish the deployment: one release on all backends.",
    },
    "other-typst": {
      severity: "warning",
      cause: "The deployment is of another release than this program.",
      advice: "Deploy the version of this checkout, or use the doctor of that version.",
    },
  },
  async run(examination) {
    const exchange = await examination.ask({ path: PATH });
    if (problemIn(exchange)?.code === "not_found") return skipped(NONE_PUBLISHED);
    if (problemIn(exchange)?.code === "service_unavailable") return found("no-origin", "503");
    const capabilities = capabilitiesIn(exchange);
    if (capabilities === null) return faultIn(exchange);
    examination.capabilities = capabilities;
    const { typst_versions, fonts, packages } = capabilities;
    const measured = { fontFamilies: fonts.length, packages: packages.length };
    const seen = `Typst ${typst_versions.join(" and ")}, ${fonts.length} font families, ${packages.length} packages`;
    if (typst_versions.length > 1) return found("several-typst", seen, measured);
    return typst_versions[0] === TYPST_VERSION ? ok(seen, measured) : found("other-typst", seen, measured);
  },
});

export const originCapabilities = originCheck({
  id: "origin-capabilities",
  title: "it has what the edge publishes, and no more",
  looksAt: "Its own `/capabilities.json` against that of the edge",
  needs: ["capabilities", "origin-health"],
  faults: {
    differs: {
      severity: "warning",
      cause: "Origins have different fonts, packages or releases, or this one has just been changed.",
      advice: "Install the same on all backends: only what all of them have is published.",
    },
  },
  async run(examination, origin) {
    const exchange = await origin.get(PATH);
    if (problemIn(exchange)?.code === "not_found") return skipped(NONE_PUBLISHED);
    const own = capabilitiesIn(exchange);
    if (own === null) return faultIn(exchange);
    if (examination.capabilities === null) throw new Error("the check needs that of the edge's capabilities");
    const differences = capabilityDifferences([examination.capabilities, own]);
    if (differences.length === 0) return ok("as published");
    const more = differences.length > MAX_NAMED ? ` and ${differences.length - MAX_NAMED} more` : "";
    return found("differs", `${differences.slice(0, MAX_NAMED).join(", ")}${more}`);
  },
});

function capabilitiesIn(exchange: Exchange): Capabilities | null {
  return isAnswer(exchange, 200) ? parseCapabilities(exchange.body.toString("utf8")) : null;
}
