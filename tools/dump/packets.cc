#include "tools/dump/packets.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/version.h"
#include "tools/stat/verdicts.h"
#include "transport/tcp/net/checksum.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::dump {
namespace {

using observe::RecordKind;
using stack::write16;
using stack::write32;

constexpr std::size_t kIpv4Bytes = 20, kIpv6Bytes = 40, kTcpChecksumAt = 16;
constexpr std::byte kTcp{6}, kHops{64};

bool is_outbound(const observe::PacketRecord& record) { return record.kind != RecordKind::in; }

std::vector<std::byte> tcp_header(const observe::RecordedPacket& packet, const FlowEnd& from,
                                  const FlowEnd& to) {
  const observe::PacketRecord& record = packet.record;
  const bool stamped = record.ts_val != 0 || record.ts_ecr != 0;
  const std::size_t stamps = stamped ? stack::kTimestampsAlone : 0;
  std::vector<std::byte> header(stack::kTcpHeaderBytes + stamps);
  write16(header.data(), from.port);
  write16(&header[2], to.port);
  write32(&header[4], record.seq);
  write32(&header[8], record.ack);
  header[13] = std::byte{record.flags};
  write16(&header[14], record.window);
  if (stamped) {
    write32(&header[20], stack::kTimestampsHead);
    write32(&header[24], record.ts_val);
    write32(&header[28], record.ts_ecr);
  }
  header.insert(header.end(), packet.options.begin(), packet.options.end());
  // Records of a later version may have more than fits.
  header.resize(std::min(header.size() / 4 * 4, stack::kTcpHeaderBytes + stack::kTcpMaxOptionBytes));
  header[12] = static_cast<std::byte>(header.size() / 4 << 4);
  return header;
}

void write_ip(std::vector<std::byte>& packet, const FlowEnd& from, const FlowEnd& to, std::size_t length) {
  if (from.address.size() == 4) {
    packet[0] = std::byte{0x45};
    // What a driver was to cut may be larger than the field: 0, as captures of such packets have it.
    write16(&packet[2], static_cast<std::uint16_t>(kIpv4Bytes + length > 65535 ? 0 : kIpv4Bytes + length));
    packet[6] = std::byte{0x40};  // do not fragment
    packet[8] = kHops;
    packet[9] = kTcp;
    std::copy_n(from.address.begin(), 4, &packet[12]);
    std::copy_n(to.address.begin(), 4, &packet[16]);
    net::Checksum sum;
    sum.add(std::span(packet).first(kIpv4Bytes));
    sum.store(&packet[10]);
    return;
  }
  packet[0] = std::byte{0x60};
  write16(&packet[4], static_cast<std::uint16_t>(length > 65535 ? 0 : length));
  packet[6] = kTcp;
  packet[7] = kHops;
  std::copy_n(from.address.begin(), 16, &packet[8]);
  std::copy_n(to.address.begin(), 16, &packet[24]);
}

struct Flow {
  const observe::RecordedFlow* recorded = nullptr;
  FlowEnd local, peer;
  std::uint32_t interface = 0;
  std::string comment;  // of its last packet
};

// What is known of the comm's wait.
std::string comment_of(const std::vector<stat::VerdictView>& verdicts, std::uint64_t comm) {
  for (const stat::VerdictView& verdict : verdicts) {
    if (comm != 0 && verdict.comm == comm && verdict.goes_on) {
      return verdict.line();
    }
  }
  return {};
}

// Those of which the page says where they lead.
std::vector<Flow> known_flows(const observe::Snapshot& snapshot,
                              const std::vector<observe::RecordedFlow>& recorded, Addresses& addresses,
                              std::map<std::string, std::uint32_t>& interfaces, observe::Pcapng& file) {
  const observe::ReadTable& table = snapshot.table("flow");
  const std::vector<stat::VerdictView> verdicts = stat::verdicts_of(snapshot);
  std::map<std::uint64_t, const observe::ReadRow*> rows;
  for (const observe::ReadRow& row : table.rows) {
    rows.emplace(row.id, &row);
  }
  std::vector<Flow> flows;
  for (const observe::RecordedFlow& each : recorded) {
    const auto found = rows.find(each.flow);
    if (found == rows.end()) {
      continue;
    }
    const observe::ReadRow& row = *found->second;
    Flow flow{.recorded = &each,
              .local = parse_end(table.text(row, "local")),
              .peer = parse_end(table.text(row, "peer")),
              .comment = comment_of(verdicts, table.number(row, "comm").value_or(0))};
    if (flow.local.address.empty() || flow.local.address.size() != flow.peer.address.size()) {
      continue;
    }
    flow.local.address = addresses.shown(flow.local.address);
    flow.peer.address = addresses.shown(flow.peer.address);
    const std::string rail = table.text(row, "rail");
    if (const auto [at, added] = interfaces.try_emplace(rail, 0); added) {
      at->second = file.add_interface(rail, fmt::format("rail {} of process {}", rail, snapshot.pid));
    }
    flow.interface = interfaces[rail];
    flows.push_back(std::move(flow));
  }
  return flows;
}

}  // namespace

