#include "tests/unit/rdma/comms/offered_comms.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/random.h"

namespace tfabric::rdma::pairs::test {
namespace {

using comm::test::Fabric;

// What is in buffers that are NCCL's again: nothing may write there, and what is sent from there is found.
constexpr std::byte kOver{0xee}, kUsedAgain{0xdd};

// The kernel's TCP, as far as comms see it.
comm::test::Kind kernel_lane(Duration delay) {
  return {.traits = {.answers_without_process = true,
                     .end_means_closed = false,
                     .reset_says_why = false,
                     .retries_at_once = false},
          .delay = delay};
}

std::vector<comm::test::Kind> cables_of(const OfferedComms::Options& options) {
  std::vector<comm::test::Kind> cables(options.wires, kernel_lane(options.kernel_delay));
  cables.resize(options.wires + options.tcp, {.traits = {}, .delay = options.tcp_delay});
  return cables;
}

}  // namespace

void LateControl::run(std::function<int()> job, std::function<void(int)> done) {
  const Instant earliest = jobs_.empty() ? Fabric::now() : jobs_.back().at;
  jobs_.push_back({earliest + std::chrono::microseconds(500), std::move(job), std::move(done)});
}

void LateControl::take_results() {
  while (!jobs_.empty() && jobs_.front().at <= Fabric::now()) {
    Job next = std::move(jobs_.front());
    jobs_.pop_front();
    next.done(next.job());
  }
}

OfferedComms::OfferedComms(const Options& options)
    : verbs(options.seed),
      options_(options),
      fabric(cables_of(options), {.piece_bytes = 4096, .max_recvs = options.max_recvs}) {
  fill_random(token_);
  std::fill_n(to_.alias(), kMemory, kOver);
  verbs.reach = [this](std::uint64_t address) { return seen(reinterpret_cast<const std::byte*>(address)); };
  verbs.may_write = [this](std::uint64_t address, std::uint32_t length) {
    const Message* message = owner_of(address, /*receives=*/true);
    const bool is_ours = address - reinterpret_cast<std::uint64_t>(to_.address()) < kMemory;
    return !is_ours || (message != nullptr && message->in != nullptr && !message->has_come &&
                        address + length <= reinterpret_cast<std::uint64_t>(message->to) + message->room);
  };
  verbs.may_read = [this](std::uint64_t address, std::uint32_t /*length*/) {
    const Message* message = owner_of(address, /*receives=*/false);
    const bool is_ours = address - reinterpret_cast<std::uint64_t>(from_.address()) < kMemory;
    return !is_ours || (message != nullptr && !message->is_sent);
  };
  fabric.next_elsewhere = [this] { return verbs.next_event(); };
  fabric.elsewhere = [this](Instant now) { verbs.run_until(now); };
  verbs.run_until(Fabric::now());
  for (std::size_t host = 0; host < 2; ++host) {
    groups_[host] = std::make_unique<PortGroup>(
        PortGroup::Options{.takes_gpu_memory = options.takes_gpu_memory, .needs_flush = true});
    for (std::size_t i = 0; i < options.ports[host]; ++i) {
      add_port(host, options, /*in_reserve=*/false);
    }
    for (std::size_t i = 0; i < options.reserves[host]; ++i) {
      add_port(host, options, /*in_reserve=*/true);
    }
    if (host == 0 ? options.offers : options.offers_back) {
      fabric.host(host).offer(*groups_[host]);
    }
  }
}

OfferedComms::~OfferedComms() {
  close_sender();
  if (receiver != nullptr && to_region_ != nullptr) {
    static_cast<void>(receiver->deregister_memory(to_region_));
  }
  receiver.reset();
  fabric.host(1).pending.reset();  // with what was not taken
}

void OfferedComms::close_sender() {
  if (sender != nullptr && from_region_ != nullptr) {
    static_cast<void>(sender->deregister_memory(from_region_));
  }
  sender.reset();
}

void OfferedComms::fail_receiver() {
  static_cast<void>(receiver->deregister_memory(std::exchange(to_region_, nullptr)));
}

void OfferedComms::add_port(std::size_t host, const Options& options, bool in_reserve) {
  const std::size_t number = ports_[host].size();
  Port& port = *ports_[host].emplace_back(std::make_unique<Port>());
  port.context = &verbs.add_hca();
  port.pd.context = port.context;
  port.registrations =
      std::make_unique<RegistrationCache>(verbs.verbs(), port.pd, /*relaxed_ordering=*/false);
  const LinkLayer link = host == 1 ? options.receiver_link : LinkLayer::ethernet;
  Rail rail{.verbs = &verbs.verbs(), .context = port.context, .pd = &port.pd};
  rail.name = fmt::format("made{}_{}:1", host, number);
  rail.max_message_bytes = options.largest_write;
  port.way = std::make_unique<rdma::test::OneWay>(
      rail, rdma::meeting::OfferedRail{
                .hca = fmt::format("made{}_{}", host, number),
                .link_layer = link,
                .gid_type = link == LinkLayer::ethernet ? GidType::roce_v2 : GidType::infiniband});
  PortCarrier::Options made;
  made.ways = port.way.get();
  made.connection.now = Fabric::now;
  made.control = std::make_unique<LateControl>();
  made.memory = &groups_[host]->memory_of(number);
  made.rehearsal = port.rehearsal =
      std::make_shared<engine::Rehearsal>(rail.name, std::vector<config::Fault>(), Fabric::now());
  auto carrier = std::make_unique<PortCarrier>(std::move(made));
  port.carrier = carrier.get();
  groups_[host]->add({.ways = port.way.get(),
                      .registrations = port.registrations.get(),
                      .carrier = port.carrier,
                      .in_reserve = in_reserve});
  const engine::Guard guard(fabric.host(host).engine.lock());
  fabric.host(host).engine.add(std::move(carrier));
}

bool OfferedComms::open(Duration within) {
  comm::test::Host& here = fabric.host(0);
  comm::test::Host& there = fabric.host(1);
  {
    const engine::Guard guard(there.engine.lock());
    there.acceptor.add_listener(token_, *there.pending);
  }
  {
    const engine::Guard guard(here.engine.lock());
    std::vector<comm::SendRoute> routes;
    for (std::size_t i = 0; options_.offers && i < ports_[0].size(); ++i) {
      const PortCarrier& carrier = *ports_[0][i]->carrier;
      using enum tfabric::session::RouteClass;
      routes.push_back({.rank = groups_[0]->is_in_reserve(i) ? reserve : own,
                        .carrier = carrier.number(),
                        .rail_number = static_cast<std::uint16_t>(i),
                        .path = here.peers.paths.path(carrier.name(), {}, flows::FlowChoice{}),
                        .joined = {},
                        .by_offer = true,
                        .meets = {}});
    }
    for (std::size_t i = 0; i < here.carriers.size(); ++i) {
      using enum tfabric::session::RouteClass;
      const bool is_tcp = i < options_.tcp;  // in the routes' order, which is that of their classes
      const comm::test::WireCarrier* wire = here.carriers[is_tcp ? options_.wires + i : i - options_.tcp];
      routes.push_back({.rank = is_tcp ? substitute : lifeboat,
                        .carrier = wire->number(),
                        .rail_number = static_cast<std::uint16_t>(routes.size()),
                        .port = 1,
                        .path = here.peers.paths.path(wire->name(), {}, flows::FlowChoice{}),
                        .joined = {},
                        .meets = {},
                        .always = options_.offers && wire == here.carriers.front()});
    }
    sender = std::make_unique<comm::SendComm>(
        here.context, tfabric::session::Hello{.token = token_, .comm = 7, .serial = {}, .witness = {}},
        options_.max_recvs, std::move(routes));
    REQUIRE_FALSE(sender->open_lanes());
  }
  if (!fabric.run_until([&] { return (sender->ready() && there.pending->has_ready()) || sender->failed(); },
                        within) ||
      sender->failed()) {
    return false;
  }
  {
    const engine::Guard guard(there.engine.lock());
    receiver = there.pending->take();
  }
  const auto kind = options_.takes_gpu_memory ? transport::MemoryKind::cuda : transport::MemoryKind::host;
  auto from =
      sender->register_memory(from_.address(), kMemory, options_.offers ? kind : transport::MemoryKind::host);
  auto to = receiver->register_memory(to_.address(), kMemory, kind);
  REQUIRE((from.ok() && to.ok()));
  from_region_ = *from;
  to_region_ = *to;
  if (options_.takes_gpu_memory) {
    to_.hide_from_cpu();
  }
  if (options_.takes_gpu_memory && options_.offers) {
    from_.hide_from_cpu();
  }
  return true;
}

std::byte* OfferedComms::seen(const std::byte* at) const {
  for (const tfabric::test::GpuPages* pages : {&from_, &to_}) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(pages->address());
    if (offset < kMemory) {
      return pages->alias() + offset;
    }
  }
  return const_cast<std::byte*>(at);
}

