// The receiver's end in the world of pairs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/unit/rdma/pairs/pairs_ends.h"

namespace tfabric::rdma::pairs::test {

PairsWorld::Receiver::Way* PairsWorld::Receiver::find(stripe::LaneSerial serial) {
  const auto found =
      std::find_if(ways_.begin(), ways_.end(), [&](const Way& way) { return way.lane->serial() == serial; });
  return found == ways_.end() ? nullptr : &*found;
}

void PairsWorld::Receiver::turn() {
  for (const Way& way : ways_) {
    if (way.lane->is_open() && way.port == gives_up) {
      gives_up.reset();
      bury(*way.lane);
    }
  }
  post();
  for (const Way& way : ways_) {
    if (way.lane->carries() && announcer_.lacks_speaker()) {
      announcer_.begin(*way.lane);
    }
  }
  announcer_.speak();
  for (const Way& way : ways_) {
    if (way.lane->carries()) {
      way.lane->flush();
    }
  }
}

void PairsWorld::Receiver::post() {
  while (posted_ < world_->messages_.size() && inbox_.outstanding() < world_->most_open_) {
    Message& message = world_->messages_[posted_];
    char* to = world_->to_.data() + posted_ * world_->slot_;
    const stripe::GroupId group = inbox_.next_group();
    const transport::ReceiveBuffer buffer{to, message.size, 7, nullptr};
    const Result<bool> posted = inbox_.post(std::array{buffer}, &message.receive);
    if (!posted) {
      world_->broken(posted.error().message);
    }
    if (!posted || !*posted) {
      return;
    }
    ++posted_;
    for (std::size_t i = 0; i < world_->hosts_[1]->ports.size(); ++i) {
      memory_.set_key(i, world_->hosts_[1]->ports[i]->memory->rkey);
    }
    announcer_.post(
        group, 0, 1,
        {.address = reinterpret_cast<std::uint64_t>(to), .size = message.size, .tag = 7, .memory = &memory_});
  }
}

void PairsWorld::Receiver::on_offer(stripe::LaneSerial serial, std::size_t port,
                                    const std::vector<std::byte>& text) {
  if (graves_.forbids(serial)) {
    return;
  }
  auto lane = world_->hosts_[1]->ports[port]->carrier->take_up(text, announcer_);
  if (!lane) {  // its device is dead
    graves_.add(serial, 0);
    tell_buried(serial, 0);
    return;
  }
  (*lane)->enter({ways_.size()}, serial, "receive");
  (*lane)->attach(*this, *this, &inbox_);
  ways_.push_back({.lane = std::move(*lane), .port = port});
}

void PairsWorld::Receiver::on_progress(lane::Lane& lane) {
  Way& way = ways_[lane.id().value];
  if (const auto text = way.lane->text(); !text.empty() && !std::exchange(way.answered, true)) {
    world_->mail(0, [this, serial = lane.serial(), answer = std::vector(text.begin(), text.end())]()
                        TF_IN_TURN { world_->sender_->on_answer(serial, answer); });
  }
  if (lane.timeouts_in_row() >= kSilent) {
    bury(lane);
  }
}

void PairsWorld::Receiver::on_ready(stripe::LaneSerial serial) {
  if (Way* way = find(serial); way != nullptr && way->lane->is_open()) {
    way->lane->join();
  }
}

void PairsWorld::Receiver::on_fault(lane::Lane& /*lane*/, const Error& why) {
  world_->broken("receiver: " + why.message);
}

void PairsWorld::Receiver::bury(lane::Lane& lane) {
  lane.shut();
  announcer_.on_ended(lane);
  const std::uint64_t taken = static_cast<const PairLane&>(lane).taken();
  const auto position = lane.fence();
  if (position || !world_->rules_.fence) {
    const std::uint64_t told = position.value_or(taken);
    graves_.add(lane.serial(), told);
    tell_buried(lane.serial(), told);
  } else {
    graves_.forbid(lane.serial());
  }
}

void PairsWorld::Receiver::on_fenced(lane::Lane& lane, std::uint64_t position) {
  if (world_->rules_.fence) {
    graves_.add(lane.serial(), position);
    tell_buried(lane.serial(), position);
  }
}

void PairsWorld::Receiver::tell_buried(stripe::LaneSerial serial, std::uint64_t position) {
  world_->mail(0, [this, serial, position]() TF_IN_TURN { world_->sender_->on_buried(serial, position); });
  const auto record = lane::encode_position(lane::RecordType::buried, {serial, position});
  for (const Way& way : ways_) {
    if (way.lane->carries()) {
      way.lane->say(record);
    }
  }
}

void PairsWorld::Receiver::on_bury(stripe::LaneSerial serial) {
  if (Way* way = find(serial); way != nullptr && way->lane->is_open()) {
    bury(*way->lane);
  } else if (const auto position = graves_.position_of(serial)) {
    tell_buried(serial, *position);
  } else if (!graves_.forbids(serial)) {
    graves_.add(serial, 0);
    tell_buried(serial, 0);
  }
  announcer_.on_released(serial);
}

void PairsWorld::Receiver::on_settled(stripe::LaneSerial serial) {
  graves_.settled(serial);
  announcer_.on_released(serial);
}

Status PairsWorld::Receiver::on_control(const lane::RecordHeader& header, std::span<const std::byte> body) {
  const auto serial = lane::decode_serial(body);
  if (header.type != lane::RecordType::bury || !serial) {
    return Error{Errc::internal, "not a record of a sender"};
  }
  on_bury(*serial);
  return {};
}

std::string PairsWorld::Receiver::describe() const {
  std::string text = fmt::format("{} receives were posted, {} are open{};", posted_, inbox_.outstanding(),
                                 announcer_.has_unsaid() ? ", not all announced" : "");
  for (const Way& way : ways_) {
    text += fmt::format(" lane {}{}{}", way.lane->serial().value, way.lane->is_open() ? " open" : "",
                        way.lane->is_fencing() ? " fencing" : "");
  }
  return text;
}

}  // namespace tfabric::rdma::pairs::test
