#include "transport/lane/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/engine/flow.h"
#include "transport/lane/announcements.h"
#include "transport/lane/flow_failure.h"
#include "transport/lane/record.h"

namespace tfabric::lane {

void Lane::rename() { name_ = fmt::format("{} {} over rail {}", direction_, label(), carrier().name()); }

void Lane::keep(std::string_view why) const {
  if (engine::FlowAccount* shown = account(); shown != nullptr) {
    shown->keep(why);
  }
}

bool Lane::announce(const AnnouncementBlock& block, std::uint32_t number) {
  return say(encode_announcement(block, number));
}

void Lane::tell(std::vector<std::byte> record) {
  waiting_.push_back(std::move(record));
  tell_waiting();
}

void Lane::say_waiting() {
  const auto first =
      std::find_if_not(waiting_.begin(), waiting_.end(),
                       [this](const std::vector<std::byte>& record) TF_IN_TURN { return say(record); });
  waiting_.erase(waiting_.begin(), first);
}

void Lane::leave() {
  if (!traits().end_means_closed) {
    say(encode_serial(RecordType::settled, serial()));
  }
  close();
}

void Lane::abort(std::string_view reason) {
  if (!traits().reset_says_why && !reason.empty()) {
    const auto text = std::as_bytes(std::span(reason));
    say(encode_record(RecordType::goodbye, text.first(std::min(text.size(), kMostReason))));
  }
  shut();
  reset(reason);
}

bool Lane::ask(std::uint32_t doubt) {
  if (doubt_ != doubt && say(encode_record(RecordType::ask, {}))) {
    doubt_ = doubt;
    asked_ = given();
  }
  return doubt_ == doubt && answered() >= asked_;
}

}  // namespace tfabric::lane
