// The command line of `tfabric` as data: what manual pages and completions are made of. It is read from the
// definitions by which the program itself parses, so that nothing is described twice.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tfabric::documents {

// Where the values of an option come from, for completion.
enum class Source {
  none,
  words,       // Option::words
  files,       // of this host
  hosts,       // names of hosts
  interfaces,  // the kernel's
  groups,      // of users
};

struct Option {
  std::vector<std::string> names;  // "-b", "--min-bytes"; a positional argument has none
  std::string value;               // "SIZE"; empty: a flag
  Source source = Source::none;
  std::vector<std::string> words;     // the only values, or with `assigned` the beginnings of values
  std::string range;                  // "from 1 to 64"; empty: not a number with bounds
  std::string initial;                // the default; empty: there is none, or the text says it
  std::string text;                   // what it is for
  std::vector<std::string> excludes;  // names of options that cannot be combined with it
  bool repeatable = false;
  bool required = false;
};

struct Command {
  std::string name;                // "perf"
  std::string full_name;           // "tfabric perf"
  std::string text;                // what it is for
  std::string footer;              // the end of its help, with its exit codes
  std::vector<Option> options;     // without hidden ones
  std::vector<Option> positional;  // in their order
  std::vector<Command> commands;
};

// Returns `app` and all that is below it.
[[nodiscard]] Command describe(const CLI::App& app);

}  // namespace tfabric::documents
