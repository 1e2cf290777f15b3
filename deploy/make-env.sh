#!/bin/sh
# Writes the *.env files of a deployment from their examples, with a random token at each place: mode 0600, and never over
# a file that is there. A shell script, because a host that runs containers need not have Node.
set -eu

usage() {
  echo "usage: deploy/make-env.sh compose | systemd [FOLDER] | kubernetes OVERLAY | cloudflare ENVIRONMENT" >&2
  exit 2
}

random_token() {
  token=$(od -An -v -N 32 -t x1 /dev/urandom) || return
  token=$(echo "$token" | tr -d ' \n')
  if [ ${#token} -ne 64 ]; then
    echo "there is no random token, so nothing was written." >&2
    return 1
  fi
  echo "$token"
}

# Tokens go to sed on standard input, because arguments can be seen by every user of the host.
fill() {
  sed -f /dev/stdin "$1" >"$2" <<SCRIPT
${omitted:+/^$omitted=/d}
s/REPLACE-ME-TOO/$backend_token/
s/REPLACE-ME/$caller_token/
s/^HOST_NAME=.*/HOST_NAME=$host/
s/^\(SERVICE_MAX_CONCURRENT_RENDERS\|SERVICE_WARM_RENDERS\)=.*/\1=$slots/
SCRIPT
}

cd "$(dirname "$0")/.."
case "${1-} $#" in
"compose 1") examples=.env.example ;;
"systemd 1" | "systemd 2")
  examples="deploy/systemd/edge.env.example deploy/systemd/backend.env.example"
  folder=${2-/etc/document-rendering-service}
  if [ -z "$folder" ]; then usage; fi
  ;;
"kubernetes 2")
  examples="deploy/kubernetes/edge-secrets.env.example deploy/kubernetes/backend-secrets.env.example"
  folder=deploy/kubernetes/overlays/$2
  case $2 in "" | *[!a-z0-9-]*) usage ;; esac
  if [ ! -d "$folder" ]; then usage; fi
  ;;
# The secrets of a Worker are those of an edge on Kubernetes.
"cloudflare 2")
  examples=deploy/kubernetes/edge-secrets.env.example
  folder=.local
  name=$2.env
  case $2 in
  # Each container gets a token of its own when it starts.
  containers) omitted=SERVICE_BACKEND_TOKEN ;;
  "" | *[!a-z]*) usage ;;
  esac
  ;;
*) usage ;;
esac
folder=${folder-.}

target() {
  echo "$folder/${name-$(basename "$1" .example)}"
}

umask 077
mkdir -p "$folder"
# Only one at a time, or the files of two would not fit each other. macOS has no flock.
exec 9<"$folder"
if command -v flock >/dev/null && ! flock --nonblock 9; then
  echo "another deploy/make-env.sh is at work in $folder, so nothing was written." >&2
  exit 1
fi
for example in $examples; do
  if [ -e "$(target "$example")" ]; then
    echo "$(target "$example") is there already, so nothing was written." >&2
    exit 1
  fi
done

caller_token=$(random_token)
backend_token=$(random_token)
# What may stand before the URL of a backend.
host=$(uname -n | sed 's/[.].*//; s/[^A-Za-z0-9_-]//g; s/^[-_]*//' | cut -c 1-50)
host=${host:-host}
# Two backends share the cores of the host.
cores=$(getconf _NPROCESSORS_ONLN)
slots=$(((cores + 1) / 2))
# All are written beside and then get their names, so that a full disk leaves none.
remove_unfinished() {
  for example in $examples; do rm -f "$(target "$example").new"; done
}
remove_unfinished
trap remove_unfinished EXIT
for example in $examples; do
  fill "$example" "$(target "$example").new"
done
for example in $examples; do
  # Never over another file, as mv would.
  ln "$(target "$example").new" "$(target "$example")"
  echo "wrote $(target "$example")"
done
