/** Whether rules and backends of the deployment are of one version, and of this program's. */
import { CAPABILITIES_PATH, parseCapabilities } from "../../../protocol/capabilities.ts";
import { RULES_VERSION } from "../../../rules/files-rules.ts";
import { OUTPUT_RULES_VERSION } from "../../../rules/output-rules.ts";
import { runVectors } from "../../../rules/published-rules.ts";
import { TYPST_VERSION } from "../../../typst/typst-release.mjs";
import { isOk } from "./answers.ts";
import { type CheckGroup, defineCheck, knownConstraints, observe } from "./check.ts";
import { failure, OTHER_RELEASE, SAME_VERSION, warning } from "./faults.ts";

export const RULES: CheckGroup = {
  name: "Versions",
  needs: ["token"],
  checks: [
    defineCheck("rules", "the published rules and vectors are this program's", {
      faults: {
        older: warning`The deployment is older than this program, and has other rules. → ${SAME_VERSION}`,
        newer: warning`The deployment is newer than this program. → Update this program, and clients with the old rules.`,
        disagree: failure`Clients get wrong verdicts here. → Use one version of this program and the service.`,
      },
      run(_edge, examination) {
        const constraints = knownConstraints(examination);
        const published = [constraints.rules_version, constraints.output_rules.output_rules_version];
        const own = [RULES_VERSION, OUTPUT_RULES_VERSION];
        const seen = `versions ${published.join(" and ")}; this program has ${own.join(" and ")}`;
        const disagreements = runVectors(constraints).length;
        if (disagreements > 0) return observe("disagree", `${disagreements} vectors disagree; ${seen}`);
        if (published.some((version, index) => version < (own[index] ?? 0))) return observe("older", seen);
        return observe(published.join() === own.join() ? null : "newer", seen);
      },
    }),
    defineCheck("capabilities", "capabilities.json has one Typst, this program's", {
      needs: ["health"],
      faults: {
        "no-origin": failure`No origin has reported its capabilities to the edge. → See origins-up, and SERVICE_BACKEND_URLS.`,
        "several-typst": warning`The backends run different releases, so documents differ.
          → Finish the deployment: one release on all.`,
        "other-typst": OTHER_RELEASE,
      },
      faultOfCode: { service_unavailable: "no-origin" },
      async run(edge) {
        const exchange = await edge.get(CAPABILITIES_PATH.slice(1));
        const capabilities = isOk(exchange) ? parseCapabilities(exchange.body.toString("utf8")) : null;
        if (capabilities === null) return exchange;
        const { typst_versions: versions, fonts, packages } = capabilities;
        const seen = `Typst ${versions.join(" and ")}, ${fonts.length} font families, ${packages.length} packages`;
        const fault = versions.length > 1 ? "several-typst" : versions[0] === TYPST_VERSION ? null : "other-typst";
        return observe(fault, seen, { fontFamilies: fonts.length, packages: packages.length });
      },
    }),
  ],
};
