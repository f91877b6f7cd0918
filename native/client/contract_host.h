// Gives the private tables of the driver what they need to know.
#pragma once

#include "client/objects.h"

namespace sluice::client {

void install_contract();

// Everything in the context is dead: its context-local storage goes too.
void contract_context_ended(Context* context);

}  // namespace sluice::client
