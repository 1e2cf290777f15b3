/** Runs the validators that receivers use, both in Java: veraPDF for PDF/A and PDF/UA, Mustang for Factur-X and XRechnung. */
import { join } from "node:path";
import { execa } from "execa";
import { findOnPath } from "../../machine/programs.mjs";
import { MUSTANG, mavenArtifact, VERAPDF } from "../../scripts/maven-artifact.ts";

export interface Validators {
  readonly veraPdf: string;
  readonly mustang: string;
}

/** @throws Error that says what to install */
export async function fetchValidators(): Promise<Validators> {
  const missing = ["java", "mvn"].filter((name) => findOnPath(name).length === 0);
  if (missing.length > 0) {
    throw new Error(
      `${missing.join(" and ")} not found. On Debian and Ubuntu: apt-get install default-jre-headless maven`,
    );
  }
  return { veraPdf: await mavenArtifact(VERAPDF), mustang: await mavenArtifact(MUSTANG) };
}

/** @returns the files that veraPDF finds valid, with the standards that they claim: `3b`, `3a ua1` */
export async function validByVeraPdf({ veraPdf }: Validators, files: readonly string[]): Promise<Map<string, string>> {
  const { stdout } = await execa(
    "java",
    ["-cp", veraPdf, "org.verapdf.apps.GreenfieldCliWrapper", "--format", "text", ...files],
    {
      reject: false,
      maxBuffer: 64 * 1024 ** 2,
    },
  );
  const verdicts = new Map<string, string[]>();
  for (const [, verdict, path = "", standard = ""] of stdout.matchAll(/^(PASS|FAIL) (.+) (\S+)$/gm)) {
    verdicts.set(path, [...(verdicts.get(path) ?? []), verdict === "PASS" ? standard : "FAIL"]);
  }
  return new Map(
    [...verdicts].filter(([, standards]) => !standards.includes("FAIL")).map(([path, all]) => [path, all.join(" ")]),
  );
}

/** Mustang's report on one file. */
export interface MustangVerdict {
  readonly pdf: string;
  readonly xml: string;
  /** Ids of the reported rules, including those of warnings and notices. */
  readonly rules: readonly string[];
}

/** @returns the reports on all files in the folder, by their names */
export async function verdictsOfMustang({ mustang }: Validators, folder: string): Promise<Map<string, MustangVerdict>> {
  const options = ["--action", "validateExpectValid", "--directory", folder, "--no-notices", "--disable-file-logging"];
  const { stderr } = await execa("java", ["-jar", mustang, ...options], {
    cwd: folder,
    reject: false,
    stdin: "ignore",
    maxBuffer: 256 * 1024 ** 2,
  });
  const verdicts = new Map<string, MustangVerdict>();
  const line = /Parsed PDF:(\S+) XML:(\S+) .*ErrorIDs: \[([^\]]*)\][\s\S]*?Testing file \d+:.*\((.+)\)/g;
  for (const [, pdf = "", xml = "", rules = "", path = ""] of stderr.matchAll(line)) {
    verdicts.set(path.slice(join(folder, "/").length), { pdf, xml, rules: rules === "" ? [] : rules.split(",") });
  }
  return verdicts;
}
