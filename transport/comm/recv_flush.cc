// Flushes: until one, GPUs may not see what carriers have written to their memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "transport/comm/recv_comm.h"

namespace tfabric::comm {

using State = stripe::Completion::State;

Result<transport::Request*> RecvComm::iflush(std::span<const transport::ReceiveBuffer> buffers) {
  constexpr transport::Request* kVisible = nullptr;
  const bool concerns =
      std::any_of(buffers.begin(), buffers.end(), [](const transport::ReceiveBuffer& buffer) {
        const auto* region = static_cast<const Region*>(buffer.region);
        return buffer.size > 0 && region != nullptr && region->kind != transport::MemoryKind::host;
      });
  if (!concerns || !offers() || !context_.offered->needs_flush()) {
    return kVisible;
  }
  if (failed()) {
    return requests_.after_failure();
  }
  Request* request = requests_.acquire();
  if (request == nullptr) {  // null would say that all is visible
    return Error{Errc::internal,
                 fmt::format("iflush: {} requests are outstanding already", transport::kMaxRequests)};
  }
  std::copy(buffers.begin(), buffers.end(), request->buffers.begin());
  request->completion.count = static_cast<std::uint8_t>(buffers.size());
  request->flushes = true;
  enqueue(*request);
  poke();
  return static_cast<transport::Request*>(request);
}

void RecvComm::note_brought(lane::Lane& lane) {
  if (!offers() || !lane.traits().places_remotely || !static_cast<lane::OfferedLane&>(lane).take_brought()) {
    return;
  }
  unflushed_ |= 1u << rail_of(lane);
}

// Each carrier reads that has written anything, and none for another one: it would push nothing of that.
void RecvComm::start_flush(Request& request) {
  if (failed()) {
    request.completion.finish(State::failed);
    return;
  }
  for (const auto& lane : lanes_) {
    note_brought(*lane);
  }
  // What another flush has not done yet, this one waits for, too.
  std::uint32_t rails = std::exchange(unflushed_, 0);
  for (const auto& [number, flush] : flushes_) {
    rails |= flush.rails;
  }
  if (rails == 0) {
    request.completion.finish(State::done);
    return;
  }
  const std::uint64_t number = next_flush_++;
  Flush& flush = flushes_[number];
  flush = {.request = &request, .rails = rails};
  for (std::size_t rail = 0; rail < context_.offered->count(); ++rail) {
    if ((rails >> rail & 1u) == 0) {
      continue;
    }
    lane::OfferingCarrier* carrier = context_.offered->at(rail);
    if (carrier == nullptr) {
      fail_unflushed();
      break;
    }
    ++flush.parts;
    flush_over(rail, *carrier, request, number);
  }
  if (flush.parts == 0) {
    flushes_.erase(number);
  }
}

void RecvComm::flush_over(std::size_t rail, lane::OfferingCarrier& carrier, const Request& request,
                          std::uint64_t number) {
  std::array<lane::FlushPlace, transport::kMaxGroupedReceives> places;
  std::size_t count = 0;
  for (const transport::ReceiveBuffer& buffer : std::span(request.buffers).first(request.completion.count)) {
    if (const auto* region = static_cast<const Region*>(buffer.region);
        buffer.size > 0 && region != nullptr) {
      places[count++] = {reinterpret_cast<std::uint64_t>(buffer.data), region->offered->keys()[rail]};
    }
  }
  carrier.flush(std::span(places).first(count), *this, number);
}

void RecvComm::fail_unflushed() {
  fail(Error{Errc::system,
             "iflush: an adapter that has brought data cannot read any more, so that it is not known whether "
             "GPUs see it"});
}

void RecvComm::on_flushed(std::uint64_t number, bool done) {
  const auto flush = flushes_.find(number);
  if (flush == flushes_.end()) {
    return;
  }
  if (!done) {
    fail_unflushed();  // ends all requests, this one as well
  }
  if (--flush->second.parts > 0) {
    return;
  }
  if (Request* const request = flush->second.request; request != nullptr) {
    request->completion.finish(State::done);
  }
  flushes_.erase(flush);
}

// Adapters may still read for them, which moves_memory() waits for.
void RecvComm::fail_flushes() {
  for (auto& [number, flush] : flushes_) {
    if (Request* const request = std::exchange(flush.request, nullptr); request != nullptr) {
      request->completion.finish(State::failed);
    }
  }
}

void RecvComm::forget_flushes() {
  for (std::size_t rail = 0; offers() && rail < context_.offered->count(); ++rail) {
    if (lane::OfferingCarrier* carrier = context_.offered->at(rail); carrier != nullptr) {
      carrier->forget(*this);
    }
  }
}

bool RecvComm::flushes_in(const void* data, std::size_t size) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return std::any_of(flushes_.begin(), flushes_.end(), [&](const auto& each) {
    if (each.second.request == nullptr) {
      return false;
    }
    const Request& request = *each.second.request;
    return std::any_of(request.buffers.begin(), request.buffers.begin() + request.completion.count,
                       [&](const transport::ReceiveBuffer& buffer) {
                         return reinterpret_cast<std::uintptr_t>(buffer.data) - begin < size;
                       });
  });
}

}  // namespace tfabric::comm
