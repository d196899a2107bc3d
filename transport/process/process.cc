#include "transport/watchdog/process.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "transport/this_rank.h"
#include "transport/witness/message.h"

namespace tfabric::watchdog {

verdict::Process this_process() {
  const witness::Introduction self = witness::this_process();
  return {.rank = self.rank, .pid = self.pid, .host = self.host};
}

namespace {

// Returns where the page is to be a file; empty: nowhere.
std::string page_folder(const config::PageFolder& folder) {
  if (folder.text() == config::PageFolder::kNone) {
    return {};
  }
  return folder.text().empty() ? observe::default_page_folder() : folder.text();
}

}  // namespace

std::unique_ptr<observe::Page> open_page(const config::Config& config, std::string transport,
                                         std::uint32_t records) {
  if (!config.observe.page) {
    return config.observe.hang_seconds == 0 ? nullptr : observe::Page::blank();
  }
  const config::Environment environment = config::whole_environment();
  auto page = observe::Page::create({.rank = transport::rank_number(environment).value_or(-1),
                                     .host = transport::host_name(),
                                     .job = transport::job_in(environment),
                                     .transport = std::move(transport),
                                     .records = records,
                                     .folder = page_folder(config.observe.folder),
                                     .group = config.observe.group.text()});
  if (!page) {
    TF_INFO("NET/tfabric: nothing for `tfabric stat` (observe.page): {}", page.error().message);
    return observe::Page::blank();
  }
  return std::move(*page);
}

std::unique_ptr<Watchdog> open_watchdog(const config::Config& config, observe::Page* page, HostVoice& voice,
                                        decltype(Options::dump) dump) {
  if (page == nullptr) {
    return nullptr;
  }
  const std::chrono::seconds application(config.observe.hang_seconds);
  const std::chrono::seconds warning(config.observe.hang_warn_seconds);
  Options options{.on = application.count() > 0, .self = this_process(), .number = random_u64()};
  options.limits.application = application;
  options.limits.network = std::min<Duration>(options.limits.network, application);
  options.limits.warning = std::max(application, warning);
  options.may_warn = [&voice] { return voice.take(); };
  options.warned = [&voice] { voice.release(); };
  options.dump = std::move(dump);
  return std::make_unique<Watchdog>(std::move(options), *page);
}

}  // namespace tfabric::watchdog
