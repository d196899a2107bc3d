#include "observe/dump/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tfabric::dump {
namespace {

// A flow while it is put together.
struct Collected {
  History history;
  std::vector<std::pair<std::uint64_t, std::string>> remarks;  // at the record with this number, or before it
};

void remark(Collected& flow, const observe::RecordedFlow& recorded, std::string text) {
  if (!text.empty() && !recorded.packets.empty()) {
    flow.remarks.emplace_back(recorded.packets.back().number, std::move(text));
  }
}

template <class Facts>
void take_ends(const Facts& facts, History& history) {
  history.rail = facts.rail.str();
  history.local = facts.local.str();
  history.peer = facts.peer.str();
}

// Adds the packets that are before all that is known so far.
void put_before(Collected& flow, const observe::RecordedFlow& recorded) {
  std::vector<observe::RecordedPacket>& known = flow.history.packets;
  const auto end =
      known.empty() ? recorded.packets.end()
                    : std::find_if(recorded.packets.begin(), recorded.packets.end(),
                                   [&](const auto& packet) { return packet.number >= known.front().number; });
  known.insert(known.begin(), recorded.packets.begin(), end);
}

// Records count, and a packet with options is two of them.
std::uint64_t records_in(const std::vector<observe::RecordedPacket>& packets) {
  std::uint64_t count = 0;
  for (const observe::RecordedPacket& packet : packets) {
    count += packet.options.empty() ? 1 : 2;
  }
  return count;
}

History finished(Collected flow) {
  History& history = flow.history;
  if (history.packets.empty()) {
    return std::move(history);
  }
  const std::uint64_t all = history.packets.back().number + (history.packets.back().options.empty() ? 1 : 2);
  const std::uint64_t found = records_in(history.packets);
  history.missing = all > found ? all - found : 0;
  for (auto& [number, text] : flow.remarks) {
    const auto after = std::find_if(history.packets.begin(), history.packets.end(),
                                    [&, at = number](const auto& packet) { return packet.number > at; });
    if (after == history.packets.begin()) {
      continue;  // what it is about has been overwritten
    }
    std::string& comment = history.comments[static_cast<std::size_t>(after - history.packets.begin()) - 1];
    comment += (comment.empty() ? "" : "; ") + text;
  }
  return std::move(history);
}

}  // namespace

std::string wait_of(const observe::Snapshot& page, std::uint64_t comm) {
  for (const auto& verdict : observe::rows_of<observe::VerdictFacts>(page)) {
    if (comm != 0 && verdict.comm == comm && verdict.ended_at == 0) {
      return fmt::format("{} [{}]", verdict.text.str(), verdict.cause.str());
    }
  }
  return {};
}

std::vector<History> histories_of(const observe::Snapshot& page,
                                  const std::vector<observe::RecordedFlow>& rings) {
  std::map<std::uint64_t, observe::FlowFacts> living;
  for (const auto& flow : observe::rows_of<observe::FlowFacts>(page)) {
    living.emplace(flow.id, flow);
  }
  std::map<std::uint64_t, Collected> flows;
  for (const observe::RecordedFlow& ring : rings) {
    const auto facts = living.find(ring.flow);
    if (facts == living.end()) {
      continue;
    }
    Collected& flow = flows[ring.flow];
    take_ends(facts->second, flow.history);
    flow.history.packets = ring.packets;
    remark(flow, ring, wait_of(page, facts->second.comm));
  }
  std::vector<observe::ReadKeepsake> keepsakes = observe::keepsakes_of(page);
  const std::uint64_t now = in_nanoseconds(page.taken_at);
  for (auto kept = keepsakes.rbegin(); kept != keepsakes.rend(); ++kept) {
    Collected& flow = flows[kept->recorded.flow];
    take_ends(*kept, flow.history);
    put_before(flow, kept->recorded);
    const double ago = now > kept->kept_at ? static_cast<double>(now - kept->kept_at) / 1e9 : 0;
    remark(flow, kept->recorded, fmt::format("kept {:.1f} s ago: {}", ago, kept->why.str()));
  }
  std::vector<History> histories;
  for (auto& [id, flow] : flows) {
    histories.push_back(finished(std::move(flow)));
  }
  return histories;
}

}  // namespace tfabric::dump
