# podman, which takes docker's options, with this machine's own root as the image. Sourced by bash after tests/common.sh.

# Returns false if podman is missing here. Then image_end is to be called.
image_begin() {
  if ! command -v podman >/dev/null; then
    echo "containers: not run: podman is missing here (packages podman and crun)"
    return 1
  fi
  mkdir -p /sys/fs/cgroup
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
  mkdir -p "$TMPDIR/image" "$TMPDIR/scratch"
  mount -t tmpfs none "$TMPDIR/scratch"
  mkdir "$TMPDIR/scratch/upper" "$TMPDIR/scratch/work"
  mount -t overlay -o lowerdir=/,upperdir=$TMPDIR/scratch/upper,workdir=$TMPDIR/scratch/work none "$TMPDIR/image"
}
image_end() { umount "$TMPDIR/image" "$TMPDIR/scratch"; }

docker() {
  podman --root "$TMPDIR/scratch/store" --runroot "$TMPDIR/scratch/run" --cgroup-manager cgroupfs --events-backend none "$@"
}

# What goes on where a container's job, which ends by itself within 100 s, does not.
explain_container() {
  local process task
  ps axo pid,ppid,stat,wchan:30,args | grep -v ']$'
  for process in $(pgrep -f 'podman|conmon|crun|tfabric perf'); do
    for task in "/proc/$process/task"/*; do
      echo "-- $task $(<"$task/comm"): $(<"$task/syscall")"
      cat "$task/stack"
    done
  done
}

# run_container LINE: a line that begins with "docker run". Its output is left in $TMPDIR/out.
run_container() {
  local second status=0 job
  eval "$1" >"$TMPDIR/out" 2>&1 &
  job=$!
  for ((second = 0; second < 150; second++)); do
    kill -0 $job 2>/dev/null || break
    sleep 1
  done
  if ((second == 150)); then
    explain_container || true
    fail "the container has not ended within 150 s: $(<"$TMPDIR/out")"
  fi
  wait $job || status=$?
  ((status == 0)) || fail "the container: exit status $status: $(<"$TMPDIR/out")"
  cat "$TMPDIR/out"
}
