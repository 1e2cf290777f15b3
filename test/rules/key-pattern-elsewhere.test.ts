/** The published key pattern in other engines, adapted as docs/client.md describes. */
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FILES_VECTORS } from "../../rules/conformance-vectors.ts";
import { isValidKey, KEY_PATTERN } from "../../rules/files-rules.ts";
import { keyText } from "../support/rules/request-arbitraries.ts";

const KEYS = [...new Set([...FILES_VECTORS.flatMap(({ keys }) => keys), ...fc.sample(keyText, 2000)])].filter((key) =>
  key.isWellFormed(),
);

it("is read by JavaScript with ^ and $ as the service reads it", () => {
  const pattern = new RegExp(KEY_PATTERN.replace("\\A", "^").replaceAll("\\z", "$"));
  expect(KEYS.filter((key) => pattern.test(key) !== isValidKey(key))).toEqual([]);
});

const PYTHON = `
import json, re, sys
pattern, keys = json.load(sys.stdin)
if sys.version_info < (3, 14):
    pattern = pattern.replace("\\\\z", "\\\\Z")
json.dump([re.search(pattern, key) is not None for key in keys], sys.stdout)
`;
const python = spawnSync("python3", ["-c", PYTHON], { input: JSON.stringify([KEY_PATTERN, KEYS]), encoding: "utf8" });

it.skipIf(python.error !== undefined)("is read by Python, with \\Z before 3.14, as the service reads it", () => {
  expect(python.stderr).toBe("");
  expect(JSON.parse(python.stdout)).toEqual(KEYS.map(isValidKey));
});
