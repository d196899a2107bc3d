#include "tests/unit/comm/fabric.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "transport/lane/record.h"

namespace tfabric::comm::test {
namespace {

// As TCP's header of a record: what a lane that counts bytes counts for a piece beside it.
constexpr std::uint64_t kHeader = lane::kRecordHeaderBytes;
constexpr std::size_t kMostOnTheWay = 64;
constexpr Duration kTimeout = std::chrono::milliseconds(10);  // after which something is sent again
constexpr Duration kPatience = std::chrono::seconds(1);       // after which the lane is given up
constexpr Duration kTick = std::chrono::milliseconds(1);

Instant g_now{};

}  // namespace

// --- an end of a lane

WireLane::~WireLane() {
  if (const auto ends = fabric().lanes_.find(number_); ends != fabric().lanes_.end()) {
    ends->second[carrier_->host()] = nullptr;
  }
}

Fabric& WireLane::fabric() const { return *carrier_->fabric_; }
WireLane* WireLane::peer() const { return fabric().end(number_, 1 - carrier_->host()); }
engine::Carrier& WireLane::carrier() const { return *carrier_; }
WireLane::WireLane(WireCarrier& carrier, std::uint64_t number)
    : carrier_(&carrier), number_(number), progressed_at_(g_now) {}

Duration WireLane::round_trip() const { return 2 * carrier_->kind().delay; }

void WireLane::attach(lane::LaneEvents& events, lane::ControlSink& control, stripe::Inbox* inbox) {
  events_ = &events;
  control_ = &control;
  inbox_ = inbox;
}

stripe::LaneRoom WireLane::look(const stripe::Outgoing& message) const {
  const Kind& kind = carrier_->kind();
  const WireLane* other = peer();
  const bool is_posted =
      other != nullptr && other->inbox_ != nullptr && message.group.precedes(other->inbox_->next_group());
  return {.queued = queued_,
          .room = on_the_way_ < kMostOnTheWay ? 1u << 20 : 0,
          .takes = kind.places ? is_posted : message.on_host};
}

std::optional<stripe::Span> WireLane::give(const stripe::Piece& piece) {
  const Kind& kind = carrier_->kind();
  const stripe::Outgoing& message = *piece.message;
  Parcel parcel{.what = Parcel::What::piece,
                .arrival = {.group = message.group,
                            .index = message.index,
                            .tag = message.tag,
                            .offset = piece.offset,
                            .length = piece.length,
                            .total = message.size},
                .data = piece.data()};
  if (kind.confirmed_by_kernel) {  // whose buffers have a copy
    parcel.record.assign(piece.data(), piece.data() + piece.length);
    parcel.data = parcel.record.data();
  }
  if (kind.places) {
    parcel.target = fabric().places.at(message.group.value) + piece.offset;
  }
  queued_ += piece.length;
  send(std::move(parcel), kind.counts_requests ? 1 : kHeader + piece.length);
  awaited_ = given_;
  return kind.counts_requests ? stripe::Span{given_ - 1, given_, /*whole=*/true}
                              : stripe::Span{given_ - piece.length, given_};
}

bool WireLane::say(std::span<const std::byte> record) {
  if (ended_) {
    return false;
  }
  send({.what = Parcel::What::record, .record = {record.begin(), record.end()}},
       carrier_->kind().counts_requests ? 1 : record.size());
  const auto header = lane::decode(record.first<lane::kRecordHeaderBytes>());
  if (header->type != lane::RecordType::read) {
    awaited_ = given_;
  }
  return true;
}

void WireLane::send(Parcel parcel, std::uint64_t cost) {
  if (acknowledged_ == given_) {
    waits_since_ = g_now;
  }
  given_ += cost;
  parcel.position = given_;
  parcel.at = g_now + carrier_->kind().delay;
  on_the_way_ += cost > 0 ? 1 : 0;
  if (carrier_->kind().confirmed_by_kernel && cost > 0) {
    acknowledgements_.push_back(
        {.at = parcel.at + carrier_->kind().delay, .position = given_, .bytes = parcel.arrival.length});
  }
  if (!connected_) {
    before_.push_back(std::move(parcel));
  } else if (WireLane* other = peer(); other != nullptr) {
    other->way_.push_back(std::move(parcel));
  }
}

// What the lane itself does to memory.
void WireLane::write(const Parcel& parcel) const {
  if (parcel.target != nullptr && parcel.arrival.length > 0) {
    std::memcpy(parcel.target, parcel.data, parcel.arrival.length);
  }
}

Status WireLane::take_piece(const Parcel& parcel) const {
  if (inbox_ == nullptr) {
    return Error{Errc::internal, "a piece at the sending end"};
  }
  const stripe::Arrival& piece = parcel.arrival;
  const Result<stripe::Inbox::Receive*> receive = inbox_->claim(piece);
  if (!receive) {
    return receive.error();
  }
  if (*receive != nullptr) {
    if (parcel.target == nullptr && piece.length > 0) {
      std::memcpy((*receive)->data + piece.offset, parcel.data, piece.length);
    }
    inbox_->placed(**receive, stripe::lines_of(piece.length));
    return {};
  }
  const Result<std::byte*> aside = inbox_->set_aside(piece);
  if (!aside) {
    return aside.error();
  }
  if (piece.length > 0) {
    std::memcpy(*aside, parcel.data, piece.length);
  }
  return inbox_->aside_complete(piece.group);
}

void WireLane::take(const Parcel& parcel) {
  progressed_at_ = g_now;
  news_ = true;
  switch (parcel.what) {
    case Parcel::What::end:
      peer_closed_ = true;
      return;
    case Parcel::What::reset: {
      const auto* text = reinterpret_cast<const char*>(parcel.record.data());
      lose({.why = "the peer reset it",
            .reason = traits().reset_says_why ? std::string(text, parcel.record.size()) : std::string()});
      return;
    }
    case Parcel::What::piece:
    case Parcel::What::record:
      break;
  }
  taken_ = parcel.position;
  if (WireLane* other = peer(); other != nullptr && !carrier_->kind().confirmed_by_kernel) {
    other->acknowledgements_.push_back(
        {.at = g_now + carrier_->kind().delay, .position = parcel.position, .bytes = parcel.arrival.length});
  }
  write(parcel);
  Status taken;
  if (parcel.what == Parcel::What::piece) {
    ++unreported_;
    taken = take_piece(parcel);
  } else {
    const auto header = lane::decode(std::span(parcel.record).first<lane::kRecordHeaderBytes>());
    unreported_ += header->type == lane::RecordType::read ? 0 : 1;
    taken = control_->on_control(*header, std::span(parcel.record).subspan(lane::kRecordHeaderBytes));
  }
  if (!taken && is_open()) {
    events_->on_fault(*this, taken.error());
  }
}

void WireLane::acknowledge(const Acknowledgement& acknowledgement) {
  acknowledged_ = std::max(acknowledged_, acknowledgement.position);
  queued_ -= acknowledgement.bytes;
  on_the_way_ -= std::min<std::size_t>(on_the_way_, 1);
  progressed_at_ = g_now;
  if (!traits().answers_without_process || carrier_->kind().confirmed_by_kernel) {
    confirmed_ = acknowledged_;
  }
  news_ = true;
}

void WireLane::report() {
  if (!traits().answers_without_process || carrier_->kind().confirmed_by_kernel || unreported_ == 0) {
    return;
  }
  if (say(lane::encode_position(lane::RecordType::read, {serial(), taken_}))) {
    unreported_ = 0;
  }
}

bool WireLane::on_report(std::uint64_t position) {
  if (position > given_) {
    return false;
  }
  confirmed_ = std::max(confirmed_, position);
  news_ = true;
  return true;
}

std::uint32_t WireLane::timeouts_in_row() const {
  return acknowledged_ == given_ || !connected_
             ? 0
             : static_cast<std::uint32_t>((g_now - std::max(waits_since_, progressed_at_)) /
                                          std::max<Duration>(kTimeout, 2 * round_trip()));
}

lane::Meters WireLane::meters() const {
  return {.delivered = confirmed_,
          .carried = acknowledged_,
          .busy = busy_,
          .round_trip = round_trip(),
          .least_round_trip = round_trip()};
}

lane::Loss WireLane::loss(bool /*in_use*/, Instant /*now*/) const { return *lost_; }

void WireLane::lose(lane::Loss loss) {
  if (!is_open()) {
    return;
  }
  lost_ = std::move(loss);
  ended_ = true;
  events_->on_lost(*this);
}

void WireLane::finish() {
  send({.what = Parcel::What::end}, 0);
  ended_ = true;
}

void WireLane::reset(std::string_view reason) {
  const auto text = std::as_bytes(std::span(reason));
  send({.what = Parcel::What::reset, .record = {text.begin(), text.end()}}, 0);
  ended_ = true;
}

std::optional<std::uint64_t> WireLane::begin_fence() {
  const Kind& kind = carrier_->kind();
  if (kind.fence == Duration{}) {
    way_.clear();
    return taken_;
  }
  closing_until_ = g_now + kind.fence;
  return kind.fences_too_early ? std::optional(taken_) : std::nullopt;
}

// --- a carrier

WireCarrier::WireCarrier(Fabric& fabric, std::size_t host, std::size_t cable, const Kind& kind)
    : Carrier(kind.traits),
      fabric_(&fabric),
      host_(host),
      cable_(cable),
      name_("wire" + std::to_string(cable)),
      kind_(kind) {}

engine::Flow& WireCarrier::flow_at(std::size_t) const { throw std::logic_error("it has no flows"); }

std::unique_ptr<lane::Lane> WireCarrier::open(const engine::Destination& /*to*/) {
  const std::uint64_t number = ++fabric_->last_number_;
  auto lane = std::make_unique<WireLane>(*this, number);
  fabric_->lanes_[number][host_] = lane.get();
  fabric_->connecting_[number] = {cable_, g_now + 2 * kind_.delay};
  return lane;
}

bool WireCarrier::receive(Instant now) {
  const auto due = [&](Instant at) { return at <= now && fabric_->silent_until_[cable_] <= now; };
  for (auto next = fabric_->connecting_.begin(); next != fabric_->connecting_.end();) {
    const auto [number, what] = *next;
    const bool is_here = what.first == cable_ && fabric_->lanes_[number][host_] == nullptr;
    next = is_here && due(what.second) ? fabric_->connecting_.erase(next) : std::next(next);
    if (is_here && due(what.second)) {
      fabric_->connect(number, *this);
    }
  }
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, ends] : fabric_->lanes_) {
    if (ends[host_] != nullptr && ends[host_]->carrier_ == this) {
      numbers.push_back(number);
    }
  }
  // A lane may be gone after anything that it tells its comm.
  for (const std::uint64_t number : numbers) {
    for (WireLane* lane = fabric_->end(number, host_); lane != nullptr; lane = fabric_->end(number, host_)) {
      if (!lane->step(due)) {
        break;
      }
    }
  }
  return false;
}

