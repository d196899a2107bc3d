#include "tools/stat/json.h"

#include <nlohmann/json.hpp>

#include "base/version.h"

namespace tfabric::stat {
namespace {

nlohmann::json row_of(const observe::ReadTable& table, const observe::ReadRow& row) {
  nlohmann::json json{{"id", row.id}};
  for (const observe::ReadField& field : table.fields) {
    switch (field.type) {
      case observe::Type::unsigned_number:
        json[field.name] = table.number(row, field.name).value_or(0);
        break;
      case observe::Type::signed_number:
        json[field.name] = table.integer(row, field.name).value_or(0);
        break;
      case observe::Type::text:
        json[field.name] = table.text(row, field.name);
        break;
    }
  }
  return json;
}

nlohmann::json process_of(const observe::FoundPage& page) {
  nlohmann::json json{{"pid", page.pid},
                      {"stopped", page.stopped},
                      {"ended", page.ended.has_value()},
                      {"other_pid_namespace", page.elsewhere}};
  if (page.ended) {
    json["ended_ns"] = page.ended->count();
  }
  if (!page.snapshot) {
    json["error"] = page.snapshot.error().message;
    return json;
  }
  const observe::Snapshot& snapshot = *page.snapshot;
  json["host"] = snapshot.host;
  json["job"] = snapshot.job;
  json["rank"] = snapshot.rank;
  json["transport"] = snapshot.transport;
  json["process_started"] = snapshot.process_started;
  json["made_at"] = snapshot.made_at;
  json["taken_at"] = snapshot.taken_at.time_since_epoch().count();
  for (const auto& [name, table] : snapshot.tables) {
    nlohmann::json rows = nlohmann::json::array();
    for (const observe::ReadRow& row : table.rows) {
      rows.push_back(row_of(table, row));
    }
    json["tables"][name] = {{"rows", std::move(rows)}, {"left_out", table.left_out}};
  }
  return json;
}

}  // namespace

nlohmann::json to_json(const observe::Found& found) {
  nlohmann::json processes = nlohmann::json::array();
  for (const observe::FoundPage& page : found.pages) {
    processes.push_back(process_of(page));
  }
  return {{"version", version()},
          {"processes", std::move(processes)},
          {"closed_to_this_user", found.closed_to_us},
          {"closed_files", found.closed_files}};
}

}  // namespace tfabric::stat
