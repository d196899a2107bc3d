// Lists of devices in the form of NCCL's own variables. Immutable values.
//
// A name is a prefix ("mlx5_1" also selects mlx5_10); with '=' before the list, it is the whole name. '^'
// before the list selects everything but the entries. An empty list selects everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tfabric::config {

struct HcaPattern {
  std::string name;            // empty: any
  std::uint32_t port = 0;      // from 1; 0: any
  std::int16_t rail_id = -1;   // reported to NCCL as the port's; -1: none
  std::int16_t plane_id = -1;  // reported to NCCL as the port's; -1: none
};

// RDMA ports, as in NCCL_IB_HCA: [^][=]name[:port[:rail[:plane]]][,…]. An empty field means any.
class HcaList {
 public:
  // Returns nothing if `text` is not of this form.
  [[nodiscard]] static std::optional<HcaList> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool negated() const { return negated_; }  // begins with '^'

  // Returns the first entry that names the port, whether the list is negated or not; null if there is none.
  [[nodiscard]] const HcaPattern* find(std::string_view hca, std::uint32_t port) const;
  // Returns true if an entry names the HCA with all its ports, whether the list is negated or not.
  [[nodiscard]] bool names_all_of(std::string_view hca) const;

  [[nodiscard]] bool selects(std::string_view hca, std::uint32_t port) const;
  // Returns false if the list selects no port of the HCA, whichever ports it has.
  [[nodiscard]] bool may_select(std::string_view hca) const;

 private:
  [[nodiscard]] bool fits(const HcaPattern& pattern, std::string_view hca) const;

  std::string text_;
  bool negated_ = false;
  bool exact_ = false;
  std::vector<HcaPattern> patterns_;
};

// Network interfaces, as in NCCL_SOCKET_IFNAME: [^][=]name[,…].
class InterfaceList {
 public:
  // Returns nothing if `text` is not of this form.
  [[nodiscard]] static std::optional<InterfaceList> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return list_.text(); }
  [[nodiscard]] bool names_any() const { return !list_.text().empty(); }
  [[nodiscard]] bool selects(std::string_view interface) const;

 private:
  HcaList list_;  // the same form, without ports
};

}  // namespace tfabric::config
