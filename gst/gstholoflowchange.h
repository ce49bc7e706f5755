// SPDX-License-Identifier: LGPL-2.1-or-later
// One streaming thread at a time compiles, starts or drains the graph.
#pragma once

#include "gstholoflowsession.h"

namespace holoflow::gst {

/// Taken with the session's lock, while no other is; others wait in enter() and wait_for_turn().
class Session::Change {
public:
  Change(Session &session, std::unique_lock<std::mutex> &lock) : session_(session), lock_(lock) {
    session_.changing_ = true;
  }
  Change(const Change &) = delete;
  Change &operator=(const Change &) = delete;
  ~Change() { end(); }

  /// With the lock or without it.
  void end() {
    if (std::exchange(is_over_, true))
      return;
    const bool locks = !lock_.owns_lock();
    if (locks)
      lock_.lock();
    session_.changing_ = false;
    session_.changed_.notify_all();
    if (locks)
      lock_.unlock();
  }

private:
  Session &session_;
  std::unique_lock<std::mutex> &lock_;
  bool is_over_ = false;
};

}  // namespace holoflow::gst
