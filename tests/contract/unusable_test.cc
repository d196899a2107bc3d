// With a host or a configuration that it cannot work with, the plugin has no devices and logs one line that
// says why.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

namespace {

constexpr const char* kExpectedText = "CONTRACT_EXPECTED_TEXT";
constexpr unsigned long kInitFlag = 0x1;  // NCCL shows these lines at NCCL_DEBUG=INFO

// A configuration file for one case, removed at its end.
class File {
 public:
  explicit File(const std::string& text) {
    const int fd = mkstemp(path_.data());
    REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(path_) << text;
  }
  ~File() { unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/tfabric-contract-XXXXXX";
};

// The one line must contain `text`.
void expect_unusable(std::map<std::string, std::string> environment, const std::string& text) {
  environment[kExpectedText] = text;
  run({{"unusable"}}, {.environment = std::move(environment)});
}

}  // namespace

CONTRACT_PART(unusable) {
  Net net;  // init succeeds
  int count = -1;
  // An error is allowed, too: NCCL then tries its next network.
  static_cast<void>(net.table().devices(&count));
  CONTRACT_EXPECT(count == 0, "{} devices", count);
  std::string all;
  const std::vector<LogLine> lines = log_lines();
  for (const LogLine& line : lines) all += fmt::format("[{} {:x}] {}\n", line.level, line.flags, line.text);
  const auto reasons = std::count_if(lines.begin(), lines.end(), [](const LogLine& line) {
    return line.text.find("not usable here") != std::string::npos &&
           line.text.find(std::getenv(kExpectedText)) != std::string::npos && (line.flags & kInitFlag) != 0;
  });
  CONTRACT_EXPECT(reasons == 1, "one line should name \"{}\":\n{}", std::getenv(kExpectedText), all);
  const auto warnings =
      std::count_if(lines.begin(), lines.end(), [](const LogLine& l) { return l.level == kWarn; });
  CONTRACT_EXPECT(warnings <= 1, "{}", all);
  // The plugin has started nothing.
  PluginHandle handle{};
  void* listener = nullptr;
  CONTRACT_EXPECT(net.table().listen(0, handle.data(), &listener) != kSuccess && listener == nullptr,
                  "listen");
}

CONTRACT_PART(required) {
  Net net;
  int count = -1;
  CONTRACT_EXPECT(net.table().devices(&count) == kSuccess && count == 1, "{} devices", count);
  tfabric::tools::PluginProperties properties;
  CONTRACT_EXPECT(net.table().properties(0, properties) == kSuccess && !properties.name.empty() &&
                      properties.speed_mbps > 0,
                  "NCCL passes over a network without properties");
  PluginHandle handle{};
  void* listener = nullptr;
  CONTRACT_EXPECT(net.table().listen(0, handle.data(), &listener) == kSystemError && listener == nullptr,
                  "listen");
  void* comm = nullptr;
  CONTRACT_EXPECT(net.table().connect(0, handle.data(), &comm) == kSystemError && comm == nullptr, "connect");
  const std::vector<LogLine> lines = log_lines();
  const auto warnings = std::count_if(lines.begin(), lines.end(), [](const LogLine& line) {
    return line.level == kWarn && line.text.find("no TCP rail is configured") != std::string::npos;
  });
  CONTRACT_EXPECT(warnings == 3, "each failure names the reason, not {}", warnings);
}

TEST_CASE("where tfabric is required and not usable, calls fail and say why", "[once]") {
  run({{"required"}}, {.environment = {{"TFABRIC_TCP_RAILS", ""}, {"TFABRIC_REQUIRED", "1"}}});
}

TEST_CASE("where NCCL_NET names tfabric alone, the line says that communicators fail", "[once]") {
  // NCCL compares the name without regard to case.
  for (const std::string name : {"tfabric", "TFabric"}) {
    expect_unusable(
        {{"TFABRIC_TCP_RAILS", ""}, {"NCCL_NET", name}},
        "not usable here, and NCCL_NET=" + name + " names no other network, so communicators fail");
  }
  expect_unusable({{"TFABRIC_TCP_RAILS", ""}, {"NCCL_NET", "Socket"}}, "NCCL will use its own network: ");
}

TEST_CASE("an unusable configuration means no devices and one clear line", "[once]") {
  const std::map<std::string, std::string> no_rails{{"TFABRIC_TCP_RAILS", ""}};
  SECTION("none at all") { expect_unusable(no_rails, "no TCP rail is configured"); }
  SECTION("a file that does not exist") {
    expect_unusable({{"TFABRIC_CONFIG", "/nonexistent/tfabric.toml"}}, "/nonexistent/tfabric.toml");
  }
  SECTION("a file that is not TOML") {
    const File file("[tcp\nflows = = 1\n");
    expect_unusable({{"TFABRIC_CONFIG", file.path()}, {"TFABRIC_TCP_RAILS", ""}}, file.path());
  }
  SECTION("a file with an unknown key") {
    const File file("[tcp]\nflow = 1\n");
    expect_unusable({{"TFABRIC_CONFIG", file.path()}}, "tcp.flows");
  }
  SECTION("a kind of rail that does not exist") {
    expect_unusable({{"TFABRIC_TCP_RAILS", "carrier_pigeon"}}, "carrier_pigeon");
  }
  SECTION("a value out of range") { expect_unusable({{"TFABRIC_TCP_FLOWS", "0"}}, "TFABRIC_TCP_FLOWS"); }
  SECTION("a NIC that does not exist, and nothing that stands in for it") {
    expect_unusable({{"TFABRIC_TCP_RAILS", "pci:device=0000:ff:1f.7,addresses=10.0.0.1/24"},
                     {"TFABRIC_RAILS_LIFEBOAT", "false"}},
                    "0000:ff:1f.7");
  }
}
