// What `tfabric check` says of NCCL's own settings.
#include <catch2/catch.hpp>

#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using test::BrokenHost;
using test::has;
using test::text_of;

namespace {

using Libraries = std::map<std::string, std::string>;  // what each calls itself

// TCP within the host is right, and NCCL finds plugins by these names.
struct NcclHost : BrokenHost {
  explicit NcclHost(const Libraries& libraries) {
    host.environment = {{"TFABRIC_TCP_RAILS", "memif"}};
    host.plugin_name = [libraries](const std::string& library) -> Result<std::string> {
      const auto found = libraries.find(library);
      if (found == libraries.end()) {
        return Error{Errc::unusable, library + ": no such file"};
      }
      return found->second;
    };
  }
};

}  // namespace

TEST_CASE("NCCL_NET restricts NCCL to one network") {
  NcclHost broken(Libraries{{"libnccl-net.so", "tfabric"}});
  broken.host.environment["NCCL_NET"] = "Socket";
  const Report report = broken.examine();
  REQUIRE(
      text_of(report, Id::nccl_net_other) ==
      "error environment NCCL_NET: is \"Socket\": NCCL takes that network and no other | unset NCCL_NET, or "
      "export NCCL_NET=tfabric");
  REQUIRE(report.verdict.network == Network::nccl);
  broken.host.environment["NCCL_NET"] = "TFabric";
  REQUIRE(exit_code_of(broken.examine()) == kAllRight);
}

TEST_CASE("with NCCL_NET=tfabric NCCL cannot fall back") {
  NcclHost broken(Libraries{{"libnccl-net.so", "tfabric"}});
  broken.host.environment = {{"NCCL_NET", "tfabric"}};
  const Report report = broken.examine();
  REQUIRE(report.verdict.network == Network::none);
  REQUIRE_THAT(report.verdict.text,
               StartsWith("NCCL fails here (environment NCCL_NET asks for tfabric and nothing else)"));
}

TEST_CASE("`required` makes NCCL fail as well") {
  NcclHost broken(Libraries{{"libnccl-net.so", "tfabric"}});
  broken.host.environment = {{"TFABRIC_REQUIRED", "1"}};
  REQUIRE(broken.examine().verdict.network == Network::none);
}

TEST_CASE(
    "a library that the dynamic linker does not find is a warning, since jobs have paths of their own") {
  const NcclHost broken(Libraries{});
  const Report report = broken.examine();
  REQUIRE_THAT(
      text_of(report, Id::plugin_not_found),
      StartsWith(
          "warning NCCL: NCCL would not load tfabric in this environment (libnccl-net.so: no such file);") &&
          EndsWith("| export LD_LIBRARY_PATH=/opt/tfabric:$LD_LIBRARY_PATH"));
  REQUIRE(exit_code_of(report) == kWarnings);
  REQUIRE_THAT(report.verdict.text, EndsWith("memif0, if it finds the plugin (plugin-not-found)"));
}

TEST_CASE("another plugin that is found first is an error") {
  const NcclHost broken(Libraries{{"libnccl-net.so", "AWS Libfabric"}});
  REQUIRE_THAT(text_of(broken.examine(), Id::plugin_of_others), Contains("is that of \"AWS Libfabric\""));
}

TEST_CASE("NCCL_NET_PLUGIN must lead to tfabric") {
  NcclHost broken(Libraries{{"libnccl-net.so", "tfabric"},
                            {"libnccl-net-tfabric.so", "tfabric"},
                            {"/opt/x.so", "tfabric"},
                            {"libnccl-net-ofi.so", "AWS Libfabric"}});
  const auto with = [&](const std::string& value) {
    broken.host.environment["NCCL_NET_PLUGIN"] = value;
    return broken.examine();
  };
  for (const std::string value : {"tfabric", "/opt/x.so", "ofi, tfabric", "libnccl-net.so"}) {
    CAPTURE(value);
    REQUIRE(exit_code_of(with(value)) == kAllRight);
  }
  REQUIRE_THAT(text_of(with("ofi"), Id::nccl_plugin_other),
               StartsWith("error environment NCCL_NET_PLUGIN: is \"ofi\", so NCCL looks for ofi, "
                          "libnccl-net-ofi.so: none of them is tfabric") &&
                   EndsWith("or export NCCL_NET_PLUGIN=/opt/tfabric/libnccl-net.so"));
  for (const std::string value : {"none", "STATIC_PLUGIN", "static"}) {
    CAPTURE(value);
    const Report report = with(value);
    REQUIRE(has(report, Id::nccl_plugin_off));
    REQUIRE(report.verdict.network == Network::nccl);
  }
}

TEST_CASE("a variable that only a file of NCCL's sets counts, and the finding names the file") {
  NcclHost broken(Libraries{{"libnccl-net.so", "tfabric"}});
  broken.files.write("/etc/nccl.conf", "# a remark\nNCCL_NET = Socket\nNCCL_NET_PLUGIN=none\n");
  broken.host.environment["NCCL_NET_PLUGIN"] = "libnccl-net.so";
  read_nccl_files(broken.host);
  const Report report = broken.examine();
  REQUIRE(
      text_of(report, Id::nccl_net_other) ==
      "error /etc/nccl.conf NCCL_NET: is \"Socket\": NCCL takes that network and no other | remove the line "
      "NCCL_NET from /etc/nccl.conf, or export NCCL_NET=tfabric");
  REQUIRE_FALSE(has(report, Id::nccl_plugin_off));
}

TEST_CASE("NCCL_CONF_FILE takes precedence over the user's file, and that over the host's") {
  NcclHost broken(Libraries{{"libnccl-net.so", "tfabric"}});
  broken.files.write("/home/u/.nccl.conf", "NCCL_NET=user\n");
  broken.files.write("/etc/nccl.conf", "NCCL_NET=host\n");
  broken.files.write("/etc/other.conf", "NCCL_NET=named\n");
  broken.host.environment["HOME"] = "/home/u";
  Host named = broken.host;
  read_nccl_files(broken.host);
  REQUIRE(broken.host.variable("NCCL_NET") == "user");
  named.environment["NCCL_CONF_FILE"] = "/etc/other.conf";
  read_nccl_files(named);
  REQUIRE(named.variable("NCCL_NET") == "named");
}

TEST_CASE("a policy that leaves rails out is noted") {
  NcclHost broken(Libraries{{"libnccl-net.so", "tfabric"}});
  broken.host.environment["NCCL_NETDEVS_POLICY"] = "MAX:1";
  REQUIRE_THAT(text_of(broken.examine(), Id::nccl_netdevs),
               StartsWith("note environment NCCL_NETDEVS_POLICY"));
  broken.host.environment["NCCL_NETDEVS_POLICY"] = "all";
  REQUIRE_FALSE(has(broken.examine(), Id::nccl_netdevs));
}
