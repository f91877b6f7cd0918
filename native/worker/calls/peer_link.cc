#include "worker/calls/peer_link.h"

#include <fcntl.h>

#include <algorithm>

#include "common/log.h"
#include "wire/hello_connect.h"
#include "wire/stripes.h"
#include "wire/tls.h"
#include "worker/calls/arriving_stripes.h"
#include "worker/calls/session.h"

namespace sluice::worker {
namespace {

constexpr std::chrono::milliseconds kPatience{3'000};
constexpr size_t kMaxAddress = 300;
constexpr size_t kMaxSession = 32;
constexpr size_t kMaxLinks = 256;

// A piece of a copy, on its way between a buffer and the link.
struct Piece {
  Session* session;
  std::shared_ptr<PeerLink> link;
  DownloadBuffers::Buffer* buffer;
  size_t bytes;
};

// What the program copies is wrong from here on; the next call that may report an error does.
void break_link(const Piece& piece) {
  if (piece.link->failed.exchange(true)) return;
  SLUICE_WARN("The connection to the session on another server was lost during a copy.");
  piece.session->keep_error(CUDA_ERROR_DEVICE_UNAVAILABLE);
}

void send_piece(void* argument) {
  const std::unique_ptr<Piece> piece(static_cast<Piece*>(argument));
  if (!piece->link->failed.load() && piece->link->connection->write_all(piece->buffer->memory, piece->bytes))
    return;
  break_link(*piece);
}

void receive_piece(void* argument) {
  const std::unique_ptr<Piece> piece(static_cast<Piece*>(argument));
  if (!piece->link->failed.load() && piece->link->connection->read_exact(piece->buffer->memory, piece->bytes))
    return;
  break_link(*piece);
}

// The stream is done with the buffer.
void give_back(void* argument) {
  const std::unique_ptr<Piece> piece(static_cast<Piece*>(argument));
  piece->session->downloads.give_back(piece->buffer);
}

CUresult call_in_stream(Session& session, CUstream stream, CUhostFn function, const Piece& piece) {
  auto argument = std::make_unique<Piece>(piece);
  const CUresult result = session.driver.cuLaunchHostFunc(stream, function, argument.get());
  if (result == CUDA_SUCCESS) static_cast<void>(argument.release());
  return result;
}

// One buffer is enough: the next piece follows in the stream.
CUresult queue(Session& session, const std::shared_ptr<PeerLink>& link, CUdeviceptr address, uint64_t bytes,
               CUstream stream, bool sends) {
  DownloadBuffers::Buffer* buffer = session.downloads.take();
  if (buffer == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  for (uint64_t offset = 0; offset < bytes; offset += Staging::kChunk) {
    const size_t part = std::min<uint64_t>(bytes - offset, Staging::kChunk);
    const Piece piece{&session, link, buffer, part};
    CUresult result = CUDA_SUCCESS;
    if (sends) {
      result = session.driver.cuMemcpyDtoHAsync_v2(buffer->memory, address + offset, part, stream);
      if (result == CUDA_SUCCESS) result = call_in_stream(session, stream, send_piece, piece);
    } else {
      result = call_in_stream(session, stream, receive_piece, piece);
      if (result == CUDA_SUCCESS)
        result = session.driver.cuMemcpyHtoDAsync_v2(address + offset, buffer->memory, part, stream);
    }
    if (result != CUDA_SUCCESS) {
      // The other side would wait for what never comes.
      link->failed.store(true);
      link->connection->shutdown();
      return result;
    }
  }
  return call_in_stream(session, stream, give_back, {&session, link, buffer, 0});
}

void move(Session& session, Request& request, bool sends) {
  const auto number = request.args.get<uint32_t>();
  const auto address = request.args.get<uint64_t>();
  const auto bytes = request.args.get<uint64_t>();
  const auto stream_index = request.args.get<uint32_t>();
  if (!request.args.finished() || bytes == 0) return session.bad_frame(request);
  CUstream stream = nullptr;
  const auto link = session.peer_links.find(number);
  if (!link || !session.find(stream_index, &stream))
    return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  session.finish(request, queue(session, link, address, bytes, stream, sends));
}

}  // namespace

bool PeerLinks::add(uint32_t number, std::unique_ptr<wire::Connection> connection) {
  auto link = std::make_shared<PeerLink>();
  link->connection = std::move(connection);
  const std::lock_guard lock(mutex_);
  return links_.size() < kMaxLinks && links_.emplace(number, std::move(link)).second;
}

std::shared_ptr<PeerLink> PeerLinks::find(uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto at = links_.find(number);
  return at == links_.end() ? nullptr : at->second;
}

void PeerLinks::shutdown() {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, link] : links_) link->connection->shutdown();
}

namespace calls {

void peer_open(Session& session, Request& request) {
  const auto number = request.args.get<uint32_t>();
  const auto index = request.args.get<uint8_t>();
  const bool encrypted = request.args.get<uint8_t>() != 0;
  crypto::Bytes32 key{};
  for (uint8_t& byte : key) byte = request.args.get<uint8_t>();
  const std::string other = request.args.text(kMaxSession);
  const std::string address = request.args.text(kMaxAddress);
  if (!request.args.finished() || !request.sync()) return session.bad_frame(request);
  session.give_lead();
  auto socket = wire::connect_tcp(address, deadline_in(kPatience));
  bool good = static_cast<bool>(socket);
  if (good) {
    wire::Connection plain(ScopedFd(::fcntl(socket->get(), F_DUPFD_CLOEXEC, 3)), nullptr);
    good = wire::send_prelude(plain, {other, index, wire::stripe_proof(key, index)});
  }
  auto connection =
      good ? wire::stripe_connection(std::move(*socket), key, index, encrypted, false) : nullptr;
  good = connection != nullptr && session.peer_links.add(number, std::move(connection));
  session.finish(request, good ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

void peer_accept(Session& session, Request& request) {
  const auto number = request.args.get<uint32_t>();
  const auto index = request.args.get<uint8_t>();
  if (!request.args.finished() || !request.sync()) return session.bad_frame(request);
  session.give_lead();
  auto connection = arriving_stripes().take_one(index, kPatience);
  const bool good = connection != nullptr && session.peer_links.add(number, std::move(connection));
  session.finish(request, good ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

void peer_send(Session& session, Request& request) { move(session, request, true); }
void peer_receive(Session& session, Request& request) { move(session, request, false); }

}  // namespace calls
}  // namespace sluice::worker
