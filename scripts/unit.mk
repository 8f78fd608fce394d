# Builds every test/unit/NAME_test.c to build/unit/NAME_test, under ASan and UBSan,
# and (target fuzz) every test/fuzz/NAME_fuzz.c to build/fuzz/NAME_fuzz.
# The sources they may test go into one archive, so that a program links only what it names.
CC ?= cc
FUZZ_CC ?= clang
FOLDERS := csrc/base csrc/policy csrc/plan csrc/command csrc/explain csrc/violations csrc/protocol csrc/network csrc/exec csrc/platform csrc/platform/linux
SOURCES := $(filter-out csrc/base/jansson_stdin.c,$(wildcard $(addsuffix /*.c,$(FOLDERS))))
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -g -O1
LANGUAGE := $(shell node scripts/cflags.js language) -Itest/unit -MMD -MP
WARNINGS := $(shell node scripts/cflags.js warnings)
JANSSON := $(shell node scripts/jansson.js)
# Node brings its libuv to the addon; a program needs one of its own.
UV := -Wl,--as-needed -luv
# The headers of libuv and Node lie beside the node that runs, where any do.
HEADERS := -isystem $(shell node -p 'path.join(path.dirname(path.dirname(process.execPath)), "include/node")')

TESTS := $(patsubst test/%.c,build/%,$(wildcard test/unit/*_test.c))
FUZZERS := $(patsubst test/%.c,build/%,$(wildcard test/fuzz/*_fuzz.c))

all: $(TESTS)
fuzz: $(FUZZERS)

build/unit/%_test: test/unit/%_test.c build/unit/tested.a
	$(CC) $(LANGUAGE) $(HEADERS) $(WARNINGS) $(SANITIZE) -o $@ $< build/unit/tested.a $(JANSSON) $(UV)

build/fuzz/%_fuzz: test/fuzz/%_fuzz.c build/fuzz/tested.a
	$(FUZZ_CC) $(LANGUAGE) $(HEADERS) $(SANITIZE) -fsanitize=fuzzer -o $@ $< build/fuzz/tested.a $(JANSSON) $(UV)

build/unit/tested.a: $(SOURCES:%.c=build/unit/%.o)
build/fuzz/tested.a: $(SOURCES:%.c=build/fuzz/%.o)
build/unit/tested.a build/fuzz/tested.a:
	rm -f $@ && ar rcs $@ $^

build/unit/%.o: %.c
	@mkdir -p $(dir $@)
	$(CC) $(LANGUAGE) $(HEADERS) $(WARNINGS) $(SANITIZE) -c -o $@ $<

build/fuzz/%.o: %.c
	@mkdir -p $(dir $@)
	$(FUZZ_CC) $(LANGUAGE) $(HEADERS) $(SANITIZE) -fsanitize=fuzzer-no-link -c -o $@ $<

-include $(shell find build/unit build/fuzz -name '*.d' 2>/dev/null)

.PHONY: all fuzz
