#include "tools/check/peer/messages.h"

#include <limits>
#include <utility>

#include "tools/control/fields.h"
#include "tools/control/hex.h"

namespace tfabric::check {
namespace {

using control::Fields;

constexpr const char* kSender = "the peer";
constexpr std::uint64_t kVersion = 2;
// More than hosts have NICs, and more addresses than a rail may have.
constexpr std::size_t kMostRails = 64;
constexpr std::size_t kMostAddresses = 16;
// Longer than either end waits for a trial.
constexpr std::uint64_t kMostMs = 3'600'000;

}  // namespace

nlohmann::json to_json(const Offer& offer) {
  nlohmann::json out = {{"check", kVersion}, {"network", offer.network}, {"rails", nlohmann::json::array()}};
  for (const OfferedRail& rail : offer.rails) {
    out["rails"].push_back({{"name", rail.name},
                            {"addresses", rail.addresses},
                            {"gateway", rail.gateway},
                            {"gateway6", rail.gateway6},
                            {"mtu", rail.mtu},
                            {"by_kernel", rail.by_kernel ? 1 : 0}});
  }
  return out;
}

Result<Offer> offer_from(const nlohmann::json& json) {
  Fields fields(json, kSender);
  fields.number("check", kVersion, kVersion);
  Offer offer{.network = fields.text("network"), .rails = {}};
  fields.objects("rails", kMostRails, [&](Fields& rail) {
    offer.rails.push_back(
        {.name = rail.text("name"),
         .addresses = rail.texts("addresses", kMostAddresses),
         .gateway = rail.text("gateway"),
         .gateway6 = rail.text("gateway6"),
         .mtu = static_cast<std::uint32_t>(rail.number("mtu", 0, std::numeric_limits<std::uint32_t>::max())),
         .by_kernel = rail.number("by_kernel", 0, 1) == 1});
  });
  return fields.checked(std::move(offer));
}

nlohmann::json to_json(const std::vector<LeftOut>& rails) {
  nlohmann::json out = {{"left_out", nlohmann::json::array()}};
  for (const LeftOut& each : rails) {
    out["left_out"].push_back({{"rail", each.rail}, {"what", each.what}, {"fix", each.fix}});
  }
  return out;
}

Result<std::vector<LeftOut>> left_out_from(const nlohmann::json& json) {
  Fields fields(json, kSender);
  std::vector<LeftOut> rails;
  fields.objects("left_out", kMostRails, [&](Fields& each) {
    rails.push_back({.rail = each.number("rail", 0, kMostRails - 1),
                     .what = each.text("what", control::kMaxFailureBytes),
                     .fix = each.text("fix", control::kMaxFailureBytes)});
  });
  return fields.checked(std::move(rails));
}

nlohmann::json to_json(const TrialHandle& handle) { return {{"handle", control::to_hex(handle)}}; }

Result<TrialHandle> handle_from(const nlohmann::json& json) {
  Fields fields(json, kSender);
  TrialHandle handle{};
  fields.bytes("handle", handle);
  return fields.checked(handle);
}

nlohmann::json to_json(const Outcome& outcome) {
  return {{"stage", static_cast<int>(outcome.stage)},
          {"why", outcome.error},  // not "error", by which a control connection ends
          {"small_ms", outcome.small.count()},
          {"large_ms", outcome.large.count()}};
}

Result<Outcome> outcome_from(const nlohmann::json& json) {
  Fields fields(json, kSender);
  const auto milliseconds = [&](const char* name) {
    return std::chrono::milliseconds(fields.number(name, 0, kMostMs));
  };
  Outcome outcome{
      .stage = static_cast<Stage>(fields.number("stage", 0, static_cast<std::uint64_t>(Stage::done))),
      .error = fields.text("why", control::kMaxFailureBytes),
      .small = milliseconds("small_ms"),
      .large = milliseconds("large_ms")};
  return fields.checked(std::move(outcome));
}

}  // namespace tfabric::check
