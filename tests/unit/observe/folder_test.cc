// Pages as files in a folder: what is there while a process lives, after it was killed, and after an orderly
// end; and what strangers put beside them.
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "observe/folder_finder.h"
#include "observe/kept_file.h"
#include "observe/page.h"
#include "observe/ring_reader.h"
#include "observe/stale.h"
#include "tests/captured_log.h"
#include "tests/unit/observe/own_tmpfs.h"

using namespace tfabric;
using namespace tfabric::observe;
using test::CapturedLog;
using test::OwnTmpfs;

namespace {

namespace fs = std::filesystem;

Identity in_folder(const std::string& folder, std::int64_t rank = 0) {
  return {.rank = rank, .host = "h", .job = {}, .transport = "tcp", .records = 64, .folder = folder};
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Found pages_in(const std::string& folder) {
  Found found;
  add_pages_of(folder, 0, monotonic_now, found);
  return found;
}

// A process that does this, and how it has ended, as of waitpid(2).
int after(const std::function<void()>& what) {
  const pid_t child = fork();
  if (child == 0) {
    what();
    _exit(0);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

// A page that a process has left which was killed. Returns its path.
std::string leave_page(const std::string& folder, std::int64_t rank = 0) {
  const std::vector<std::string> before = files_in(folder);
  REQUIRE(WIFSIGNALED(after([&] {
    auto page = Page::create(in_folder(folder, rank));
    EngineFacts engine;
    engine.turned_at = static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count()) - 3'000'000'000;
    (*page)->publish((*page)->take(Table::engine), 1, engine);
    (*page)->publish((*page)->take(Table::comm), 2, CommFacts{});
    raise(SIGKILL);
  })));
  for (const std::string& name : files_in(folder)) {
    if (!std::binary_search(before.begin(), before.end(), name)) {
      return folder + "/" + name;
    }
  }
  FAIL("it has left no page");
  return {};
}

void set_time(const std::string& path, std::chrono::seconds ago) {
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= ago.count();
  const struct timespec times[] = {now, now};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

mode_t mode_of(const std::string& path) {
  struct stat found {};
  REQUIRE(stat(path.c_str(), &found) == 0);
  return found.st_mode & 07777;
}

void clean_now(const std::string& folder) { clean_folder(folder, std::chrono::system_clock::now()); }

}  // namespace

TEST_CASE("names of pages have their process's number, and no character that a shell would mind") {
  const std::string name = page_name("gpu\x1b 2/../a-b.c", 4242, 0xabc);
  CHECK(name == "gpu__2_.._a-b.c-4242-0000000000000abc.tfabric");
  CHECK(pid_in_page_name(name) == 4242u);
  CHECK(pid_in_page_name(page_name("", 1, ~std::uint64_t{0})) == 1u);
  CHECK(page_name(std::string(500, 'h'), 4000000000u, 1).size() < 255);
  for (const char* other :
       {"", ".tfabric", "h-1.tfabric", "h-1-0000000000000abc", "h-1-0000000000000abcd.tfabric",
        "h-x-0000000000000abc.tfabric", "-1-0000000000000abc.tfabric", "h-1-0000000000000ABC.tfabric",
        "h-99999999999-0000000000000abc.tfabric", "h\n-1-0000000000000abc.tfabric",
        "h--0000000000000abc.tfabric", "h-1-0000000000000abc.tfabric "}) {
    INFO(other);
    CHECK_FALSE(pid_in_page_name(other));
  }
}

TEST_CASE(
    "a page in a tmpfs is a file of its user alone, found there and by /proc as one, and goes with it") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  const mode_t before = umask(0);
  {
    auto page = Page::create(in_folder(folder.path(), 7));
    REQUIRE(page.ok());
    const auto names = files_in(folder.path());
    REQUIRE(names.size() == 1);
    CHECK(pid_in_page_name(names.front()) == static_cast<std::uint32_t>(getpid()));
    CHECK(mode_of(folder.path() + "/" + names.front()) == 0600);
    Found found = find_pages(static_cast<std::uint32_t>(getpid()), monotonic_now);
    REQUIRE(found.pages.size() == 1);
    add_pages_of(folder.path(), 0, monotonic_now, found);
    REQUIRE(found.pages.size() == 1);
    const Found there = pages_in(folder.path());
    REQUIRE(there.pages.size() == 1);
    CHECK(there.pages.front().snapshot->rank == 7);
    CHECK_FALSE(there.pages.front().ended);
    CHECK_FALSE(there.pages.front().elsewhere);
    CHECK(remove_left(folder.path()).pages == 0);
  }
  umask(before);
  CHECK(files_in(folder.path()).empty());
}

TEST_CASE("a folder that is no tmpfs, or is not there, gets no file, and the page ends with its process") {
  const test::TemporaryFolder folder;
  for (const std::string& where : {folder.path(), folder.path("missing")}) {
    CHECK_FALSE(why_no_pages_in(where).empty());
    auto page = Page::create(in_folder(where));
    REQUIRE(page.ok());
    CHECK(find_pages(static_cast<std::uint32_t>(getpid()), monotonic_now).pages.size() == 1);
  }
  CHECK(files_in(folder.path()).empty());
}

TEST_CASE("a process that was killed leaves its page: its last state, and its packets") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  const std::string path = leave_page(folder.path(), 3);
  const Found found = pages_in(folder.path());
  REQUIRE(found.pages.size() == 1);
  const FoundPage& page = found.pages.front();
  REQUIRE(page.snapshot.ok());
  CHECK(page.snapshot->rank == 3);
  REQUIRE(page.ended);
  CHECK(*page.ended >= std::chrono::seconds(3));
  CHECK(*page.ended < std::chrono::seconds(60));
  // Ages are those of its last state.
  const ReadTable& engines = page.snapshot->table("engine");
  CHECK(engines.number(engines.rows.front(), "turned_at") ==
        static_cast<std::uint64_t>(page.snapshot->taken_at.time_since_epoch().count()));
  CHECK(read_rings(page.file->get()).ok());
  CHECK(remove_left(folder.path()).pages == 1);
  CHECK(files_in(folder.path()).empty());
}

// How a process ends that closes nothing, as with NCCL's tables up to v10.
TEST_CASE(
    "what ends with exit status 0, or has closed its comms, leaves no page; a failure in the midst does") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  struct Ending {
    int status;
    bool comm, closed;
    std::size_t left;
  };
  for (const Ending& ending :
       {Ending{0, true, false, 0}, Ending{0, false, false, 0}, Ending{1, true, false, 1},
        Ending{1, false, false, 0}, Ending{1, true, true, 0}}) {
    INFO(ending.status << " with a comm " << ending.comm << " closed " << ending.closed);
    after([&] {
      auto* page = Page::create(in_folder(folder.path()))->release();
      const std::uint32_t slot = ending.comm ? page->take(Table::comm) : Page::kNone;
      if (ending.closed) {
        page->give_back(Table::comm, slot);
      }
      // Without Catch's handlers, which this process has inherited.
      static_cast<void>(!freopen("/dev/null", "w", stdout));
      exit(ending.status);
    });
    CHECK(files_in(folder.path()).size() == ending.left);
    static_cast<void>(remove_left(folder.path()));
  }
}

