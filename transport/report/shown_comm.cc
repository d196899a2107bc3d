#include "transport/report/shown_comm.h"

#include "transport/lane/record.h"
#include "transport/watchdog/inquiry.h"

namespace tfabric::report {

watchdog::WatchedComm::Load ShownComm::load() const {
  Sight sight;
  show(sight);
  return load_of(sight);
}

void ShownComm::send(const verdict::Question& question, Instant /*now*/) {
  send_note(lane::encode_record(lane::RecordType::question, watchdog::encode(question)));
}

void ShownComm::send(const watchdog::Answer& answer, Instant /*now*/) {
  send_note(lane::encode_record(lane::RecordType::answer, watchdog::encode(answer)));
}

}  // namespace tfabric::report
