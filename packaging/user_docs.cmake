# Copies the documents for users to OUTPUT: cmake -DSOURCE=DIR -DOUTPUT=DIR -P user_docs.cmake. Links to what is for
# developers, and so is not among them, become text. `cmake --install` runs it.
cmake_minimum_required(VERSION 3.25)
set(user_docs administrator benchmarks check clouds/README clouds/alibaba clouds/aws clouds/azure clouds/gcp clouds/oci
    clouds/tencent coming-from-harp configuration engines failures floods kubernetes launchers night-duty nics perf prometheus rails rdma
    rehearsal setup tfabric-info troubleshooting wire)
set(developer_docs architecture arm64 lab messages observation packetdrill rdma-data-path recovery tcp testing testing-with-nccl)

# A document is in one of the two lists.
file(GLOB pages RELATIVE ${SOURCE}/docs ${SOURCE}/docs/*.md ${SOURCE}/docs/*/*.md)
foreach(page ${pages})
  string(REPLACE ".md" "" name ${page})
  if(NOT name IN_LIST user_docs AND NOT name IN_LIST developer_docs)
    message(FATAL_ERROR "docs/${page}: packaging/user_docs.cmake does not say whether it is for users or for developers")
  endif()
endforeach()

list(JOIN developer_docs "|" developer)
set(target "\\((\\.\\./)?(${developer})\\.md[^)]*\\)")
foreach(name ${user_docs})
  file(READ ${SOURCE}/docs/${name}.md text)
  # " ([lab.md](lab.md))" goes as a whole; of "the [witness](recovery.md#the-witness)" the words stay.
  string(REGEX REPLACE "[ \n]+\\(\\[[a-z-]+\\.md\\]${target}\\)" "" text "${text}")
  string(REGEX REPLACE "\\[([^]]+)\\]${target}" "\\1" text "${text}")
  string(REPLACE "(../packaging/tfabric.toml)" "(examples/tfabric.toml)" text "${text}")
  string(REPLACE "(../packaging/kubernetes" "(examples/kubernetes" text "${text}")
  string(REGEX REPLACE "\\(\\.\\./packaging/(grafana|prometheus)/" "(examples/\\1/" text "${text}")
  string(REPLACE " packaging/kubernetes/" " examples/kubernetes/" text "${text}")
  string(REGEX REPLACE "\\[([^]]+)\\]\\(\\.\\./packaging/[^)]*\\)" "\\1" text "${text}")
  file(WRITE ${OUTPUT}/${name}.md "${text}")
endforeach()
foreach(name CHANGELOG SECURITY)
  file(READ ${SOURCE}/${name}.md text)
  string(REPLACE "(docs/" "(" text "${text}")
  file(WRITE ${OUTPUT}/${name}.md "${text}")
endforeach()
file(COPY ${SOURCE}/packaging/tfabric.toml DESTINATION ${OUTPUT}/examples)
file(COPY ${SOURCE}/docs/night-duty-dashboard.svg DESTINATION ${OUTPUT})
file(COPY ${SOURCE}/packaging/kubernetes ${SOURCE}/packaging/grafana ${SOURCE}/packaging/prometheus DESTINATION ${OUTPUT}/examples)
