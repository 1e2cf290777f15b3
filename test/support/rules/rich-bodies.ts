/** Bodies with every kind of field, by name: an accepted one, one with field errors, one over the size limits. */

const DEEP = `${'{"k":['.repeat(63)}"\u{1f600}"${"]}".repeat(63)}`;

export const RICH_BODIES: readonly (readonly [name: string, text: string])[] = [
  [
    "an accepted request",
    ` {"source" : "= T\\u00eft\\/e \\ud83d\\ude00 é€\u{1f600}\\n", "files":{"lib/x.typ":{"encoding":"text","content":"#let x = \\"y\\""},
  "logo.png":{"content":"AAEC\\/\\/\\u002b9","encoding":"base64"},"e":{"encoding":"base64","content":""}},
  "data":{"a":[1,-2.5e-3,1E+2,0,true,false,null,{"":{}}],"é":"\\ud83d\\ude00","a":[]},
  "output":{"format":"png","filename":"n\\u00e4me.png","pages":"1,3-4,8-","archive":"zip","ppi":72}} \n`,
  ],
  [
    "a request with an error in every field",
    `{"source":"","files":{"..":{"encoding":"text","content":"\\ud800"},"a":{"encoding":"base64","content":"A==="},"a":{},
  "b":{"encoding":"utf8","contents":1},"c":[]},"data":["\\udc00",1e999,${"[".repeat(127)}${"]".repeat(127)},{"\\ud83d":1}],
  "output":{"format":"svg","ppi":1,"page":0.5,"archive":"tar","pages":7,"standards":[],"colour":null,"page":1},"extra":{},"data":0}`,
  ],
  [
    "a request with bad file data",
    '{"files":{"a/b":{"encoding":"base64","content":"QQ=="},"c":{"encoding":"base64","content":"QR=="}},"source":"\\ud83d!"}',
  ],
  [
    "a request with colliding keys",
    '{"files":{"b":{"encoding":"text","content":"x"},"A/k":{"encoding":"text","content":"y"},"a":{"encoding":"text","content":"z"}},"source":"s"}',
  ],
  [
    "a request over its sizes",
    `{"data":{"${"k".repeat(90)}":["${"é".repeat(9)}"],"x":${DEEP}},"source":"short","files":{"f":{"encoding":"base64","content":"${"AAAA".repeat(5)}QUI="}}}`,
  ],
  [
    "a request against the output rules",
    '{"source":"s","data":1e-400,"output":{"standards":["ua-1","a-2a"],"version":"2.0","pages":"3-2,1"}}',
  ],
  ["an array instead of a request", '[{"source":"a"},"\\u0041\\ud83d",-0.0e-0,{"a":{"b":[{}]}}]'],
];
