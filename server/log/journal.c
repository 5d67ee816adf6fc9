#include "journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool leads_to_journal(int stream_fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;
	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(stream_fd, &st) == 0 &&
		   st.st_dev == device && st.st_ino == inode;
}

int srv_journal_open(const char *path, int stream_fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	if (!leads_to_journal(stream_fd) || strlen(path) >= sizeof to.sun_path)
		return -1;
	memcpy(to.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

bool srv_journal_send(int journal, srv_log_level level, const char *verb, const char *text)
{
	static const int priorities[] = {7, 6, 4, 3};
	char entry[2048];
	int size =
		snprintf(entry, sizeof entry, "MESSAGE=%s %s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=hob\nHOB_EVENT=%s\n",
				 verb, text, priorities[level], verb);
	return size > 0 && size < (int)sizeof entry &&
		   send(journal, entry, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) == size;
}
