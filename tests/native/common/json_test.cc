#include "common/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice::json {
namespace {

TEST(Json, KeepsWhatItReads) {
  for (const char* text : {
           "null",
           "true",
           "0",
           "-7",
           "9223372036854775807",
           "-9223372036854775808",
           "1.5",
           "\"\"",
           "\"caf\xC3\xA9\"",
           "[]",
           "{}",
           "[1,[2,[3]],{\"a\":null}]",
           "{\"b\":1,\"a\":{\"c\":[true,false]}}",
       }) {
    const auto value = parse(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(value->dump(), text);
  }
}

TEST(Json, ReadsTheLongForms) {
  EXPECT_EQ(parse(" [ 1 ,\t2\r\n] ")->dump(), "[1,2]");
  EXPECT_EQ(*parse("\"\\u0041\\u00e9\\ud83d\\ude00\\n\\/\"")->as_string(), "A\xC3\xA9\xF0\x9F\x98\x80\n/");
  EXPECT_EQ(parse("1e2")->as_number(), 100.0);
  EXPECT_FALSE(parse("1e2")->is_integer());
  EXPECT_EQ(parse("-0")->as_int(), 0);
  EXPECT_FALSE(parse("18446744073709551615")->is_integer());
}

TEST(Json, RefusesWhatIsNotJson) {
  const std::string bad[] = {
      "",
      " ",
      "nul",
      "nulll",
      "True",
      "01",
      "1.",
      "1.e1",
      ".5",
      "+1",
      "-",
      "1e",
      "1e+",
      "0x10",
      "NaN",
      "Infinity",
      "1e999",
      "\"",
      "\"\\\"",
      "\"\\x\"",
      "\"\\u12\"",
      "\"\\u12g4\"",
      "\"\\ud800\"",
      "\"\\udc00\"",
      "\"\\ud800\\u0041\"",
      "\"\t\"",
      "\"\x01\"",
      "\"\xFF\"",
      "\"\xC0\x80\"",
      "\"\xED\xA0\x80\"",
      "\"\xF5\x80\x80\x80\"",
      "\"\xE2\x82\"",
      "[",
      "[1",
      "[1,",
      "[1,]",
      "[,1]",
      "]",
      "{",
      "{\"a\"",
      "{\"a\":",
      "{\"a\":1",
      "{\"a\":1,}",
      "{a:1}",
      "{1:1}",
      "{\"a\" 1}",
      "{\"a\":1 \"b\":2}",
      "{\"a\":1,\"a\":2}",
      "1 2",
      "[1]]",
      "// comment",
      "'a'",
      std::string("\0", 1),
      std::string("1\0", 2),
  };
  for (const std::string& text : bad) {
    std::string error;
    EXPECT_FALSE(parse(text, {}, &error)) << text;
    EXPECT_NE(error, "") << text;
  }
}

TEST(Json, EveryTruncationOfAMessageIsRefused) {
  const std::string text =
      R"({"type":"grants","grants":[{"allocation":"a\u00e9","gpus":[{"uuid":"x","memoryBytes":null}]}],"n":-1.5e3})";
  ASSERT_TRUE(parse(text));
  for (size_t length = 0; length < text.size(); length++)
    EXPECT_FALSE(parse(text.substr(0, length))) << length;
}

TEST(Json, SurvivesEveryChangedByte) {
  const std::string text = R"({"a":[1,2.5,"\u00e9\n",null,true,{"b":"caf"}],"c":{}})";
  for (size_t at = 0; at < text.size(); at++) {
    for (int byte = 0; byte < 256; byte++) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      const auto value = parse(changed);
      EXPECT_TRUE(!value || parse(value->dump())) << changed;
    }
  }
}

TEST(Json, KeepsItsCaps) {
  EXPECT_TRUE(parse(std::string(32, '[') + std::string(32, ']')));
  EXPECT_FALSE(parse(std::string(33, '[') + std::string(33, ']')));
  EXPECT_FALSE(parse(std::string(1'000'000, '[')));
  EXPECT_FALSE(parse("[1,2,3]", {.max_values = 3}));
  EXPECT_TRUE(parse("[1,2,3]", {.max_values = 4}));
  EXPECT_FALSE(parse("[1,2,3]", {.max_bytes = 6}));
  EXPECT_FALSE(parse(R"({"a":1,"b":2})", {.max_members = 1}));
}

TEST(Json, WritesAnyText) {
  EXPECT_EQ(Value("a\"\\\x01\x7F\xFF").dump(), "\"a\\\"\\\\\\u0001\\u007f\xEF\xBF\xBD\"");
  EXPECT_EQ(Value(std::nan("")).dump(), "null");
  EXPECT_EQ(Value(2.0).dump(), "2.0");
  EXPECT_EQ(Value(std::numeric_limits<unsigned long long>::max()).as_number(), 18446744073709551616.0);
}

TEST(Json, AnswersWithNothingForOtherKinds) {
  const auto value = *parse(R"({"a":"text","n":-1,"list":[1]})");
  EXPECT_FALSE(value["a"].as_int());
  EXPECT_FALSE(value["n"].as_uint());
  EXPECT_EQ(value["missing"]["deeper"].string_or("none"), "none");
  EXPECT_TRUE(value["list"]["a"].is_null());
  EXPECT_EQ(value["a"].items().size(), 0u);
}

TEST(Json, SetReplaces) {
  Value value;
  value.set("a", 1).set("b", nullptr).set("a", "x");
  EXPECT_EQ(value.dump(), R"({"a":"x","b":null})");
  EXPECT_EQ(Value().push(1).push(Value::object()).dump(), "[1,{}]");
}

}  // namespace
}  // namespace sluice::json
