#include "observe/schema.h"

#include <array>
#include <cstddef>

namespace tfabric::observe {
namespace {

// The fields of each table are in a namespace of its name.
// clang-format off
#define TF_FIELD(member, type, unit, kind, ...)                                             \
  Field{#member, static_cast<std::uint16_t>(sizeof(SlotHeader) + offsetof(Shown, member)),  \
        sizeof(Shown::member), Type::type, Unit::unit, Kind::kind, Metric{__VA_ARGS__}},
#define TF_TABLE(Facts, table, slots) namespace table { using Shown = Facts; constexpr std::array kFields{
#define TF_NUMBER(member, unit, kind, ...) TF_FIELD(member, unsigned_number, unit, kind, __VA_ARGS__)
#define TF_SIGNED(member, initial, unit, kind) TF_FIELD(member, signed_number, unit, kind)
#define TF_TEXT(member, bytes, kind) TF_FIELD(member, text, none, kind)
#define TF_END }; }
// clang-format on
#include "observe/facts.def"
#undef TF_FIELD

constexpr std::array kTableSchemas{
#define TF_TABLE(Facts, table, slots) TableSchema{#table, slots, sizeof(Facts), table::kFields},
#include "observe/facts.def"
};

}  // namespace

std::span<const TableSchema> tables() { return kTableSchemas; }

const TableSchema& schema_of(Table table) { return kTableSchemas[static_cast<std::size_t>(table)]; }

}  // namespace tfabric::observe
