#!/bin/sh
# Restarts the edges and backends of one host one after the other, each when the one before it is ready, so that no
# render is lost. With a version it moves to that one. docs/deploy/one-host.md says how a version gets onto the host.
set -eu

LINK=/opt/document-rendering-service
RELEASES=/opt/document-rendering-releases
MAX_READY_SECONDS=60

usage() {
  echo "usage: deploy/roll.sh compose | systemd [VERSION]" >&2
  exit 2
}

fail() {
  echo "$1" >&2
  exit 1
}

# An edge never sends what an older backend does not know: backends become newer before the edges, and older after them.
order() {
  if [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; then echo "backend edge"; else echo "edge backend"; fi
}

wait_until_ready() {
  port=${2#*@}
  if [ "$1" = backend ]; then path=ready; else path=health; fi
  url=http://127.0.0.1:${port%.service}/$path
  for _ in $(seq $MAX_READY_SECONDS); do
    if curl --fail --silent --output /dev/null "$url"; then return; fi
    sleep 1
  done
  fail "$2 did not answer $url within $MAX_READY_SECONDS s. The others run on as they were: journalctl -u $2"
}

roll_systemd() {
  if [ ! -L "$LINK" ]; then fail "$LINK is not a link to a folder in $RELEASES"; fi
  now=$(basename "$(readlink "$LINK")")
  wanted=${1:-$now}
  folder=$RELEASES/$wanted
  if [ ! -x "$folder/dist/edge/workerd" ]; then fail "$folder is not there, or was not built: npm ci && npm run build:edge"; fi
  ln -sfn "$folder" "$LINK"
  install -m 0644 -t /etc/systemd/system "$folder"/deploy/systemd/*.service
  systemctl daemon-reload
  for kind in $(order "$now" "$wanted"); do
    for unit in $(systemctl list-units --plain --no-legend "document-rendering-$kind@*" | cut -d ' ' -f 1); do
      systemctl restart "$unit"
      wait_until_ready "$kind" "$unit"
      echo "$unit: $wanted"
    done
  done
}

roll_compose() {
  cd "$(dirname "$0")/.."
  now=$(sed -n 's/^IMAGE_TAG=//p' .env)
  wanted=${1:-$now}
  # Its mode stays as it is.
  text=$(sed "s/^IMAGE_TAG=.*/IMAGE_TAG=$wanted/" .env)
  printf '%s\n' "$text" >.env
  for kind in $(order "$now" "$wanted"); do
    for service in $(docker compose config --services | grep "^$kind" | sort); do
      # Without --no-build, an image that is missing would be built from another version's files.
      docker compose up --detach --no-build --no-deps --wait "$service"
      echo "$service: $wanted"
    done
  done
}

case "${1-} $#" in
"systemd 1" | "systemd 2") roll_systemd "${2-}" ;;
"compose 1" | "compose 2") roll_compose "${2-}" ;;
*) usage ;;
esac
