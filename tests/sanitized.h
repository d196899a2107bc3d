// Tells whether the program was built with AddressSanitizer or ThreadSanitizer, which make it many times
// slower and keep freed memory for long.
#pragma once

namespace tfabric::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)  // clang
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tfabric::test
