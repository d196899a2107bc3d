#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>

#include "config/reading.h"

// Header-only, because a container may lack Debian's shared library.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
// toml++ violates its own assertion in parse_key() for "[[[" or "[&", and handles the input correctly all the
// same (its issue 294). The assertion would end the application because of a malformed file, and under NDEBUG
// it would become an assumption for Clang's optimizer.
#define TOML_ASSERT(condition) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "config/keys.h"
#include "config/value.h"

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

  // Returns a value as text in the form that keys accept; nothing if it is a table or of another type.
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
    return std::nullopt;
  }

  // Returns an array of texts joined by '+', as in the environment; nothing if it is of another type.
  static std::optional<std::string> list_of(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      return std::nullopt;
    }
    std::vector<std::string> texts;
    for (const toml::node& item : *list) {
      const auto text = item.value_exact<std::string>();
      if (!text) {
        return std::nullopt;
      }
      texts.push_back(*text);
    }
    return fmt::format("{}", fmt::join(texts, "+"));
  }

  void read_entry(const std::string& key, const toml::node& node, const std::string& section) {
    const std::string name = section.empty() ? key : section + "." + key;
    if (name == "tcp.rails") {
      read_rails(node);
      return;
    }
    if (section.empty() && is_section(key)) {
      read_section(key, node);
      return;
    }
    const auto all = keys();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Key& k) { return k.name == name; });
    if (found == all.end()) {
      unknown(name, node);
      return;
    }
    const auto text = text_of(node);
    if (!text || !found->set(config_, *text)) {
      errors_.push_back(fmt::format("{}: `{}` is {}, expected {}", where(node), name,
                                    text ? "\"" + *text + "\"" : std::string("of another type"),
                                    found->expected));
      return;
    }
    origins_[name] = where(node);
  }

  void read_section(const std::string& section, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      errors_.push_back(
          fmt::format("{0}: `{1}` is a section: write [{1}], and its keys below", where(node), section));
      return;
    }
    for (const auto& [inner, value] : *table) {
      read_entry(std::string(inner.str()), value, section);
    }
  }

  void unknown(const std::string& name, const toml::node& node) {
    if (const std::string why = why_gone(name); !why.empty()) {
      errors_.push_back(fmt::format("{}: `{}` {}", where(node), name, why));
      return;
    }
    const bool section = node.is_table() || node.is_array_of_tables();
    std::vector<std::string> known = key_names();
    known.insert(known.end(), kSections.begin(), kSections.end());
    known.emplace_back("tcp.rails");
    errors_.push_back(fmt::format("{}: unknown {} `{}`{}", where(node), section ? "section" : "key", name,
                                  suggestion(name, known)));
  }

  static bool is_section(const std::string& name) {
    return std::find(kSections.begin(), kSections.end(), name) != kSections.end();
  }

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
      rail.where = where(item);
      for (const auto& [key, value] : *table) {
        read_rail_key(rail, std::string(key.str()), value);
      }
      config_.tcp.rails.push_back(std::move(rail));
    }
    origins_["tcp.rails"] = where(node);
  }

  void read_rail_key(Rail& rail, const std::string& key, const toml::node& node) {
    const RailKey* known = find_rail_key(key);
    auto text = text_of(node);
    if (!text && known != nullptr && known->list) {
      text = list_of(node);
    }
    if (known != nullptr && !text) {
      errors_.push_back(
          fmt::format("{}: `{}` is of another type, expected {}", where(node), key, known->expected));
      rail.malformed = true;
      return;
    }
    set_rail_key(rail, key, text.value_or(""), where(node), errors_);
  }

  static constexpr std::array<std::string_view, 7> kSections{"rails",   "tcp",   "rdma",  "engine",
                                                             "observe", "fault", "memory"};

  const std::string& path_;
  Config& config_;
  std::map<std::string, std::string>& origins_;
  std::vector<std::string>& errors_;
};

constexpr std::size_t kMaxFileBytes = 1u << 20;

// Returns the file's bytes, or nothing if there are more than kMaxFileBytes.
std::optional<std::string> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> block;
  while (text.size() <= kMaxFileBytes && (file.read(block.data(), block.size()) || file.gcount() > 0)) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text.size() > kMaxFileBytes ? std::nullopt : std::optional(std::move(text));
}

bool is_outside_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

// Returns the line without its comment. A # in quotes begins none.
std::string_view without_comment(std::string_view line) {
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote == '"' && line[i] == '\\') {
      ++i;
    } else if (quote != '\0') {
      quote = line[i] == quote ? '\0' : quote;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

// Returns the number of the first line that has a character outside ASCII before its comment; 0 if there is
// none.
std::size_t line_outside_ascii(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = without_comment(take_until(text, '\n'));
    if (std::any_of(line.begin(), line.end(), is_outside_ascii)) {
      return number;
    }
  }
  return 0;
}

// Returns line `number` of the text, from 1.
std::string_view line_of(std::string_view text, std::size_t number) {
  std::string_view line;
  for (std::size_t i = 0; i < number; ++i) {
    line = take_until(text, '\n');
  }
  return line;
}

// Returns what to do if the line has a text without quotes, as in `transport = tcp`; an empty text if it has
// not.
std::string missing_quotes(std::string_view line) {
  const std::string key = trimmed(take_until(line, '='));
  const std::string value = trimmed(without_comment(line));
  const bool quoted =
      value.empty() || std::string_view("\"'[{").find(value.front()) != std::string_view::npos;
  if (key.empty() || quoted || value.find('"') != std::string::npos) {
    return {};
  }
  return parse_bool(value) ? fmt::format(": write {} = {}", key, *parse_bool(value) ? "true" : "false")
                           : fmt::format(": a text is written in quotes: {} = \"{}\"", key, value);
}

}  // namespace

void read_toml(const std::string& path, Config& config, std::map<std::string, std::string>& origins,
               std::vector<std::string>& errors) {
  auto text = read_bytes(path);
  if (!text) {
    errors.push_back(
        fmt::format("{} is larger than {} bytes, expected a configuration", path, kMaxFileBytes));
    return;
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text->starts_with(kByteOrderMark)) {
    text->erase(0, kByteOrderMark.size());
  }
  if (const std::size_t line = line_outside_ascii(*text); line != 0) {
    errors.push_back(
        fmt::format("{}:{}: a character that is not ASCII, which only a comment may have", path, line));
    return;
  }
  // In comments, too, they would lead toml++ 3.3 into code that it marks unreachable.
  std::replace_if(text->begin(), text->end(), is_outside_ascii, '?');
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const auto line = error.source().begin.line;
    errors.push_back(
        fmt::format("{}:{}: {}{}", path, line, error.description(), missing_quotes(line_of(*text, line))));
    return;
  }
  Reader(path, config, origins, errors).read(parsed.table());
}

}  // namespace tfabric::config
