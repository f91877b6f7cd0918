// Threads of the library itself, inside a program that does not know of them.
#pragma once

#include <functional>

namespace sluice::client {

// Starts a detached thread in which all signals are blocked, so that the program's handlers run in the
// program's threads. False when there can be no more threads.
bool start_thread(std::function<void()> body);

}  // namespace sluice::client
