#include "client_private.h"

void *hobc_alloc(hobc_client *client, size_t size)
{
	return client->options.memory.alloc(client->options.memory.user, size);
}

void hobc_free(hobc_client *client, void *memory)
{
	if (memory)
		client->options.memory.release(client->options.memory.user, memory);
}