bool WireCarrier::send(Instant, bool) { return false; }

void WireCarrier::on_time(Instant now) {
  for (const auto& [number, ends] : fabric_->lanes_) {
    WireLane* lane = ends[host_];
    if (lane == nullptr || lane->carrier_ != this || !lane->is_open() || !lane->connected_ ||
        lane->acknowledged_ == lane->given_) {
      continue;
    }
    lane->busy_ += kTick;
    const Instant since = std::max(lane->waits_since_, lane->progressed_at_);
    if (now - since > kPatience) {
      lane->cut_ = lane::Loss{.why = "timed out", .timed_out = true, .silent_since = since};
    } else if (now - since > kTimeout) {
      lane->news_ = true;  // its comm looks how often something was sent again
    }
  }
}

// Does one thing that is due; returns false if there is none.
bool WireLane::step(const std::function<bool(Instant)>& due) {
  if (closing_until_ != Instant{}) {
    return step_closing(due);
  }
  if (!is_open()) {
    way_.clear();
    acknowledgements_.clear();
    return false;
  }
  if (auto cut = std::exchange(cut_, std::nullopt)) {
    lose(std::move(*cut));
    return true;
  }
  if (!acknowledgements_.empty() && due(acknowledgements_.front().at)) {
    acknowledge(acknowledgements_.front());
    acknowledgements_.pop_front();
    return true;
  }
  if (!way_.empty() && due(way_.front().at)) {
    const Parcel parcel = std::move(way_.front());
    way_.pop_front();
    take(parcel);
    return true;
  }
  if (carrier_->kind().places && peer() != nullptr && peer()->inbox_ != nullptr &&
      std::exchange(announced_, peer()->inbox_->next_group()) != announced_) {
    news_ = true;
  }
  if (std::exchange(news_, false)) {
    events_->on_progress(*this);
    return true;
  }
  return false;
}

