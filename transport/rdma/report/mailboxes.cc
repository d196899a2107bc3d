#include "transport/rdma/report/mailboxes.h"

#include <sys/epoll.h>

#include <algorithm>

namespace tfabric::rdma {

Mailboxes::Mailboxes() : epoll_(Descriptor(epoll_create1(EPOLL_CLOEXEC))) {}

bool Mailboxes::add(int descriptor, void* owner) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = owner;
  return descriptor >= 0 && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Mailboxes::remove(int descriptor) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

std::span<void* const> Mailboxes::full() {
  std::array<epoll_event, kAtOnce> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(kAtOnce), /*timeout=*/0);
  const std::size_t many = count < 0 ? 0 : static_cast<std::size_t>(count);
  std::transform(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(many), full_.begin(),
                 [](const epoll_event& event) { return event.data.ptr; });
  return std::span(full_).first(many);
}

}  // namespace tfabric::rdma
