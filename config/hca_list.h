// Lists of RDMA ports as NCCL_IB_HCA has them: [^][=]name[:port[:rail[:plane]]][,…].
//
// A name is a prefix ("mlx5_1" means mlx5_10 as well), with '=' in front of the list the whole name; '^'
// means all ports but these. A field that is left empty means any. No entry means every port. Immutable
// values.
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
  std::int16_t rail_id = -1;   // what NCCL is told of the port; -1: nothing
  std::int16_t plane_id = -1;  // the same
};

class HcaList {
 public:
  // Empty if `text` is not of this form.
  [[nodiscard]] static std::optional<HcaList> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool negated() const { return negated_; }  // begins with '^'

  // The entry that names the port, '^' or not; null: none.
  [[nodiscard]] const HcaPattern* find(std::string_view hca, std::uint32_t port) const;
  // Whether an entry names the HCA with all its ports, '^' or not.
  [[nodiscard]] bool names_all_of(std::string_view hca) const;

  [[nodiscard]] bool selects(std::string_view hca, std::uint32_t port) const;
  // False: it selects no port of the HCA, whichever the HCA has.
  [[nodiscard]] bool may_select(std::string_view hca) const;

 private:
  [[nodiscard]] bool fits(const HcaPattern& pattern, std::string_view hca) const;

  std::string text_;
  bool negated_ = false;
  bool exact_ = false;
  std::vector<HcaPattern> patterns_;
};

}  // namespace tfabric::config
