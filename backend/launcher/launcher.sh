# One shell of the launcher. It runs one program at a time. The backend writes these lines to its standard input, then a line
# for each step. See docs/decisions/one-process-per-render.md#resident-shells-start-typst.

# The FIFOs of all its programs.
input=$1.in
output=$1.out

# Where memory is short, the kernel takes the programs before the backend: they inherit this. Not everywhere is there such a file.
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null

# What the program writes to its standard error and what this shell reports arrive in one pipe, in order.
exec 2>&1

# When the backend ends, standard input ends and this shell exits. Everything in its process group ends with it.
trap 'kill -KILL 0' EXIT
# Ignore a terminal's signals, which are meant for the backend, and the TERM that `finish` sends to our own group.
trap : HUP INT TERM

make_fifos() {
  "$1" -m 600 "$input" "$output" && echo ready
}

# start <directory> <commands> <program> [argument ...]: what fails before the program runs is reported, not `started`.
start() {
  (
    exec <"$input" >"$output" && cd "$1" && eval "$2" && echo started >&2 && shift 2 && exec "$@"
  ) &
}

# Whether the process of the program is still a child of this shell. Shells may wait for a child that has ended before
# they are told to, and its process id may then belong to another process. (Where there is no /proc, there is no sandbox either.)
# Read from `status`, because a program can choose its name, which would shift the fields of `stat`.
is_child() {
  [ -e /proc/self/status ] || return 0
  while read -r field parent; do
    [ "$field" != PPid: ] || break
  done <"/proc/$!/status" && [ "$parent" = $$ ]
}

# finish <nonce>: kills the program if it still runs, and reports its exit status, prefixed with a random nonce that the
# program cannot know.
finish() {
  # It may end at this moment, which is nothing to report.
  if is_child; then kill -KILL $!; fi 2>/dev/null
  wait $!
  set -- "$1" $?
  kill -TERM 0
  echo "$1 $2"
}
