#!/usr/bin/env bash
# openapi-typescript makes `properties` beside `anyOf` one more alternative: what is required may be left out.
#
# npm's openapi-typescript 7.13.0, typescript 5.9.3. 2026-11-28.
# Expected: both keywords apply (JSON Schema), so the type is {id: string} & (A | B), as it is beside oneOf, and as
#   @hey-api/openapi-ts 0.99.0 writes it.
# Happens: the type is {id: string} | A | B. An object without id compiles, and so does one that is neither A nor B.
# Seen: beside anyOf {a} compiles, {id} compiles; beside oneOf {a} does not compile, {id} does not compile

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
npm install --silent --no-audit --no-fund --prefix . openapi-typescript@7.13.0 typescript@5.9.3 >log 2>&1 ||
  set_up_failed "openapi-typescript 7.13.0 and typescript 5.9.3"
cat >openapi.yaml <<'YAML'
openapi: 3.1.1
info: { title: Things, version: "1" }
paths: {}
components:
  schemas:
    A: { type: object, properties: { a: { type: string } }, required: [a] }
    B: { type: object, properties: { b: { type: string } }, required: [b] }
    anyOf:
      { type: object, properties: { id: { type: string } }, required: [id], anyOf: &both [{ $ref: "#/components/schemas/A" },
        { $ref: "#/components/schemas/B" }] }
    oneOf: { type: object, properties: { id: { type: string } }, required: [id], oneOf: *both }
YAML
node_modules/.bin/openapi-typescript openapi.yaml --output schema.ts >log 2>&1 || set_up_failed "the types were not made"
compiles() {
  echo "import type { components } from './schema.ts'; export const thing: components['schemas']['$1'] = $2;" >thing.ts
  NODE_DISABLE_COMPILE_CACHE=1 node_modules/.bin/tsc --noEmit --strict --allowImportingTsExtensions thing.ts >log 2>&1 &&
    echo "compiles" || echo "does not compile"
}
for keyword in anyOf oneOf; do
  echo "beside $keyword {a} $(compiles "$keyword" '{ a: "x" }'), {id} $(compiles "$keyword" '{ id: "x" }')"
done >seen
seen=$(paste -sd ';' seen | sed 's/;/; /')
expected='beside anyOf {a} compiles, {id} compiles; beside oneOf {a} does not compile, {id} does not compile'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