const OfferedComms::Message* OfferedComms::owner_of(std::uint64_t address, bool receives) const {
  const auto found = std::find_if(messages_.begin(), messages_.end(), [&](const Message& message) {
    const auto begin = reinterpret_cast<std::uint64_t>(receives ? message.to : message.from);
    return address - begin < message.room || (address == begin && message.room == 0);
  });
  return found == messages_.end() ? nullptr : &*found;
}

void OfferedComms::exchange(const std::vector<std::size_t>& sizes) {
  post(sizes);
  for (std::size_t i = messages_.size() - sizes.size(); i < messages_.size(); ++i) {
    send(messages_[i]);
  }
}

void OfferedComms::post(const std::vector<std::size_t>& sizes) {
  std::vector<transport::ReceiveBuffer> buffers;
  for (const std::size_t size : sizes) {
    Message& message = messages_.emplace_back();
    message.room = size + 1;
    message.from = from_.address() + used_;
    message.to = to_.address() + used_;
    message.tag = static_cast<int>(buffers.size());
    used_ += message.room;
    REQUIRE(used_ <= kMemory);
    message.text.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      message.text[i] = static_cast<std::byte>(i * 31 + messages_.size() + (i >> 8));
    }
    std::copy(message.text.begin(), message.text.end(), seen(message.from));
    buffers.push_back({message.to, message.room, message.tag, to_region_});
  }
  transport::Request* request = nullptr;
  REQUIRE(fabric.run_until([&] {
    auto posted = receiver->irecv(buffers);
    REQUIRE(posted.ok());
    request = *posted;
    return request != nullptr;
  }));
  for (std::size_t i = messages_.size() - sizes.size(); i < messages_.size(); ++i) {
    messages_[i].in = request;
  }
}

