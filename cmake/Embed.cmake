# cmake -DFOLDER=… -DFILES=a,b,… -DOUT=x.cpp -P Embed.cmake: writes the files of the folder into one C++ source,
# which defines what console/web/assets.hpp declares.
string(REPLACE "," ";" FILES "${FILES}")
set(types .html "text/html; charset=utf-8" .css "text/css; charset=utf-8" .js "text/javascript; charset=utf-8"
          .svg "image/svg+xml")
set(data "")
set(table "")
set(number 0)
foreach(name IN LISTS FILES)
    file(READ ${FOLDER}/${name} hex HEX)
    file(SHA256 ${FOLDER}/${name} digest)
    string(SUBSTRING ${digest} 0 16 digest)
    string(LENGTH "${hex}" length)
    math(EXPR size "${length} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    get_filename_component(suffix ${name} LAST_EXT)
    list(FIND types ${suffix} at)
    math(EXPR at "${at} + 1")
    list(GET types ${at} type)
    string(APPEND data "constexpr unsigned char kFile${number}[] = {${bytes}0};\n")
    string(APPEND table "    {\"/${name}\", \"${type}\", {reinterpret_cast<const char*>(kFile${number}), ${size}}, \"\\\"${digest}\\\"\"},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "#include \"console/web/assets.hpp\"

#include <array>

namespace beckon::console {

namespace {

${data}
const std::array<Asset, ${number}> kAssets{{
${table}}};

}  // namespace

std::span<const Asset> assets() { return kAssets; }

}  // namespace beckon::console
")
