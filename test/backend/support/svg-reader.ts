/**
 * What an SVG says, read by an XML parser of its own.
 */
import { XMLParser, XMLValidator } from "fast-xml-parser";

/** Width and height of an SVG's view box; throws where the text is not well-formed or its root is not `svg`. */
export function readSvgSize(bytes: Uint8Array): [width: number, height: number] {
  const text = Buffer.from(bytes).toString("utf8");
  const verdict = XMLValidator.validate(text);
  if (verdict !== true) throw new Error(`not well-formed: ${verdict.err.msg}`);
  const root: unknown = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "" }).parse(text);
  if (typeof root !== "object" || root === null || !("svg" in root)) throw new Error("the root is not svg");
  const { svg } = root;
  const viewBox = typeof svg === "object" && svg !== null && "viewBox" in svg ? String(svg.viewBox) : "";
  const [, , width = Number.NaN, height = Number.NaN] = viewBox.split(" ").map(Number);
  return [width, height];
}
