#include "tools/documents/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/version.h"
#include "config/config.h"
#include "config/keys.h"
#include "tools/documents/command_parts.h"
#include "tools/documents/markdown.h"
#include "tools/documents/roff.h"

namespace tfabric::documents {
namespace {

// What a sub-command's page has of its document: the beginning, and these sections. Tables of options and
// exit codes are left out, which the definitions have.
struct Origin {
  const char* command;
  const char* document;
  std::vector<const char*> sections;
};

std::vector<Origin> origins() {
  return {
      {"check", "check.md", {"Two hosts", "For scripts"}},
      {"dump", "night-duty.md", {"What was on the wire"}},
      {"fault", "rehearsal.md", {"In a running job"}},
      {"info", "tfabric-info.md", {"All sub-commands"}},
      {"perf", "perf.md", {"Control connections"}},
      {"setup", "setup.md", {"Which NICs", "What it does", "Files", "Undo", "After a reboot", "Containers"}},
      {"stat",
       "night-duty.md",
       {"A first look", "From symptom to cause", "What the log says of a hang", "Comms and flows",
        "What it sees, and what it costs", "What is slow", "Over the network", "For programs"}},
  };
}

void add_see_also(const Command& tfabric, const std::string& own, const char* document, RoffPage& page) {
  std::vector<std::string> pages{"tfabric.toml(5)"};
  if (own != tfabric.name) {
    pages.emplace_back("tfabric(1)");
  }
  for (const Origin& each : origins()) {
    const std::string name = tfabric.name + "-" + each.command;
    if (name != own) {
      pages.push_back(name + "(1)");
    }
  }
  std::sort(pages.begin(), pages.end());
  std::string text;
  for (const std::string& each : pages) {
    const std::size_t at = each.find('(');
    text += (text.empty() ? "" : ", ") + bold(each.substr(0, at)) + each.substr(at);
  }
  page.heading("See also");
  page.paragraph(text);
  page.paragraph(fmt::format("The documents that are installed with tfabric, in {} or the like; {} there.",
                             italic("/usr/share/doc/tfabric"), bold(document)));
}

// Exit codes and options that the definitions have already.
bool repeats(const Block& block) {
  if (block.kind != Block::Kind::table) {
    return false;
  }
  const std::string& first = block.rows.front().front();
  return first == "exit code" || first == "exit status" || first == "option";
}

Result<std::vector<Block>> read_document(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) {
    return Error{Errc::invalid_argument, fmt::format("cannot read {}, which a manual page is made of", path)};
  }
  return parse_markdown(text);
}

Status add_document(const Origin& origin, const std::string& docs, RoffPage& page) {
  Result<std::vector<Block>> document = read_document(docs + "/" + origin.document);
  if (!document) {
    return document.error();
  }
  std::erase_if(*document, repeats);
  for (const char* title : origin.sections) {
    const std::vector<Block> section = section_of(*document, title);
    if (section.empty()) {
      return Error{Errc::invalid_argument,
                   fmt::format("{}/{} has no section \"{}\"; tools/documents/pages.cc names it", docs,
                               origin.document, title)};
    }
    page.heading(title);
    add_blocks(section, page);
  }
  return {};
}

Result<ManualPage> command_page(const Command& tfabric, const Origin& origin, const std::string& docs) {
  const auto found = std::find_if(tfabric.commands.begin(), tfabric.commands.end(),
                                  [&](const Command& each) { return each.name == origin.command; });
  if (found == tfabric.commands.end()) {
    return Error{Errc::invalid_argument, fmt::format("there is no sub-command {}", origin.command)};
  }
  const Command& command = *found;
  const std::string name = tfabric.name + "-" + command.name;
  RoffPage page(name, 1, version());
  page.heading("Name");
  page.paragraph(roff_text(name, /*code=*/true) + " \\- " + roff_text(short_text(command)));
  page.heading("Synopsis");
  page.paragraph(synopsis(command));
  for (const Command& each : command.commands) {
    page.paragraph(synopsis(each));
  }
  Result<std::vector<Block>> document = read_document(docs + "/" + origin.document);
  if (!document) {
    return document.error();
  }
  std::erase_if(*document, repeats);
  page.heading("Description");
  add_blocks(section_of(*document, ""), page);
  page.heading("Options");
  add_options(command, page);
  for (const Command& each : command.commands) {
    page.subheading(each.full_name);
    page.paragraph(roff_inline(sentence(each.text)));
    add_options(each, page);
  }
  add_exit_codes(command.footer, page);
  if (Status added = add_document(origin, docs, page); !added) {
    return added.error();
  }
  add_see_also(tfabric, name, origin.document, page);
  return ManualPage{name + ".1", page.text()};
}

ManualPage overview(const Command& tfabric) {
  RoffPage page(tfabric.name, 1, version());
  page.heading("Name");
  page.paragraph(roff_text(tfabric.name) + " \\- " + roff_text(short_text(tfabric)));
  page.heading("Synopsis");
  page.paragraph(bold(tfabric.name) + " " + italic("SUBCOMMAND") + " [" + italic("OPTION") + "]...");
  page.heading("Description");
  page.paragraph(roff_inline(
      "tfabric is a network plugin for NCCL: `libnccl-net.so`, which NCCL loads into each rank of a job. "
      "This "
      "program prepares a host for it, checks the host, shows what NCCL would see, and measures."));
  page.paragraph(roff_inline(tfabric.footer.substr(tfabric.footer.find('\n') + 1)));
  page.heading("Sub-commands");
  for (const Command& each : tfabric.commands) {
    page.term(bold(each.name), roff_inline(sentence(each.text)));
  }
  page.heading("Options");
  add_options(tfabric, page);
  add_exit_codes(tfabric.footer, page);
  page.heading("Environment");
  page.term(bold(config::kFileVariable), "The configuration file, instead of those below.");
  page.term(bold("TFABRIC_") + italic("KEY"),
            roff_inline("Each key of the configuration has a variable: tfabric.toml(5)."));
  page.heading("Files");
  for (const std::string& file : config::default_files()) {
    page.term(italic(file), "The configuration; the first of these files that exists is used.");
  }
  add_see_also(tfabric, tfabric.name, "administrator.md", page);
  return {tfabric.name + ".1", page.text()};
}

Result<ManualPage> configuration_page(const Command& tfabric, const std::string& docs) {
  const Result<std::vector<Block>> document = read_document(docs + "/configuration.md");
  if (!document) {
    return document.error();
  }
  RoffPage page("tfabric.toml", 5, version());
  page.heading("Name");
  page.paragraph("tfabric.toml \\- configuration of tfabric, a network plugin for NCCL");
  page.heading("Description");
  add_blocks(*document, page);
  add_see_also(tfabric, "tfabric.toml", "configuration.md", page);
  return ManualPage{"tfabric.toml.5", page.text()};
}

}  // namespace

Result<std::vector<ManualPage>> manual_pages(const Command& tfabric, const std::string& docs) {
  std::vector<ManualPage> pages{overview(tfabric)};
  for (const Origin& origin : origins()) {
    Result<ManualPage> page = command_page(tfabric, origin, docs);
    if (!page) {
      return page.error();
    }
    pages.push_back(std::move(*page));
  }
  Result<ManualPage> page = configuration_page(tfabric, docs);
  if (!page) {
    return page.error();
  }
  pages.push_back(std::move(*page));
  return pages;
}

}  // namespace tfabric::documents
