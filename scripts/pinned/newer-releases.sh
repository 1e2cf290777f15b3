#!/bin/sh
# Prints what is pinned beside its newest release on GitHub, by a `gh` signed in.
set -u
cd "$(dirname "$0")/../.."

maven_version() {
  sed -n "s/.*:$1:\([^\"]*\)\".*/\1/p" scripts/pinned/maven-artifact.ts
}

compare() {
  newest=$(gh api "repos/$1/releases/latest" --jq .tag_name) || newest="could not be read"
  note=
  # Tags differ in what stands before the number: v1.30.2, core-2.26.0.
  case $newest in "$2" | *[!0-9.]"$2" | "could not be read") ;; *) note="differs" ;; esac
  echo "| $1 | $2 | $newest | $note |"
}

echo "| Project | Here | Newest release | |"
echo "| --- | --- | --- | --- |"
compare veraPDF/veraPDF-library "$(maven_version validation-model)"
compare ZUGFeRD/mustangproject "$(maven_version Mustang-CLI)"
compare OpenAPITools/openapi-generator "$(maven_version openapi-generator-cli)"
compare oapi-codegen/oapi-codegen "$(sed -n 's/.*oapi-codegen@v\([0-9.]*[0-9]\) .*/\1/p' examples/programs/generated-clients/go/run.sh)"
compare typst/typst "$(sed -n 's/.*TYPST_VERSION = "\(.*\)".*/\1/p' typst/typst-release.mjs)"
