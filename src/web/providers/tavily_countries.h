// The countries that Tavily knows, which it takes by lower-case English name and nothing else.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::web {

struct TavilyCountry {
    std::string_view code;  // ISO 3166-1 alpha-2, lower case
    std::string_view name;
};

// Ascending by code. A country that is not here would be refused with a 400, so requests for one
// skip Tavily.
// clang-format off
inline constexpr auto kTavilyCountries = std::to_array<TavilyCountry>({
    {"ad", "andorra"}, {"ae", "united arab emirates"}, {"af", "afghanistan"}, {"al", "albania"},
    {"am", "armenia"}, {"ao", "angola"}, {"ar", "argentina"}, {"at", "austria"},
    {"au", "australia"}, {"az", "azerbaijan"}, {"ba", "bosnia and herzegovina"}, {"bb", "barbados"},
    {"bd", "bangladesh"}, {"be", "belgium"}, {"bf", "burkina faso"}, {"bg", "bulgaria"},
    {"bh", "bahrain"}, {"bi", "burundi"}, {"bj", "benin"}, {"bn", "brunei"}, {"bo", "bolivia"},
    {"br", "brazil"}, {"bs", "bahamas"}, {"bt", "bhutan"}, {"bw", "botswana"}, {"by", "belarus"},
    {"bz", "belize"}, {"ca", "canada"}, {"cf", "central african republic"}, {"cg", "congo"},
    {"ch", "switzerland"}, {"cl", "chile"}, {"cm", "cameroon"}, {"cn", "china"}, {"co", "colombia"},
    {"cr", "costa rica"}, {"cu", "cuba"}, {"cv", "cape verde"}, {"cy", "cyprus"},
    {"cz", "czech republic"}, {"de", "germany"}, {"dj", "djibouti"}, {"dk", "denmark"},
    {"do", "dominican republic"}, {"dz", "algeria"}, {"ec", "ecuador"}, {"ee", "estonia"},
    {"eg", "egypt"}, {"er", "eritrea"}, {"es", "spain"}, {"et", "ethiopia"}, {"fi", "finland"},
    {"fj", "fiji"}, {"fr", "france"}, {"ga", "gabon"}, {"gb", "united kingdom"}, {"ge", "georgia"},
    {"gh", "ghana"}, {"gm", "gambia"}, {"gn", "guinea"}, {"gq", "equatorial guinea"},
    {"gr", "greece"}, {"gt", "guatemala"}, {"hn", "honduras"}, {"hr", "croatia"}, {"ht", "haiti"},
    {"hu", "hungary"}, {"id", "indonesia"}, {"ie", "ireland"}, {"il", "israel"}, {"in", "india"},
    {"iq", "iraq"}, {"ir", "iran"}, {"is", "iceland"}, {"it", "italy"}, {"jm", "jamaica"},
    {"jo", "jordan"}, {"jp", "japan"}, {"ke", "kenya"}, {"kg", "kyrgyzstan"}, {"kh", "cambodia"},
    {"km", "comoros"}, {"kp", "north korea"}, {"kr", "south korea"}, {"kw", "kuwait"},
    {"kz", "kazakhstan"}, {"lb", "lebanon"}, {"li", "liechtenstein"}, {"lk", "sri lanka"},
    {"lr", "liberia"}, {"ls", "lesotho"}, {"lt", "lithuania"}, {"lu", "luxembourg"},
    {"lv", "latvia"}, {"ly", "libya"}, {"ma", "morocco"}, {"mc", "monaco"}, {"md", "moldova"},
    {"me", "montenegro"}, {"mg", "madagascar"}, {"mk", "north macedonia"}, {"ml", "mali"},
    {"mm", "myanmar"}, {"mn", "mongolia"}, {"mr", "mauritania"}, {"mt", "malta"},
    {"mu", "mauritius"}, {"mv", "maldives"}, {"mw", "malawi"}, {"mx", "mexico"}, {"my", "malaysia"},
    {"mz", "mozambique"}, {"na", "namibia"}, {"ne", "niger"}, {"ng", "nigeria"},
    {"ni", "nicaragua"}, {"nl", "netherlands"}, {"no", "norway"}, {"np", "nepal"},
    {"nz", "new zealand"}, {"om", "oman"}, {"pa", "panama"}, {"pe", "peru"},
    {"pg", "papua new guinea"}, {"ph", "philippines"}, {"pk", "pakistan"}, {"pl", "poland"},
    {"pt", "portugal"}, {"py", "paraguay"}, {"qa", "qatar"}, {"ro", "romania"}, {"rs", "serbia"},
    {"ru", "russia"}, {"rw", "rwanda"}, {"sa", "saudi arabia"}, {"sd", "sudan"}, {"se", "sweden"},
    {"sg", "singapore"}, {"si", "slovenia"}, {"sk", "slovakia"}, {"sn", "senegal"},
    {"so", "somalia"}, {"ss", "south sudan"}, {"sv", "el salvador"}, {"sy", "syria"},
    {"td", "chad"}, {"tg", "togo"}, {"th", "thailand"}, {"tj", "tajikistan"},
    {"tm", "turkmenistan"}, {"tn", "tunisia"}, {"tr", "turkey"}, {"tt", "trinidad and tobago"},
    {"tw", "taiwan"}, {"tz", "tanzania"}, {"ua", "ukraine"}, {"ug", "uganda"},
    {"us", "united states"}, {"uy", "uruguay"}, {"uz", "uzbekistan"}, {"ve", "venezuela"},
    {"vn", "vietnam"}, {"ye", "yemen"}, {"za", "south africa"}, {"zm", "zambia"},
    {"zw", "zimbabwe"},
});
// clang-format on
static_assert(std::ranges::is_sorted(kTavilyCountries, {}, &TavilyCountry::code));

inline constexpr auto kTavilyCountryCodes = [] {
    std::array<std::string_view, kTavilyCountries.size()> codes;
    std::ranges::transform(kTavilyCountries, codes.begin(), &TavilyCountry::code);
    return codes;
}();

// Empty for a code that is not in the table.
constexpr std::string_view tavily_country_name(std::string_view code) {
    const auto found = std::ranges::lower_bound(kTavilyCountries, code, {}, &TavilyCountry::code);
    const bool known = found != kTavilyCountries.end() && found->code == code;
    return known ? found->name : std::string_view();
}

}  // namespace sluice::web