// As NCCL does, until the receive is announced.
void OfferedComms::send(Message& message) {
  REQUIRE(fabric.run_until(
      [&] {
        auto sent = sender->isend(message.from, message.text.size(), message.tag, from_region_);
        if (!sent) {
          FAIL(sent.error().message);
        }
        message.out = *sent;
        return message.out != nullptr;
      },
      std::chrono::seconds(20)));
}

// Checks without Catch, which counts: it is asked a million times.
bool OfferedComms::test(Message& message) {
  if (!message.has_come) {
    std::array<int, transport::kMaxGroupedReceives> sizes{};
    const Result<bool> done = message.in->test(sizes.data());
    if (!done) {
      FAIL(done.error().message);
    }
    // The request of a group is done once, for all of its messages.
    for (Message& each : messages_) {
      if (*done && each.in == message.in && !each.has_come) {
        each.has_come = true;
        REQUIRE(static_cast<std::size_t>(sizes[static_cast<std::size_t>(each.tag)]) == each.text.size());
        REQUIRE(std::equal(each.text.begin(), each.text.end(), seen(each.to)));
        std::fill_n(seen(each.to), each.room, kOver);
      }
    }
  }
  if (!message.is_sent) {
    const Result<bool> done = message.out->test(nullptr);
    if (!done) {
      FAIL(done.error().message);
    }
    if (*done) {
      message.is_sent = true;
      std::fill_n(seen(message.from), message.room, kUsedAgain);
    }
  }
  return message.is_sent && message.has_come;
}

bool OfferedComms::is_sent(std::size_t number, Duration within) {
  Message& message = messages_[number];
  return fabric.run_until(
      [&] {
        test(message);
        return message.is_sent;
      },
      within);
}

