#include "observe/pcapng.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tfabric::observe {
namespace {

// Block types, and options of each (draft-ietf-opsawg-pcapng §4). Option 1 is a comment in all of them.
constexpr std::uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kStatistics = 5, kPacket = 6;
constexpr std::uint16_t kEnd = 0, kComment = 1, kApplication = 4, kName = 2, kDescription = 3,
                        kResolution = 9, kFlags = 2, kDropped = 5;
constexpr std::uint16_t kLinkTypeRaw = 101;  // the first byte says whether it is IPv4 or IPv6
constexpr std::size_t kMostText = 8192;

class Block {
 public:
  explicit Block(std::uint32_t type) { put(type).put(std::uint32_t{0}); }

  template <class T>
  Block& put(T value) {  // in the byte order of this machine: the file says which that is
    return append(std::as_bytes(std::span(&value, 1)));
  }
  Block& put_padded(std::span<const std::byte> data) {
    append(data);
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    return *this;
  }
  Block& option(std::uint16_t code, std::span<const std::byte> data) {
    return put(code).put(static_cast<std::uint16_t>(data.size())).put_padded(data);
  }
  // Nothing if the text is empty.
  Block& option(std::uint16_t code, std::string_view text) {
    return text.empty() ? *this : option(code, std::as_bytes(std::span(text.substr(0, kMostText))));
  }
  void append_to(std::vector<std::byte>& file) {
    const auto size = static_cast<std::uint32_t>(bytes_.size() + sizeof(std::uint32_t));
    put(size);
    std::memcpy(&bytes_[sizeof(std::uint32_t)], &size, sizeof size);
    file.insert(file.end(), bytes_.begin(), bytes_.end());
  }

 private:
  Block& append(std::span<const std::byte> data) {
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    return *this;
  }
  std::vector<std::byte> bytes_;
};

}  // namespace

Pcapng::Pcapng(std::string_view application, std::string_view comment) {
  Block section(kSection);
  section.put(std::uint32_t{0x1a2b3c4d}).put(std::uint16_t{1}).put(std::uint16_t{0}).put(std::int64_t{-1});
  if (!application.empty() || !comment.empty()) {
    section.option(kComment, comment).option(kApplication, application);
    section.option(kEnd, std::span<const std::byte>());
  }
  section.append_to(file_);
}

std::uint32_t Pcapng::add_interface(std::string_view name, std::string_view description) {
  constexpr std::array kNanoseconds{std::byte{9}};
  Block(kInterface)
      .put(kLinkTypeRaw)
      .put(std::uint16_t{0})
      .put(std::uint32_t{0})
      .option(kName, name)
      .option(kDescription, description)
      .option(kResolution, kNanoseconds)
      .option(kEnd, std::span<const std::byte>())
      .append_to(file_);
  return interfaces_++;
}

void Pcapng::add(const Packet& packet) {
  const std::uint32_t flags = packet.outbound ? 2 : 1;
  Block(kPacket)
      .put(packet.interface)
      .put(static_cast<std::uint32_t>(packet.time >> 32))
      .put(static_cast<std::uint32_t>(packet.time))
      .put(static_cast<std::uint32_t>(packet.bytes.size()))
      .put(static_cast<std::uint32_t>(std::max(packet.length, packet.bytes.size())))
      .put_padded(packet.bytes)
      .option(kComment, packet.comment)
      .option(kFlags, std::as_bytes(std::span(&flags, 1)))
      .option(kEnd, std::span<const std::byte>())
      .append_to(file_);
}

void Pcapng::add_missing(std::uint32_t interface, std::uint64_t time, std::uint64_t packets) {
  Block(kStatistics)
      .put(interface)
      .put(static_cast<std::uint32_t>(time >> 32))
      .put(static_cast<std::uint32_t>(time))
      .option(kDropped, std::as_bytes(std::span(&packets, 1)))
      .option(kEnd, std::span<const std::byte>())
      .append_to(file_);
}

}  // namespace tfabric::observe
