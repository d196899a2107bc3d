// A host's /sys and /proc, in a temporary folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "host/sysfs.h"
#include "tests/temporary_folder.h"

namespace tfabric::test {

class FakeHost {
 public:
  [[nodiscard]] const std::string& root() const { return folder_.path(); }
  [[nodiscard]] host::Sysfs sysfs() const { return host::Sysfs(folder_.path() + "/sys"); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // Creates `target` as a folder, and a link to it. Both paths are below the root.
  void link(const std::string& path, const std::string& target) const {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_directories(folder_.path() + target);
    std::filesystem::create_symlink(folder_.path() + target, file);
  }
  // Adds a PCI function with the files that every function has; returns its folder.
  std::string add_function(const std::string& address, const std::string& class_code = "0x020000") const {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    write(folder + "/class", class_code + "\n");
    write(folder + "/vendor", "0x1af4\n");
    write(folder + "/device", "0x1041\n");
    return folder;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace tfabric::test
