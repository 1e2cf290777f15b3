#!/usr/bin/env bash
# A new enum anywhere in an OpenAPI description renames the Go constants of an old one, so that callers no longer compile.
#
# The Go module github.com/oapi-codegen/oapi-codegen/v2 2.8.2, with Go 1.26.8. 2026-11-28.
# Expected: a schema that is added changes no name of the others; that is what makes an addition compatible.
# Happens: an enum has the short names Request and Service as long as no other has one of them. Then each name of both gets its
#   type in front, also Request, which collides with nothing. `compatibility: {always-prefix-enum-values: true}` keeps the names
#   stable, if it is in the configuration from the start.
# Seen: before Request Service; after OtherWhoService ThingOriginRequest ThingOriginService

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS=-modcacherw
go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 >log 2>&1 || set_up_failed "oapi-codegen 2.8.2"
constants() {
  cat >openapi.yaml <<YAML
openapi: 3.0.3
info: { title: Things, version: "1" }
paths: {}
components:
  schemas:
    Thing: { type: object, properties: { origin: { type: string, enum: [request, service] } } }
    Other: { type: object, properties: { who: { type: string$1 } } }
YAML
  go/bin/oapi-codegen -generate types,skip-prune -package things openapi.yaml >things.go 2>log || return 1
  awk '/ = "(request|service)"$/ { print $1 }' things.go | paste -sd ' '
}
before=$(constants '') || set_up_failed "no Go was written"
after=$(constants ', enum: [service]') || set_up_failed "no Go was written"
seen="before $before; after $after"
expected='before Request Service; after OtherWhoService ThingOriginRequest ThingOriginService'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