FlowEnd parse_end(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return {};
  }
  const bool v6 = text.starts_with('[');
  const std::string address = v6 && colon >= 2 ? text.substr(1, colon - 2) : text.substr(0, colon);
  FlowEnd end{.address = std::vector<std::byte>(v6 ? 16 : 4),
              .port = static_cast<std::uint16_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 10))};
  return inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), end.address.data()) == 1 ? end : FlowEnd{};
}

std::vector<std::byte> Addresses::shown(const std::vector<std::byte>& address) {
  if (!anonymise_) {
    return address;
  }
  const auto [found, added] = shown_.try_emplace(address, address.size());
  if (added) {
    std::vector<std::byte>& shown = found->second;
    shown[0] = address.size() == 4 ? std::byte{10} : std::byte{0xfd};
    write16(&shown[shown.size() - 2], static_cast<std::uint16_t>(shown_.size()));
  }
  return found->second;
}

std::vector<std::byte> headers_of(const observe::RecordedPacket& packet, const FlowEnd& local,
                                  const FlowEnd& peer) {
  const bool outbound = is_outbound(packet.record);
  const FlowEnd &from = outbound ? local : peer, &to = outbound ? peer : local;
  const std::vector<std::byte> tcp = tcp_header(packet, from, to);
  const std::size_t ip = from.address.size() == 4 ? kIpv4Bytes : kIpv6Bytes;
  std::vector<std::byte> bytes(ip);
  write_ip(bytes, from, to, tcp.size() + packet.record.length);
  bytes.insert(bytes.end(), tcp.begin(), tcp.end());
  if (packet.record.length == 0) {
    net::Checksum sum;
    const std::size_t both = 2 * from.address.size();
    sum.add_pseudo_header(std::span(bytes).subspan(ip - both, both), std::to_integer<std::uint8_t>(kTcp),
                          static_cast<std::uint32_t>(tcp.size()));
    sum.add(std::span(bytes).subspan(ip));
    sum.store(&bytes[ip + kTcpChecksumAt]);
  }
  return bytes;
}

Capture make_capture(const observe::Snapshot& snapshot, const std::vector<observe::RecordedFlow>& recorded,
                     std::uint64_t epoch, bool anonymise) {
  Capture capture{.file = observe::Pcapng(fmt::format("tfabric {}", version()))};
  Addresses addresses(anonymise);
  std::map<std::string, std::uint32_t> interfaces;
  const std::vector<Flow> flows = known_flows(snapshot, recorded, addresses, interfaces, capture.file);
  // A flow and one of its packets, by time; those of one turn in the order of their flow.
  std::vector<std::pair<const Flow*, const observe::RecordedPacket*>> packets;
  std::map<std::uint32_t, std::uint64_t> missing;
  for (const Flow& flow : flows) {
    missing[flow.interface] += flow.recorded->overwritten;
    for (const observe::RecordedPacket& packet : flow.recorded->packets) {
      packets.emplace_back(&flow, &packet);
    }
  }
  std::stable_sort(packets.begin(), packets.end(), [](const auto& a, const auto& b) {
    return a.second->record.time < b.second->record.time;
  });
  for (const auto& [flow, packet] : packets) {
    const std::vector<std::byte> bytes = headers_of(*packet, flow->local, flow->peer);
    const bool last = packet == &flow->recorded->packets.back();
    capture.file.add({.interface = flow->interface,
                      .time = packet->record.time + epoch,
                      .bytes = bytes,
                      .length = bytes.size() + packet->record.length,
                      .outbound = is_outbound(packet->record),
                      .comment = last && !anonymise ? std::string_view(flow->comment) : std::string_view()});
  }
  const auto now = static_cast<std::uint64_t>(snapshot.taken_at.time_since_epoch().count());
  for (const auto& [interface, count] : missing) {
    capture.file.add_missing(interface, now + epoch, count);
  }
  capture.flows = flows.size();
  capture.packets = packets.size();
  return capture;
}

}  // namespace tfabric::dump
