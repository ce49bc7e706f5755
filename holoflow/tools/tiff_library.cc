// SPDX-License-Identifier: LGPL-2.1-or-later
#include "holoflow/tools/tiff_library.hh"

#include <cstdarg>
#include <cstdio>

namespace holoflow::tools {

namespace {

thread_local std::string last_error;

void on_error(const char *, const char *format, va_list arguments) {
  char text[300];
  std::vsnprintf(text, sizeof(text), format, arguments);
  last_error = text;
}

}  // namespace

OwnedTiff open_tiff_library(const std::string &path, const char *mode) {
  TIFFSetErrorHandler(on_error);
  TIFFSetWarningHandler(nullptr);
  forget_tiff_error();
  return OwnedTiff(TIFFOpen(path.c_str(), mode));
}

const std::string &tiff_error() {
  return last_error;
}

void forget_tiff_error() {
  last_error.clear();
}

}  // namespace holoflow::tools
