// SPDX-License-Identifier: LGPL-2.1-or-later
// The plugin's task types: those of the library.
#include "gstholoflowtasks.h"

#include "holoflow/builtin_tasks.hh"

namespace holoflow::gst {

void register_tasks(core::Registry &registry) {
  register_builtin_tasks(registry);
}

}  // namespace holoflow::gst
