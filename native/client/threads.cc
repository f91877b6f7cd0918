#include "client/threads.h"

#include <pthread.h>
#include <signal.h>

#include <memory>

namespace sluice::client {
namespace {

constexpr size_t kStackBytes = 256u << 10;

void* run(void* argument) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(argument));
  (*body)();
  return nullptr;
}

}  // namespace

bool start_thread(std::function<void()> body) {
  auto argument = std::make_unique<std::function<void()>>(std::move(body));
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, run, argument.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) return false;
  argument.release();
  return true;
}

}  // namespace sluice::client
