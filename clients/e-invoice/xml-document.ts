/**
 * Reads XML that may be hostile: well-formed, with namespaces, without a document type declaration, and not endlessly
 * nested.
 */
import { SaxesParser } from "saxes";
import { type Outcome, refuseWith } from "./finding.ts";

export interface XmlElement {
  /** With its prefix, as written. */
  readonly qualifiedName: string;
  readonly namespace: string;
  readonly name: string;
  readonly attributes: readonly { readonly namespace: string; readonly name: string; readonly value: string }[];
  readonly children: readonly XmlElement[];
  /** The text in it, without that of its children. */
  readonly text: string;
  /** Where its content begins and ends in the XML; null for an element that is one tag. */
  readonly content: { readonly start: number; readonly end: number } | null;
}

/** Far more than the longest invoice has. */
const MAX_ELEMENTS = 200_000;
/** Far deeper than an invoice nests. A prefix is looked up in every element around it. */
const MAX_DEPTH = 256;

type Building = { -readonly [Key in keyof XmlElement]: XmlElement[Key] } & { readonly children: XmlElement[] };

/** More than the limits above allow. */
class XmlSizeError extends Error {}
class DoctypeError extends Error {}

/** @returns the root element */
export function readXml(xml: string): Outcome<XmlElement> {
  try {
    return { ok: true, value: parseXml(xml) };
  } catch (error) {
    if (error instanceof XmlSizeError) return refuseWith("xml-size", "XML", error.message);
    if (error instanceof DoctypeError) return refuseWith("xml-doctype", "XML", error.message);
    // The parser throws plain errors, whose messages begin with line and column.
    const [, place = "", message = ""] = /^(\d+):\d+: (.*)$/s.exec(error instanceof Error ? error.message : "") ?? [];
    if (message === "") throw error;
    return refuseWith("xml-syntax", `line ${place}`, message);
  }
}

function parseXml(xml: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true });
  const open: Building[] = [];
  let root: XmlElement | null = null;
  let elements = 0;
  const addText = (text: string) => {
    const parent = open.at(-1);
    if (parent !== undefined) parent.text += text;
  };
  // A declaration could define entities.
  parser.on("doctype", () => {
    throw new DoctypeError("The XML has a document type declaration, which no invoice needs.");
  });
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("opentag", ({ name, uri, local, attributes, isSelfClosing }) => {
    if (++elements > MAX_ELEMENTS) throw new XmlSizeError(`The XML has more than ${MAX_ELEMENTS} elements.`);
    if (open.length >= MAX_DEPTH) throw new XmlSizeError(`The XML is nested more than ${MAX_DEPTH} elements deep.`);
    const element: Building = {
      qualifiedName: name,
      namespace: uri,
      name: local,
      attributes: Object.values(attributes).map((one) => ({ namespace: one.uri, name: one.local, value: one.value })),
      children: [],
      text: "",
      content: isSelfClosing ? null : { start: parser.position, end: parser.position },
    };
    open.at(-1)?.children.push(element);
    root ??= element;
    open.push(element);
  });
  parser.on("closetag", () => {
    const element = open.pop();
    if (element?.content) {
      const end = xml.lastIndexOf("</", parser.position - 1);
      element.content = { start: element.content.start, end };
    }
  });
  parser.write(xml).close();
  if (root === null) throw new Error("The parser has found no root, and no mistake");
  return root;
}

/** Null for what is no UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The first descendant of that name, in the order of the document. */
export function findDescendant(element: XmlElement, namespace: string, name: string): XmlElement | undefined {
  for (const child of element.children) {
    const found = child.namespace === namespace && child.name === name ? child : findDescendant(child, namespace, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
