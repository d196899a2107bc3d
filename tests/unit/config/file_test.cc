#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "fixture.h"

using namespace tfabric;
using namespace tfabric::config;
using Catch::Contains;

namespace {

// Root may read every file; this gives up root's rights until its end.
class WithoutRoot {
 public:
  WithoutRoot() : active_(geteuid() == 0 && setresuid(kNobody, kNobody, 0) == 0) {}
  ~WithoutRoot() {
    if (active_ && setresuid(0, 0, 0) != 0) {
      std::abort();
    }
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool active_;
};

}  // namespace

TEST_CASE("without a file and variables everything has its default, and says so") {
  const auto config = load_environment({});
  REQUIRE(config.ok());
  REQUIRE(config->file.empty());
  REQUIRE(config->transport == "auto");
  REQUIRE_FALSE(config->required);
  REQUIRE(config->tcp.rails.empty());
  REQUIRE(config->tcp.flows == 0);
  for (const auto& entry : config->entries) {
    INFO(entry.key);
    REQUIRE(entry.origin == "default");
  }
}

TEST_CASE("the file sets values, and the origin of each has its line") {
  const Folder folder;
  const std::vector<std::string> files{
      folder.write("c.toml",
                   "required = true\n\n[tcp]\nflows = 4\nchunk_bytes = \"1M\"\n"
                   "[engine]\nprogress = \"threaded\"\ncpu = 3\n")};
  const auto config = load({}, files);
  REQUIRE(config.ok());
  REQUIRE(config->file == files[0]);
  REQUIRE(config->required);
  REQUIRE(config->tcp.flows == 4);
  REQUIRE(config->tcp.chunk_bytes == 1u << 20);
  REQUIRE(config->engine.progress == Progress::threaded);
  REQUIRE(config->engine.cpu == 3);
  REQUIRE(entry_of(*config, "required").origin == files[0] + ":1");
  REQUIRE(entry_of(*config, "tcp.flows").origin == files[0] + ":4");
  REQUIRE(entry_of(*config, "tcp.flows").value == "4");
  REQUIRE(entry_of(*config, "engine.progress").value == "threaded");
  REQUIRE(entry_of(*config, "tcp.port").origin == "default");
}

TEST_CASE("the environment takes precedence over the file, and the file over the defaults") {
  const auto config = load_text("[tcp]\nflows = 4\nport = 7000\n", {{"TFABRIC_TCP_FLOWS", "8"}});
  REQUIRE(config.ok());
  REQUIRE(config->tcp.flows == 8);
  REQUIRE(config->tcp.port == 7000);
  REQUIRE(entry_of(*config, "tcp.flows").origin == "environment TFABRIC_TCP_FLOWS");
  REQUIRE_THAT(entry_of(*config, "tcp.port").origin, Contains("c.toml:3"));
}

TEST_CASE("the first file that exists is read, and the file of TFABRIC_CONFIG before all") {
  const Folder folder;
  const std::string second = folder.write("second.toml", "[tcp]\nflows = 2\n");
  const std::string third = folder.write("third.toml", "[tcp]\nflows = 3\n");
  const std::vector<std::string> files{folder.path("missing.toml"), second + "/below-a-file", second, third};
  REQUIRE(load({}, files)->tcp.flows == 2);
  REQUIRE(load({{"TFABRIC_CONFIG", third}}, files)->tcp.flows == 3);
  REQUIRE(load({{"TFABRIC_CONFIG", third}}, files)->file == third);
  REQUIRE(load({{"TFABRIC_CONFIG", ""}}, files)->tcp.flows == 2);
  REQUIRE(load({{"TFABRIC_CONFIG", "/dev/null"}}, files)->tcp.flows == 0);
}

TEST_CASE("the default files are where HARP installs them") {
  REQUIRE(default_files()[0] == "/usr/local/tfabric/tools/config/tfabric.toml");
}

TEST_CASE("a missing file of TFABRIC_CONFIG is an error with its path") {
  const auto message = error_of(load({{"TFABRIC_CONFIG", "/nowhere/tfabric.toml"}}, {}));
  REQUIRE_THAT(message,
               Contains("TFABRIC_CONFIG") && Contains("/nowhere/tfabric.toml") && Contains("No such file"));
}

TEST_CASE("a folder instead of a file is an error, both in TFABRIC_CONFIG and as a default") {
  const Folder folder;
  const std::string path = folder.path(".");
  REQUIRE_THAT(error_of(load({{"TFABRIC_CONFIG", path}}, {})), Contains("directory"));
  const std::vector<std::string> files{path};
  REQUIRE_THAT(error_of(load({}, files)), Contains(path) && Contains("directory"));
}

TEST_CASE(
    "a pipe is not waited for, and a loop of links is an error, both in TFABRIC_CONFIG and as a default") {
  const Folder folder;
  const std::string pipe = folder.path("pipe"), loop = folder.path("loop");
  REQUIRE(mkfifo(pipe.c_str(), 0644) == 0);
  std::filesystem::create_symlink(loop, loop);
  const std::vector<std::string> pipes{pipe}, loops{loop};
  REQUIRE_THAT(error_of(load({{"TFABRIC_CONFIG", pipe}}, {})), Contains(pipe) && Contains("it is a pipe"));
  REQUIRE_THAT(error_of(load({}, pipes)), Contains(pipe) && Contains("it is a pipe"));
  REQUIRE_THAT(error_of(load({{"TFABRIC_CONFIG", loop}}, {})), Contains("Too many levels of symbolic links"));
  REQUIRE_THAT(error_of(load({}, loops)), Contains("Too many levels of symbolic links"));
}

TEST_CASE("a file that exists and may not be read is an error, not a missing file") {
  const Folder folder;
  const std::vector<std::string> files{folder.write("c.toml", "required = true\n")};
  std::filesystem::permissions(files[0], std::filesystem::perms::none);
  const WithoutRoot rights;
  REQUIRE_THAT(error_of(load({}, files)),
               Contains(files[0]) && Contains("Permission denied") && Contains("readable"));
  REQUIRE_THAT(error_of(load({{"TFABRIC_CONFIG", files[0]}}, {})), Contains("Permission denied"));
}

TEST_CASE("the error for malformed TOML has the line") {
  REQUIRE_THAT(error_of(load_text("required = true\n[tcp\nflows = 1\n")), Contains("c.toml:2: "));
  REQUIRE_THAT(error_of(load_text("[tcp]\nflows = 1\nflows = 2\n")), Contains("c.toml:3: "));
  REQUIRE_THAT(error_of(load_text("[tcp]\n\nflows = 99999999999999999999\n")), Contains("c.toml:3: "));
  // These violate an assertion inside toml++, which must not end the application.
  for (const char* header : {"[[[tcp.rails]]]\n", "[&\n", "[[=", "[[\nx = 1\n", "[\n"}) {
    REQUIRE_THAT(error_of(load_text(header)), Contains("c.toml:1: ") || Contains("c.toml:2: "));
  }
  REQUIRE_THAT(error_of(load_text("transport = \"\xff\"\n")), Contains("c.toml:1: "));
}

TEST_CASE("comments may be in any language and encoding, keys and values may not") {
  REQUIRE(load_text("\xef\xbb\xbf# f\xc3\xbcr alle\n[tcp] # \xfc\nflows = 4\n")->tcp.flows == 4);
  REQUIRE_THAT(error_of(load_text("\n[tcp]\nfl\xc3\xb6ws = 4\n")), Contains("c.toml:3: "));
  REQUIRE_THAT(error_of(load_text("transport = \"tcp\xc2\xa0\"\n")),
               Contains("c.toml:1: a character that is not ASCII"));
  // It must not become another folder.
  REQUIRE_THAT(error_of(load_text("# f\xc3\xbcr alle\nlock_folder = \"/tmp/j\xc3\xb6rg\"\n")),
               Contains("c.toml:2: a character that is not ASCII, which only a comment may have"));
  REQUIRE_THAT(error_of(load_text("lock_folder = \"/tmp/#\xc3\xb6\"\n")), Contains("not ASCII"));
}

TEST_CASE("a file that is too long for a configuration is not read to its end") {
  REQUIRE(load_text(std::string((1 << 20) - 1, ' ') + "\n").ok());
  REQUIRE_THAT(error_of(load_text(std::string((1 << 20) + 1, ' '))), Contains("larger than 1048576 bytes"));
  REQUIRE_THAT(error_of(load({{"TFABRIC_CONFIG", "/dev/zero"}}, {})), Contains("/dev/zero is larger"));
}

TEST_CASE("the error for an unknown key or section suggests the nearest one") {
  REQUIRE_THAT(error_of(load_text("[tcp]\nflow = 1\n")),
               Contains("c.toml:2: ") && Contains("unknown key `tcp.flow`, did you mean `tcp.flows`?"));
  REQUIRE_THAT(error_of(load_text("\n[engin]\ncpu = 1\n")),
               Contains("c.toml:2: ") && Contains("unknown section `engin`, did you mean `engine`?"));
  REQUIRE_THAT(error_of(load_text("[[tcp.rail]]\nkind = \"memif\"\n")),
               Contains("unknown section `tcp.rail`, did you mean `tcp.rails`?"));
  REQUIRE_THAT(error_of(load_text("requird = true\n")), Contains("did you mean `required`?"));
  REQUIRE_THAT(error_of(load_text("something_else = true\n")), !Contains("did you mean"));
}

TEST_CASE("a key that is gone is an error that says what took its place") {
  const std::string why = " is no key any more: queue pairs are always connected by an exchange";
  REQUIRE_THAT(error_of(load_text("[rdma]\nconnection = \"rdma_cm\"\n")),
               Contains("c.toml:2: `rdma.connection`" + why));
  REQUIRE_THAT(error_of(load({{"TFABRIC_RDMA_CONNECTION", "rdma_cm"}}, {})),
               Contains("environment TFABRIC_RDMA_CONNECTION" + why));
}

TEST_CASE("the error for an unknown key of a rail suggests the nearest one") {
  REQUIRE_THAT(error_of(load_text("[[tcp.rails]]\nkind = \"memif\"\nmtuu = 9000\n")),
               Contains("c.toml:3: ") && Contains("`mtuu`, did you mean `mtu`?"));
}

TEST_CASE("names in capitals and beginnings of names are recognised") {
  REQUIRE_THAT(error_of(load_text("[TCP]\nflows = 1\n")),
               Contains("unknown section `TCP`, did you mean `tcp`?"));
  REQUIRE_THAT(error_of(load_text("[tcp]\nFlows = 1\n")), Contains("did you mean `tcp.flows`?"));
  const auto rail = [](const std::string& line) {
    return error_of(load_text("[[tcp.rails]]\nkind = \"memif\"\n" + line + "\n"));
  };
  REQUIRE_THAT(rail("numa = 1"), Contains("c.toml:3: ") && Contains("did you mean `numa_node`?"));
  REQUIRE_THAT(rail("speed = 1000"), Contains("did you mean `speed_mbps`?"));
}

TEST_CASE("a text without quotes is shown with them") {
  REQUIRE_THAT(error_of(load_text("\ntransport = tcp # ours\n")),
               Contains("c.toml:2: ") && Contains("a text is written in quotes: transport = \"tcp\""));
  REQUIRE_THAT(error_of(load_text("[tcp]\nreceive_buffer = 512K\n")),
               Contains("c.toml:2: ") && Contains("receive_buffer = \"512K\""));
  REQUIRE_THAT(error_of(load_text("[tcp]\nbond = yes\n")), Contains("write bond = true"));
  REQUIRE_THAT(error_of(load_text("transport = \"tcp\n")), !Contains("written in quotes"));
}

TEST_CASE("sizes may have long units, flags any of their words, and an MTU neither") {
  REQUIRE(load_text("[tcp]\nreceive_buffer = \"512KB\"\n")->tcp.receive_buffer == 512u << 10);
  REQUIRE(load_text("[tcp]\nreceive_buffer = \"1MiB\"\n")->tcp.receive_buffer == 1u << 20);
  REQUIRE(load_text("[tcp]\nbond = \"Yes\"\n")->tcp.bond == Switch::on);
  REQUIRE_THAT(error_of(load_text("[[tcp.rails]]\nkind = \"memif\"\nmtu = \"9K\"\n")),
               Contains("c.toml:3: `mtu` is \"9K\", expected bytes without a suffix, from 0 to 65535"));
}

TEST_CASE("the error for a value of another type says what is expected") {
  REQUIRE_THAT(error_of(load_text("[tcp]\nflows = 1.5\n")),
               Contains("c.toml:2: `tcp.flows`") &&
                   Contains("another type, expected \"auto\" or an integer from 1 to 64"));
  REQUIRE_THAT(error_of(load_text("[tcp]\nflows = [1]\n")), Contains("another type"));
  REQUIRE_THAT(error_of(load_text("[tcp]\nflows = [\"1\"]\n")), Contains("another type"));
  REQUIRE_THAT(error_of(load_text("[tcp]\nflows = true\n")),
               Contains("\"true\", expected \"auto\" or an integer"));
  REQUIRE_THAT(error_of(load_text("[tcp]\nflows = \"many\"\n")),
               Contains("\"many\", expected \"auto\" or an integer"));
  REQUIRE_THAT(error_of(load_text("required = 2024-01-01\n")), Contains("expected true or false"));
  REQUIRE_THAT(error_of(load_text("[required]\nx = 1\n")), Contains("expected true or false"));
  REQUIRE_THAT(error_of(load_text("[[tcp.rails]]\nmtu = 1.5\n")),
               Contains("c.toml:2: `mtu`") && Contains("expected bytes without a suffix, from 0 to 65535"));
  REQUIRE_THAT(error_of(load_text("[[tcp.rails]]\nmtu = [\"9000\"]\n")), Contains("another type"));
  REQUIRE_THAT(error_of(load_text("[[tcp.rails]]\naddresses = [1]\n")), Contains("expected addresses like"));
  REQUIRE_THAT(error_of(load_text("[[tcp.rails]]\naddresses = []\n")), Contains("expected addresses like"));
}

TEST_CASE("the error for a section that is not a table says how to write it") {
  REQUIRE_THAT(error_of(load_text("tcp = 5\n")), Contains("c.toml:1: ") && Contains("write [tcp]"));
  REQUIRE_THAT(error_of(load_text("[[engine]]\ncpu = 1\n")), Contains("write [engine]"));
  REQUIRE_THAT(error_of(load_text("[tcp.rails]\nkind = \"memif\"\n")),
               Contains("write each rail as [[tcp.rails]]"));
  REQUIRE_THAT(error_of(load_text("[tcp]\nrails = [\"memif\"]\n")),
               Contains("write each rail as [[tcp.rails]]"));
}

TEST_CASE("each error is on its own line") {
  const auto message = error_of(load_text("[tcp]\nflows = 0\nport = -1\n", {{"TFABRIC_TCP_MAX_RECVS", "9"}}));
  REQUIRE(std::count(message.begin(), message.end(), '\n') == 2);
  REQUIRE_THAT(message, Contains("tcp.flows") && Contains("tcp.port") && Contains("TFABRIC_TCP_MAX_RECVS"));
}
