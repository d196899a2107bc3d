#include "tools/stat/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "observe/page_file.h"
#include "observe/schema.h"

namespace tfabric::stat {
namespace {

using nlohmann::json;
using observe::ReadField, observe::ReadRow, observe::ReadTable, observe::Type;

// Of a document: the parser needs many times the bytes of what is nested or tiny.
constexpr std::size_t kMostRows = 65536, kMostProcesses = 4096, kDeepest = 8;
constexpr std::size_t kLongestText = 256;
// Times are differences of these, which must not overflow.
constexpr std::uint64_t kLatest = std::uint64_t{1} << 62;

Error wrong(const std::string& what) {
  return {Errc::remote, "what it sends is not from `tfabric stat --serve`: " + what};
}

// A document of the tool has six levels; a stranger's could have millions.
bool too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) {
        return true;
      }
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

// Null if there is no such member.
const json* member(const json& of, const char* name) {
  const auto found = of.find(name);
  return found == of.end() ? nullptr : &*found;
}

// Zero if there is none.
Result<std::uint64_t> number_in(const json& of, const char* name, std::uint64_t most) {
  const json* value = member(of, name);
  if (value == nullptr) {
    return std::uint64_t{0};
  }
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
    return wrong(fmt::format("\"{}\" is not a number from 0 to {}", name, most));
  }
  return value->get<std::uint64_t>();
}

// Empty if there is none.
Result<std::string> text_of(const json& of, const char* name) {
  const json* value = member(of, name);
  if (value == nullptr) {
    return std::string();
  }
  if (!value->is_string()) {
    return wrong(fmt::format("\"{}\" is no text", name));
  }
  return observe::text_in(std::string_view(value->get_ref<const std::string&>()).substr(0, kLongestText));
}

ReadTable empty_table(const observe::TableSchema& schema) {
  ReadTable table;
  for (const observe::Field& field : schema.fields) {
    table.fields.push_back({.name = field.name,
                            .offset = field.offset,
                            .size = field.size,
                            .type = field.type,
                            .unit = field.unit,
                            .kind = field.kind});
  }
  return table;
}

Status put_value(const json& value, const ReadField& field, ReadRow& row) {
  std::byte* const to = &row.slot[field.offset];
  if (field.type == Type::text && value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::memcpy(to, text.data(), std::min<std::size_t>(text.size(), field.size - 1U));
    return {};
  }
  if (field.type == Type::unsigned_number && value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    std::memcpy(to, &number, sizeof number);
    return {};
  }
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (field.type == Type::signed_number && fits) {
    const auto number = value.get<std::int64_t>();
    std::memcpy(to, &number, sizeof number);
    return {};
  }
  return wrong(fmt::format("a row's \"{}\" has another type", field.name));
}

Status read_rows(const json& from, const observe::TableSchema& schema, std::size_t& room, ReadTable& table) {
  const json* rows = from.is_object() ? member(from, "rows") : nullptr;
  if (rows == nullptr || !rows->is_array() || rows->size() > std::min<std::size_t>(room, schema.slots)) {
    return wrong(fmt::format("the table \"{}\" has no rows, or too many", schema.name));
  }
  const auto left_out = number_in(from, "left_out", kLatest);
  if (!left_out) {
    return left_out.error();
  }
  table = empty_table(schema);
  table.left_out = *left_out;
  room -= rows->size();
  for (const json& each : *rows) {
    ReadRow row{.slot = std::vector<std::byte>(sizeof(observe::SlotHeader) + schema.fact_bytes)};
    const auto id = each.is_object() ? number_in(each, "id", std::numeric_limits<std::uint64_t>::max())
                                     : wrong("a row is no object");
    if (!id) {
      return id.error();
    }
    row.id = *id;
    for (const ReadField& field : table.fields) {
      const json* value = member(each, field.name.c_str());
      if (value == nullptr) {
        continue;
      }
      if (Status status = put_value(*value, field, row); !status) {
        return status;
      }
    }
    table.rows.push_back(std::move(row));
  }
  return {};
}

