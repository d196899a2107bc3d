#include "tools/control/frames.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/big_endian.h"
#include "tools/control/limits.h"

namespace tfabric::control {
namespace {

// Looks at a text without building anything of it, and stops at the first excess.
class Measure : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool key(string_t&) override { return value(); }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    fault_ = "what is no JSON";
    return false;
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  bool value() {
    if (++values_ > kMaxValues) {
      fault_ = fmt::format("a message of more than {} values", kMaxValues);
    }
    return fault_.empty();
  }
  bool enter() {
    if (++depth_ > kMaxDepth) {
      fault_ = fmt::format("a message that is nested deeper than {} levels", kMaxDepth);
      return false;
    }
    return value();
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::size_t values_ = 0;
  std::size_t depth_ = 0;
  std::string fault_;
};

}  // namespace

std::string frame_of(const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string frame(kFrameHeaderBytes, '\0');
  put_big_endian(reinterpret_cast<std::byte*>(frame.data()), static_cast<std::uint32_t>(text.size()));
  return frame + text;
}

std::size_t frame_length(std::span<const char, kFrameHeaderBytes> header) {
  return get_big_endian<std::uint32_t>(std::as_bytes(header).data());
}

Result<Json> parse_message(std::string_view text) {
  // Twice over the text: what Json::parse builds is as large as what it is given.
  Measure measure;
  if (!Json::sax_parse(text, &measure)) {
    return Error{Errc::remote, measure.fault()};
  }
  Json message = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!message.is_object()) {
    return Error{Errc::remote, "JSON that is no object"};
  }
  return message;
}

Status FrameReader::take(std::span<const char> bytes) {
  if (fault_) {
    return *fault_;
  }
  input_.insert(input_.end(), bytes.begin(), bytes.end());
  Status taken = take_frames();
  if (!taken) {
    fault_ = taken.error();
    input_ = {};
  }
  return taken;
}

Status FrameReader::take_frames() {
  std::size_t at = 0;
  while (input_.size() - at >= kFrameHeaderBytes) {
    const std::size_t length =
        frame_length(std::span<const char, kFrameHeaderBytes>(input_.data() + at, kFrameHeaderBytes));
    if (length > kMaxFrameBytes) {
      return Error{Errc::remote,
                   fmt::format("a message of {} bytes, where {} are the most", length, kMaxFrameBytes)};
    }
    if (input_.size() - at - kFrameHeaderBytes < length) {
      break;
    }
    if (messages_.size() == kMaxWaitingMessages) {
      return Error{Errc::remote,
                   fmt::format("more than {} messages that nothing asked for", kMaxWaitingMessages)};
    }
    auto message = parse_message({input_.data() + at + kFrameHeaderBytes, length});
    if (!message) {
      return message.error();
    }
    messages_.push_back(std::move(*message));
    at += kFrameHeaderBytes + length;
  }
  input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(at));
  return {};
}

std::optional<Json> FrameReader::next() {
  if (messages_.empty()) {
    return std::nullopt;
  }
  Json message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace tfabric::control
