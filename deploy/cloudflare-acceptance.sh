#!/bin/sh
# What only an account at Cloudflare can show of docs/deploy/cloudflare.md: deploys the environment `containers` under a
# name of its own, renders, rolls an image out under load, deletes all of it, and prints which claims held. It needs
# Docker, `npm ci`, `npx wrangler login` and Workers Paid, takes up to an hour and costs some cents.
set -eu

NAME=document-rendering-acceptance
SILENT=$NAME-silent
RENDERS=200
MAX_SECONDS=60
MAX_ROLLOUT_SECONDS=1800

cd "$(dirname "$0")/.."
case "$# ${1-}" in
"0 ") dry_run= ;;
"1 --dry-run") dry_run=--dry-run ;;
*)
  echo "usage: deploy/cloudflare-acceptance.sh [--dry-run]" >&2
  exit 2
  ;;
esac

# Beside wrangler.toml, because paths in a configuration are relative to it.
config=wrangler.acceptance.toml
image=Dockerfile.acceptance
work=$(mktemp -d)
failed=0
deployed=
clean_up() {
  if [ -n "$deployed" ]; then
    npx wrangler delete --config $config --env containers --name $NAME --force ||
      echo "The Worker $NAME was not deleted: npx wrangler delete --name $NAME" >&2
    npx wrangler delete --name $SILENT --force || echo "The Worker $SILENT was not deleted." >&2
    echo "Delete its container application and images: npx wrangler containers list, npx wrangler containers images list"
  fi
  rm -rf "$config" "$image" "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Six backends that have a request and never answer.
cat >"$work/silent.js" <<'SCRIPT'
export default { fetch: () => scheduler.wait(600_000).then(() => new Response()) };
SCRIPT
backends="container:BACKENDS/2"
sed "s/^name = \"document-rendering-service-containers\"/name = \"$NAME\"/" wrangler.toml >"$config"
for number in 1 2 3 4 5 6; do
  backends="$backends silent-$number=binding:SILENT_$number"
  printf '\n[[env.containers.services]]\nbinding = "SILENT_%s"\nservice = "%s"\n' "$number" $SILENT >>"$config"
done

token=$(od -An -v -N 32 -t x1 /dev/urandom | tr -d ' \n')
echo "SERVICE_API_TOKENS=acceptance:$token" >"$work/secrets.env"
# The token goes to curl in a file, because arguments can be seen by every user of the machine.
echo "header = \"X-Service-Api-Token: $token\"" >"$work/curl.conf"

deploy() {
  npx wrangler deploy $dry_run --config $config --env containers --secrets-file "$work/secrets.env" "$@"
}

if [ -n "$dry_run" ]; then
  deploy --containers-rollout=none --var "SERVICE_BACKEND_URLS:$backends" --outdir "$work/bundle"
  exit
fi

check() {
  if [ "$2" = yes ]; then echo "held:   $1"; else
    echo "FAILED: $1"
    failed=1
  fi
}

render() {
  curl --config "$work/curl.conf" --silent --show-error --max-time $MAX_SECONDS --output /dev/null \
    --write-out '%{http_code} %{time_total}\n' --header 'Content-Type: application/json' \
    --data '{"source":"= Hello"}' "$url/v1/render" || true
}

# Prints how many of so many renders, four at a time, were answered 200, and the time of the slowest but one in a hundred.
render_many() {
  : >"$work/times"
  sent=0
  while [ $sent -lt "$1" ]; do
    for _ in 1 2 3 4; do render >>"$work/times" & done
    wait
    sent=$((sent + 4))
  done
  ok=$(grep -c '^200 ' "$work/times" || true)
  p99=$(sed -n 's/^200 //p' "$work/times" | sort -n | awk '{ t[NR] = $1 } END { print t[int(NR * 0.99)] + 0 }')
  echo "  $ok of $1 answered 200, p99 $p99 s"
}

# Prints when the process of each container began.
starts() {
  curl --silent --max-time $MAX_SECONDS "$url/metrics" | grep '^process_start_time_seconds{origin="backend-[12]"' || true
}

npx wrangler deploy "$work/silent.js" --name $SILENT --compatibility-date 2026-10-01
deployed=yes
deploy | tee "$work/deploy.log"
url=$(grep -o "https://$NAME[^ ]*workers.dev" "$work/deploy.log" | head -n 1)
if [ -z "$url" ]; then
  echo "wrangler printed no address of the Worker: is its workers.dev address on?" >&2
  exit 1
fi

render >"$work/first"
check "the first render starts a container and is answered within $MAX_SECONDS s" \
  "$(grep -q '^200 ' "$work/first" && echo yes || echo no)"

render_many $RENDERS
check "$RENDERS renders, all 200" "$([ "$ok" -eq $RENDERS ] && echo yes || echo no)"
quiet=$p99

deploy --containers-rollout=none --var "SERVICE_BACKEND_URLS:$backends"
# The first renders find out who is silent.
render_many 100
render_many $RENDERS
check "with six silent backends, $RENDERS renders, all 200" "$([ "$ok" -eq $RENDERS ] && echo yes || echo no)"
check "with six silent backends, p99 at most 1.2 times that without and 0.2 s" \
  "$(awk "BEGIN { print ($ok > 0 && $p99 <= 1.2 * $quiet + 0.2) ? \"yes\" : \"no\" }")"
starts >"$work/starts"
check "/metrics has those of both containers" "$([ "$(grep -c . "$work/starts")" -eq 2 ] && echo yes || echo no)"

# A new image, by a label that changes nothing else.
cp Dockerfile "$image"
echo "LABEL acceptance=$(date +%s)" >>"$image"
sed "s|^image = \"./Dockerfile\"|image = \"./$image\"|" "$config" >"$work/config"
cp "$work/config" "$config"
deploy
lost=0
replaced=0
deadline=$(($(date +%s) + MAX_ROLLOUT_SECONDS))
while [ "$replaced" -lt 2 ] && [ "$(date +%s)" -lt "$deadline" ]; do
  render_many 100
  lost=$((lost + 100 - ok))
  replaced=$(starts | grep -cvxF -f "$work/starts" || true)
done
check "a new image replaces both containers within $MAX_ROLLOUT_SECONDS s" \
  "$([ "$replaced" -eq 2 ] && echo yes || echo no)"
check "meanwhile, no render is lost" "$([ $lost -eq 0 ] && echo yes || echo no)"
npx wrangler containers list
exit $failed
