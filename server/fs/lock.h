/* lock.h - locks that are held to the end of a block: `SRV_LOCKED(&events->lock);`. */
#ifndef SRV_LOCK_H
#define SRV_LOCK_H

#include <pthread.h>

#define SRV_LOCKED(which) SRV_HELD(which, __LINE__, mutex, lock)
#define SRV_READS(which)  SRV_HELD(which, __LINE__, rwlock, rdlock)
#define SRV_WRITES(which) SRV_HELD(which, __LINE__, rwlock, wrlock)

#define SRV_HELD(which, line, kind, take) SRV_HELD_AT(which, line, kind, take)
#define SRV_HELD_AT(which, line, kind, take)                                                                 \
	__attribute__((cleanup(srv_unlock_##kind))) pthread_##kind##_t *held_##line = (which);                   \
	pthread_##kind##_##take(held_##line)

static inline void srv_unlock_mutex(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

static inline void srv_unlock_rwlock(pthread_rwlock_t **lock)
{
	pthread_rwlock_unlock(*lock);
}

#endif
