# Sets `out` to a source with the OpenAPI documents that ports serve, made in the current folder of the build tree.
function(beckon_api_documents out)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/api_documents.cpp)
    set(schemas ${PROJECT_SOURCE_DIR}/schemas)
    set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedDocuments.cmake)
    add_custom_command(
        OUTPUT ${source}
        COMMAND ${CMAKE_COMMAND} -DOUT=${source}
                -DFILES=endpoint=${schemas}/openapi.yaml,webhooks=${schemas}/webhooks.openapi.yaml,console=${schemas}/console.openapi.yaml
                -P ${script}
        DEPENDS ${script} ${schemas}/openapi.yaml ${schemas}/webhooks.openapi.yaml ${schemas}/console.openapi.yaml
        VERBATIM)
    set(${out} ${source} PARENT_SCOPE)
endfunction()
