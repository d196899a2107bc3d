#include "fake_verbs.h"

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>

namespace tfabric::rdma {
namespace {

template <std::size_t kSize>
void copy_name(const std::string& name, char (&out)[kSize]) {
  name.copy(out, kSize - 1);
}

// For code that runs on any thread, where Catch's assertions must not be used.
void insist(bool condition) {
  if (!condition) {
    std::abort();
  }
}

ibv_device device_of(const FakeHca& hca) {
  ibv_device device{};
  device.node_type = IBV_NODE_CA;
  device.transport_type = hca.transport;
  copy_name(hca.name, device.name);
  copy_name(hca.dev_name, device.dev_name);
  return device;
}

}  // namespace

FakeVerbs* FakeVerbs::current_ = nullptr;

FakeVerbs::FakeVerbs(std::vector<FakeHca> with) : hcas(std::move(with)) {
  REQUIRE(current_ == nullptr);
  current_ = this;
  verbs_ = {.get_device_list = get_device_list,
            .free_device_list = free_device_list,
            .open_device = open_device,
            .close_device = close_device,
            .query_device = query_device,
            .query_port = query_port,
            .query_gid = query_gid,
            .get_async_event = get_async_event,
            .ack_async_event = ack_async_event,
            .fork_init = [] { return 0; },
            .alloc_pd = alloc_pd,
            .dealloc_pd = dealloc_pd,
            .reg_dmabuf_mr = reg_dmabuf_mr,
            .dereg_mr = dereg_mr,
            .mlx5_is_supported = mlx5_is_supported,
            .mlx5_data_direct_path = mlx5_data_direct_path,
            .mlx5_reg_dmabuf_mr = mlx5_reg_dmabuf_mr};
}

FakeVerbs::~FakeVerbs() { current_ = nullptr; }

ContextHandle FakeVerbs::open(std::size_t number) {
  ibv_device device = device_of(hcas.at(number));
  return {open_device(&device), {&verbs_}};
}

FakeHca& FakeVerbs::hca_of(const ibv_device* device) {
  return *std::find_if(hcas.begin(), hcas.end(),
                       [&](const FakeHca& hca) { return hca.name == device->name; });
}

FakeVerbs::OpenDevice& FakeVerbs::open_of(const ibv_context* context) {
  const std::lock_guard guard(open_mutex_);
  return **std::find_if(open_.begin(), open_.end(),
                        [&](const auto& open) { return &open->context == context; });
}

ibv_context& FakeVerbs::context_of(const std::string& hca) {
  const std::lock_guard guard(open_mutex_);
  const auto found =
      std::find_if(open_.begin(), open_.end(), [&](const auto& open) { return open->hca->name == hca; });
  REQUIRE(found != open_.end());
  return (*found)->context;
}

FakeVerbs::OpenDevice::OpenDevice(ibv_context* made) : context(made == nullptr ? own : *made) {
  context.async_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  REQUIRE(context.async_fd >= 0);
}

FakeVerbs::OpenDevice::~OpenDevice() { close(context.async_fd); }

void FakeVerbs::tell(ibv_context& context, const ibv_async_event& event) {
  open_of(&context).events.push_back(event);
  insist(eventfd_write(context.async_fd, 1) == 0);
}

ibv_device** FakeVerbs::get_device_list(int* count) {
  FakeVerbs& fake = *current_;
  if (fake.list_error != 0) {
    errno = fake.list_error;
    return nullptr;
  }
  fake.devices_.clear();
  for (const FakeHca& hca : fake.hcas) {
    fake.devices_.push_back(device_of(hca));
  }
  auto** list = new ibv_device* [fake.devices_.size() + 1] {};
  std::transform(fake.devices_.begin(), fake.devices_.end(), list,
                 [](ibv_device& device) { return &device; });
  *count = static_cast<int>(fake.devices_.size());
  ++fake.lists;
  return list;
}

void FakeVerbs::free_device_list(ibv_device** list) {
  delete[] list;
  --current_->lists;
}

ibv_context* FakeVerbs::open_device(ibv_device* device) {
  FakeVerbs& fake = *current_;
  FakeHca& hca = fake.hca_of(device);
  fake.opened.push_back(hca.name);
  if (hca.open_error != 0) {
    errno = hca.open_error;
    return nullptr;
  }
  auto made = std::make_unique<OpenDevice>(fake.make_context ? &fake.make_context() : nullptr);
  const std::lock_guard guard(fake.open_mutex_);
  fake.open_.push_back(std::move(made));
  OpenDevice& open = *fake.open_.back();
  open.hca = &hca;
  open.device = device_of(hca);
  open.context.device = &open.device;
  ++fake.contexts;
  return &fake.open_.back()->context;
}

int FakeVerbs::close_device(ibv_context* context) {
  FakeVerbs& fake = *current_;
  const int error = fake.open_of(context).hca->close_error;
  const std::lock_guard guard(fake.open_mutex_);
  std::erase_if(fake.open_, [&](const auto& open) { return &open->context == context; });
  --fake.contexts;
  return error;
}

ibv_pd* FakeVerbs::alloc_pd(ibv_context* context) {
  ++current_->pds;
  return new ibv_pd{.context = context, .handle = 0};
}

int FakeVerbs::dealloc_pd(ibv_pd* pd) {
  --current_->pds;
  delete pd;
  return 0;
}

ibv_mr* FakeVerbs::reg_dmabuf_mr(ibv_pd* pd, std::uint64_t /*offset*/, std::size_t /*length*/,
                                 std::uint64_t /*iova*/, int /*fd*/, int /*access*/) {
  if (current_->dmabuf_error != 0) {
    errno = current_->dmabuf_error;
    return nullptr;
  }
  auto* mr = new ibv_mr{};
  mr->pd = pd;
  return mr;
}

bool FakeVerbs::mlx5_is_supported(ibv_device* device) {
  return std::string_view(device->name).starts_with("mlx5_");
}

int FakeVerbs::mlx5_data_direct_path(ibv_context* /*context*/, char* path, std::size_t room) {
  const std::string& answer = current_->data_direct;
  if (answer.empty() || answer.size() >= room) {
    return answer.empty() ? ENODEV : ENOSPC;
  }
  answer.copy(path, answer.size());
  return 0;
}

ibv_mr* FakeVerbs::mlx5_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length,
                                      std::uint64_t iova, int fd, int access, int mlx5_access) {
  current_->data_direct_regions += mlx5_access == kMlx5AccessDataDirect ? 1 : 0;
  return reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

int FakeVerbs::dereg_mr(ibv_mr* mr) {
  delete mr;
  return 0;
}

int FakeVerbs::query_device(ibv_context* context, ibv_device_attr* attributes) {
  const FakeHca& hca = *current_->open_of(context).hca;
  static_assert(std::endian::native == std::endian::little);
  attributes->node_guid = __builtin_bswap64(hca.node_guid);
  attributes->sys_image_guid = __builtin_bswap64(hca.sys_image_guid);
  attributes->phys_port_cnt = static_cast<std::uint8_t>(hca.ports.size());
  return hca.query_error;
}

int FakeVerbs::query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) {
  const FakePort& fake = current_->open_of(context).hca->ports.at(port - 1u);
  attributes->state = fake.state;
  attributes->link_layer = static_cast<std::uint8_t>(fake.link_layer);
  attributes->active_width = fake.active_width;
  attributes->active_speed = fake.active_speed;
  attributes->active_mtu = fake.active_mtu;
  attributes->lid = fake.lid;
  attributes->flags = fake.flags;
  attributes->max_msg_sz = 1u << 30;
  attributes->gid_tbl_len = fake.table_length;
  return fake.query_error;
}

