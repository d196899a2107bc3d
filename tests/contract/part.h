// Parts of a test case, each in a process of its own.
//
// Each test case consists of one or two parts. A part is a fresh process (fork and exec of the test
// program), since the plugin keeps state for a process's life and DPDK's must not be forked; the program
// that runs the cases never loads the plugin, so that a crash or a hang of a part is a failed case and no
// more.
//
//   CONTRACT_PART(sender) { Net net; ... channel.meet(1); ... }
//   TEST_CASE("...", "[each]") { run({{"sender"}, {"receiver"}}); }
//
// A part that returns has passed; one that throws has failed. Its `channel` leads to the case's other part.
#pragma once

#include <string>

#include "tests/contract/channel.h"

namespace tfabric::contract {

using PartFunction = void (*)(Channel& channel);

struct PartRegistration {
  PartRegistration(const char* name, PartFunction function);
};

// Runs a part in this process; the result is the process's exit status.
int run_part(const std::string& name, int channel_fd);

}  // namespace tfabric::contract

#define CONTRACT_PART(name)                                                                      \
  static void part_##name(::tfabric::contract::Channel& channel);                                \
  static const ::tfabric::contract::PartRegistration g_registration_##name{#name, &part_##name}; \
  static void part_##name([[maybe_unused]] ::tfabric::contract::Channel& channel)
