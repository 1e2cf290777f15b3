/** The elements of an XML document, by a strict parser: it throws if the text is not well-formed. */
import { SaxesParser } from "saxes";

export interface XmlElement {
  /** The local names from the root to the element: `svg/g/path`. */
  readonly path: string;
  readonly prefix: string;
  readonly name: string;
  /** By their names as written, including the prefix. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The text in it, without that of its children. */
  readonly text: string;
}

/** All elements in document order; throws if the text is not well-formed XML. */
export function readXmlElements(xml: string): readonly XmlElement[] {
  const parser = new SaxesParser({ xmlns: true });
  const elements: XmlElement[] = [];
  const open: { -readonly [Key in keyof XmlElement]: XmlElement[Key] }[] = [];
  parser.on("opentag", ({ prefix, local, attributes }) => {
    const element = {
      path: [...open.slice(-1).map(({ path }) => path), local].join("/"),
      prefix,
      name: local,
      attributes: Object.fromEntries(Object.entries(attributes).map(([name, { value }]) => [name, value])),
      text: "",
    };
    elements.push(element);
    open.push(element);
  });
  const add = (text: string) => {
    const element = open.at(-1);
    if (element !== undefined) element.text += text;
  };
  parser.on("text", add);
  parser.on("cdata", add);
  parser.on("closetag", () => open.pop());
  parser.write(xml).close();
  return elements;
}
