#include "transport/lane/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/engine/flow.h"
#include "transport/lane/record.h"

namespace tfabric::lane {

void Lane::rename() { name_ = fmt::format("{} {} over rail {}", direction_, label(), carrier().name()); }

void Lane::keep(std::string_view why) const {
  if (engine::FlowAccount* shown = account(); shown != nullptr) {
    shown->keep(why);
  }
}

void Lane::tell(std::vector<std::byte> record) {
  waiting_.push_back(std::move(record));
  tell_waiting();
}

void Lane::tell_waiting() {
  const auto first = std::find_if_not(waiting_.begin(), waiting_.end(),
                                      [this](const std::vector<std::byte>& record) { return say(record); });
  waiting_.erase(waiting_.begin(), first);
}

bool Lane::ask(std::uint32_t doubt) {
  if (doubt_ != doubt && say(encode_record(RecordType::ask, {}))) {
    doubt_ = doubt;
    asked_ = given();
  }
  return doubt_ == doubt && confirmed() >= asked_;
}

}  // namespace tfabric::lane
