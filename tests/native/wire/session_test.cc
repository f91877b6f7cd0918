// The worker's end against clients that send nonsense: each session ends or goes on, none crashes.
#include "worker/calls/session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <random>
#include <thread>

#include "generated/driver_table.h"
#include "wire/frame.h"
#include "wire/tls.h"

namespace sluice::worker {
namespace {

using generated::CallId;

class NoMemory final : public MemoryAccounting {
 public:
  bool reserve(size_t, uint64_t) override { return false; }
  void release(size_t, uint64_t) override {}
  uint64_t used(size_t) const override { return 0; }
  uint64_t used_here(size_t) const override { return 0; }
  uint64_t limit(size_t) const override { return 1u << 20; }
};

CUresult fails() { return CUDA_ERROR_INVALID_VALUE; }
CUresult does_nothing() { return CUDA_SUCCESS; }

// A driver whose every function does the same and looks at none of its arguments.
generated::DriverTable driver_of(CUresult (*function)()) {
  generated::DriverTable table;
  auto* words = reinterpret_cast<CUresult (**)()>(&table);
  for (size_t i = 1; i < sizeof table / sizeof(void*); i++) words[i] = function;
  return table;
}

// Serves one end of a socket pair while the test writes to the other.
class Served {
 public:
  explicit Served(CUresult (*function)()) : driver_(driver_of(function)) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    worker_ = std::make_unique<wire::Connection>(ScopedFd(ends[0]), nullptr);
    client_ = std::make_unique<wire::Connection>(ScopedFd(ends[1]), nullptr);
    context_ = std::make_unique<SessionContext>(SessionContext{*worker_,
                                                               1,
                                                               {},
                                                               "session",
                                                               "allocation",
                                                               {{0, "GPU-0", 1u << 20, true}},
                                                               memory_,
                                                               counters_,
                                                               driver_,
                                                               ""});
    session_ = kept().emplace_back(std::make_unique<Session>(*context_)).get();
    thread_ = std::thread([this] {
      good_ = session_->run();
      worker_->shutdown();
    });
    reader_ = std::thread([this] {
      char nowhere[4096];
      while (client_->read_some(nowhere, sizeof nowhere) > 0) {
      }
    });
  }

  void send(const void* data, size_t size) { client_->write_all(data, size); }

  // Ends the client's side; whether the session took all of it for good.
  bool finish() {
    client_->finish_writing();
    thread_.join();
    reader_.join();
    return good_;
  }

 private:
  // As in a session process, a session outlives run(): a thread of it may still be on its way out.
  static std::vector<std::unique_ptr<Session>>& kept() {
    static auto* sessions = new std::vector<std::unique_ptr<Session>>;
    return *sessions;
  }

  generated::DriverTable driver_;
  NoMemory memory_;
  SessionCounters counters_;
  std::unique_ptr<wire::Connection> worker_;
  std::unique_ptr<wire::Connection> client_;
  std::unique_ptr<SessionContext> context_;
  Session* session_ = nullptr;
  std::thread thread_;
  std::thread reader_;
  std::atomic<bool> good_{false};
};

std::vector<uint8_t> frame_of(uint16_t call, uint16_t flags, const std::vector<uint8_t>& payload) {
  const wire::RequestHeader header{static_cast<uint32_t>(payload.size()), call, flags};
  std::vector<uint8_t> bytes(sizeof header + payload.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::copy(payload.begin(), payload.end(), bytes.begin() + sizeof header);
  return bytes;
}

TEST(Session, EndsInGoodOrderWhenTheClientLeaves) {
  Served served(fails);
  wire::AsyncFrame<4> frame(wire::ControlCall::set_context);
  frame.put(uint32_t{1});
  served.send(frame.data(), frame.size());
  EXPECT_TRUE(served.finish());
}

TEST(Session, EndsAtStripedDataWithoutStripes) {
  Served served(does_nothing);
  std::vector<uint8_t> payload(24, 0);
  payload[0] = 12;  // bytes of arguments; before them, in place of the data, its size
  const auto bytes =
      frame_of(static_cast<uint16_t>(CallId::cuMemcpyHtoDAsync_v2), wire::kBulk | wire::kStriped, payload);
  served.send(bytes.data(), bytes.size());
  EXPECT_FALSE(served.finish());
}

TEST(Session, EndsAtAnUnknownCall) {
  for (const uint16_t call : {uint16_t{0}, generated::kCallIdEnd, uint16_t{0xf003}, uint16_t{0xffff}}) {
    Served served(fails);
    const auto bytes = frame_of(call, 0, {1, 2, 3, 4});
    served.send(bytes.data(), bytes.size());
    EXPECT_FALSE(served.finish()) << call;
  }
}

TEST(Session, EndsAtArgumentsThatAreTooShortOrTooLong) {
  for (const size_t size : {0u, 7u, 9u}) {
    Served served(fails);
    const auto bytes = frame_of(static_cast<uint16_t>(CallId::cuMemFree_v2), 0, std::vector<uint8_t>(size));
    served.send(bytes.data(), bytes.size());
    EXPECT_FALSE(served.finish()) << size;
  }
}

TEST(Session, EndsAtLengthsAboveTheirCaps) {
  Served served(fails);
  const wire::RequestHeader header{wire::kMaxArguments + 1, static_cast<uint16_t>(CallId::cuLaunchKernel), 0};
  served.send(&header, sizeof header);
  EXPECT_FALSE(served.finish());
}

// Every call with arguments of chance, of every flag and many lengths, cut anywhere.
void storm(CUresult (*function)()) {
  std::mt19937 random(7);
  for (uint16_t call = 1; call < generated::kCallIdEnd; call++) {
    for (int round = 0; round < 4; round++) {
      Served served(function);
      std::vector<uint8_t> payload(random() % 160);
      for (auto& byte : payload) byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 2);
      auto bytes = frame_of(call, static_cast<uint16_t>(random() % 8), payload);
      if (round == 3) bytes.resize(random() % bytes.size());
      served.send(bytes.data(), bytes.size());
      served.finish();
    }
  }
}

TEST(Session, SurvivesAnythingOnADriverThatFails) { storm(fails); }
TEST(Session, SurvivesAnythingOnADriverThatDoesNothing) { storm(does_nothing); }

}  // namespace
}  // namespace sluice::worker
