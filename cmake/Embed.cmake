# cmake -DFOLDER=… -DMODULES=a.js,b.js,… -DOUT=x.cpp -P Embed.cmake: makes one document of the console's app, so that a
# browser sends one request, and writes it into a C++ source, which defines the function of console/web/web_handler.hpp.
#
# index.html gets console.css, icon.svg and the modules in place of its links to them. Each module becomes a block of
# its own in one script; its exports become members of the object `app`, and its imports are read from there. So all
# exports have different names, and a module stands after the modules that it imports from. Other modules are refused
# here. No text of the app spans lines. Libraries of others (vendor/) stand before the modules, unchanged, with their licences.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" MODULES "${MODULES}")

# Replaces `old` in the variable `in` by `new`; there must be one.
function(put in old new)
    string(FIND "${${in}}" "${old}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "index.html has no ${old}")
    endif()
    string(REPLACE "${old}" "${new}" text "${${in}}")
    set(${in} "${text}" PARENT_SCOPE)
endfunction()

function(refuse text words where)
    string(FIND "${text}" "${words}" at)
    if(NOT at EQUAL -1)
        message(FATAL_ERROR "${where} has '${words}', which cannot stand in one document")
    endif()
endfunction()

# Without comments that stand alone, types in comments, and indentation: they are a third of it, and only readers of the source need them.
function(strip in)
    string(REGEX REPLACE "\n *//[^\n]*" "" text "\n${${in}}")
    string(REGEX REPLACE "\n */\\*([^*]|\\*[^/])*\\*/" "" text "${text}")
    string(REGEX REPLACE "/\\*\\*[^*]*\\*/ ?" "" text "${text}")
    string(REGEX REPLACE "\n[ \n]*" "\n" text "${text}")
    set(${in} "${text}" PARENT_SCOPE)
endfunction()

set(exported "")
file(READ ${FOLDER}/vendor/uplot.LICENSE licence)
file(READ ${FOLDER}/vendor/uplot.js uplot)
refuse("${uplot}" "</script" vendor/uplot.js)
refuse("${uplot}" "<!--" vendor/uplot.js)
set(script "/*\n${licence}*/\n${uplot}\nconst app = {};\n")
foreach(module IN LISTS MODULES)
    file(READ ${FOLDER}/${module} text)
    string(REGEX MATCHALL "\nimport { [^}]* } from " imports "${text}")
    foreach(import IN LISTS imports)
        string(REGEX REPLACE ".*{ (.*) }.*" "\\1" names "${import}")
        string(REPLACE ", " ";" names "${names}")
        foreach(name IN LISTS names)
            if(NOT name IN_LIST exported)
                message(FATAL_ERROR "${module} imports '${name}', which no module before it exports")
            endif()
        endforeach()
    endforeach()
    string(REGEX REPLACE "\nimport ({ [^}]* }) from '[^']*';" "\nconst \\1 = app;" text "${text}")
    string(REGEX MATCHALL "\nexport (async function|function|const) [A-Za-z]+" exports "${text}")
    set(names "")
    foreach(export IN LISTS exports)
        string(REGEX REPLACE ".* " "" name "${export}")
        if(name IN_LIST exported)
            message(FATAL_ERROR "${module} exports '${name}', which another module exports too")
        endif()
        list(APPEND names ${name})
        list(APPEND exported ${name})
    endforeach()
    string(REGEX REPLACE "\nexport (async function|function|const) " "\n\\1 " text "${text}")
    refuse("${text}" "\nimport " ${module})
    refuse("${text}" "\nexport " ${module})
    refuse("${text}" "</script" ${module})
    refuse("${text}" "<!--" ${module})
    strip(text)
    list(JOIN names ", " names)
    string(APPEND script "{\n${text}Object.assign(app, { ${names} });\n}\n")
endforeach()

file(READ ${FOLDER}/console.css style)
strip(style)
file(READ ${FOLDER}/vendor/uplot.css uplot_style)
set(style "${uplot_style}\n${style}")
refuse("${style}" "</style" console.css)
file(READ ${FOLDER}/icon.svg icon)
string(STRIP "${icon}" icon)
string(REPLACE "\"" "'" icon "${icon}")
string(REPLACE "#" "%23" icon "${icon}")
string(REPLACE "<" "%3C" icon "${icon}")
string(REPLACE ">" "%3E" icon "${icon}")

file(READ ${FOLDER}/index.html document)
put(document "/icon.svg" "data:image/svg+xml,${icon}")
put(document "<link rel=\"stylesheet\" href=\"/console.css\">" "<style>${style}</style>")
put(document "<script type=\"module\" src=\"/app.js\"></script>" "<script type=\"module\">${script}</script>")

file(WRITE ${OUT}.html "${document}")
file(READ ${OUT}.html hex HEX)
string(LENGTH "${hex}" length)
math(EXPR size "${length} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "#include <string_view>

namespace beckon::console {

namespace {
constexpr unsigned char kDocument[] = {${bytes}0};
}  // namespace

std::string_view app_document() { return {reinterpret_cast<const char*>(kDocument), ${size}}; }

}  // namespace beckon::console
")
