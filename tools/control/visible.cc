#include "tools/control/visible.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace tfabric::control {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
};

// Decodes the character at the beginning of `text`, which is not empty; returns nothing if it is no UTF-8
// (RFC 3629 §3 and §4): overlong forms, surrogates and numbers above U+10FFFF included.
std::optional<CodePoint> decode(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) {
    return CodePoint{.value = first, .bytes = 1};
  }
  struct Form {
    std::uint32_t mask, lead, least;
  };
  constexpr std::array<Form, 3> kForms{{{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}}};
  for (std::size_t extra = 1; extra <= kForms.size(); ++extra) {
    const Form& form = kForms[extra - 1];
    if ((first & form.mask) != form.lead) {
      continue;
    }
    if (text.size() <= extra) {
      return std::nullopt;
    }
    std::uint32_t value = first & ~form.mask;
    for (std::size_t i = 1; i <= extra; ++i) {
      if ((byte(i) & 0xc0) != 0x80) {
        return std::nullopt;
      }
      value = value << 6 | (byte(i) & 0x3f);
    }
    const bool surrogate = value >= 0xd800 && value <= 0xdfff;
    return value < form.least || value > 0x10ffff || surrogate
               ? std::nullopt
               : std::optional(CodePoint{.value = value, .bytes = extra + 1});
  }
  return std::nullopt;
}

// Controls, and what is not seen but changes how the rest of a line is seen (Unicode's categories Cc, Zl, Zp
// and the Cf characters of general punctuation).
bool is_unseen(std::uint32_t value) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 10> kRanges{{{0x0, 0x1f},
                                                                             {0x7f, 0x9f},
                                                                             {0xad, 0xad},
                                                                             {0x61c, 0x61c},
                                                                             {0x200b, 0x200f},
                                                                             {0x2028, 0x202e},
                                                                             {0x2060, 0x206f},
                                                                             {0xfeff, 0xfeff},
                                                                             {0xfff9, 0xfffb},
                                                                             {0xe0000, 0xe007f}}};
  for (const auto& [first, last] : kRanges) {
    if (value >= first && value <= last) {
      return true;
    }
  }
  return false;
}

std::string escape(std::uint32_t value) {
  switch (value) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return value < 0x80 ? fmt::format("\\x{:02x}", value) : fmt::format("\\u{{{:x}}}", value);
  }
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::optional<CodePoint> next = decode(text);
    if (!next) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (is_unseen(next->value)) {
      out += escape(next->value);
    } else {
      out += text.substr(0, next->bytes);
    }
    text.remove_prefix(next ? next->bytes : 1);
  }
  return out;
}

std::string visible_lines(std::string_view text) {
  constexpr std::string_view kIndent = "\n    ";
  std::string out;
  for (;;) {
    const std::size_t end = text.find('\n');
    out += visible(text.substr(0, end));
    if (end == std::string_view::npos) {
      return out;
    }
    out += kIndent;
    text.remove_prefix(end + 1);
  }
}

}  // namespace tfabric::control
