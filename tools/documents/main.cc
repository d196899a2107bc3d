// Writes the manual pages and the shells' completions: tfabric_documents DOCS OUTPUT, both folders. Part of
// the build; it is not installed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

#include "tools/documents/command.h"
#include "tools/documents/completion.h"
#include "tools/documents/pages.h"
#include "tools/program.h"

namespace {

bool write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) {
    fmt::print(stderr, "tfabric_documents: cannot write {}\n", path.string());
  }
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: tfabric_documents DOCS OUTPUT\n");
    return 2;
  }
  CLI::App app;
  int exit_code = 0;
  tfabric::tools::define_command_line(app, exit_code);
  const tfabric::documents::Command command = tfabric::documents::describe(app);
  const auto pages = tfabric::documents::manual_pages(command, argv[1]);
  if (!pages) {
    fmt::print(stderr, "tfabric_documents: {}\n", pages.error().message);
    return 1;
  }
  const std::filesystem::path output = argv[2];
  bool written = write(output / "tfabric.bash", tfabric::documents::bash_completion(command)) &&
                 write(output / "_tfabric", tfabric::documents::zsh_completion(command));
  for (const auto& page : *pages) {
    written = written && write(output / page.file, page.text);
  }
  return written ? 0 : 1;
}