TEST_CASE("a forked child that ends in order leaves its parent's page alone, and does not hold it") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  auto page = Page::create(in_folder(folder.path()));
  REQUIRE(page.ok());
  after([&] { page->reset(); });
  CHECK(files_in(folder.path()).size() == 1);
  CHECK_FALSE(pages_in(folder.path()).pages.front().ended);
  page->reset();
  // A child that lives on does not make its parent's page look alive.
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  pid_t orphan = 0;
  after([&] {
    auto* left = Page::create(in_folder(folder.path()))->release();
    static_cast<void>(left);
    if (fork() == 0) {
      // From now on it does not hold the page: fork() has returned.
      const pid_t self = getpid();
      static_cast<void>(!write(ends[1], &self, sizeof self));
      pause();
    }
    raise(SIGKILL);
  });
  REQUIRE(read(ends[0], &orphan, sizeof orphan) == static_cast<ssize_t>(sizeof orphan));
  const Found found = pages_in(folder.path());
  kill(orphan, SIGKILL);
  close(ends[0]);
  close(ends[1]);
  REQUIRE(found.pages.size() == 1);
  CHECK(found.pages.front().ended);
}

TEST_CASE("a tmpfs that is full ends what the page shows, and never the process") {
  const OwnTmpfs folder("size=256k,mode=1777");
  if (!folder.usable()) {
    return;
  }
  auto page = Page::create(in_folder(folder.path()));
  REQUIRE(page.ok());
  CommFacts comm;
  std::size_t shown = 0;
  for (std::uint64_t i = 1; i <= 4096; ++i) {
    const std::uint32_t slot = (*page)->take(Table::comm);
    (*page)->publish(slot, i, comm);
    shown += slot == Page::kNone ? 0 : 1;
  }
  CHECK(shown > 64);
  CHECK(shown < 4096);
  std::uint32_t ring_slot = Page::kNone;
  CHECK_FALSE((*page)->take_ring(1, ring_slot).exists());
  const Found found = pages_in(folder.path());
  REQUIRE(found.pages.size() == 1);
  CHECK(found.pages.front().snapshot->table("comm").rows.size() == shown);
  CHECK(found.pages.front().snapshot->table("comm").left_out == 4096 - shown);
  // Not even its description has room: it ends with its process then.
  const Descriptor rest(open((folder.path() + "/rest").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::array<char, 4096> block{};
  while (write(rest.get(), block.data(), block.size()) > 0) {
  }
  const CapturedLog log;
  const auto second = Page::create(in_folder(folder.path()));
  CHECK(second.ok());
  const auto lines = log.lines();
  CHECK(std::any_of(lines.begin(), lines.end(), [&](const CapturedLog::Line& line) {
    return line.text.find(" in " + folder.path() + ": No space left") != std::string::npos;
  }));
  CHECK(files_in(folder.path()).size() == 2);
}

// The kernel ends a process that makes a file larger than it may, by SIGXFSZ.
TEST_CASE("a limit on the size of files (ulimit -f) leaves a process without a page, and alive") {
  const int status = after([] {
    const struct rlimit most { .rlim_cur = 65536, .rlim_max = 65536 };
    setrlimit(RLIMIT_FSIZE, &most);
    const auto page = Page::create(in_folder(""));
    _exit(page.ok() ? 1 : 42);
  });
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 42);
}

TEST_CASE("what is put beside pages is neither shown nor removed, and stops no reader") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  const auto place = [&](std::uint64_t number) { return folder.path() + "/" + page_name("x", 1, number); };
  REQUIRE(mkfifo(place(1).c_str(), 0600) == 0);
  REQUIRE(symlink("/etc/passwd", place(2).c_str()) == 0);
  REQUIRE(mkdir(place(3).c_str(), 0700) == 0);
  REQUIRE(symlink("nowhere", place(4).c_str()) == 0);
  const Descriptor note(
      open((folder.path() + "/notes.tfabric").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const Descriptor text(open(place(5).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(write(text.get(), "mine", 4) == 4);
  const auto before = files_in(folder.path());
  clean_now(folder.path());
  CHECK(remove_left(folder.path()).pages == 0);
  CHECK(files_in(folder.path()) == before);
  const Found found = pages_in(folder.path());
  REQUIRE(found.pages.size() == 1);
  CHECK_THAT(found.pages.front().snapshot.error().message,
             Catch::StartsWith("this is no page of tfabric's: "));
}

TEST_CASE("a page that was cut, or has another layout, is shown as what it is, and can be removed") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  const std::string cut = leave_page(folder.path()), emptied = leave_page(folder.path()),
                    other = leave_page(folder.path());
  REQUIRE(truncate(cut.c_str(), 5000) == 0);
  REQUIRE(truncate(emptied.c_str(), 0) == 0);
  const Descriptor file(open(other.c_str(), O_WRONLY | O_CLOEXEC));
  const std::uint32_t layout = 9;
  REQUIRE(pwrite(file.get(), &layout, sizeof layout, offsetof(PageHeader, layout)) == sizeof layout);
  const Found found = pages_in(folder.path());
  REQUIRE(found.pages.size() == 3);
  for (const FoundPage& page : found.pages) {
    CHECK(page.ended);
    REQUIRE_FALSE(page.snapshot.ok());
    CHECK_THAT(page.snapshot.error().message,
               Catch::StartsWith("this is no page of tfabric's: ") || Catch::StartsWith("it has layout 9"));
  }
  CHECK(remove_left(folder.path()).pages == 3);
}

TEST_CASE("a process that starts keeps what was left for an hour after it was found, and sixteen at most") {
  const OwnTmpfs folder("size=1g,mode=1777");
  if (!folder.usable()) {
    return;
  }
  const std::string young = leave_page(folder.path()), old = leave_page(folder.path());
  // It hung for two hours before it was killed: that is no reason to remove it.
  set_time(old, std::chrono::hours(2));
  clean_now(folder.path());
  REQUIRE(files_in(folder.path()).size() == 2);
  CHECK(mode_of(old) == 0400);
  set_time(old, std::chrono::minutes(61));
  set_time(young, std::chrono::minutes(59));
  clean_now(folder.path());
  REQUIRE(files_in(folder.path()) == std::vector<std::string>{fs::path(young).filename()});
  for (int i = 0; i < 20; ++i) {
    leave_page(folder.path());
  }
  auto living = Page::create(in_folder(folder.path()));  // cleans, too
  CHECK(files_in(folder.path()).size() == kMostKept + 1);
  CHECK_FALSE(fs::exists(young));  // the oldest
  CHECK(remove_left(folder.path()).pages == kMostKept);
  CHECK(pages_in(folder.path()).pages.size() == 1);
}

TEST_CASE("a second name that a stranger has given to a file is not touched") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  const std::string path = leave_page(folder.path());
  REQUIRE(link(path.c_str(), (folder.path() + "/" + page_name("y", 1, 2)).c_str()) == 0);
  clean_now(folder.path());
  CHECK(mode_of(path) == 0600);
}

TEST_CASE("a thousand pages are found, and those of other users counted") {
  const OwnTmpfs folder("size=1g,mode=1777,nr_inodes=4000");
  if (!folder.usable()) {
    return;
  }
  const std::string path = leave_page(folder.path());
  REQUIRE(truncate(path.c_str(), 5000) == 0);  // a copy has no holes
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::string copy = folder.path() + "/" + page_name("z", 5, i);
    fs::copy_file(path, copy);
    if (i < 10) {
      REQUIRE(chown(copy.c_str(), 65534, 65534) == 0);
    }
  }
  CHECK(pages_in(folder.path()).pages.size() == 1001);
  const int status = after([&] {
    const bool changed = setgroups(0, nullptr) == 0 && setgid(65533) == 0 && setuid(65534) == 0;
    const Found found = pages_in(folder.path());
    const Removed removed = remove_left(folder.path());
    _exit(changed && found.pages.size() == 10 && found.closed_files == 991 && removed.pages == 10 &&
                  removed.of_others == 991
              ? 0
              : 1);
  });
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a group may read the page where one is named, by name or number; an unknown one may not") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  struct stat found {};
  struct Wish {
    std::string group;
    mode_t mode;
  };
  for (const Wish& wish : {Wish{"nogroup", 0640}, Wish{"65534", 0640}, Wish{"no such", 0600}}) {
    const auto& group = wish.group;
    const mode_t mode = wish.mode;
    INFO(group);
    Identity identity = in_folder(folder.path());
    identity.group = group;
    const auto page = Page::create(identity);
    REQUIRE(page.ok());
    REQUIRE(fstat((*page)->descriptor(), &found) == 0);
    CHECK((found.st_mode & 07777) == mode);
    CHECK(found.st_gid == (mode == 0640 ? 65534u : getegid()));
    const int status = after([&] {
      const gid_t own = 65534;
      const bool changed = setgroups(1, &own) == 0 && setgid(65533) == 0 && setuid(65533) == 0;
      const Found there = pages_in(folder.path());
      const bool seen = there.pages.size() == 1 && there.pages.front().snapshot.ok();
      _exit(changed && seen == (mode == 0640) && !(seen && there.pages.front().ended) ? 0 : 1);
    });
    CHECK(WEXITSTATUS(status) == 0);
  }
}

TEST_CASE("who may read a page cannot cut it, nor make it look alive") {
  const OwnTmpfs folder;
  if (!folder.usable()) {
    return;
  }
  const std::string path = leave_page(folder.path());
  const Descriptor reader(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(ftruncate(reader.get(), 0) != 0);
  struct flock lock {};
  lock.l_type = F_RDLCK;
  REQUIRE(fcntl(reader.get(), F_OFD_SETLK, &lock) == 0);
  CHECK(pages_in(folder.path()).pages.front().ended);
}