// The end is shut, and the lane still moves memory: of what arrives complete it has a notice, and of the last
// piece the bytes alone.
bool WireLane::step_closing(const std::function<bool(Instant)>& due) {
  acknowledgements_.clear();
  const bool lies = carrier_->kind().fences_too_early;
  if (!way_.empty() && due(way_.front().at)) {
    const Parcel parcel = std::move(way_.front());
    way_.pop_front();
    if (parcel.what == Parcel::What::piece && inbox_ != nullptr) {
      write(parcel);
      fabric().written_late_ += parcel.arrival.length;
      if (!lies && take_piece(parcel).ok()) {
        taken_ = parcel.position;
      }
    } else if (!lies && parcel.what == Parcel::What::record) {
      taken_ = parcel.position;
    }
    return true;
  }
  if (g_now < closing_until_) {
    return false;
  }
  if (!way_.empty() && way_.front().what == Parcel::What::piece && inbox_ != nullptr) {
    write(way_.front());
  }
  way_.clear();
  closing_until_ = {};
  if (!lies) {
    fenced(*events_, taken_);
  }
  return false;
}

// --- hosts

Host::Host(Fabric& fabric, std::size_t number, const std::vector<Kind>& cables, const CommOptions& options)
    : engine({.clock = Fabric::now}), context{engine, progress, regions, options, peers} {
  const engine::Guard guard(engine.lock());
  for (std::size_t cable = 0; cable < cables.size(); ++cable) {
    auto carrier = std::make_unique<WireCarrier>(fabric, number, cable, cables[cable]);
    carriers.push_back(carrier.get());
    engine.add(std::move(carrier));
  }
  engine.set_acceptor(&acceptor);
}

