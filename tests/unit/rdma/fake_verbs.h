// A provider for tests in libibverbs' place: HCAs, their ports and GID tables, and what fails.
//
// The functions of Verbs have no place for an object of ours, so one FakeVerbs can live at a time. Change it
// between calls as hardware would change.
#pragma once

#include <cerrno>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/rdma/discovery/gid.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma {

struct FakePort {
  ibv::PortState state = ibv::PortState::active;
  ibv::LinkLayer link_layer = ibv::LinkLayer::ethernet;
  std::uint8_t active_width = 2;   // 4X
  std::uint8_t active_speed = 32;  // EDR
  ibv::Mtu active_mtu = ibv::Mtu::bytes_4096;
  std::uint16_t lid = 0;
  int table_length = 16;
  std::map<int, Gid> gids;
  int query_error = 0;            // errno of ibv_query_port
  int gid_error = 0;              // errno of ibv_query_gid, for all slots
  bool empty_slots_fail = false;  // with ENODATA, instead of zeros
};

struct FakeHca {
  std::string name = "mlx5_0";
  std::string dev_name = "uverbs0";
  ibv::TransportType transport = ibv::TransportType::ib;
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
  // Opens the HCA of this number, past open_error.
  [[nodiscard]] ContextHandle open(std::size_t number);
  // Of the HCA of this name, which is open.
  [[nodiscard]] ibv::Context& context_of(const std::string& hca);
  // What the device tells next to whoever asks.
  void tell(ibv::Context& context, const ibv::AsyncEvent& event);

  std::vector<FakeHca> hcas;
  // Makes the contexts of devices that are opened, for a provider of queue pairs that has its own; empty:
  // they can do nothing but be queried.
  std::function<ibv::Context&()> make_context;
  std::string data_direct;        // libmlx5's answer, below /sys; empty: no HCA has such a function
  int dmabuf_error = EOPNOTSUPP;  // errno of ibv_reg_dmabuf_mr; 0: it takes anything
  int list_error = 0;             // errno of ibv_get_device_list

  // What was done.
  int lists = 0;                    // not freed yet
  int contexts = 0;                 // not closed yet
  std::vector<std::string> opened;  // every HCA that was to be opened
  int gid_queries = 0;
  int unacknowledged = 0;       // events
  int pds = 0;                  // not deallocated yet
  int data_direct_regions = 0;  // that were registered by the function

 private:
  struct OpenDevice {
    explicit OpenDevice(ibv::Context* made);
    ~OpenDevice();
    OpenDevice(const OpenDevice&) = delete;
    OpenDevice& operator=(const OpenDevice&) = delete;
    ibv::Device device{};
    ibv::Context own{};
    ibv::Context& context;  // its async_fd counts the events
    FakeHca* hca = nullptr;
    std::deque<ibv::AsyncEvent> events;
  };

  static ibv::Device** get_device_list(int* count);
  static void free_device_list(ibv::Device** list);
  static ibv::Context* open_device(ibv::Device* device);
  static int close_device(ibv::Context* context);
  static ibv::Pd* alloc_pd(ibv::Context* context);
  static int dealloc_pd(ibv::Pd* pd);
  static ibv::Mr* reg_dmabuf_mr(ibv::Pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                int fd, int access);
  static bool mlx5_is_supported(ibv::Device* device);
  static int mlx5_data_direct_path(ibv::Context* context, char* path, std::size_t room);
  static ibv::Mr* mlx5_reg_dmabuf_mr(ibv::Pd* pd, std::uint64_t offset, std::size_t length,
                                     std::uint64_t iova, int fd, int access, int mlx5_access);
  static int dereg_mr(ibv::Mr* mr);
  static int query_device(ibv::Context* context, ibv::DeviceAttr* attributes);
  static int query_port(ibv::Context* context, std::uint8_t port, ibv::PortAttr* attributes);
  static int query_gid(ibv::Context* context, std::uint8_t port, int index, ibv::Gid* gid);
  static int get_async_event(ibv::Context* context, ibv::AsyncEvent* event);
  static void ack_async_event(ibv::AsyncEvent* event);

  [[nodiscard]] FakeHca& hca_of(const ibv::Device* device);
  [[nodiscard]] OpenDevice& open_of(const ibv::Context* context);

  static FakeVerbs* current_;
  Verbs verbs_;
  std::vector<ibv::Device> devices_;
  std::vector<std::unique_ptr<OpenDevice>> open_;
};

// From its text; IPv4 is mapped.
[[nodiscard]] Gid gid_of(const std::string& text);

}  // namespace tfabric::rdma
