// What a browser asks for by itself, since a page says so, and nobody chose.
#pragma once

#include "io/http_message.h"

namespace sluice::surface {

// Whether the browser loads this as a part of some page, a picture most of all: then nobody
// followed a link or sent a form, and whoever wrote that page would spend the reader's searches. By
// what browsers say of it (Sec-Fetch-Dest), and by the types that they ask for where they say
// nothing, as on a plain http address. Of a program: no. Any thread.
bool is_part_of_a_page(const io::HttpRequest& request);

}  // namespace sluice::surface
