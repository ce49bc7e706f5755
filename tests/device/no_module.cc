// SPDX-License-Identifier: LGPL-2.1-or-later
// A library under the module's name that is none.
extern "C" __attribute__((visibility("default"))) int holoflow_nothing() {
  return 0;
}
