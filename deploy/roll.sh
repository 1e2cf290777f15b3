#!/bin/sh
# Restarts the edges and backends of one host one after the other, each when the one before it is ready, so that no
# render is lost. A backend that is ready also makes a document before anything goes on. With a version it moves to that
# one. docs/deploy/one-host.md says how a version gets onto the host.
# It first asks for everything that it needs, and changes nothing if some of it is missing.
set -eu

LINK=/opt/document-rendering-service
RELEASES=/opt/document-rendering-releases
MAX_READY_SECONDS=60
MAX_ANSWER_SECONDS=5
MAX_RENDER_SECONDS=60
ENVIRONMENT=/etc/document-rendering-service/backend.env

usage() {
  echo "usage: deploy/roll.sh compose | systemd [VERSION]" >&2
  exit 2
}

fail() {
  echo "$1" >&2
  exit 1
}

# The lock is on the folder itself, so it leaves no file, and ends with this process and those that it has started.
lock() {
  exec 9<"$1"
  flock --nonblock 9 || fail "another deploy/roll.sh is at work in $1"
}

# What a tag of an image and the name of a folder may be.
check_version() {
  case $1 in
  "" | [!A-Za-z0-9_]* | *[!A-Za-z0-9._-]*) fail "${2:-$1} is not a version" ;;
  esac
}

# An edge never sends what an older backend does not know: backends become newer before the edges, and older after them.
# The versions are those that the edges run, because what is to run may have been changed by a run that failed. For `sort`,
# only a tilde is before nothing, as 1.10.0-rc.1 is before 1.10.0.
order() {
  newest=$(printf '%s\n' "$1" $2 | tr - '~' | sort -V | tail -n 1)
  if [ "$newest" = "$(echo "$1" | tr - '~')" ]; then echo "backend edge"; else echo "edge backend"; fi
}

wait_until_ready() {
  port=${2#*@}
  if [ "$1" = backend ]; then path=ready; else path=health; fi
  url=http://127.0.0.1:${port%.service}/$path
  curl --fail --silent --output /dev/null --noproxy '*' --max-time $MAX_ANSWER_SECONDS \
    --retry $MAX_READY_SECONDS --retry-delay 1 --retry-max-time $MAX_READY_SECONDS --retry-all-errors "$url" ||
    fail "$2 did not answer $url within $MAX_READY_SECONDS s. The others run on as they were: journalctl -u $2"
}

NO_DOCUMENT="is ready and makes no document. The others run on as they were"

# A backend may be ready and yet make no document, as with a Typst that it cannot run.
render_on_unit() {
  port=${1#*@}
  token=$(sed -n "s/^SERVICE_BACKEND_TOKENS=[\"']*\([^, \"']*\).*/\1/p" $ENVIRONMENT)
  # By standard input, because all users of a host see the arguments of its programs.
  echo "header = \"X-Service-Backend-Token: $token\"" |
    curl --config - --fail --silent --output /dev/null --noproxy '*' --max-time $MAX_RENDER_SECONDS \
      --header 'Content-Type: application/json' --data '{"source":"= Hello"}' \
      "http://127.0.0.1:${port%.service}/v1/render" || fail "$1 $NO_DOCUMENT: journalctl -u $1"
}

# By the Node of the image, which has no curl.
render_in_container() {
  docker compose exec -T "$1" node -e '
    fetch(`http://127.0.0.1:${process.env.SERVICE_PORT}/v1/render`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-Service-Backend-Token": process.env.SERVICE_BACKEND_TOKENS.split(/[\s,]+/)[0],
      },
      body: JSON.stringify({ source: "= Hello" }),
      signal: AbortSignal.timeout(Number(process.argv[1]) * 1000),
    }).then(({ ok }) => process.exit(ok ? 0 : 1))' $MAX_RENDER_SECONDS || fail "$1 $NO_DOCUMENT: docker compose logs $1"
}

list_units() {
  units=$(systemctl list-units --plain --no-legend "document-rendering-$1@*")
  if [ -z "$units" ]; then fail "systemd runs no document-rendering-$1@…: docs/deploy/one-host.md"; fi
  echo "$units" | cut -d ' ' -f 1
}

