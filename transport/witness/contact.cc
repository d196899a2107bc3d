#include "transport/witness/contact.h"

#include <cstring>

#include "base/little_endian.h"

namespace tfabric::witness {
namespace {

// The fields: process, address, port.
constexpr std::size_t kAddressAt = 8, kPortAt = 24;

}  // namespace

void encode(const Contact& contact, std::span<std::byte, kContactBytes> bytes) {
  put_little_endian(bytes.data(), contact.process);
  std::memcpy(&bytes[kAddressAt], contact.address.data(), contact.address.size());
  put_little_endian(&bytes[kPortAt], contact.port);
}

Contact decode_contact(std::span<const std::byte, kContactBytes> bytes) {
  Contact contact{.process = get_little_endian<std::uint64_t>(bytes.data()),
                  .port = get_little_endian<std::uint16_t>(&bytes[kPortAt])};
  std::memcpy(contact.address.data(), &bytes[kAddressAt], contact.address.size());
  return contact;
}

}  // namespace tfabric::witness