int FakeVerbs::query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  ++current_->gid_queries;
  const FakePort& fake = current_->open_of(context).hca->ports.at(port - 1u);
  const auto found = fake.gids.find(index);
  const int error = fake.gid_error != 0                                 ? fake.gid_error
                    : fake.empty_slots_fail && found == fake.gids.end() ? ENODATA
                                                                        : 0;
  if (error != 0) {
    errno = error;
    return -1;
  }
  *gid = std::bit_cast<ibv_gid>(found == fake.gids.end() ? Gid{} : found->second);
  return 0;
}

int FakeVerbs::get_async_event(ibv_context* context, ibv_async_event* event) {
  auto& events = current_->open_of(context).events;
  eventfd_t one = 0;
  insist(eventfd_read(context->async_fd, &one) == 0);
  *event = events.front();
  events.pop_front();
  ++current_->unacknowledged;
  return 0;
}

void FakeVerbs::ack_async_event(ibv_async_event* /*event*/) { --current_->unacknowledged; }

Gid gid_of(const std::string& text) {
  const std::string mapped = text.find(':') == std::string::npos ? "::ffff:" + text : text;
  Gid gid{};
  REQUIRE(inet_pton(AF_INET6, mapped.c_str(), gid.data()) == 1);
  return gid;
}

}  // namespace tfabric::rdma
