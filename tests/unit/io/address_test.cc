#include "io/address.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::io {
namespace {

struct ParseCase {
    std::string_view text;
    std::string_view canonical;  // empty: must be refused
};

// Guards what counts as an address and the one text form that every limit and log uses.
TEST(AddressTest, ParsesStrictlyAndPrintsRfc5952) {
    const ParseCase cases[] = {
        {"0.0.0.0", "0.0.0.0"},
        {"255.255.255.255", "255.255.255.255"},
        {"203.0.113.7", "203.0.113.7"},
        {"::", "::"},
        {"::1", "::1"},
        {"1::", "1::"},
        {"2001:DB8::1", "2001:db8::1"},
        {"2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
        {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
        {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
        {"::1.2.3.4", "::102:304"},
        {"::ffff:203.0.113.7", "203.0.113.7"},
        {"::FFFF:cb00:7107", "203.0.113.7"},
        {"0000:0000:0000:0000:0000:ffff:255.255.255.255", "255.255.255.255"},
        {"", ""},
        {" 1.2.3.4", ""},
        {"1.2.3.4 ", ""},
        {"1.2.3", ""},
        {"1.2.3.4.5", ""},
        {"1.2.3.", ""},
        {"1..2.3", ""},
        {"1.2.3.256", ""},
        {"1.2.3.04", ""},
        {"01.2.3.4", ""},
        {"1.2.3.-4", ""},
        {"1.2.3.0x4", ""},
        {"16909060", ""},
        {"1.2.3.4:80", ""},
        {"[::1]", ""},
        {"fe80::1%eth0", ""},
        {"1:2:3:4:5:6:7", ""},
        {"1:2:3:4:5:6:7:8:9", ""},
        {"1::2::3", ""},
        {":::", ""},
        {":1::", ""},
        {"12345::", ""},
        {"g::", ""},
        {"::1.2.3.04", ""},
        {"::ffff:1.2.3.256", ""},
        {"localhost", ""},
        {std::string_view("1.2.3.4\0", 8), ""},
        {std::string_view("::1\0::2", 7), ""},
        {"00000000000000000000000000000000000000000000000::1", ""},
    };
    for (const ParseCase& c : cases) {
        const auto address = Address::parse(c.text);
        ASSERT_EQ(address.has_value(), !c.canonical.empty()) << c.text;
        if (address) {
            EXPECT_EQ(address->to_string(), c.canonical) << c.text;
            EXPECT_EQ(Address::parse(address->to_string()), address) << c.text;
        }
    }
}

// Guards that a socket's mapped peer is the same client as a plain IPv4 one.
TEST(AddressTest, MakesMappedAddressesV4) {
    const std::array<std::uint8_t, 16> mapped = {0, 0, 0,   0,   0,  0, 0, 0,
                                                 0, 0, 255, 255, 10, 1, 2, 3};
    EXPECT_EQ(Address::from_v6(mapped), Address::from_v4({10, 1, 2, 3}));
    EXPECT_EQ(Address::from_v6(mapped).family, Address::Family::kV4);
    EXPECT_EQ(Address::from_v6({}).to_string(), "::");
    EXPECT_EQ(Address{}.to_string(), "unix");
}

// Guards which peers get the rights of the own machine.
TEST(AddressTest, KnowsLoopback) {
    for (const auto* text : {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"}) {
        EXPECT_TRUE(Address::parse(text)->is_loopback()) << text;
    }
    for (const auto* text : {"128.0.0.1", "126.255.255.255", "::", "::2", "1::1", "::7f00:1"}) {
        EXPECT_FALSE(Address::parse(text)->is_loopback()) << text;
    }
    EXPECT_FALSE(Address{}.is_loopback());
}

struct NetworkCase {
    std::string_view network;
    std::string_view inside;   // empty: the network must be refused
    std::string_view outside;  // empty: there is none to try
};

// Guards the edges of trusted networks: one address too many would let its owner forge clients.
TEST(NetworkTest, ParsesStrictlyAndEndsWhereItsPrefixDoes) {
    const NetworkCase cases[] = {
        {"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
        {"10.0.0.0/8", "10.0.0.0", "9.255.255.255"},
        {"192.0.2.128/25", "192.0.2.128", "192.0.2.127"},
        {"192.0.2.4/30", "192.0.2.7", "192.0.2.8"},
        {"192.0.2.1/32", "192.0.2.1", "192.0.2.2"},
        {"192.0.2.1", "192.0.2.1", "192.0.2.0"},
        {"0.0.0.0/0", "255.0.0.1", "::1"},
        {"fd00::/8", "fdff::1", "fc00::1"},
        {"2001:db8:1:2::/63", "2001:db8:1:3::9", "2001:db8:1:4::"},
        {"::/0", "2001::1", "10.0.0.1"},
        {"::1", "::1", "::2"},
        {"::1/128", "::1", "::"},
        {"::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.0"},
        {"10.0.0.0/8", "::ffff:10.0.0.1", "::a00:1"},
        {"", "", ""},
        {"/8", "", ""},
        {"10.0.0.0/", "", ""},
        {"10.0.0.0/33", "", ""},
        {"10.0.0.0/08", "", ""},
        {"10.0.0.0/+8", "", ""},
        {"10.0.0.0/-8", "", ""},
        {"10.0.0.0/8 ", "", ""},
        {"10.0.0.0/8/8", "", ""},
        {"10.0.0.0/255.0.0.0", "", ""},
        {"10.0.0.1/8", "", ""},
        {"10.128.0.0/8", "", ""},
        {"fd00::1/8", "", ""},
        {"fd00::/129", "", ""},
        {"fd00::/99999999999", "", ""},
        {"::ffff:10.0.0.0/8", "", ""},
        {"::ffff:0.0.0.0/95", "", ""},
        {"proxy.example.com/8", "", ""},
    };
    for (const NetworkCase& c : cases) {
        const auto network = Network::parse(c.network);
        ASSERT_EQ(network.has_value(), !c.inside.empty()) << c.network;
        if (!network) {
            continue;
        }
        EXPECT_TRUE(network->contains(*Address::parse(c.inside))) << c.network;
        EXPECT_FALSE(network->contains(*Address::parse(c.outside))) << c.network;
        EXPECT_FALSE(network->contains(Address{})) << c.network;
    }
}

}  // namespace
}  // namespace sluice::io
