#include "tools/control/greeting.h"

#include <fmt/format.h>

#include "tools/control/fields.h"
#include "tools/control/token.h"

namespace tfabric::control {
namespace {

// Changes with every incompatible change of any message of any service.
constexpr const char* kProtocol = "tfabric-control-2";
constexpr const char *kGreeting = "greeting", *kService = "service", *kToken = "token", *kWelcome = "welcome";

}  // namespace

nlohmann::json greeting_of(const Invitation& invitation) {
  return {{kGreeting, kProtocol}, {kService, invitation.service}, {kToken, invitation.token}};
}

nlohmann::json welcome() { return {{kWelcome, kProtocol}}; }

Admission admit(const nlohmann::json& greeting, const Invitation& invitation) {
  // The token first: without it, nothing else of the message matters.
  Fields fields(greeting, "the client");
  const std::string token = fields.raw_text(kToken, kMaxTokenBytes);
  if (!fields.status()) {
    return {.refusal = "it shows no token", .told = {}};
  }
  if (!same_token(token, invitation.token)) {
    return {.refusal = "it shows another token than this one", .told = {}};
  }
  const std::string protocol = fields.raw_text(kGreeting, kMaxTokenBytes);
  const std::string service = fields.text(kService, kMaxTokenBytes);
  if (!fields.status() || protocol != kProtocol) {
    return {.refusal = "it is of another version of tfabric",
            .told = "this tfabric is of another version: run the same one on both hosts"};
  }
  if (service != invitation.service) {
    return {
        .refusal = fmt::format("it expects `{} --listen`", service),
        .told = fmt::format("`{} --listen` runs there, and not `{} --listen`", invitation.service, service)};
  }
  return {.refusal = {}, .told = {}};
}

Status read_welcome(const nlohmann::json& answer, const std::string& listener) {
  Fields fields(answer, listener);
  const std::string protocol = fields.raw_text(kWelcome, kMaxTokenBytes);
  if (!fields.status()) {
    return fields.status();
  }
  if (protocol != kProtocol) {
    return Error{Errc::remote,
                 fmt::format("{} is of another version: run the same one on both hosts", listener)};
  }
  return {};
}

}  // namespace tfabric::control
