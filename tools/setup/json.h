// Reading JSON that others wrote: what is missing or of another type has a default.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tfabric::setup {

using Json = nlohmann::json;

// Nothing if it is no JSON.
[[nodiscard]] std::optional<Json> parse_json(const std::string& text);
// In one piece or indented; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string to_text(const Json& json, int indent = -1);

[[nodiscard]] std::string text_of(const Json& json, const char* key);
[[nodiscard]] std::int64_t number_of(const Json& json, const char* key, std::int64_t otherwise = 0);
[[nodiscard]] bool flag_of(const Json& json, const char* key);
[[nodiscard]] std::vector<std::string> texts_of(const Json& json, const char* key);
// An empty array if there is none.
[[nodiscard]] const Json& array_of(const Json& json, const char* key);
// null if there is none.
[[nodiscard]] const Json& part_of(const Json& json, const char* key);

}  // namespace tfabric::setup
