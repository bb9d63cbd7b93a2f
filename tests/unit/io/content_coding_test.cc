// Choosing a content coding, and bodies that are compressed behind a part that differs.
#include "io/content_coding.h"

#include "io/response_batch.h"
#include "server_fixture.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <thread>

namespace sluice::test {
namespace {

using io::Coding;

std::string gunzip(std::string_view packed) {
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);  // a gzip wrapper and nothing else
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    std::string out(std::size_t{4} * 1024 * 1024, '\0');
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    EXPECT_EQ(stream.avail_in, 0U) << "something stands behind the member";
    out.resize(stream.total_out);
    inflateEnd(&stream);
    return out;
}

// A streaming decoder, as clients use, since there may be two frames.
std::string unzstd(std::string_view packed) {
    ZSTD_DStream* const stream = ZSTD_createDStream();
    std::string out(std::size_t{4} * 1024 * 1024, '\0');
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    std::size_t state = 1;
    while (in.pos < in.size) {
        state = ZSTD_decompressStream(stream, &to, &in);
        if (ZSTD_isError(state) != 0) {
            ADD_FAILURE() << ZSTD_getErrorName(state);
            break;
        }
    }
    EXPECT_EQ(state, 0U) << "the last frame is not complete";
    ZSTD_freeDStream(stream);
    out.resize(to.pos);
    return out;
}

std::string joined(const io::CodedBody& body) {
    return body.before + std::string(body.shared) + body.after;
}

// Bytes that compress, but not to nothing.
std::string text_of(std::size_t size) {
    std::string text;
    SeededRandom random(size);
    while (text.size() < size) {
        text += "word" + std::to_string(random.below(1000)) + " ";
    }
    text.resize(size);
    return text;
}

// Protects: q-values decide, "*" speaks for the rest, identity is the last resort.
TEST(ContentCoding, IsChosenByQuality) {
    struct Case {
        std::string accept;
        Coding coding;
        bool identity_refused = false;
    };
    const std::vector<Case> cases = {
        {"gzip", Coding::kGzip},
        {"GZip", Coding::kGzip},
        {"x-gzip", Coding::kGzip},
        {"zstd", Coding::kZstd},
        {"gzip, zstd", Coding::kZstd},
        {"zstd, gzip", Coding::kZstd},
        {"gzip, deflate, br, zstd", Coding::kZstd},
        {"gzip;q=1.0, zstd;q=0.9", Coding::kGzip},
        {"gzip;q=0.8,zstd;q=0.801", Coding::kZstd},
        {"gzip ; q=0.5 , zstd ; q=0.4", Coding::kGzip},
        {"gzip;Q=0.5", Coding::kGzip},
        {"gzip;q=0", Coding::kIdentity},
        {"gzip;q=0.000", Coding::kIdentity},
        {"gzip;q=0, zstd;q=0", Coding::kIdentity},
        {"*", Coding::kZstd},
        {"*;q=0.5", Coding::kZstd},
        {"zstd;q=0, *", Coding::kGzip},
        {"*;q=0", Coding::kIdentity, true},
        {"*;q=0, gzip", Coding::kGzip, true},
        {"identity", Coding::kIdentity},
        {"identity, gzip;q=0.5", Coding::kIdentity},
        {"identity;q=0.5, gzip;q=0.5", Coding::kGzip},
        {"identity;q=0", Coding::kIdentity, true},
        {"identity;q=0, gzip", Coding::kGzip, true},
        {"identity;q=0, *;q=0.1", Coding::kZstd, true},
        {"br, deflate", Coding::kIdentity},
        {"", Coding::kIdentity},
        {",,gzip,,", Coding::kGzip},
        {"gzip;q=2", Coding::kIdentity},
        {"gzip;q=1.5", Coding::kIdentity},
        {"gzip;q=-1", Coding::kIdentity},
        {"gzip;q=0.1234", Coding::kIdentity},
        {"gzip;q=", Coding::kIdentity},
        {"gzip;q=1,5", Coding::kGzip},
        {"gzip;level=9", Coding::kIdentity},
        {"gzipped", Coding::kIdentity},
    };
    for (const Case& c : cases) {
        const std::vector<io::HeaderField> fields = {{"Host", "gzip"},
                                                     {"accept-ENCODING", c.accept}};
        const io::CodingChoice choice = io::choose_coding(fields);
        EXPECT_EQ(to_string(choice.coding), to_string(c.coding)) << c.accept;
        EXPECT_EQ(choice.identity_refused, c.identity_refused) << c.accept;
    }
    const std::vector<io::HeaderField> lines = {{"Accept-Encoding", "gzip;q=0.5"},
                                                {"Accept-Encoding", "zstd;q=0.1"}};
    EXPECT_EQ(io::choose_coding(lines).coding, Coding::kGzip);
    EXPECT_EQ(io::choose_coding({}).coding, Coding::kIdentity);
}

// Protects: lead and body come out as they went in, in one gzip member with a right checksum and in
// zstd frames, at the edges of the stored blocks too.
TEST(ContentCoding, SplicesWhatItDidNotCompress) {
    const io::HttpBody empty("");
    const io::HttpBody large(text_of(300'000));
    const io::HttpBody noise([] {
        std::string bytes(50'000, '\0');
        SeededRandom(7).fill(std::as_writable_bytes(std::span(bytes)));
        return bytes;
    }());
    for (const io::HttpBody* const body : {&empty, &large, &noise}) {
        for (const std::size_t lead_size :
             {0UL, 1UL, 100UL, 65'535UL, 65'536UL, 131'072UL, 131'073UL, 200'000UL}) {
            const std::string lead = text_of(lead_size);
            const std::string expected = lead + std::string(body->bytes());
            EXPECT_EQ(gunzip(joined(splice_gzip(lead, *body))), expected) << lead_size;
            const std::string behind = std::string(body->bytes()) + lead;
            EXPECT_EQ(gunzip(joined(splice_gzip("", *body, lead))), behind) << lead_size;
            EXPECT_EQ(gunzip(joined(splice_gzip(lead, *body, "tail"))), expected + "tail");
            EXPECT_EQ(unzstd(joined(splice_zstd(lead, *body))), expected) << lead_size;
            EXPECT_EQ(unzstd(joined(splice_zstd("", *body, lead))), behind) << lead_size;
            EXPECT_EQ(unzstd(joined(splice_zstd(lead, *body, "tail"))), expected + "tail");
        }
    }
}

// Protects: a shared body is compressed once, however many threads ask for it at the same time.
TEST(ContentCoding, CompressesASharedBodyOnce) {
    const io::HttpBody body(text_of(100'000));
    std::vector<const char*> seen(16);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        threads.emplace_back([&body, &seen, i] {
            seen[i] = i % 2 == 0 ? body.gzip().data.data() : body.zstd().data.data();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (std::size_t i = 2; i < seen.size(); ++i) {
        EXPECT_EQ(seen[i], seen[i - 2]);
    }
    EXPECT_LT(body.gzip().data.size(), 50'000U);
    EXPECT_LT(body.zstd().data.size(), 50'000U);
}

// Protects: what a client is sent for its Accept-Encoding, and what caches are told.
TEST(ContentCoding, ReachesTheClient) {
    struct Case {
        std::string name;
        std::string lead;
        std::string body;
        std::string headers;
        std::string accept;
        std::string coding;  // expected
        bool varies;
    };
    const std::string large = text_of(20'000);
    std::string noise(20'000, '\0');
    SeededRandom(9).fill(std::as_writable_bytes(std::span(noise)));
    const std::vector<Case> cases = {
        {"shared", "", large, "", "gzip", "gzip", true},
        {"lead and shared", "lead", large, "", "gzip", "gzip", true},
        {"zstd", "lead", large, "", "zstd, gzip", "zstd", true},
        {"not wanted", "lead", large, "", "br", "", true},
        {"nothing said", "lead", large, "", "", "", true},
        {"too small", "lead", text_of(1019), "", "gzip", "", false},
        {"just large enough", "lead", text_of(1020), "", "gzip", "gzip", true},
        {"all in the lead", large, "", "", "gzip", "gzip", true},
        {"mostly in the lead", large, "tail", "", "zstd", "zstd", true},
        {"does not compress", "", noise, "", "gzip", "", true},
        {"too large", "", text_of(1024 * 1024 + 1), "", "gzip", "", false},
        {"identity refused", "tiny", "", "", "identity;q=0, gzip", "gzip", true},
        {"compressed already", "", large, "content-encoding: br\r\n", "gzip", "br", false},
    };
    RunningServer running;
    RawClient client = running.connect();
    for (const Case& c : cases) {
        running.handler.set_body(c.lead, c.body, c.headers);
        const std::string fields = c.accept.empty() ? "" : "Accept-Encoding: " + c.accept + "\r\n";
        ASSERT_TRUE(client.get("/body", fields));
        const auto response = client.read_response();
        ASSERT_TRUE(response) << c.name;
        EXPECT_EQ(response->header("Content-Encoding").value_or(""), c.coding) << c.name;
        EXPECT_EQ(response->header("Vary").has_value(), c.varies) << c.name;
        std::string body = response->body;
        if (c.coding == "gzip") {
            body = gunzip(body);
        } else if (c.coding == "zstd") {
            body = unzstd(body);
        }
        EXPECT_EQ(body, c.lead + c.body) << c.name;

        ASSERT_TRUE(client.send("HEAD /body HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n"));
        const auto head = client.read_head();
        ASSERT_TRUE(head) << c.name;
        EXPECT_EQ(head->header("Content-Length"), std::to_string(response->body.size())) << c.name;
    }
}

// Protects: what many share is held once in every coding, whatever stands before and behind it.
TEST(ContentCoding, ASharedBodyIsHeldOnceInEveryCoding) {
    const auto body = std::make_shared<const io::HttpBody>(text_of(100'000));
    for (const std::string accept : {"", "gzip", "zstd"}) {
        const std::vector<io::HeaderField> fields = {{"Accept-Encoding", accept}};
        io::AnswerContext context{.date_line = {}, .request_id = "1"};
        context.request_fields = fields;
        io::HttpResponse response;
        response.lead = "lead";
        response.body = body;
        response.tail = "tail";
        io::ResponseBatch batch;
        batch.add(std::move(response), context);
        ASSERT_EQ(batch.bodies().size(), 1U) << accept;
        EXPECT_EQ(batch.bodies()[0], body) << accept;
    }
}

// Protects: a body that is kept compressed reaches every client whole, behind the lead of its own
// request; whoever takes zstd gets the very bytes that are kept, however large they are.
TEST(ContentCoding, APackedBodyIsSentInEveryCoding) {
    const std::string lead = R"({"request_id":"1",)";
    const std::string text = text_of(std::size_t{3} * 1024 * 1024);
    const auto body = io::HttpBody::packed(text);
    EXPECT_EQ(body->size(), text.size());
    EXPECT_LT(body->memory_bytes(), text.size());
    EXPECT_EQ(gunzip(joined(io::splice_gzip(lead, *body))), lead + text);
    const io::CodedBody zstd = io::splice_zstd(lead, *body);
    EXPECT_EQ(unzstd(joined(zstd)), lead + text);
    EXPECT_EQ(zstd.shared.data(), body->zstd().data.data());
    EXPECT_EQ(io::HttpBody::unpacked(body)->bytes(), text);

    for (const std::string accept : {"", "gzip", "zstd"}) {
        io::HttpResponse response;
        response.headers = "Content-Type: application/json\r\n";
        response.lead = lead;
        response.body = body;
        const std::vector<io::HeaderField> fields = {{"Accept-Encoding", accept}};
        io::AnswerContext context{.date_line = {}, .request_id = "1"};
        context.request_fields = fields;
        io::ResponseBatch batch;
        const std::size_t size = batch.add(std::move(response), context);
        const bool as_it_is = accept == "zstd";
        EXPECT_EQ(size < text.size() / 2, as_it_is)
            << "more than a megabyte is compressed for nobody, but sent compressed where it is";
    }
}

}  // namespace
}  // namespace sluice::test
