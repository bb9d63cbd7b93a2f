// The form in which titles and queries are compared: what looks or sounds the same to a reader is
// the same there. Accents and punctuation stay.
#pragma once

#include <string>
#include <string_view>

namespace sluice::titles {

// NFKC, full case folding, NFKC again (the normaliser NFKC_Casefold of Unicode Standard Annex 31,
// which also drops default-ignorable code points such as the soft hyphen); then each run of Unicode
// White_Space is one U+0020, and none is at an end. Of ill-formed UTF-8 each piece is U+FFFD. The
// result is valid UTF-8, and its own match copy. One code point gives at most 18. Thread-safe.
std::string match_copy(std::string_view utf8);

}  // namespace sluice::titles
