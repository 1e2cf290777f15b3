/**
 * The contents of an SVG as libxml2 reads them: a strict parser, unlike fast-xml-parser, which accepts `a&b` and `<` in
 * attributes.
 */
import { ParseOption, XmlDocument, XmlElement } from "libxml2-wasm";

export interface SvgElement {
  readonly name: string;
  /** By their names as written, including the prefix. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** All elements in document order; throws if the bytes are not well-formed XML. */
export function readSvg(bytes: Uint8Array): SvgElement[] {
  const document = parse(bytes);
  try {
    return document.find("//*").flatMap((node) => (node instanceof XmlElement ? [svgElement(node)] : []));
  } finally {
    document.dispose();
  }
}

/** Throws if the bytes are not well-formed XML. */
export function expectWellFormed(bytes: Uint8Array): void {
  parse(bytes).dispose();
}

function parse(bytes: Uint8Array): XmlDocument {
  // Without this option, 256 levels of elements are too many.
  return XmlDocument.fromBuffer(bytes, { option: ParseOption.XML_PARSE_HUGE });
}

function svgElement({ name, attrs }: XmlElement): SvgElement {
  const attributes = attrs.map((attribute): [string, string] => {
    return [attribute.prefix === "" ? attribute.name : `${attribute.prefix}:${attribute.name}`, attribute.value];
  });
  return { name, attributes: Object.fromEntries(attributes) };
}

/** Width and height of an SVG's view box; throws if the bytes are not well-formed or the root is not `svg`. */
export function readSvgSize(bytes: Uint8Array): [width: number, height: number] {
  const root = readSvg(bytes)[0];
  if (root?.name !== "svg") throw new Error("the root is not svg");
  const [, , width = Number.NaN, height = Number.NaN] = (root.attributes.viewBox ?? "").split(" ").map(Number);
  return [width, height];
}
