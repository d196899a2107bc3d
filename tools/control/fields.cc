#include "tools/control/fields.h"

#include <fmt/format.h>

#include "tools/control/hex.h"
#include "tools/control/visible.h"

namespace tfabric::control {
namespace {

// How much of a wrong value is quoted.
constexpr std::size_t kQuotedBytes = 60;

std::string quoted(const nlohmann::json& value) {
  const std::string text =
      value.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  return text.size() <= kQuotedBytes ? visible(text) : visible(text.substr(0, kQuotedBytes)) + "…";
}

}  // namespace

void Fields::fault(const char* name, const std::string& expected) {
  if (!status_) {
    return;
  }
  const auto found = message_.find(name);
  const std::string actual = found == message_.end() ? "missing" : quoted(*found);
  status_ = Error{Errc::remote, fmt::format("{} has sent a malformed message: \"{}{}\" is {}, expected {}",
                                            sender_, path_, name, actual, expected)};
}

const Fields::Json* Fields::member(const char* name, const std::string& expected) {
  const auto found = message_.find(name);
  if (found == message_.end()) {
    fault(name, expected);
  }
  return status_ ? &*found : nullptr;
}

const Fields::Json* Fields::array(const char* name, std::size_t most) {
  const std::string expected = fmt::format("an array of at most {} elements", most);
  const Json* const value = member(name, expected);
  if (value != nullptr && value->is_array() && value->size() <= most) {
    return value;
  }
  fault(name, expected);
  return nullptr;
}

std::uint64_t Fields::number(const char* name, std::uint64_t least, std::uint64_t most) {
  const std::string expected = fmt::format("a whole number from {} to {}", least, most);
  const Json* const value = member(name, expected);
  // A parsed number is unsigned if it is not negative; one that this program has put in may be an int.
  if (value != nullptr && (value->is_number_unsigned() || (value->is_number_integer() && *value >= 0))) {
    const auto number = value->get<std::uint64_t>();
    if (number >= least && number <= most) {
      return number;
    }
  }
  fault(name, expected);
  return 0;
}

double Fields::real(const char* name, double most) {
  const std::string expected = fmt::format("a number from 0 to {:g}", most);
  const Json* const value = member(name, expected);
  if (value != nullptr && value->is_number()) {
    const auto number = value->get<double>();
    if (number >= 0 && number <= most) {
      return number;
    }
  }
  fault(name, expected);
  return 0;
}

bool Fields::flag(const char* name) {
  const Json* const value = member(name, "true or false");
  if (value != nullptr && value->is_boolean()) {
    return value->get<bool>();
  }
  fault(name, "true or false");
  return false;
}

std::string Fields::raw_text(const char* name, std::size_t most_bytes) {
  const std::string expected = fmt::format("a text of at most {} bytes", most_bytes);
  const Json* const value = member(name, expected);
  if (value != nullptr && value->is_string() && value->get_ref<const std::string&>().size() <= most_bytes) {
    return value->get<std::string>();
  }
  fault(name, expected);
  return {};
}

std::string Fields::text(const char* name, std::size_t most_bytes) {
  std::string text = visible(raw_text(name, most_bytes));
  if (text.size() > most_bytes) {
    fault(name, fmt::format("a text of at most {} bytes, escapes included", most_bytes));
    return {};
  }
  return text;
}

std::vector<std::string> Fields::texts(const char* name, std::size_t most, std::size_t most_bytes) {
  std::vector<std::string> all;
  const Json* const list = array(name, most);
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const Json& each = (*list)[i];
    all.push_back(each.is_string() ? visible(each.get_ref<const std::string&>()) : std::string());
    if (!each.is_string() || all.back().size() > most_bytes) {
      fault(name, fmt::format("an array of texts of at most {} bytes, escapes included", most_bytes));
      return {};
    }
  }
  return all;
}

void Fields::bytes(const char* name, std::span<std::byte> into) {
  if (!from_hex(raw_text(name, 2 * into.size()), into)) {
    fault(name, fmt::format("{} hexadecimal digits", 2 * into.size()));
  }
}

}  // namespace tfabric::control
