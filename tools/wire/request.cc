#include "tools/wire/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tfabric::wire {
namespace {

// Takes the first word with that prefix away, and gives what follows the prefix; empty if there is none.
std::string take_word(std::vector<std::string>& words, std::string_view prefix) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const std::string& word) { return word.starts_with(prefix); });
  if (found == words.end()) {
    return {};
  }
  std::string value = found->substr(prefix.size());
  words.erase(found);
  return value;
}

}  // namespace

Result<Request> parse_request(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::string verb;
  stream >> verb;
  Request request;
  for (std::string word; stream >> word;) {
    request.words.push_back(std::move(word));
  }
  if (verb == "set") {
    request.kind = Request::Kind::set;
    request.to = take_word(request.words, "to=");
    request.path = take_word(request.words, "path=");
    if (request.words.empty()) {
      return Error{Errc::invalid_usage, "set needs something to set, as in: set loss=1% delay=5ms"};
    }
    return request;
  }
  if (verb == "stats" || verb == "settings") {
    request.kind = verb == "stats" ? Request::Kind::stats : Request::Kind::settings;
    request.json = request.words == std::vector<std::string>{"--json"};
    if (!request.words.empty() && !request.json) {
      return Error{Errc::invalid_usage, fmt::format("{} takes nothing but --json", verb)};
    }
    return request;
  }
  if (verb == "stop" && request.words.empty()) {
    request.kind = Request::Kind::stop;
    return request;
  }
  return Error{
      Errc::invalid_usage,
      fmt::format("\"{}\" is no command: expected set [to=PORT] [path=NUMBER] SETTING=VALUE..., settings "
                  "[--json], stats [--json] or stop",
                  line)};
}

}  // namespace tfabric::wire
