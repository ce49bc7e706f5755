// SPDX-License-Identifier: LGPL-2.1-or-later
// Task types of the element's tests: those of the library and one that fails when it is told to.
#include <cstring>
#include <stdexcept>

#include "gst/gstholoflowtasks.h"
#include "holoflow/builtin_tasks.hh"

namespace holoflow::gst {

void register_tasks(core::Registry &registry) {
  register_builtin_tasks(registry);
  // Copies frames, but throws at one whose first byte is 99.
  core::add_kernel(
      registry, "FailAt99",
      [](std::span<const core::TView> inputs, std::span<core::TView> outputs,
         const nlohmann::json &, cudaStream_t) {
        if (inputs[0].data()[0] == std::byte{99})
          throw std::runtime_error("this frame begins with 99");
        std::memcpy(outputs[0].data(), inputs[0].data(), inputs[0].desc.num_bytes());
      });
}

}  // namespace holoflow::gst
