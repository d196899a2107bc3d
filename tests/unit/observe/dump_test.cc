// Dumps that a process leaves by itself: when, where, and that nothing waits for them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "observe/dump/dumper.h"
#include "observe/dump/folder.h"
#include "observe/dump/limits.h"
#include "observe/page.h"
#include "observe/reader.h"
#include "tests/captured_log.h"
#include "tests/temporary_folder.h"
#include "tests/unit/observe/own_tmpfs.h"

using namespace tfabric;
using namespace tfabric::dump;
using namespace std::chrono_literals;

namespace {

const std::atomic<bool> kGoOn{false};

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Status write_to(const Folder& folder, const std::string& name, const std::string& text) {
  return folder.write(name, std::as_bytes(std::span(text)), kGoOn);
}

std::string dump_at(int second, const char* suffix = "pcapng") {
  return "gpu2-rank7-4242-20261128T0311" + std::to_string(10 + second) + "Z-peer-dead." + suffix;
}

void set_age(const std::string& path, std::time_t seconds) {
  const timespec when{.tv_sec = std::time(nullptr) - seconds, .tv_nsec = 0};
  const timespec both[2] = {when, when};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), both, 0) == 0);
}

// A page with a flow of comm 40 that has sent three packets, and what is said of it.
struct Shown {
  Shown() {
    auto made =
        observe::Page::create({.rank = 7, .host = "gpu2", .job = {}, .transport = "tcp", .records = 8});
    REQUIRE(made.ok());
    page = std::move(*made);
    observe::FlowFacts flow;
    flow.comm = 40;
    observe::put(flow.rail, "eni1");
    observe::put(flow.local, "192.168.7.9:5000");
    observe::put(flow.peer, "192.168.7.8:6000");
    page->publish(page->take(observe::Table::flow), 41, flow);
    observe::VerdictFacts verdict;
    verdict.number = 1;
    verdict.comm = 40;
    verdict.ended_at = 1;
    observe::put(verdict.cause, "peer-dead");
    observe::put(verdict.text, "rank 3 has ended");
    page->publish(page->take(observe::Table::verdict), 42, verdict);
    std::uint32_t slot = 0;
    observe::RingWriter ring = page->take_ring(41, slot);
    for (int i = 0; i < 3; ++i) {
      ring.add<observe::PacketRecord>(page->rings(), [](observe::PacketRecord& record) {
        record = {.time = 5, .kind = observe::RecordKind::out};
      });
    }
  }
  std::unique_ptr<observe::Page> page;
};

}  // namespace

TEST_CASE("one of a cause and minute, and so many of a process, are admitted") {
  Limits limits(3);
  const Instant begin(1000s);
  REQUIRE(limits.admit("failed", begin));
  REQUIRE(!limits.admit("failed", begin + 59s));
  REQUIRE(limits.admit("peer-dead", begin + 59s));
  REQUIRE(limits.admit("failed", begin + 60s));
  REQUIRE(!limits.admit("link-down", begin + 1h));
  REQUIRE(!Limits(0).admit("failed", begin));
}

TEST_CASE("after one that could not be written there is a rest, and it does not count") {
  Limits limits(1);
  const Instant begin(1000s);
  REQUIRE(limits.admit("failed", begin));
  limits.failed(1, begin + 1s);
  REQUIRE(!limits.admit("peer-dead", begin + 10min));
  REQUIRE(limits.admit("peer-dead", begin + 10min + 1s));
}

TEST_CASE("names of dumps that were left differ from others") {
  for (const char* right :
       {"gpu2-rank7-4242-20261128T031122Z-peer-dead.pcapng", "h-1-20261128T031122Z-failed.txt"}) {
    REQUIRE(is_dump(right));
  }
  for (const char* wrong :
       {"", ".txt", "gpu2-rank7-4242-20261128T031122Z.pcapng", "notes.txt", "a-20261128T03112Z-failed.txt",
        "a-20261128T031122Z-failed.txt.part", "-20261128T031122Z-.txt", "a-20261128T031122Z-My thesis.txt"}) {
    INFO(wrong);
    REQUIRE(!is_dump(wrong));
  }
}

