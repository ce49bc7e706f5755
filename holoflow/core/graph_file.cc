// SPDX-License-Identifier: LGPL-2.1-or-later
// Graph files, and telling files, JSON and chains apart.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "holoflow/core/graph_fault.hh"
#include "holoflow/core/graph_json.hh"
#include "holoflow/core/graph_spec.hh"

namespace holoflow::core {

namespace {

constexpr std::string_view blanks = " \t\r\n";

[[noreturn]] void throw_unreadable(const std::filesystem::path &path, const std::string &why) {
  throw GraphError(
      {Error("graph file " + quote(path.string()) + ": " + why, Reason::FileNotFound)},
      Reason::FileNotFound);
}

// At most one byte more than a graph may have, so that a device file does not fill the memory.
std::string read_text(const std::filesystem::path &path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    throw_unreadable(path, no_such_file(path));
  if (std::filesystem::is_directory(status))
    throw_unreadable(path, "expected a file, got a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw_unreadable(path, std::string("cannot be opened: ") + std::strerror(errno));
  std::string text(max_graph_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad())
    throw_unreadable(path, std::string("cannot be read: ") + std::strerror(errno));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

bool is_existing_file(std::string_view text) {
  if (text.empty() || text.find('\0') != std::string_view::npos)
    return false;
  std::error_code error;  // a text too long for a path is no file
  const auto status = std::filesystem::status(std::filesystem::path(text), error);
  return std::filesystem::exists(status) && !std::filesystem::is_directory(status);
}

bool looks_like_a_path(std::string_view text) {
  return text.find_first_of(blanks) == std::string_view::npos &&
      (text.find('/') != std::string_view::npos || text.ends_with(".json"));
}

GraphText read_file(const std::filesystem::path &path) {
  return read_graph_json(read_text(path), path.string());
}

GraphSpec sound_graph(GraphText text) {
  if (!text.faults.empty())
    throw GraphError(std::move(text.faults));
  return std::move(text.graph);
}

}  // namespace

GraphText read_graph_text(std::string_view text, const std::vector<std::string> &known_types) {
  if (is_existing_file(text))
    return read_file(std::filesystem::path(text));
  const size_t first = text.find_first_not_of(blanks);
  if (first != std::string_view::npos && text[first] == '{')
    return read_graph_json(text, "graph");
  if (looks_like_a_path(text))
    return read_file(std::filesystem::path(text));
  try {
    return {GraphSpec::from_chain(text, known_types), {}};
  } catch (GraphError &error) {
    return {{}, std::move(error.faults)};
  }
}

GraphSpec GraphSpec::from_file(const std::filesystem::path &path) {
  return sound_graph(read_file(path));
}

GraphSpec GraphSpec::from_text(std::string_view text, const std::vector<std::string> &known_types) {
  return sound_graph(read_graph_text(text, known_types));
}

}  // namespace holoflow::core