Fabric::Fabric(const std::vector<Kind>& cables, const CommOptions& options) : silent_until_(cables.size()) {
  g_now = Instant(std::chrono::hours(1));
  for (std::size_t i = 0; i < 2; ++i) {
    hosts_.push_back(std::make_unique<Host>(*this, i, cables, options));
  }
}

Fabric::~Fabric() {
  for (const auto& host : hosts_) {
    const engine::Guard guard(host->engine.lock());
    host->acceptor.clear();
    host->engine.set_acceptor(nullptr);
  }
}

Instant Fabric::now() { return g_now; }

WireLane* Fabric::end(std::uint64_t number, std::size_t host) const {
  const auto ends = lanes_.find(number);
  return ends == lanes_.end() ? nullptr : ends->second[host];
}

void Fabric::connect(std::uint64_t number, WireCarrier& carrier) {
  WireLane* opener = end(number, 1 - carrier.host());
  if (opener == nullptr) {
    return;  // it has been given up
  }
  auto lane = std::make_unique<WireLane>(carrier, number);
  lanes_[number][carrier.host()] = lane.get();
  lane->connected_ = opener->connected_ = true;
  lane->way_ = std::move(opener->before_);
  opener->news_ = true;
  Host& host = *hosts_[carrier.host()];
  host.engine.acceptor()->on_lane(std::move(lane));
}

bool Fabric::run_until(const std::function<bool()>& done, Duration within) {
  const Instant limit = g_now + within;
  while (!done()) {
    if (g_now > limit) {
      return false;
    }
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!stands_still[i]) {
        const engine::Guard guard(hosts_[i]->engine.lock());
        hosts_[i]->engine.turn();
      }
    }
    g_now = next_event();
    if (elsewhere) {
      elsewhere(g_now);
    }
  }
  return true;
}

void Fabric::run_for(Duration time) {
  stop_at_ = g_now + time;
  run_until([&] { return g_now >= stop_at_; }, time + kTick);
  stop_at_ = kNever;
}

std::uint64_t Fabric::given_at(std::size_t host, std::optional<std::size_t> cable) const {
  std::uint64_t given = 0;
  for (const auto& [number, ends] : lanes_) {
    const WireLane* lane = ends[host];
    given += lane != nullptr && (!cable || lane->carrier_->cable_ == *cable) ? lane->given_ : 0;
  }
  return given;
}

// The next time at which something arrives, or a tick.
Instant Fabric::next_event() const {
  Instant next = std::min(g_now + kTick, std::max(stop_at_, g_now + std::chrono::microseconds(1)));
  const auto consider = [&](Instant at, std::size_t cable) {
    next = std::min(next, std::max({at, silent_until_[cable], g_now + std::chrono::microseconds(1)}));
  };
  if (next_elsewhere) {
    next = std::min(next, std::max(next_elsewhere(), g_now + std::chrono::microseconds(1)));
  }
  for (const auto& [number, what] : connecting_) {
    consider(what.second, what.first);
  }
  for (const auto& [number, ends] : lanes_) {
    for (const WireLane* lane : ends) {
      if (lane != nullptr && !lane->way_.empty()) {
        consider(lane->way_.front().at, lane->carrier_->cable_);
      }
      if (lane != nullptr && !lane->acknowledgements_.empty()) {
        consider(lane->acknowledgements_.front().at, lane->carrier_->cable_);
      }
    }
  }
  return next;
}

void Fabric::reset_at(std::size_t cable, std::size_t host) {
  for (const auto& [number, ends] : lanes_) {
    if (WireLane* lane = ends[host]; lane != nullptr && lane->carrier_->cable_ == cable) {
      lane->cut_ = lane::Loss{.why = "it was cut"};
    }
  }
}

void Fabric::reset(std::size_t cable) {
  reset_at(cable, 0);
  reset_at(cable, 1);
}

}  // namespace tfabric::comm::test
