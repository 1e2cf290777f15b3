/**
 * Mistakes in data that a schema describes, one for each member: what a person has written, and what they are told. The
 * command line and the playground are tested by the same ones.
 */

const ADDRESS = {
  type: "object",
  properties: { street: {}, city: {} },
  required: ["city"],
  additionalProperties: false,
};
const PAYMENT = {
  oneOf: [
    { properties: { kind: { const: "card" }, number: { type: "string" } }, required: ["kind", "number"] },
    { properties: { kind: { const: "transfer" }, iban: { type: "string" } }, required: ["kind", "iban"] },
  ],
};

/**
 * What is wrong, as the name of a test; the schema of the member; JSON texts of it; the path below the member, which is
 * empty for the member itself, and the mistake's place in the wrong text; what is said.
 */
// biome-ignore format: a table.
const TABLE: readonly (readonly [
  what: string,
  schema: object | boolean,
  right: string,
  wrong: string,
  place: string,
  message: string,
])[] = [
  ["a missing member", { required: ["name"] }, '{"name":1}', '{"other":1}', "", '"name" is missing'],
  ["a misspelt member", ADDRESS, '{"city":1}', '{"ctiy":1}', '.ctiy "ctiy"',
    'is not a known member. Did you mean "city"?'],
  ["an unknown member", ADDRESS, '{"city":1}', '{"city":1,"x":2}', '.x "x"', "is not a known member"],
  ["an object for a string", { type: "string" }, '"a"', "{}", "", "must be a string, not an object"],
  ["a number as a string", { type: "number" }, "4.5", '"4.50"', "",
    'must be a number, not the string "4.50": leave out the quotes'],
  ["a string as a number", { type: "string" }, '"4711"', "4711", "",
    "must be a string, not the number 4711: put it in quotes"],
  ["true as a string", { type: "boolean" }, "true", '"true"', "",
    'must be true or false, not the string "true": leave out the quotes'],
  ["a fraction of a whole number", { type: "integer" }, "2.0", "2.5", "", "must be a whole number, not the number 2.5"],
  ["null", { type: ["string", "number"] }, "1", "null", "", "must be a string or a number, not null"],
  ["a misspelt value of a list", { enum: ["draft", "final", "paid"] }, '"final"', '"finall"', "",
    'must be "draft", "final" or "paid", not the string "finall". Did you mean "final"?'],
  ["another value than the only one", { const: "EUR" }, '"EUR"', '"USD"', "", 'must be "EUR", not the string "USD"'],
  ["a number that is too small", { minimum: 0 }, "0", "-1", "", "must be at least 0, not the number -1"],
  ["a number that is too large", { maximum: 100 }, "100", "100.01", "", "must be at most 100, not the number 100.01"],
  ["a number at an open end", { exclusiveMinimum: 0 }, "0.01", "0", "", "must be more than 0, not the number 0"],
  ["a part of a cent", { multipleOf: 0.01 }, "1.15", "1.155", "",
    "must be a multiple of 0.01, not the number 1.155"],
  ["an empty string", { minLength: 1 }, '"a"', '""', "", "must not be empty"],
  ["a string that is too long", { maxLength: 2 }, '"äö"', '"äöü"', "", "must have at most 2 characters, not 3"],
  ["a string of another pattern", { pattern: "^[A-Z]{2}$", description: "a country" }, '"DE"', '"de"', "",
    'must match the pattern ^[A-Z]{2}$ (a country), not the string "de"'],
  ["a date of another form", { format: "date" }, '"2026-03-31"', '"31.03.2026"', "",
    'must be a date such as 2026-03-31, not the string "31.03.2026"'],
  ["a day that does not exist", { format: "date" }, '"2028-02-29"', '"2026-02-29"', "",
    'must be a date such as 2026-03-31, not the string "2026-02-29"'],
  ["an email address without @", { format: "email" }, '"a@b.example"', '"a.example"', "",
    'must be an email address, not the string "a.example"'],
  ["a URL without a scheme", { format: "uri" }, '"https://a.example"', '"a.example"', "",
    'must be a URL with its scheme, such as https://example.com/, not the string "a.example"'],
  ["too few items", { minItems: 1 }, "[1]", "[]", "", "must have at least 1 item, not 0"],
  ["too many items", { maxItems: 1 }, "[1]", "[1,2]", "", "must have at most 1 item, not 2"],
  ["an item that is there twice", { uniqueItems: true }, '[{"a":1,"b":2},3]', '[{"a":1,"b":2},{"b":2,"a":1.0}]', "",
    "must not have an item twice"],
  ["a mistake in an array of arrays", { items: { items: { type: "number" } } }, "[[1],[2]]", '[[1],[2,"3"]]', '[1][1] "3"',
    'must be a number, not the string "3": leave out the quotes'],
  ["a mistake in the form that the data names", PAYMENT, '{"kind":"card","number":"1"}', '{"kind":"card","number":1}', ".number 1}",
    "must be a string, not the number 1: put it in quotes"],
  ["a form that there is not", PAYMENT, '{"kind":"transfer","iban":"1"}', '{"kind":"cash"}', '.kind "cash"',
    'must be "card" or "transfer", not the string "cash"'],
  ["none of two types", { anyOf: [{ type: "number" }, { type: "null" }] }, "null", '"x"', "",
    'must be a number or null, not the string "x"'],
  ["what fits two forms of which it may have one", { oneOf: [{ minimum: 1 }, { maximum: 9 }] }, "0", "5", "",
    "fits 2 of 2 forms, but must fit exactly one"],
  ["none of several forms", { anyOf: [{ required: ["a", "b"] }, { required: ["c"] }] }, '{"c":1}', '{"d":1}', "",
    '"c" is missing (in the closest of 2 forms)'],
  ["a member that may not be there", { properties: { x: false } }, '{"y":1}', '{"x":1}', '.x "x"', "must not be here"],
  ["a host name with a space", { format: "hostname" }, '"a-b.example"', '"a b"', "",
    'must be a host name such as example.com, not the string "a b"'],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  ["what a condition asks for", { if: { properties: { a: { const: 1 } } }, then: { required: ["b"] } }, '{"a":2}', '{"a":1}', "",
    '"b" is missing'],
  ["an item beyond the last one", { prefixItems: [{}, {}], items: false }, "[1,2]", "[1,2,3]", "[2] 3",
    "is one too many: at most 2 items may be here"],
  ["what a keyword without a sentence asks for", { contains: { const: 1 } }, "[1]", "[2]", "",
    'does not fit "contains" in the schema'],
  ["a name that is not allowed", { propertyNames: { pattern: "^[a-z]+$" } }, '{"ab":1}', '{"AB":1}', '.AB "AB"',
    'must match the pattern ^[a-z]+$, not the string "AB"'],
];

