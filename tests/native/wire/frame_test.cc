#include "wire/frame.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <set>
#include <string>
#include <thread>

#include "generated/call_ids.h"
#include "wire/frame_input.h"
#include "wire/tls.h"

namespace sluice::wire {
namespace {

using generated::CallId;

RequestHeader header_of(const uint8_t* bytes) {
  RequestHeader header;
  std::memcpy(&header, bytes, sizeof header);
  return header;
}

TEST(Frame, AsynchronousHeaderIsEightBytes) {
  AsyncFrame<12> frame(CallId::cuStreamWaitEvent);
  frame.put(uint32_t{1});
  frame.put(uint64_t{2});
  EXPECT_EQ(frame.size(), 8u + 12u);
  const RequestHeader header = header_of(frame.data());
  EXPECT_EQ(header.length, 12u);
  EXPECT_EQ(header.call, static_cast<uint16_t>(CallId::cuStreamWaitEvent));
  EXPECT_EQ(header.flags, 0);
}

TEST(Frame, SynchronousFrameHasRoomForItsSequence) {
  SyncFrame<8> frame(CallId::cuMemAlloc_v2);
  frame.put(uint64_t{4096});
  EXPECT_EQ(frame.size(), 8u + 4u + 8u);
  EXPECT_EQ(header_of(frame.data()).length, 12u);
  EXPECT_EQ(header_of(frame.data()).flags, kSync);
}

TEST(Frame, BulkFrameCountsItsData) {
  DynamicFrame frame(CallId::cuMemcpyHtoDAsync_v2, kBulk);
  frame.arguments().put(uint64_t{1});
  frame.arguments().put(uint32_t{2});
  frame.complete(1000);
  EXPECT_EQ(header_of(frame.data()).length, 4u + 12u + 1000u);
  Reader reader(frame.data() + sizeof(RequestHeader), frame.size() - sizeof(RequestHeader));
  EXPECT_EQ(reader.get<uint32_t>(), 12u);
}

TEST(Frame, AnswerOfTheWrongSizeIsNotComplete) {
  FixedReply<8> reply;
  reply.received(7);
  reply.get<uint64_t>();
  EXPECT_FALSE(reply.complete());
}

TEST(Ids, AreNamedAndUnique) {
  std::set<std::string> names;
  for (uint16_t id = 1; id < generated::kCallIdEnd; id++) names.insert(generated::call_name(id));
  EXPECT_EQ(names.size(), generated::kCallIdEnd - 1u);
  EXPECT_STREQ(generated::call_name(static_cast<uint16_t>(CallId::cuLaunchKernel)), "cuLaunchKernel");
  EXPECT_STREQ(generated::call_name(0), "unknown call");
  EXPECT_STREQ(generated::call_name(0xffff), "unknown call");
}

class FrameInputTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    near_ = std::make_unique<Connection>(ScopedFd(ends[0]), nullptr);
    far_ = std::make_unique<Connection>(ScopedFd(ends[1]), nullptr);
  }
  std::unique_ptr<Connection> near_;
  std::unique_ptr<Connection> far_;
};

TEST_F(FrameInputTest, GivesTheSameBytesWhateverTheCuts) {
  std::vector<uint8_t> sent(3u << 20);
  for (size_t i = 0; i < sent.size(); i++) sent[i] = static_cast<uint8_t>(i * 31 + (i >> 8));
  std::thread writer([&] { far_->write_all(sent.data(), sent.size()); });
  FrameInput input(*near_);
  std::vector<uint8_t> got;
  // Small pieces from the buffer, large ones past it, sizes that straddle its end.
  for (size_t size = 1; got.size() < sent.size(); size = size * 3 % 200'003) {
    const size_t piece = std::min(size, sent.size() - got.size());
    if (size % 2 == 0) {
      const uint8_t* at = input.take(piece);
      ASSERT_NE(at, nullptr);
      got.insert(got.end(), at, at + piece);
    } else {
      const size_t old = got.size();
      got.resize(old + piece);
      ASSERT_TRUE(input.read(got.data() + old, piece));
    }
  }
  writer.join();
  EXPECT_TRUE(got == sent);
}

TEST_F(FrameInputTest, EndsWhereTheStreamEnds) {
  far_->write_all("abc", 3);
  far_->finish_writing();
  FrameInput input(*near_);
  EXPECT_EQ(input.take(4), nullptr);
}

TEST_F(FrameInputTest, RefusesMoreThanItsBuffer) {
  FrameInput input(*near_);
  EXPECT_EQ(input.take(FrameInput::kCapacity + 1), nullptr);
}

}  // namespace
}  // namespace sluice::wire
