#include "doctor.h"
#include "http_client.h"
#include "wrap.h"

#include "../../core/base/json_write.h"
#include "../log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* hob doctor: checks the requirements of `hob serve`. */

doctor_item *srv_doctor_say(doctor *d, doctor_state state, const char *name, const char *fmt, ...)
{
	static doctor_item dropped;
	doctor_item *item = d->count < DOCTOR_ITEMS_MAX ? &d->items[d->count++] : &dropped;
	*item = (doctor_item){.state = state, .name = name};
	va_list args;
	va_start(args, fmt);
	vsnprintf(item->text, sizeof item->text, fmt, args);
	va_end(args);
	srv_plain_lines(item->text);
	return item;
}

void srv_doctor_advise(doctor_item *item, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(item->remedy, sizeof item->remedy, fmt, args);
	va_end(args);
	srv_plain_lines(item->remedy);
}

static void look_at_config(doctor *d, const char *file)
{
	hob_error error = {0};
	d->has_config = srv_config_load(&d->config, file, &error);
	if (!d->has_config) {
		srv_doctor_advise(srv_doctor_say(d, DOCTOR_FAIL, "config", "%s", error.context),
						  "correct it; 'hob config --check FILE' checks it again");
		return;
	}
	srv_doctor_say(d, DOCTOR_OK, "config", "%s",
				   d->config.file ? d->config.file : "no hob.json; the defaults apply");
}

static const char *const state_names[] = {"ok", "warn", "fail"};

static void print_people(const doctor *d)
{
	static const char *const colors[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m"};
	enum { LEFT = 18 };
	bool color = srv_color_wanted(1);
	uint32_t width = srv_cli_width(1);
	uint32_t counts[3] = {0};
	for (uint32_t i = 0; i < d->count; i++) {
		const doctor_item *item = &d->items[i];
		counts[item->state]++;
		hob_buf out = {0};
		hob_buf_printf(&out, "  %s%-4s%s  %-9s ", color ? colors[item->state] : "", state_names[item->state],
					   color ? "\x1b[0m" : "", item->name);
		srv_cli_wrap(&out, hob_str_of(item->text), LEFT, LEFT, width);
		hob_buf_put(&out, "\n", 1);
		if (item->remedy[0]) {
			hob_buf_put_str(&out, HOB_STR("                  -> "));
			srv_cli_wrap(&out, hob_str_of(item->remedy), LEFT + 3, LEFT + 3, width);
			hob_buf_put(&out, "\n", 1);
		}
		printf("%.*s", HOB_FMT(hob_buf_str(&out)));
		hob_buf_release(&out);
	}
	printf("\n%u ok, %u warning%s, %u error%s\n", counts[DOCTOR_OK], counts[DOCTOR_WARN],
		   counts[DOCTOR_WARN] == 1 ? "" : "s", counts[DOCTOR_FAIL], counts[DOCTOR_FAIL] == 1 ? "" : "s");
}

static void print_json(const doctor *d, bool fails)
{
	hob_buf out = {0};
	hob_json_put(&out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("version", HOB_STR(HOB_VERSION)),
				 HOB_JSON_BOOL("ok", !fails), HOB_JSON_OPEN("checks", '['));
	for (uint32_t i = 0; i < d->count; i++) {
		const doctor_item *item = &d->items[i];
		hob_json_object(&out, HOB_JSON("name", item->name), HOB_JSON("state", state_names[item->state]),
						HOB_JSON("text", item->text), HOB_JSON("remedy", item->remedy));
	}
	hob_json_put(&out, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	printf("%.*s\n", HOB_FMT(hob_buf_str(&out)));
	hob_buf_release(&out);
}

static int run_doctor(int argc, char **argv)
{
	static doctor d;
	const char *file = NULL, *cache = NULL;
	bool json = false;
	d = (doctor){.url = srv_cli_default_url()};
	cli_option options[] = {
		{"--config", 0, CLI_TEXT, &file, "FILE", "the configuration file (hob.json here or in a parent)"},
		{"--cache", 0, CLI_TEXT, &cache, "DIR", "the cache folder (from the configuration)"},
		{"--url", 0, CLI_TEXT, &d.url, "URL",
		 "a daemon that may run: HOST:PORT, https://HOST:PORT or unix:/path (127.0.0.1:7780, or $HOB_URL)"},
		CLI_CA_OPTION,
		{"--json", 0, CLI_FLAG, &json, NULL, "as JSON"}};
	int operands = srv_cli_parse(&srv_cli_doctor, options, HOB_COUNT_OF(options), argc, argv);
	if (operands < 0)
		return srv_cli_parse_exit(operands);
	hob_error error = {0};
	look_at_config(&d, file);
	if (d.has_config && cache &&
		!srv_config_set(&d.config, SRV_CONFIG_cache, cache, SRV_CONFIG_OPTION, "--cache", &error))
		return srv_cli_usage_error(&srv_cli_doctor, "%s", error.context);
	srv_doctor_look_at_worker(&d);
	if (d.has_config) {
		srv_doctor_look_at_folders(&d, argv + 1, operands);
		srv_doctor_look_at_cache(&d);
		srv_doctor_look_at_upstream(&d);
		srv_doctor_look_at_limits(&d);
	}
	srv_doctor_look_at_daemon(&d);
	srv_doctor_look_at_roots(&d);
	if (d.has_config) {
		srv_doctor_look_at_lock(&d);
		srv_doctor_look_at_addresses(&d);
	}
	bool fails = false;
	for (uint32_t i = 0; i < d.count; i++)
		fails = fails || d.items[i].state == DOCTOR_FAIL;
	if (json)
		print_json(&d, fails);
	else
		print_people(&d);
	if (d.has_config)
		srv_config_release(&d.config);
	return fails ? EXIT_ASSETS_FAILED : EXIT_GOOD;
}

const cli_command srv_cli_doctor = {
	"doctor", "[DIR...]", "check folders, limits, disk, sandbox, versions and ports",
	"Checks everything that 'hob serve' needs with the same DIRs and configuration, and gives the remedy for "
	"each problem. Exit code 0: no problems, 1: at least one.\n"
	"\n"
	"Examples:\n"
	"  hob doctor\n"
	"  hob doctor art/ --json | jq '.checks[] | select(.state != \"ok\")'\n",
	run_doctor};
