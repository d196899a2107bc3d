#include "config/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>

// Header-only: Debian's shared library would be one more file that a container lacks.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "config/keys.h"
#include "config/nearest.h"
#include "config/rails.h"

namespace tfabric::config {
namespace {

class Reader {
 public:
  Reader(const std::string& path, Config& config, std::map<std::string, std::string>& origins,
         std::vector<std::string>& errors)
      : path_(path), config_(config), origins_(origins), errors_(errors) {}

  void read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      read_entry(std::string(key.str()), node, {});
    }
  }

 private:
  [[nodiscard]] std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", path_, node.source().begin.line);
  }

  // A value as the text that the keys' table understands; empty if it is a table or something else.
  static std::optional<std::string> text_of(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) {
      return *text;
    }
    if (const auto flag = node.value_exact<bool>()) {
      return *flag ? "true" : "false";
    }
    if (const auto number = node.value_exact<std::int64_t>()) {
      return std::to_string(*number);
    }
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      return std::nullopt;
    }
    std::string joined;
    for (const toml::node& item : *list) {
      const auto text = item.value_exact<std::string>();
      if (!text) {
        return std::nullopt;
      }
      joined += (joined.empty() ? "" : "+") + *text;
    }
    return joined;
  }

  void read_entry(const std::string& key, const toml::node& node, const std::string& section) {
    const std::string name = section.empty() ? key : section + "." + key;
    if (name == "tcp.rails") {
      read_rails(node);
      return;
    }
    if (const toml::table* table = node.as_table(); table != nullptr && section.empty() && is_section(key)) {
      for (const auto& [inner, value] : *table) {
        read_entry(std::string(inner.str()), value, key);
      }
      return;
    }
    const auto all = keys();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Key& k) { return k.name == name; });
    if (found == all.end()) {
      errors_.push_back(fmt::format("{}: unknown key `{}`{}", where(node), name, suggestion(name, key_names())));
      return;
    }
    const auto text = text_of(node);
    if (!text || !found->set(config_, *text)) {
      errors_.push_back(fmt::format("{}: `{}` is {}, expected {}", where(node), name,
                                    text ? "\"" + *text + "\"" : std::string("of another type"), found->expected));
      return;
    }
    origins_[name] = where(node);
  }

  static bool is_section(const std::string& name) { return name == "tcp" || name == "engine" || name == "memory"; }

  void read_rails(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      errors_.push_back(fmt::format("{}: write each rail as [[tcp.rails]]", where(node)));
      return;
    }
    for (const toml::node& item : *list) {
      const toml::table* table = item.as_table();
      if (table == nullptr) {
        errors_.push_back(fmt::format("{}: write each rail as [[tcp.rails]]", where(item)));
        continue;
      }
      Rail rail;
      for (const auto& [key, value] : *table) {
        if (const auto text = text_of(value)) {
          set_rail_key(rail, key.str(), *text, where(value), errors_);
        } else {
          errors_.push_back(fmt::format("{}: `{}` is of another type than expected", where(value), key.str()));
        }
      }
      config_.tcp.rails.push_back(std::move(rail));
    }
    origins_["tcp.rails"] = where(node);
  }

  const std::string& path_;
  Config& config_;
  std::map<std::string, std::string>& origins_;
  std::vector<std::string>& errors_;
};

}  // namespace

void read_toml(const std::string& path, Config& config, std::map<std::string, std::string>& origins,
               std::vector<std::string>& errors) {
  const toml::parse_result parsed = toml::parse_file(path);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    errors.push_back(fmt::format("{}:{}: {}", path, error.source().begin.line, error.description()));
    return;
  }
  Reader(path, config, origins, errors).read(parsed.table());
}

}  // namespace tfabric::config
