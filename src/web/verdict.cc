#include "web/verdict.h"

namespace sluice::web {

Blame blame_of(Effect effect) {
    SLUICE_ASSERT(effect != Effect::kEmpty);
    switch (effect) {
        case Effect::kCool:
        case Effect::kExhaust:
        case Effect::kQuarantine:
        case Effect::kKeyCannot:
            return Blame::kKey;
        case Effect::kCaller:
            return Blame::kCaller;
        case Effect::kProvider:
            return Blame::kProvider;
        case Effect::kGateway:
        case Effect::kEmpty:
            break;
    }
    return Blame::kGateway;
}

}  // namespace sluice::web