Status read_tables(const json& process, std::size_t& room, observe::Snapshot& snapshot) {
  const json* tables = member(process, "tables");
  if (tables == nullptr || !tables->is_object()) {
    return wrong("a process has no tables");
  }
  for (const observe::TableSchema& schema : observe::tables()) {
    if (const json* table = member(*tables, schema.name)) {
      if (Status status = read_rows(*table, schema, room, snapshot.tables[schema.name]); !status) {
        return status;
      }
    }
  }
  return {};
}

Status read_texts(const json& process, observe::Snapshot& snapshot) {
  const std::pair<const char*, std::string*> texts[] = {
      {"host", &snapshot.host}, {"job", &snapshot.job}, {"transport", &snapshot.transport}};
  for (const auto& [name, to] : texts) {
    auto text = text_of(process, name);
    if (!text) {
      return text.error();
    }
    *to = std::move(*text);
  }
  return {};
}

Status read_numbers(const json& process, observe::Snapshot& snapshot) {
  std::uint64_t taken_at = 0;
  const std::pair<const char*, std::uint64_t*> numbers[] = {{"taken_at", &taken_at},
                                                            {"process_started", &snapshot.process_started},
                                                            {"made_at", &snapshot.made_at}};
  for (const auto& [name, to] : numbers) {
    const auto number = number_in(process, name, kLatest);
    if (!number) {
      return number.error();
    }
    *to = *number;
  }
  snapshot.taken_at = Instant(std::chrono::nanoseconds(taken_at));
  // -1: unknown.
  const json* rank = member(process, "rank");
  if (rank != nullptr && *rank != -1) {
    const auto number = number_in(process, "rank", std::numeric_limits<std::uint32_t>::max());
    if (!number) {
      return number.error();
    }
    snapshot.rank = static_cast<std::int64_t>(*number);
  }
  return {};
}

bool is_true(const json& process, const char* name) {
  const json* value = member(process, name);
  return value != nullptr && *value == true;
}

Result<observe::FoundPage> read_process(const json& process, std::size_t& room) {
  if (!process.is_object()) {
    return wrong("a process is no object");
  }
  const auto pid = number_in(process, "pid", std::numeric_limits<std::uint32_t>::max());
  if (!pid) {
    return pid.error();
  }
  observe::FoundPage page{.pid = static_cast<std::uint32_t>(*pid),
                          .stopped = is_true(process, "stopped"),
                          .snapshot = observe::Snapshot{}};
  page.elsewhere = is_true(process, "other_pid_namespace");
  if (is_true(process, "ended")) {
    const auto ago = number_in(process, "ended_ns", kLatest);
    if (!ago) {
      return ago.error();
    }
    page.ended = Duration(static_cast<Duration::rep>(*ago));
  }
  if (member(process, "error") != nullptr) {
    const auto why = text_of(process, "error");
    page.snapshot = why ? Error{Errc::remote, *why} : why.error();
    return page;
  }
  page.snapshot->pid = page.pid;
  for (const Status& status : {read_texts(process, *page.snapshot), read_numbers(process, *page.snapshot),
                               read_tables(process, room, *page.snapshot)}) {
    if (!status) {
      return status.error();
    }
  }
  return page;
}

}  // namespace

Result<RemotePages> from_json(std::string_view text) {
  if (text.size() > kMostJsonBytes || too_deep(text)) {
    return wrong("it is too large, or too deep");
  }
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const json* processes = document.is_object() ? member(document, "processes") : nullptr;
  if (processes == nullptr || !processes->is_array() || processes->size() > kMostProcesses) {
    return wrong("it is no JSON with \"processes\"");
  }
  const auto closed = number_in(document, "closed_to_this_user", kLatest);
  auto version = text_of(document, "version");
  if (!closed || !version) {
    return closed ? version.error() : closed.error();
  }
  RemotePages pages{.version = std::move(*version), .found = {.closed_to_us = *closed}};
  std::size_t room = kMostRows;
  for (const json& each : *processes) {
    auto page = read_process(each, room);
    if (!page) {
      return page.error();
    }
    pages.found.pages.push_back(std::move(*page));
  }
  return pages;
}

}  // namespace tfabric::stat
