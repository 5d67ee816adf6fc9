#include "doctor.h"
#include "serve_config.h"

#include "../upstream/exchange.h"

static void look_at_farm(doctor *d, const serve_upstream *upstream)
{
	srv_farm *farm;
	srv_exchange exchange;
	hob_error error = {0};
	if (!srv_farm_open(&upstream->farm, "hob doctor", &farm, &error)) {
		srv_doctor_say(d, DOCTOR_FAIL, "farm", "%s", error.context);
		return;
	}
	if (!srv_exchange_init_farm(&exchange, farm, NULL, &error)) {
		srv_doctor_say(d, DOCTOR_FAIL, "farm", "%s", error.context);
	} else {
		srv_exchange_end end = srv_exchange_probe(&exchange);
		if (end == SRV_EXCHANGE_OK)
			srv_doctor_say(d, DOCTOR_OK, "farm", "%s and %s answer", upstream->farm.metadata,
						   upstream->farm.blobs);
		else
			srv_doctor_advise(
				srv_doctor_say(d, DOCTOR_WARN, "farm", "%s", exchange.error.context),
				"until it answers, everything is cooked here; 'hob farm init' says what is missing");
		srv_exchange_release(&exchange);
	}
	srv_farm_close(farm);
}

/* Sends the upstream a daemon's usual question, with nothing to look for. */
void srv_doctor_look_at_upstream(doctor *d)
{
	serve_upstream upstream;
	hob_error error = {0};
	if (!srv_serve_upstream_options(&d->config, &upstream, &error)) {
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_FAIL, "upstream", "%s", error.context),
						  "write the token into that file, or name another with cache.upstream_token_file");
		return;
	}
	if (!upstream.url)
		return;
	if (upstream.has_farm) {
		look_at_farm(d, &upstream);
		return;
	}
	srv_exchange exchange;
	hob_buf records = {0};
	srv_exchange_init(&exchange, upstream.url, upstream.token, NULL, "0");
	srv_exchange_end end = srv_exchange_find(&exchange, NULL, 0, (hob_str){0}, &records);
	hob_buf_release(&records);
	srv_exchange_release(&exchange);
	if (end == SRV_EXCHANGE_OK) {
		srv_doctor_say(d, DOCTOR_OK, "upstream", "%s answers; what is cooked here is %s", upstream.url,
					   upstream.push ? "given to it, if the token may write" : "not given to it");
		return;
	}
	doctor_item *item = srv_doctor_say(d, DOCTOR_WARN, "upstream", "%s", exchange.error.context);
	if (end == SRV_EXCHANGE_BARRED)
		srv_doctor_advise(
			item, "make a token there with 'hob token create NAME --token-file FILE', and name its file with "
				  "cache.upstream_token_file");
	else if (end == SRV_EXCHANGE_DOWN)
		srv_doctor_advise(item,
						  "start it, or correct cache.upstream; until it answers, everything is cooked here");
	else
		srv_doctor_advise(item, "cache.upstream must be the address of a Hob of this version or a newer one");
}
