// SPDX-License-Identifier: LGPL-2.1-or-later
// Events between an application and nodes.
#include "holoflow_event/router.hh"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace holoflow_event {
namespace {

TEST(Router, AnEventReachesOnlyTheNamedNode) {
  Router router;
  auto a = router.bind_node("a");
  auto b = router.bind_node("b");
  EXPECT_TRUE(router.ui_try_send("a", {{"gain", 2}}));
  EXPECT_EQ(b.reader.try_receive(), std::nullopt);
  const auto event = a.reader.try_receive();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->direction, EventDirection::ToNode);
  EXPECT_EQ(event->node_id, "a");
  EXPECT_EQ(event->data.at("gain"), 2);
  EXPECT_NE(event->ts, std::chrono::steady_clock::time_point{});
  EXPECT_EQ(a.reader.try_receive(), std::nullopt);
  EXPECT_EQ(router.dropped(), 0u);
}

TEST(Router, NodesWriteUnderTheirNameInOrder) {
  Router router;
  auto a = router.bind_node("a");
  auto b = router.bind_node("b");
  EXPECT_TRUE(a.writer.try_emit(1));
  EXPECT_TRUE(b.writer.try_emit(2));
  EXPECT_TRUE(a.writer.try_emit(3));
  std::string seen;
  while (const auto event = router.ui_try_receive()) {
    EXPECT_EQ(event->direction, EventDirection::ToUi);
    seen += event->node_id + event->data.dump() + " ";
  }
  EXPECT_EQ(seen, "a1 b2 a3 ");
}

TEST(Router, EventsForUnknownNodesAreCountedAsDropped) {
  Router router;
  (void)router.bind_node("a");
  EXPECT_FALSE(router.ui_try_send("b", {}));
  EXPECT_FALSE(router.ui_try_send("", {}));
  EXPECT_EQ(router.dropped(), 2u);
}

TEST(Router, FullBoxesDropTheNewestAndCountIt) {
  Router router;
  auto a = router.bind_node("a");
  for (size_t i = 0; i < Router::mailbox_capacity; ++i)
    ASSERT_TRUE(router.ui_try_send("a", i));
  EXPECT_FALSE(router.ui_try_send("a", "late"));
  EXPECT_EQ(router.dropped(), 1u);
  EXPECT_EQ(a.reader.try_receive()->data, 0);
  EXPECT_TRUE(router.ui_try_send("a", "again"));

  for (size_t i = 0; i < Router::mailbox_capacity; ++i)
    ASSERT_TRUE(a.writer.try_emit(i));
  EXPECT_FALSE(a.writer.try_emit("late"));
  EXPECT_EQ(router.dropped(), 2u);
}

TEST(Router, BindingANodeAgainKeepsItsLetters) {
  Router router;
  (void)router.bind_node("a");
  EXPECT_TRUE(router.ui_try_send("a", 7));
  auto again = router.bind_node("a");
  EXPECT_EQ(again.reader.try_receive()->data, 7);
}

TEST(Router, ManyThreadsLoseNothing) {
  constexpr int threads = 4;
  constexpr int each = 200;
  Router router;
  auto a = router.bind_node("a");
  {
    std::vector<std::jthread> writers;
    for (int t = 0; t < threads; ++t)
      writers.emplace_back([&router] {
        for (int i = 0; i < each; ++i)
          EXPECT_TRUE(router.ui_try_send("a", 1));
      });
  }
  int sum = 0;
  while (const auto event = a.reader.try_receive())
    sum += event->data.get<int>();
  EXPECT_EQ(sum, threads * each);
}

}  // namespace
}  // namespace holoflow_event