TEST_CASE("the default folder is made, for this user alone, and refused if it is another's or no folder") {
  const test::TemporaryFolder parent;
  const std::string path = parent.path() + "/tfabric-0";
  REQUIRE(Folder::open(path, false).ok());
  struct stat made {};
  REQUIRE(stat(path.c_str(), &made) == 0);
  REQUIRE((made.st_mode & 0777) == 0700);
  REQUIRE(Folder::open(path, false).ok());
  REQUIRE(chmod(path.c_str(), 0770) == 0);
  REQUIRE(Folder::open(path, false).error().message ==
          "others may write to " + path + ": `chmod 700 " + path + "`");
  const std::string link = parent.path() + "/link", file = parent.path() + "/file";
  REQUIRE(chmod(path.c_str(), 0700) == 0);
  REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
  REQUIRE(Folder::open(link, false).error().message == link + " is no folder, or a symbolic link");
  REQUIRE(Folder::open(link, true).ok());  // who has named it knows
  std::ofstream(file) << "x";
  for (const bool chosen : {false, true}) {
    REQUIRE(Folder::open(file, chosen).error().message == file + " is no folder, or a symbolic link");
    REQUIRE(Folder::open(parent.path() + "/none/none", chosen).error().message.find("cannot be made") !=
            std::string::npos);
  }
  if (geteuid() == 0) {
    REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
    REQUIRE(Folder::open(path, false).error().message == path + " belongs to another user (uid 65534)");
  }
  REQUIRE(is_remote(0x6969));
  REQUIRE(is_remote(0xffffffff'fe534d42));  // as a signed number of 32 bits comes
  REQUIRE(!is_remote(0x01021994));          // tmpfs
}

TEST_CASE("files are for this user alone, and a name that is taken already is replaced as a whole") {
  const test::TemporaryFolder parent;
  const auto folder = Folder::open(parent.path(), true);
  REQUIRE(folder.ok());
  REQUIRE(write_to(*folder, "a.txt", "first").ok());
  REQUIRE(write_to(*folder, "a.txt", "second").ok());
  REQUIRE(names_in(parent.path()) == std::vector<std::string>{"a.txt"});
  REQUIRE(content_of(parent.path() + "/a.txt") == "second");
  struct stat made {};
  REQUIRE(stat((parent.path() + "/a.txt").c_str(), &made) == 0);
  REQUIRE((made.st_mode & 0777) == 0600);
  // A link that lies in wait is not followed.
  REQUIRE(symlink("/dev/full", (parent.path() + "/b.txt.part").c_str()) == 0);
  REQUIRE(!write_to(*folder, "b.txt", "text").ok());
}

TEST_CASE("the oldest dumps of this user make room, and nothing else does") {
  const test::TemporaryFolder parent;
  const auto folder = Folder::open(parent.path(), true);
  REQUIRE(folder.ok());
  const std::string text(1000, 'x');
  for (int i = 0; i < 5; ++i) {
    REQUIRE(write_to(*folder, dump_at(i), text).ok());
    set_age(parent.path() + "/" + dump_at(i), 100 - i);
  }
  REQUIRE(write_to(*folder, "thesis.txt", text).ok());
  set_age(parent.path() + "/thesis.txt", 1000);
  for (const auto& [name, age] : {std::pair(dump_at(9) + ".part", 700), {dump_at(8) + ".part", 0}}) {
    std::ofstream(parent.path() + "/" + name) << text;
    set_age(parent.path() + "/" + name, age);
  }
  folder->make_room(1000, 7000);  // 5000, 1000 of one that was killed, and 1000
  REQUIRE(names_in(parent.path()).size() == 8);
  folder->make_room(2000, 5000);
  REQUIRE(names_in(parent.path()) ==
          std::vector<std::string>{dump_at(2), dump_at(3), dump_at(4), dump_at(8) + ".part", "thesis.txt"});
}

TEST_CASE("what does not fit on the disk, or is given up, leaves nothing behind") {
  const test::TemporaryFolder parent;
  const auto folder = Folder::open(parent.path(), true);
  REQUIRE(folder.ok());
  const std::atomic<bool> stop{true};
  const std::string text(1 << 20, 'x');
  REQUIRE(!folder->write("a.txt", std::as_bytes(std::span(text)), stop).ok());
  REQUIRE(names_in(parent.path()).empty());
  const test::OwnTmpfs small_disk("size=64k");
  if (!small_disk.usable()) {
    return;
  }
  const auto small = Folder::open(small_disk.path(), true);
  REQUIRE(small.ok());
  const Status full = write_to(*small, "a.txt", text);
  REQUIRE(!full.ok());
  REQUIRE(full.error().message.find("No space left on device") != std::string::npos);
  REQUIRE(names_in(small_disk.path()).empty());
}

TEST_CASE("a dump has the packets, what was said, and a row on the page") {
  const test::TemporaryFolder folder;
  const Shown shown;
  const test::CapturedLog log;
  Dumper dumper({.most = 2, .folder = folder.path(), .delay = 1ms}, *shown.page);
  dumper.request("peer-dead", "rank 3 has ended", 40, monotonic_now());
  dumper.request("peer-dead", "rank 3 has ended", 40, monotonic_now());
  const Instant end = monotonic_now() + 10s;
  const auto rows = [&] {
    return observe::read_page(shown.page->descriptor(), monotonic_now())->table("dump");
  };
  while (rows().rows.empty() && monotonic_now() < end) {
    usleep(1000);
  }
  const auto names = names_in(folder.path());
  REQUIRE(names.size() == 2);
  REQUIRE(std::all_of(names.begin(), names.end(), [](const std::string& name) { return is_dump(name); }));
  REQUIRE(names[0].find("gpu2-rank7-" + std::to_string(getpid()) + "-") == 0);
  const std::string capture = content_of(folder.path() + "/" + names[0]);
  const std::string text = content_of(folder.path() + "/" + names[1]);
  REQUIRE(capture.find("rank 3 has ended [peer-dead]") != std::string::npos);
  REQUIRE(text.find("rank 3 has ended [peer-dead]") == 0);
  REQUIRE(text.find("flow 41: comm 40, rail eni1") != std::string::npos);
  const observe::ReadTable table = rows();
  REQUIRE(table.rows.size() == 1);
  REQUIRE(table.text(table.rows[0], "capture") == folder.path() + "/" + names[0]);
  REQUIRE(table.text(table.rows[0], "cause") == "peer-dead");
}

TEST_CASE("what was asked for last is written before the end") {
  const test::TemporaryFolder folder;
  const Shown shown;
  {
    Dumper dumper({.folder = folder.path(), .delay = 1h}, *shown.page);
    dumper.request("peer-dead", "rank 3 has ended", 0, monotonic_now());
    dumper.request("failed", "it has failed", 0, monotonic_now());
  }
  REQUIRE(names_in(folder.path()).size() == 4);
  REQUIRE(observe::read_page(shown.page->descriptor(), monotonic_now())->table("dump").rows.empty());
}

TEST_CASE("what goes while the end is near is in the dump all the same") {
  const test::TemporaryFolder folder;
  const Shown shown;
  {
    Dumper dumper({.folder = folder.path(), .delay = 1h}, *shown.page);
    dumper.hurry();  // nothing has been asked for
    dumper.request("peer-dead", "rank 3 has ended", 40, monotonic_now());
    dumper.hurry();
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
      shown.page->give_back(observe::Table::flow, slot);
    }
  }
  const auto names = names_in(folder.path());
  REQUIRE(names.size() == 2);
  REQUIRE(content_of(folder.path() + "/" + names[1]).find("flow 41: comm 40") != std::string::npos);
}

TEST_CASE("a folder that cannot be used is said once, and what is off or has no page leaves nothing") {
  const test::TemporaryFolder folder;
  const Shown shown;
  const test::CapturedLog log;
  {
    Dumper dumper({.folder = folder.path() + "/none/none"}, *shown.page);
    dumper.request("peer-dead", "rank 3 has ended", 0, monotonic_now());
    dumper.request("failed", "it has failed", 0, monotonic_now());
  }
  REQUIRE(log.count("no dump was left (observe.dump_folder)") == 1);
  {
    Dumper unused({.folder = folder.path()}, *shown.page);
    Dumper off({.most = 0, .folder = folder.path()}, *shown.page);
    off.request("failed", "it has failed", 0, monotonic_now());
    const auto blank = observe::Page::blank();
    Dumper without({.folder = folder.path()}, *blank);
    without.request("failed", "it has failed", 0, monotonic_now());
  }
  REQUIRE(names_in(folder.path()).empty());
}
