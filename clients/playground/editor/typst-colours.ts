/** Which colour each part of a Typst text has, by its tree. */
import { calleeOf } from "../../template/calls.ts";
import { type Kind, nodesOf, parseTemplate, type SyntaxNode } from "../../template/syntax-tree.ts";

/** The kinds of nodes of each colour, which is named as its tag of `@lezer/highlight`. */
const KINDS = [
  ["comment", ["Shebang", "LineComment", "BlockComment"]],
  ["heading", ["Heading"]],
  ["strong", ["Strong"]],
  ["emphasis", ["Emph"]],
  ["monospace", ["Raw"]],
  ["escape", ["Escape", "Linebreak", "Shorthand"]],
  ["link", ["Link"]],
  ["labelName", ["Label", "RefMarker"]],
  ["list", ["ListMarker", "EnumMarker", "TermMarker"]],
  [
    "keyword",
    [
      ...(["Hash", "Dollar", "Let", "Set", "Show", "Context", "If", "Else", "For", "In", "While", "Break"] as const),
      ...(["Continue", "Return", "Import", "Include", "As", "Not", "And", "Or"] as const),
    ],
  ],
  ["literal", ["None", "Auto", "Bool"]],
  ["number", ["Int", "Float", "Numeric"]],
  ["string", ["Str"]],
  [
    "operator",
    [
      ...(["LeftBrace", "RightBrace", "LeftBracket", "RightBracket", "LeftParen", "RightParen", "Comma"] as const),
      ...(["Semicolon", "Colon", "Plus", "Minus", "Slash", "Hat", "Dot", "Dots", "Arrow", "Eq", "EqEq"] as const),
      ...(["ExclEq", "Lt", "LtEq", "Gt", "GtEq", "PlusEq", "HyphEq", "StarEq", "SlashEq"] as const),
    ],
  ],
] as const satisfies readonly (readonly [colour: string, kinds: readonly Kind[]])[];

export type Colour = (typeof KINDS)[number][0] | "function" | "propertyName";
export type ColouredRange = readonly [from: number, to: number, colour: Colour];

export function coloursOf(text: string): ColouredRange[] {
  const template = parseTemplate(text);
  const colour = (nodes: readonly (SyntaxNode | undefined)[], name: Colour) =>
    nodes.flatMap((node): ColouredRange[] => (node?.kind === "Ident" ? [[node.start, node.end, name]] : []));
  const callees = new Set(nodesOf(template, "FuncCall", "SetRule").map(calleeOf));
  const fields = nodesOf(template, "FieldAccess");
  const ofKinds = KINDS.flatMap(([name, kinds]) =>
    nodesOf(template, ...kinds).map(({ start, end }): ColouredRange => [start, end, name]),
  );
  return [
    ...ofKinds,
    ...colour([...callees], "function"),
    ...fields.flatMap((field) => colour([field.children.at(-1)], callees.has(field) ? "function" : "propertyName")),
    ...colour(
      nodesOf(template, "Named").map(({ children: [name] }) => name),
      "propertyName",
    ),
  ];
}
