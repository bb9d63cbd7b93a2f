// The little HTML that some providers put into titles and snippets: marks around the words that
// were found, and characters by name. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace sluice::web {

// Without tags ("<strong>", "</b>", comments), and with the characters that were written by number
// or by one of the usual names. A "<" that begins no tag and a "&" that names no character stay as
// they are. Never longer than `html`; not fit to be put into a page unescaped.
std::string text_of_html(std::string_view html);

}  // namespace sluice::web
