#include "io/postgres_url.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::io {
namespace {

// What people write is understood, the form of SQLAlchemy with a driver's name included.
TEST(PostgresUrlTest, ReadsWhatPeopleWrite) {
    const auto full = parse_postgres_url(
        "postgresql+asyncpg://app:p%40ss%2Fword@db.internal:6543/gateway?sslmode=verify-full"
        "&sslrootcert=/etc/ca.pem");
    ASSERT_TRUE(full.ok()) << full.error().message;
    EXPECT_EQ(full->hosts.size(), 1u);
    EXPECT_EQ(full->name(), "db.internal:6543");
    EXPECT_EQ(full->user, "app");
    EXPECT_EQ(full->password.reveal(), "p@ss/word");
    EXPECT_EQ(full->database, "gateway");
    EXPECT_EQ(full->ssl_mode, "verify-full");
    EXPECT_EQ(full->root_certificate, "/etc/ca.pem");

    const auto several = parse_postgres_url("postgres://u@[::1]:1,b,c:3/d");
    ASSERT_TRUE(several.ok()) << several.error().message;
    ASSERT_EQ(several->hosts.size(), 3u);
    EXPECT_EQ(several->name(), "[::1]:1");
    EXPECT_EQ(several->hosts[1].port, 5432);
    EXPECT_EQ(several->hosts[2].port, 3);
    EXPECT_EQ(several->ssl_mode, "prefer");

    const auto local = parse_postgres_url("postgresql://%2Frun%2Fpostgresql/d");
    ASSERT_TRUE(local.ok()) << local.error().message;
    EXPECT_TRUE(local->hosts[0].is_unix_socket());
}

// What can't be right is refused, and the message gives nothing of the URL away.
TEST(PostgresUrlTest, RefusesWithoutQuoting) {
    for (const char* url :
         {"", "mysql://hunter2@h/d", "postgresql:/hunter2", "postgresql://u:hunter2@/d",
          "postgresql://u:hunter2@h:0/d", "postgresql://u:hunter2@h:70000/d",
          "postgresql://u:hunter2@h:x/d", "postgresql://u:%zzhunter2@h/d",
          "postgresql://u:hunter2@h/d?sslmode=hunter2", "postgresql://u:hunter2@h/d?hunter2=1",
          "postgresql://u:hunter2@h/d?options=-chunter2", "postgresql://u:hunter2@h,/d",
          "postgresqlx://u:hunter2@h/d"}) {
        const auto parsed = parse_postgres_url(url);
        ASSERT_FALSE(parsed.ok()) << url;
        EXPECT_EQ(parsed.error().code, Code::kInvalidRequest);
        EXPECT_EQ(parsed.error().message.find("hunter2"), std::string::npos) << url;
    }
}

TEST(PostgresUrlTest, KnowsItsOwn) {
    EXPECT_TRUE(is_postgres_url("postgresql+asyncpg://h/d"));
    EXPECT_TRUE(is_postgres_url("postgres://h/d"));
    EXPECT_FALSE(is_postgres_url("sqlite:"));
    EXPECT_FALSE(is_postgres_url("redis://h"));
}

}  // namespace
}  // namespace sluice::io
