#include "observe/dump/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

#include "base/time.h"
#include "observe/dump/history.h"
#include "observe/dump/packets.h"

namespace tfabric::dump {
namespace {

struct Flow {
  History history;
  FlowEnd local, peer;
  std::uint32_t interface = 0;
};

// A packet of a flow, by its place.
struct Place {
  const Flow* flow;
  std::size_t at;
  [[nodiscard]] const observe::RecordedPacket& packet() const { return flow->history.packets[at]; }
};

// Those whose ends the page says.
std::vector<Flow> known_flows(const observe::Snapshot& page, const std::vector<observe::RecordedFlow>& rings,
                              Addresses& addresses, observe::Pcapng& file) {
  std::map<std::string, std::uint32_t> interfaces;
  std::vector<Flow> flows;
  for (History& history : histories_of(page, rings)) {
    Flow flow{.history = std::move(history), .local = {}, .peer = {}};
    flow.local = parse_end(flow.history.local);
    flow.peer = parse_end(flow.history.peer);
    if (flow.local.address.empty() || flow.local.address.size() != flow.peer.address.size()) {
      continue;
    }
    flow.local.address = addresses.shown(flow.local.address);
    flow.peer.address = addresses.shown(flow.peer.address);
    const std::string& rail = flow.history.rail;
    if (const auto [at, added] = interfaces.try_emplace(rail, 0); added) {
      at->second = file.add_interface(rail, fmt::format("rail {} of process {}", rail, page.pid));
    }
    flow.interface = interfaces[rail];
    flows.push_back(std::move(flow));
  }
  return flows;
}

// By time; those of one turn in the order of their flow.
std::vector<Place> in_order(const std::vector<Flow>& flows) {
  std::vector<Place> places;
  for (const Flow& flow : flows) {
    for (std::size_t i = 0; i < flow.history.packets.size(); ++i) {
      places.push_back({&flow, i});
    }
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.packet().record.time < b.packet().record.time;
  });
  return places;
}

std::string_view comment_of(const Place& place) {
  const auto found = place.flow->history.comments.find(place.at);
  return found == place.flow->history.comments.end() ? std::string_view() : found->second;
}

}  // namespace

std::vector<std::byte> Addresses::shown(const std::vector<std::byte>& address) {
  if (!anonymise_) {
    return address;
  }
  const auto [found, added] = shown_.try_emplace(address, address.size());
  if (added) {
    std::vector<std::byte>& shown = found->second;
    shown[0] = address.size() == 4 ? std::byte{10} : std::byte{0xfd};
    const std::size_t number = shown_.size();
    shown[shown.size() - 2] = static_cast<std::byte>(number >> 8);
    shown[shown.size() - 1] = static_cast<std::byte>(number);
  }
  return found->second;
}

Capture make_capture(const observe::Snapshot& page, const std::vector<observe::RecordedFlow>& rings,
                     const CaptureOptions& options) {
  const bool anonymise = options.anonymise;
  Capture capture{.file =
                      observe::Pcapng(options.application, anonymise ? std::string_view() : options.comment)};
  Addresses addresses(anonymise);
  const std::vector<Flow> flows = known_flows(page, rings, addresses, capture.file);
  const std::vector<Place> places = in_order(flows);
  for (const Place& place : places) {
    const observe::RecordedPacket& packet = place.packet();
    const std::vector<std::byte> bytes = headers_of(packet, place.flow->local, place.flow->peer);
    capture.file.add({.interface = place.flow->interface,
                      .time = packet.record.time + options.epoch,
                      .bytes = bytes,
                      .length = bytes.size() + packet.record.length,
                      .outbound = is_outbound(packet.record),
                      .comment = anonymise ? std::string_view() : comment_of(place)});
  }
  std::map<std::uint32_t, std::uint64_t> missing;
  for (const Flow& flow : flows) {
    missing[flow.interface] += flow.history.missing;
  }
  const std::uint64_t now = in_nanoseconds(page.taken_at);
  for (const auto& [interface, count] : missing) {
    capture.file.add_missing(interface, now + options.epoch, count);
  }
  capture.flows = flows.size();
  capture.packets = places.size();
  return capture;
}

std::uint64_t epoch() {
  const auto of_day = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch());
  return static_cast<std::uint64_t>((of_day - monotonic_now().time_since_epoch()).count());
}

std::string file_name(const observe::Snapshot& page, std::string_view host, std::uint32_t pid,
                      std::time_t now) {
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::string shown;
  for (const char c : host) {
    shown += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ? c : '_';
  }
  const std::string rank = page.rank < 0 ? std::string() : fmt::format("-rank{}", page.rank);
  return fmt::format("{}{}-{}-{:04}{:02}{:02}T{:02}{:02}{:02}Z", shown, rank, pid, utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace tfabric::dump
