#include "http_client_fixture.h"
#include "support/descriptor_limit.h"

namespace sluice::io {
namespace {

using test::Scripted;

class HttpClientShortageTest : public HttpClientFixture {};

// Guards that a shortage of this process is not held against an upstream or a proxy, and passes.
TEST_F(HttpClientShortageTest, BlamesItselfForWantOfDescriptors) {
    upstream_.on("/", Scripted::json("{}"));
    ClientRequest through_proxy = request("https://upstream.invalid/");
    through_proxy.proxy = Secret(upstream_.url(""));
    {
        const test::DescriptorLimit limit(256);
        const test::HeldDescriptors held;
        for (const auto& asked :
             {request(upstream_.url()), through_proxy, request("http://name.invalid/")}) {
            const auto result = send(asked);
            ASSERT_FALSE(result.ok());
            EXPECT_EQ(result.error().code, Code::kOverloaded) << result.error().message;
            EXPECT_EQ(result.error().blame, Blame::kGateway);
            EXPECT_NE(result.error().message.find("Too many open files"), std::string::npos);
        }
    }
    EXPECT_TRUE(get(upstream_.url()).ok());
}

}  // namespace
}  // namespace sluice::io