bool OfferedComms::finish(Duration within) {
  const bool done = fabric.run_until(
      [&] {
        bool all = true;
        for (Message& message : messages_) {
          all &= (message.is_sent && message.has_come) || test(message);
        }
        return all;
      },
      within);
  for (const Message& message : messages_) {
    REQUIRE((!message.has_come || std::all_of(seen(message.to), seen(message.to) + message.room,
                                              [](std::byte byte) { return byte == kOver; })));
  }
  for (const std::string& what : verbs.violations()) {
    FAIL(what);
  }
  if (done) {
    messages_.clear();
    used_ = 0;
  }
  return done;
}

bool OfferedComms::flush(int times) {
  const transport::ReceiveBuffer buffer{to_.address(), kMemory, 0, to_region_};
  std::deque<transport::Request*> asked;
  for (int i = 0; i < times; ++i) {
    auto request = receiver->iflush(std::span(&buffer, 1));
    REQUIRE(request.ok());
    if (*request == nullptr) {
      return false;
    }
    asked.push_back(*request);
  }
  std::optional<Error> error;
  REQUIRE(fabric.run_until(
      [&] {
        const Result<bool> done = asked.front()->test(nullptr);
        error = done ? std::nullopt : std::optional(done.error());
        if (done && *done) {
          asked.pop_front();
        }
        return error || asked.empty();
      },
      std::chrono::seconds(1)));
  if (error) {
    throw std::runtime_error(error->message);
  }
  return true;
}

std::size_t OfferedComms::pairs(bool in_reserve) {
  std::size_t all = 0;
  const engine::Guard guard(fabric.host(0).engine.lock());
  for (std::size_t i = 0; i < ports_[0].size(); ++i) {
    all += groups_[0]->is_in_reserve(i) == in_reserve ? sender->lanes({i}) : 0;
  }
  return all;
}

std::size_t OfferedComms::tcp_lanes() {
  std::size_t all = 0;
  const engine::Guard guard(fabric.host(0).engine.lock());
  for (std::size_t i = 0; i < options_.tcp; ++i) {
    all += sender->lanes({ports_[0].size() + i});
  }
  return all;
}

void OfferedComms::refuse_memory(std::size_t host, std::size_t port) {
  verbs.reg_mr_error = ENOMEM;
  verbs.reg_mr_fails_from = kMemory;
  verbs.reg_mr_fails_at = ports_[host][port]->context;
}

void OfferedComms::register_anew() {
  const auto kind = options_.takes_gpu_memory ? transport::MemoryKind::cuda : transport::MemoryKind::host;
  auto to = receiver->register_memory(to_.address(), kMemory, kind);
  REQUIRE(to.ok());
  REQUIRE(receiver->deregister_memory(std::exchange(to_region_, *to)).ok());
}

void OfferedComms::rehearse(std::size_t host, std::size_t port, const std::string& fault, Duration time) {
  const auto faults = config::parse_untimed_faults("*:" + fault);
  REQUIRE(faults.ok());
  REQUIRE(ports_[host][port]->rehearsal->add(faults->front(), Duration::zero(), time, Fabric::now()));
}

std::uint64_t OfferedComms::sent(std::size_t host, std::size_t port) {
  const engine::Guard guard(fabric.host(host).engine.lock());
  const auto& peers = ports_[host][port]->carrier->peers();
  return std::accumulate(
      peers.begin(), peers.end(), std::uint64_t{0},
      [](std::uint64_t sum, const engine::PeerTraffic& peer) { return sum + peer.sent_bytes; });
}

void OfferedComms::take_address(std::size_t host, std::size_t port) {
  verbs.set_gid_index(*ports_[host][port]->context, std::nullopt);
}

void OfferedComms::give_address(std::size_t host, std::size_t port, std::uint8_t index) {
  Port& of = *ports_[host][port];
  verbs.set_gid_index(*of.context, index);
  of.way->move_to(index);
  const engine::Guard guard(fabric.host(host).engine.lock());
  of.carrier->on_link(true);
}

void OfferedComms::kill(std::size_t host, std::size_t port) {
  verbs.kill(*ports_[host][port]->context);
  const engine::Guard guard(fabric.host(host).engine.lock());
  ports_[host][port]->carrier->on_device_lost();
}

}  // namespace tfabric::rdma::pairs::test