type DataMistake = (typeof DATA_MISTAKES)[number];

export const DATA_MISTAKES = TABLE.map(([what, schema, right, wrong, place, message]) => {
  const [path = "", ...at] = place.split(" ");
  return { what, schema, right, wrong, path, at: at.join(" "), message };
});

/** The name of the member with a mistake. */
export const memberOf = (mistake: DataMistake) => `m${DATA_MISTAKES.indexOf(mistake)}`;

/** A schema of an object with all members. */
export const SCHEMA_OF_MISTAKES = JSON.stringify({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  properties: Object.fromEntries(DATA_MISTAKES.map((mistake) => [memberOf(mistake), mistake.schema])),
});

/** Data with one member on each line, and what is told of the wrong ones: place and sentence. */
export function dataWith(wrong: readonly DataMistake[]) {
  const lines = DATA_MISTAKES.map((mistake) => {
    return `  "${memberOf(mistake)}": ${wrong.includes(mistake) ? mistake.wrong : mistake.right}`;
  });
  const told = wrong.map((mistake) => {
    const index = DATA_MISTAKES.indexOf(mistake);
    const text = lines[index] ?? "";
    const column = text.indexOf(mistake.at, text.indexOf(":") + 2) + 1;
    return `${index + 2}:${mistake.at === "" ? text.indexOf(":") + 3 : column}: ${memberOf(mistake)}${mistake.path}: ${mistake.message}`;
  });
  return { text: `{\n${lines.join(",\n")}\n}\n`, told };
}
