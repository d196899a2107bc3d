// Access to JSON that other programs wrote, or that may have been edited: a member that is missing or has
// another type reads as a default instead of failing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tfabric::setup {

using Json = nlohmann::json;

// Returns nothing if `text` is not valid JSON.
[[nodiscard]] std::optional<Json> parse_json(const std::string& text);
// Writes one line, or indented lines if `indent` >= 0. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string to_text(const Json& json, int indent = -1);

// These return the member `key` of an object, or a default: "", `otherwise`, false, no texts.
[[nodiscard]] std::string text_of(const Json& json, const char* key);
[[nodiscard]] std::int64_t number_of(const Json& json, const char* key, std::int64_t otherwise = 0);
[[nodiscard]] bool flag_of(const Json& json, const char* key);
// The strings of an array; other elements are skipped.
[[nodiscard]] std::vector<std::string> texts_of(const Json& json, const char* key);
// By reference into `json`; an empty array by default.
[[nodiscard]] const Json& array_of(const Json& json, const char* key);
// By reference into `json`, of any type; null by default.
[[nodiscard]] const Json& part_of(const Json& json, const char* key);

}  // namespace tfabric::setup
