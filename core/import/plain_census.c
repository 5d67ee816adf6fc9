#include "plain_census.h"

#include "text.h"

static bool is(hob_str word, const char *name)
{
	return hob_str_equal(word, hob_str_of(name));
}

/* Words before a comment. */
static uint32_t count_words(hob_str line)
{
	const char *comment = line.len > 0 ? memchr(line.data, '#', line.len) : NULL;
	if (comment)
		line.len = (size_t)(comment - line.data);
	return hob_text_count_words(line);
}

void hob_census_of_obj(hob_census *seen, hob_str text)
{
	hob_str line;
	bool vertices = false, elements = false, colored = false;
	while (seen && !elements && hob_text_line(&text, &line)) {
		hob_str word = hob_text_word(&line);
		elements = is(word, "f") || is(word, "l") || is(word, "p");
		colored = colored || is(word, "#MRGB") || (is(word, "v") && !vertices && count_words(line) >= 6);
		vertices = vertices || is(word, "v");
	}
	hob_census_add(seen, HOB_CENSUS_SURFACES, vertices);
	hob_census_add(seen, HOB_CENSUS_COLORED, vertices && colored);
}

static bool has_statement(hob_str body, const char *const *names)
{
	hob_str line;
	while (hob_text_line(&body, &line)) {
		hob_str word = hob_text_word(&line);
		for (const char *const *name = names; word.len > 0 && *name; name++)
			if (hob_str_equal_nocase(word, hob_str_of(*name)) && hob_text_word(&line).len > 0)
				return true;
	}
	return false;
}

void hob_census_of_mtl(hob_census *seen, hob_str body)
{
	static const struct {
		hob_census_kind kind;
		const char *names[7];
	} maps[] = {
		{HOB_CENSUS_COLOR_MAPS, {"map_Kd"}},
		{HOB_CENSUS_NORMAL_MAPS, {"map_bump", "bump", "norm", "map_Kn", "map_norm", "map_normal"}},
		{HOB_CENSUS_EMISSIVE_MAPS, {"map_Ke", "map_emissive"}},
	};
	for (size_t i = 0; seen && i < HOB_COUNT_OF(maps); i++)
		hob_census_add(seen, maps[i].kind, has_statement(body, maps[i].names));
}

static hob_str last_word(hob_str line)
{
	hob_str last = {0}, word;
	while ((word = hob_text_word(&line)).len > 0)
		last = word;
	return last;
}

void hob_census_of_ply(hob_census *seen, hob_bytes file)
{
	static const char *const parts[] = {"red", "green", "blue"};
	hob_str text = {(const char *)file.data, file.size}, line, word = {0};
	unsigned found = 0;
	bool vertex = false;
	while (seen && !is(word, "end_header") && hob_text_line(&text, &line)) {
		word = hob_text_word(&line);
		hob_str rest = line, name = last_word(line);
		if (is(word, "element"))
			vertex = is(hob_text_word(&rest), "vertex");
		for (unsigned k = 0; vertex && is(word, "property") && k < 3; k++)
			found |= is(name, parts[k]) ? 1u << k : 0;
		if (is(word, "comment") && is(hob_text_word(&rest), "TextureFile") && rest.len > 0)
			hob_census_add(seen, HOB_CENSUS_COLOR_MAPS, 1);
	}
	hob_census_add(seen, HOB_CENSUS_SURFACES, 1);
	hob_census_add(seen, HOB_CENSUS_COLORED, found == 7);
}

void hob_census_of_stl(hob_census *seen, hob_bytes file)
{
	hob_str header = {(const char *)file.data, file.size < 80 ? file.size : 80};
	bool text = hob_str_starts(header, HOB_STR("solid"));
	hob_census_add(seen, HOB_CENSUS_SURFACES, 1);
	hob_census_add(seen, HOB_CENSUS_COLORED, !text && hob_str_find(header, HOB_STR("COLOR="), 0) != SIZE_MAX);
}
