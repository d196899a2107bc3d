#include "tools/control/token.h"

#include <array>

#include "base/random.h"
#include "tools/control/hex.h"

namespace tfabric::control {

Result<std::string> make_token() {
  std::array<std::byte, 16> bytes{};
  if (Status status = fill_secret(bytes); !status) {
    return status.error();
  }
  return to_hex(bytes);
}

bool is_token(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  return text.size() >= kMinTokenBytes && text.size() <= kMaxTokenBytes &&
         text.find_first_not_of(kAllowed) == std::string_view::npos && text.front() != '-';
}

bool same_token(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return different == 0;
}

}  // namespace tfabric::control