roll_systemd() {
  lock "$RELEASES"
  if [ ! -L "$LINK" ]; then fail "$LINK is not a link to a folder in $RELEASES"; fi
  wanted=${1-$(basename "$(readlink "$LINK")")}
  check_version "$wanted"
  folder=$RELEASES/$wanted
  # Each version has its programs where its own units start them: those of 1.3 are in other places.
  programs=$(sed -n "s|^ExecStart=$LINK/\([^ ]*\).*|\1|p" "$folder"/deploy/systemd/*.service 2>/dev/null) ||
    fail "$folder has no units. What puts them there: npm run build:release"
  for program in $programs dist/edge; do
    if [ ! -e "$folder/$program" ]; then fail "$folder has no $program. What puts it there: npm run build:release"; fi
  done
  backends=$(list_units backend)
  edges=$(list_units edge)
  running=$(for unit in $edges; do
    process=$(systemctl show --property=MainPID --value "$unit")
    readlink "/proc/$process/cwd" | sed -n "s|^$RELEASES/\([^/]*\).*|\1|p"
  done)
  install -m 0644 -t /etc/systemd/system "$folder"/deploy/systemd/*.service
  ln -sfn "$folder" "$LINK.new"
  mv -T "$LINK.new" "$LINK"
  systemctl daemon-reload
  for kind in $(order "$wanted" "$running"); do
    if [ "$kind" = edge ]; then units=$edges; else units=$backends; fi
    for unit in $units; do
      systemctl restart "$unit"
      wait_until_ready "$kind" "$unit"
      if [ "$kind" = backend ]; then render_on_unit "$unit"; fi
      echo "$unit: $wanted"
    done
  done
}

# Written beside and moved, so that .env with all tokens is there at each moment, as it was or as it is to be.
write_version() {
  file=$(readlink -f .env)
  trap 'rm -f "$file.new"' EXIT
  rm -f "$file.new"
  cp -p "$file" "$file.new"
  sed "s/^IMAGE_TAG=[^\r]*/IMAGE_TAG=$1/" "$file" >"$file.new"
  if [ "$(stat -c '%a %u:%g' "$file.new")" != "$(stat -c '%a %u:%g' "$file")" ]; then
    fail "only the owner of $file can change it"
  fi
  sync "$file.new"
  mv "$file.new" "$file"
}

roll_compose() {
  cd "$(dirname "$0")/.."
  lock .
  if [ ! -r .env ]; then fail ".env, which has the IMAGE_TAG, is not there or not yours to read: deploy/make-env.sh compose"; fi
  # Compose also takes lines that end as on Windows.
  now=$(sed -n 's/\r$//; s/^IMAGE_TAG=//p' .env)
  check_version "$now" "IMAGE_TAG=$now in .env"
  # Compose prefers it to that of .env.
  export IMAGE_TAG="${1-$now}"
  check_version "$IMAGE_TAG"
  services=$(docker compose config --services)
  backends=$(echo "$services" | sort | grep '^backend') || fail "compose.yaml has no backend"
  edges=$(echo "$services" | sort | grep '^edge') || fail "compose.yaml has no edge"
  images=$(docker compose config --images)
  for image in $(echo "$images" | sort -u); do
    docker image inspect "$image" >/dev/null 2>&1 || docker pull --quiet "$image" >&2
  done
  containers=$(docker compose ps --quiet $edges)
  if [ -n "$containers" ]; then running=$(docker inspect --format '{{.Config.Image}}' $containers); fi
  # Images without a version are those of 1.3.
  running=$(echo "${running-}" | sed -n 's|.*/||; /:latest$/d; s/.*://p')
  if [ "$IMAGE_TAG" != "$now" ]; then write_version "$IMAGE_TAG"; fi
  for kind in $(order "$IMAGE_TAG" "$running"); do
    if [ "$kind" = edge ]; then services=$edges; else services=$backends; fi
    for service in $services; do
      # Without --no-build, an image that is missing would be built from another version's files.
      docker compose up --detach --no-build --no-deps --wait "$service"
      if [ "$kind" = backend ]; then render_in_container "$service"; fi
      echo "$service: $IMAGE_TAG"
    done
  done
}

kind=${1-}
case "$kind $#" in
"systemd 1" | "systemd 2" | "compose 1" | "compose 2") shift && "roll_$kind" "$@" ;;
*) usage ;;
esac
