// A fake of libibverbs for tests: HCAs, their ports and GID tables, and failures.
//
// The functions of Verbs have no context argument, so only one FakeVerbs can exist at a time. It may be
// changed between calls, as hardware changes.
#pragma once

#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/rdma/discovery/gid.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma {

struct FakePort {
  ibv_port_state state = IBV_PORT_ACTIVE;
  LinkLayer link_layer = LinkLayer::ethernet;
  std::uint8_t active_width = 2;   // 4X
  std::uint8_t active_speed = 32;  // EDR
  ibv_mtu active_mtu = IBV_MTU_4096;
  std::uint16_t lid = 0;
  std::uint8_t flags = 0;  // IBV_QPF_*
  int table_length = 16;
  std::map<int, Gid> gids;
  int query_error = 0;            // errno of ibv_query_port
  int gid_error = 0;              // errno of ibv_query_gid, for all slots
  bool empty_slots_fail = false;  // with ENODATA, instead of zeros
};

struct FakeHca {
  std::string name = "mlx5_0";
  std::string dev_name = "uverbs0";
  ibv_transport_type transport = IBV_TRANSPORT_IB;
  std::uint64_t node_guid = 0;
  std::uint64_t sys_image_guid = 0;
  std::vector<FakePort> ports{FakePort{}};
  int open_error = 0;   // errno of ibv_open_device
  int query_error = 0;  // what ibv_query_device returns
  int close_error = 0;  // what ibv_close_device returns
};

class FakeVerbs {
 public:
  explicit FakeVerbs(std::vector<FakeHca> hcas);
  ~FakeVerbs();
  FakeVerbs(const FakeVerbs&) = delete;
  FakeVerbs& operator=(const FakeVerbs&) = delete;

  [[nodiscard]] const Verbs& verbs() const { return verbs_; }
  // Opens the HCA of this index, ignoring open_error.
  [[nodiscard]] ContextHandle open(std::size_t number);
  // The context of the open HCA of this name.
  [[nodiscard]] ibv_context& context_of(const std::string& hca);
  // Queues an event of the device.
  void tell(ibv_context& context, const ibv_async_event& event);

  std::vector<FakeHca> hcas;
  // Creates the contexts of opened devices, for a provider of queue pairs with its own contexts. If empty,
  // contexts can only be queried.
  std::function<ibv_context&()> make_context;
  std::string data_direct;        // libmlx5's answer, relative to /sys; empty if no HCA has such a function
  int dmabuf_error = EOPNOTSUPP;  // errno of ibv_reg_dmabuf_mr; 0 accepts anything
  int list_error = 0;             // errno of ibv_get_device_list

  // What was done.
  int lists = 0;                    // not freed yet
  int contexts = 0;                 // not closed yet
  std::vector<std::string> opened;  // every HCA for which opening was tried
  int gid_queries = 0;
  int unacknowledged = 0;       // events
  int pds = 0;                  // not deallocated yet
  int data_direct_regions = 0;  // registered through the Data Direct function

 private:
  struct OpenDevice {
    explicit OpenDevice(ibv_context* made);
    ~OpenDevice();
    OpenDevice(const OpenDevice&) = delete;
    OpenDevice& operator=(const OpenDevice&) = delete;
    ibv_device device{};
    ibv_context own{};
    ibv_context& context;  // its async_fd counts the queued events
    FakeHca* hca = nullptr;
    std::deque<ibv_async_event> events;
  };

  static ibv_device** get_device_list(int* count);
  static void free_device_list(ibv_device** list);
  static ibv_context* open_device(ibv_device* device);
  static int close_device(ibv_context* context);
  static ibv_pd* alloc_pd(ibv_context* context);
  static int dealloc_pd(ibv_pd* pd);
  static ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                               int fd, int access);
  static bool mlx5_is_supported(ibv_device* device);
  static int mlx5_data_direct_path(ibv_context* context, char* path, std::size_t room);
  static ibv_mr* mlx5_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                    int fd, int access, int mlx5_access);
  static int dereg_mr(ibv_mr* mr);
  static int query_device(ibv_context* context, ibv_device_attr* attributes);
  static int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes);
  static int query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid);
  static int get_async_event(ibv_context* context, ibv_async_event* event);
  static void ack_async_event(ibv_async_event* event);

  [[nodiscard]] FakeHca& hca_of(const ibv_device* device);
  [[nodiscard]] OpenDevice& open_of(const ibv_context* context);

  static FakeVerbs* current_;
  Verbs verbs_;
  std::vector<ibv_device> devices_;
  std::mutex open_mutex_;  // a host's devices are closed while another one's thread looks at its own
  std::vector<std::unique_ptr<OpenDevice>> open_;  // guarded by open_mutex_
};

// Parses a GID; IPv4 addresses are mapped.
[[nodiscard]] Gid gid_of(const std::string& text);

}  // namespace tfabric::rdma
