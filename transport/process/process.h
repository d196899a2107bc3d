// What a process has for its transport, whichever that is: its page, and the watchdog over its waits.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "observe/page.h"
#include "transport/watchdog/host_voice.h"
#include "transport/watchdog/watchdog.h"

namespace tfabric::watchdog {

// Returns this process, as verdicts name it. Reads the environment: not for the data path.
[[nodiscard]] verdict::Process this_process();

// Makes the page of a process with this transport, with `records` records of each flow. Returns a blank one
// if it is off or cannot be made, which is no fault; null if nothing would use it.
[[nodiscard]] std::unique_ptr<observe::Page> open_page(const config::Config& config, std::string transport,
                                                       std::uint32_t records);

// Returns null without a page. The arguments outlive it. `dump`: see Options.
[[nodiscard]] std::unique_ptr<Watchdog> open_watchdog(
    const config::Config& config, observe::Page* page, HostVoice& voice,
    decltype(Options::dump) dump = [](const auto&, auto, auto) {});

}  // namespace tfabric::watchdog
