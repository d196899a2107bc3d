#include "tools/setup/json.h"

namespace tfabric::setup {

std::optional<Json> parse_json(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? std::nullopt : std::optional(std::move(json));
}

std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

const Json& part_of(const Json& json, const char* key) {
  static const Json kNothing;
  if (!json.is_object()) {
    return kNothing;
  }
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

std::string text_of(const Json& json, const char* key) {
  const Json& part = part_of(json, key);
  return part.is_string() ? part.get<std::string>() : std::string();
}

std::int64_t number_of(const Json& json, const char* key, std::int64_t otherwise) {
  const Json& part = part_of(json, key);
  return part.is_number_integer() ? part.get<std::int64_t>() : otherwise;
}

bool flag_of(const Json& json, const char* key) {
  const Json& part = part_of(json, key);
  return part.is_boolean() && part.get<bool>();
}

const Json& array_of(const Json& json, const char* key) {
  static const Json kEmpty = Json::array();
  const Json& part = part_of(json, key);
  return part.is_array() ? part : kEmpty;
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
  std::vector<std::string> texts;
  for (const Json& entry : array_of(json, key)) {
    if (entry.is_string()) {
      texts.push_back(entry.get<std::string>());
    }
  }
  return texts;
}

}  // namespace tfabric::setup
