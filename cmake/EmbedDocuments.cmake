# cmake -DFILES=name=file,… -DOUT=x.cpp -P EmbedDocuments.cmake: writes the OpenAPI documents into a C++ source, which
# defines the functions of net/http/http_message.hpp.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" FILES "${FILES}")
set(source "#include <string_view>\n\nnamespace beckon::net {\n\n")
foreach(item IN LISTS FILES)
    string(REGEX REPLACE "=.*" "" name "${item}")
    string(REGEX REPLACE "[^=]*=" "" file "${item}")
    file(READ ${file} hex HEX)
    string(LENGTH "${hex}" length)
    math(EXPR size "${length} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND source "namespace {\nconstexpr unsigned char k_${name}[] = {${bytes}0};\n}  // namespace\n\n"
        "std::string_view ${name}_api_document() {\n"
        "    return {reinterpret_cast<const char*>(k_${name}), ${size}};\n}\n\n")
endforeach()
file(WRITE ${OUT} "${source}}  // namespace beckon::net\n")
