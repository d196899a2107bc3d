// Boost.Beast and Boost.Asio, headers only, as serve.cc and fetch.cc use them. Nothing else of the project
// includes them: each file that does takes seconds to compile.
#pragma once

// Beast 1.74 uses std::exchange without its header, which C++20's other headers no longer bring.
// clang-format off
#include <utility>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
// clang-format on

namespace tfabric::stat {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

// Of a request or an answer, before its body.
inline constexpr std::uint32_t kMostHeaderBytes = 8192;

}  // namespace tfabric::stat
