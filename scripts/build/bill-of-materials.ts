/** The bill of materials of a release, in CycloneDX: what `npm sbom` knows of each package whose licence the release passes on. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import * as v from "valibot";
import { LINE } from "../assets/licences.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
/** A program or a bundle is shipped although npm installs its package only to build it. */
const DEVELOPMENT = "cdx:npm:package:development";

const COMPONENT = v.looseObject({
  "bom-ref": v.string(),
  group: v.optional(v.string()),
  name: v.string(),
  version: v.string(),
  properties: v.optional(v.array(v.looseObject({ name: v.string() })), []),
});
const BILL = v.looseObject({
  metadata: v.looseObject({ component: COMPONENT }),
  components: v.array(COMPONENT),
  dependencies: v.array(v.looseObject({ ref: v.string(), dependsOn: v.optional(v.array(v.string()), []) })),
});
type Component = v.InferOutput<typeof COMPONENT>;

/** @param licences the text of `provideLicences`, in which each section begins with what it is of */
export async function billOfMaterials(name: string, licences: string): Promise<string> {
  const { stdout } = await execa("npm", ["sbom", "--sbom-format=cyclonedx"], { cwd: PROJECT, stdin: "ignore" });
  const bill = v.parse(BILL, JSON.parse(stdout));
  const titles = new Set(licences.split(LINE).map((section) => section.split("\n", 1)[0]));
  const components = bill.components.filter((component) => titles.has(titleOf(component)));
  for (const component of components) {
    component.properties = component.properties.filter((property) => property.name !== DEVELOPMENT);
  }
  const root = bill.metadata.component;
  const refs = new Set([root, ...components].map((component) => component["bom-ref"]));
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map((entry) => ({ ...entry, dependsOn: entry.dependsOn.filter((ref) => refs.has(ref)) }));
  // npm calls the project by the folder that it is in.
  const metadata = { ...bill.metadata, component: { ...root, name } };
  return `${JSON.stringify({ ...bill, metadata, components, dependencies }, null, 2)}\n`;
}

const titleOf = ({ group, name, version }: Component) => `${group === undefined ? "" : `${group}/`}${name} ${version}`;
