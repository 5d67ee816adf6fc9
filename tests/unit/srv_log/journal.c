/* A fake journal: a datagram socket that keeps received messages. */
#include "tests/unit/support.h"
#include "tests/unit/temp_folder.h"

#include "server/log/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

typedef struct fixture {
	temp_folder folder;
	struct sockaddr_un at;
	int journal, stream;
} fixture;

static int setup(void **state)
{
	fixture *f = calloc(1, sizeof *f);
	folder_make(&f->folder);
	f->at.sun_family = AF_UNIX;
	snprintf(f->at.sun_path, sizeof f->at.sun_path, "%s", folder_at(&f->folder, "socket"));
	f->journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->journal, (struct sockaddr *)&f->at, sizeof f->at), 0);
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	close(pair[1]);
	f->stream = pair[0];
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture *f = *state;
	close(f->journal);
	close(f->stream);
	unsetenv("JOURNAL_STREAM");
	folder_remove(&f->folder);
	free(f);
	return 0;
}

static void say_stream(int fd)
{
	struct stat st;
	char text[64];
	assert_int_equal(fstat(fd, &st), 0);
	snprintf(text, sizeof text, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
}

static void a_line_is_an_entry_with_fields(void **state)
{
	fixture *f = *state;
	say_stream(f->stream);
	int fd = srv_journal_open(f->at.sun_path, f->stream);
	assert_true(fd >= 0);
	assert_true(srv_journal_send(fd, SRV_LOG_ERROR, "failed", "props/duck.glb: not a glTF file"));
	char entry[512];
	ssize_t size = recv(f->journal, entry, sizeof entry - 1, MSG_DONTWAIT);
	assert_true(size > 0);
	entry[size] = 0;
	assert_string_equal(entry, "MESSAGE=failed props/duck.glb: not a glTF file\nPRIORITY=3\n"
							   "SYSLOG_IDENTIFIER=hob\nHOB_EVENT=failed\n");
	close(fd);
}

static void a_stream_that_leads_elsewhere_is_no_journal(void **state)
{
	fixture *f = *state;
	assert_int_equal(srv_journal_open(f->at.sun_path, f->stream), -1);
	say_stream(f->journal);
	assert_int_equal(srv_journal_open(f->at.sun_path, f->stream), -1);
	say_stream(f->stream);
	assert_int_equal(srv_journal_open(folder_at(&f->folder, "nobody"), f->stream), -1);
}

static void what_the_journal_does_not_take_is_said(void **state)
{
	fixture *f = *state;
	say_stream(f->stream);
	int fd = srv_journal_open(f->at.sun_path, f->stream);
	close(f->journal);
	f->journal = -1;
	assert_false(srv_journal_send(fd, SRV_LOG_INFO, "cooked", "duck.glb"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_line_is_an_entry_with_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stream_that_leads_elsewhere_is_no_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_journal_does_not_take_is_said, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
