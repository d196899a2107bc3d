#include "transport/witness/contact.h"

#include <algorithm>
#include <cstring>

#include "base/little_endian.h"

namespace tfabric::witness {
namespace {

// The fields: process, address, token, port.
constexpr std::size_t kAddressAt = 8, kTokenAt = 24, kPortAt = 40;

}  // namespace

void encode(const Contact& contact, std::span<std::byte, kContactBytes> bytes) {
  put_little_endian(bytes.data(), contact.process);
  std::memcpy(&bytes[kAddressAt], contact.address.data(), contact.address.size());
  std::copy(contact.token.begin(), contact.token.end(), bytes.begin() + kTokenAt);
  put_little_endian(&bytes[kPortAt], contact.port);
}

Contact decode_contact(std::span<const std::byte, kContactBytes> bytes) {
  Contact contact{.process = get_little_endian<std::uint64_t>(bytes.data()),
                  .port = get_little_endian<std::uint16_t>(&bytes[kPortAt])};
  std::memcpy(contact.address.data(), &bytes[kAddressAt], contact.address.size());
  std::copy_n(bytes.begin() + kTokenAt, contact.token.size(), contact.token.begin());
  return contact;
}

}  // namespace tfabric::witness
