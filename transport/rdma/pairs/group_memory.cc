#include "transport/rdma/pairs/group_memory.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "base/descriptor.h"
#include "host/limits.h"

namespace tfabric::rdma::pairs {
namespace {

Descriptor copy_of(int file) {
  Descriptor copy(::fcntl(file, F_DUPFD_CLOEXEC, 0));
  return host::files_are_scarce(copy.get()) ? Descriptor(-1) : std::move(copy);
}

}  // namespace

class GroupMemory::Registered final : public lane::RegisteredMemory {
 public:
  Registered(GroupMemory& group, const lane::MemoryToRegister& memory)
      : group_(&group),
        memory_(memory),
        dmabuf_(memory.dmabuf && group.has_reserve_ ? copy_of(memory.dmabuf->fd) : Descriptor(-1)) {}
  ~Registered() override {
    std::unique_lock lock(group_->mutex_);
    group_->let_go_.wait(lock, [this] { return users_ == 0; });
    group_->known_.erase(number_);
    lock.unlock();
    for (std::size_t rail = 0; rail < group_->ports_.size(); ++rail) {
      for (const RegistrationCache::Lease& lease : {leases_[rail], later_[rail]}) {
        if (lease.mr != nullptr) {
          group_->ports_[rail].registrations->release(lease);
        }
      }
    }
  }

  // Returns the rails that it is to be registered with at once.
  std::vector<std::size_t> join() {
    const std::lock_guard lock(group_->mutex_);
    number_ = group_->next_++;
    group_->known_[number_] = this;
    std::vector<std::size_t> rails;
    for (std::size_t rail = 0; rail < group_->ports_.size(); ++rail) {
      if (group_->ports_[rail].from) {
        rails.push_back(rail);
      }
    }
    return rails;
  }
  Result<RegistrationCache::Lease> acquire(std::size_t rail, int dmabuf) const {
    const Port& port = group_->ports_[rail];
    auto lease = port.registrations->acquire(
        memory_.data, memory_.size, memory_.kind,
        memory_.dmabuf ? std::optional(DmaBuf{memory_.dmabuf->offset, dmabuf}) : std::nullopt);
    if (!lease) {
      return Error{lease.error().code, fmt::format("{}: {}", port.name, lease.error().message)};
    }
    return lease;
  }
  Status acquire_at_once(std::size_t rail) {
    auto lease = acquire(rail, memory_.dmabuf ? memory_.dmabuf->fd : -1);
    if (!lease) {
      return lease.error();
    }
    take(rail, *lease);
    return {};
  }
  void take(std::size_t rail, const RegistrationCache::Lease& lease) {
    leases_[rail] = lease;
    keys_[rail] = lease.mr->rkey;
  }

  [[nodiscard]] const ibv_mr* region(std::size_t rail) const { return leases_[rail].mr; }
  [[nodiscard]] int dmabuf() const { return dmabuf_.get(); }

  // Guarded by the group's mutex: who registers it later just now, and what that has brought.
  int users_ = 0;
  std::array<RegistrationCache::Lease, lane::kMaxKeys> later_;

 private:
  GroupMemory* group_;
  lane::MemoryToRegister memory_;
  Descriptor dmabuf_;
  std::uint64_t number_ = 0;  // none yet
  std::array<RegistrationCache::Lease, lane::kMaxKeys> leases_;
};

void GroupMemory::add(std::string name, RegistrationCache* registrations, bool in_reserve) {
  ports_.push_back({.name = std::move(name), .registrations = registrations});
  if (!in_reserve) {
    ports_.back().from = 0;
  }
  has_reserve_ = has_reserve_ || in_reserve;
}

Result<std::unique_ptr<lane::RegisteredMemory>> GroupMemory::enter(const lane::MemoryToRegister& memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data);
  if ((memory.data == nullptr && memory.size > 0) ||
      memory.size > std::numeric_limits<std::uintptr_t>::max() / 2 - begin) {
    return Error{
        Errc::invalid_argument,
        fmt::format("registration of {} bytes at {}: there is no such memory", memory.size, memory.data)};
  }
  auto registered = std::make_unique<Registered>(*this, memory);
  for (const std::size_t rail : registered->join()) {
    if (Status acquired = registered->acquire_at_once(rail); !acquired) {
      return acquired.error();
    }
  }
  return std::unique_ptr<lane::RegisteredMemory>(std::move(registered));
}

std::optional<std::uint32_t> GroupMemory::local_key(const lane::RegisteredMemory* memory, std::size_t rail) {
  const auto* registered = static_cast<const Registered*>(memory);
  const ibv_mr* region = registered == nullptr ? nullptr : registered->region(rail);
  return region == nullptr ? std::nullopt : std::optional(region->lkey);
}

void GroupMemory::enlist(std::size_t rail) {
  const std::lock_guard lock(mutex_);
  ports_[rail].from = next_;
}

// What ends meanwhile waits until it is let go.
Status GroupMemory::register_earlier(std::size_t rail) {
  std::unique_lock lock(mutex_);
  for (auto each = known_.begin(); each != known_.end() && each->first < ports_[rail].from;) {
    const std::uint64_t number = each->first;
    Registered& registered = *each->second;
    ++registered.users_;
    lock.unlock();
    auto lease = registered.acquire(rail, registered.dmabuf());
    lock.lock();
    --registered.users_;
    if (lease) {
      registered.later_[rail] = *lease;
    }
    let_go_.notify_all();
    if (!lease) {
      return lease.error();
    }
    each = known_.upper_bound(number);
  }
  return {};
}

void GroupMemory::publish(std::size_t rail) {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, registered] : known_) {
    if (registered->later_[rail].mr != nullptr) {
      registered->take(rail, std::exchange(registered->later_[rail], {}));
    }
  }
}

}  // namespace tfabric::rdma::pairs
