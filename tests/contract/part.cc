#include "tests/contract/part.h"

#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>

namespace tfabric::contract {
namespace {

std::map<std::string, PartFunction>& parts() {
  static std::map<std::string, PartFunction> all;
  return all;
}

}  // namespace

PartRegistration::PartRegistration(const char* name, PartFunction function) {
  if (!parts().emplace(name, function).second) {
    std::fprintf(stderr, "there are two parts \"%s\"\n", name);
    std::abort();
  }
}

int run_part(const std::string& name, int channel_fd) {
  // No part outlives the program that watches it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto part = parts().find(name);
  if (part == parts().end()) {
    std::fprintf(stderr, "there is no part \"%s\"\n", name.c_str());
    return 2;
  }
  try {
    Channel channel(channel_fd);
    part->second(channel);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "FAILED: %s\n", failure.what());
    return 1;
  }
}

}  // namespace tfabric::contract
