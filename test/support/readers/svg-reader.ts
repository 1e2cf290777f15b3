/** The contents of an SVG, by a strict parser of XML. */
import { readXmlElements, type XmlElement } from "./xml-reader.ts";

/** All elements in document order; throws if the bytes are not well-formed XML. */
export function readSvg(bytes: Uint8Array): readonly XmlElement[] {
  return readXmlElements(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

/** Width and height of an SVG's view box; throws if the bytes are not well-formed or the root is not `svg`. */
export function readSvgSize(bytes: Uint8Array): [width: number, height: number] {
  const root = readSvg(bytes)[0];
  if (root?.name !== "svg") throw new Error("the root is not svg");
  const [, , width = Number.NaN, height = Number.NaN] = (root.attributes.viewBox ?? "").split(" ").map(Number);
  return [width, height];
}
