#include "transport/process/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "host/interfaces.h"
#include "transport/bootstrap/addresses.h"
#include "transport/bootstrap/socket_address.h"
#include "transport/this_rank.h"

namespace tfabric::process {
namespace {

// Returns where the page is to be a file; empty: nowhere.
std::string page_folder(const config::PageFolder& folder) {
  if (folder.text() == config::PageFolder::kNone) {
    return {};
  }
  return folder.text().empty() ? observe::default_page_folder() : folder.text();
}

// A power of two, or none.
std::uint32_t records_of_flow(const config::Config& config) {
  return config.observe.records == 0
             ? 0
             : std::bit_ceil(std::max(2u, static_cast<unsigned>(config.observe.records)));
}

// Returns a blank one if it is off or cannot be made; null if nothing would use it.
std::unique_ptr<observe::Page> make_page(const config::Config& config, const Options& options) {
  if (!config.observe.page) {
    return config.observe.hang_seconds == 0 ? nullptr : observe::Page::blank();
  }
  const config::Environment environment = config::whole_environment();
  auto page = observe::Page::create({.rank = transport::rank_number(environment).value_or(-1),
                                     .host = transport::host_name(),
                                     .job = transport::job_in(environment),
                                     .transport = options.transport,
                                     .records = options.keeps_packets ? records_of_flow(config) : 0,
                                     .folder = page_folder(config.observe.folder),
                                     .group = config.observe.group.text()});
  if (!page) {
    TF_INFO("NET/tfabric: nothing for `tfabric stat` (observe.page): {}", page.error().message);
    return observe::Page::blank();
  }
  return std::move(*page);
}

std::unique_ptr<watchdog::Watchdog> make_watchdog(const config::Config& config, observe::Page* page,
                                                  watchdog::HostVoice& voice,
                                                  decltype(watchdog::Options::dump) dump) {
  if (page == nullptr) {
    return nullptr;
  }
  const std::chrono::seconds application(config.observe.hang_seconds);
  const std::chrono::seconds warning(config.observe.hang_warn_seconds);
  watchdog::Options options{
      .on = application.count() > 0, .self = witness::this_process(), .number = random_u64()};
  options.limits.application = application;
  options.limits.network = std::min<Duration>(options.limits.network, application);
  options.limits.warning = std::max(application, warning);
  options.may_warn = [&voice] { return voice.take(); };
  options.warned = [&voice] { voice.release(); };
  options.dump = std::move(dump);
  return std::make_unique<watchdog::Watchdog>(std::move(options), *page);
}

// Without a page there is nothing that it could write.
std::unique_ptr<dump::Dumper> make_dumper(const config::Config& config, observe::Page* page) {
  const dump::DumperOptions options{.most = config.observe.dumps,
                                    .folder = config.observe.dump_folder.text()};
  return page == nullptr ? nullptr : std::make_unique<dump::Dumper>(options, *page);
}

std::unique_ptr<witness::Witness> make_witness(const config::Config& config) {
  const auto addresses = bootstrap::offered_addresses(host::local_addresses(), config.rdma);
  if (!addresses) {
    TF_INFO("NET/tfabric: no witness (tcp.witness): {}", addresses.error().message);
    return nullptr;
  }
  auto opened = witness::Witness::open(
      {.address = addresses->front(),
       .self = witness::this_process(),
       .patience = fmt::format("{} s (tcp.frozen_timeout_ms)",
                               std::chrono::duration<double>(config.tcp.frozen_timeout).count()),
       .warns = config.observe.hang_seconds == 0});
  if (!opened) {
    TF_INFO("NET/tfabric: no witness (tcp.witness): {}", opened.error().message);
    return nullptr;
  }
  TF_INFO("NET/tfabric: the witness listens on {} port {}", bootstrap::ip_text(addresses->front()),
          (*opened)->contact().port);
  return std::move(*opened);
}

}  // namespace

Process::Process(const config::Config& config, const Options& options)
    : page_(make_page(config, options)),
      voice_(config),
      watchdog_(make_watchdog(config, page_.get(), voice_,
                              [this](const verdict::Verdict& verdict, std::uint64_t comm, Instant now) {
                                dumper_->request(verdict::id_of(verdict.cause), verdict.text, comm, now);
                              })),
      dumper_(make_dumper(config, page_.get())),
      witness_(options.witness && config.tcp.witness ? make_witness(config) : nullptr) {
  if (config.fault.allow || !config.tcp.faults.empty()) {
    rehearsal_ = std::make_shared<engine::Rehearsal>("", config.tcp.faults, monotonic_now());
  }
  if (config.fault.allow) {
    allow_faults();
  }
}

void Process::allow_faults() {
  faults_ = page_ == nullptr ? nullptr : std::make_unique<FaultControl>(*page_, rehearsal_);
  if (faults_ == nullptr || !faults_->works()) {
    faults_.reset();
    TF_INFO(
        "NET/tfabric: fault.allow changes nothing, for there is no page by which faults come (observe.page)");
    return;
  }
  TF_INFO("NET/tfabric: fault.allow: `tfabric fault` may make this process's rails fail on purpose");
}

void Process::hurry_dumps() const {
  if (dumper_ != nullptr) {
    dumper_->hurry();
  }
}

}  // namespace tfabric::process
