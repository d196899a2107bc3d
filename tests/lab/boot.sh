# Tests the lab itself: output and exit status of the command, an unchanged host, and nothing left behind. Several machines run at
# once. Sourced by run.
small=(--memory 512 --cpus 1 --timeout 120)

# Both outputs are complete and separate, also if the last line has no newline. Files stay in the machine, except those in the
# shared folder. The command has the current folder, an empty folder for temporary files, and its arguments unchanged.
mkdir "$folder/shared" "$folder/here dir"
cd "$folder/here dir"
"$lab/vm" "${small[@]}" --share "$folder/shared" -- bash -c '
  echo "$PWD|$1|$(ls -A "${TMPDIR:-/tmp}")|"; printf "no end" >/dev/stdout; echo error >&2
  echo written >../outside; echo written >../shared/inside
  mount | grep -c "type hugetlbfs"; exit 7' bash "it's \$one word" >"$folder/out" 2>"$folder/err" &
plain=$!
# The time is over.
"$lab/vm" "${small[@]}" --timeout 20 -- sleep 1000 2>"$folder/late.err" &
late=$!
# One of two fails, and the other waits for it.
"$lab/vm" "${small[@]}" -- false :: sleep 1000 2>"$folder/alone.err" &
alone=$!
# The kernel panics.
"$lab/vm" "${small[@]}" -- bash -c 'echo c >/proc/sysrq-trigger; sleep 1000' 2>"$folder/dead.err" &
dead=$!
# A signal ends it.
mkfifo "$folder/news"
"$lab/vm" "${small[@]}" -- bash -c 'echo begun; sleep 1000' >"$folder/news" 2>"$folder/ended.err" &
ended=$!

read -r line <"$folder/news" || true
machine=$(ps -o pid= --ppid $ended || true)
kill -TERM $ended || true # it is gone if no machine could be started
status=0
wait $ended || status=$?
if ((status == 77)); then
  cat "$folder/ended.err"
  skip "see above"
fi
[[ $line == begun ]] || fail "the machine that was to be ended has not begun: $(<"$folder/ended.err")"
expect_status "SIGTERM" 143 $status
[[ $machine ]] || fail "qemu was not found"
# shellcheck disable=SC2086
ps -o pid= $machine >/dev/null && fail "qemu, process $machine, is left behind"

status=0
wait $plain || status=$?
cat "$folder/out" "$folder/err"
expect_status "a command that fails" 7 $status
printf '%s\nno end1\n' "$folder/here dir|it's \$one word||" | cmp - "$folder/out" || fail "standard output is another"
echo error | cmp - "$folder/err" || fail "standard error is another"
[[ ! -e $folder/outside ]] || fail "the host's file system was written"
[[ $(<"$folder/shared/inside") == written ]] || fail "the shared folder was not written"

status=0
wait $late || status=$?
expect_status "the time is over" 124 $status
grep -q 'not done within 20 s' "$folder/late.err" || fail "the time-out is not said: $(<"$folder/late.err")"
grep -q 'sleep .*: state S: do_nanosleep' "$folder/late.err" || fail "where it waited is not said: $(<"$folder/late.err")"

status=0
wait $alone || status=$?
expect_status "one of two that fails" 1 $status
grep -q "machine b: not done within 30 s of the other's failure" "$folder/alone.err" ||
  fail "it is not said whom the other has waited for: $(<"$folder/alone.err")"

status=0
wait $dead || status=$?
expect_status "a machine that fails" 125 $status
grep -q 'sysrq triggered crash' "$folder/dead.err" || fail "the panic is not told: $(<"$folder/dead.err")"
