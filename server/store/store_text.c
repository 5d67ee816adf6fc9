/* A cache of texts: records that are read in sequence mostly share a few. */
#include "../../core/base/array.h"
#include "row.h"
#include "store_internal.h"

#include <stdlib.h>

void srv_store_texts_forget(srv_store *store)
{
	for (size_t i = 0; i < HOB_COUNT_OF(store->texts); i++) {
		free(store->texts[i].data);
		store->texts[i] = (store_text){0};
	}
}

static hob_str keep(srv_store *store, hob_str name, hob_str text)
{
	store_text *place = &store->texts[store->next_text++ % HOB_COUNT_OF(store->texts)];
	free(place->data);
	*place = (store_text){.data = hob_must(malloc(text.len + 1)), .len = text.len};
	memcpy(place->data, text.data, text.len);
	memcpy(place->name, name.data, SRV_ROW_NAME);
	return (hob_str){place->data, place->len};
}

bool srv_store_text(srv_store *store, hob_str name, hob_str *out)
{
	hob_error error;
	*out = (hob_str){"", 0};
	if (name.len != SRV_ROW_NAME)
		return name.len == 0;
	for (size_t i = 0; i < HOB_COUNT_OF(store->texts); i++) {
		const store_text *known = &store->texts[i];
		if (known->data && memcmp(known->name, name.data, SRV_ROW_NAME) == 0) {
			*out = (hob_str){known->data, known->len};
			return true;
		}
	}
	sqlite3_stmt *row = srv_store_select(store, SQL_TEXT, &error, BIND(name));
	bool found = false, ok = true;
	while (srv_store_step(store, row, &ok, &error)) {
		*out = keep(store, name, srv_store_column_str(row, 0));
		found = true;
	}
	return found;
}

bool srv_store_put_text(srv_store *store, hob_str text, uint8_t name[SRV_ROW_NAME], hob_str *out,
						hob_error *err)
{
	for (size_t i = 0; i < HOB_COUNT_OF(store->texts); i++) {
		const store_text *known = &store->texts[i];
		if (known->data && hob_str_equal((hob_str){known->data, known->len}, text)) {
			memcpy(name, known->name, SRV_ROW_NAME);
			*out = (hob_str){(const char *)name, SRV_ROW_NAME};
			return true;
		}
	}
	*out = srv_row_name(text, name);
	if (out->len == 0)
		return true;
	bool ok = srv_store_put_row(store, SQL_PUT_TEXT, err, BIND(*out), BIND(text));
	if (ok)
		(void)keep(store, *out, text);
	return ok;
}
