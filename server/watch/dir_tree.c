#include "dir_tree.h"

#include "../../core/base/array.h"

#include <stdlib.h>

enum { CAPACITY_MIN = 64 };

static size_t wd_slot(const dir_tree *tree, int wd)
{
	return ((size_t)(unsigned)wd * 0x9E3779B1u) & (tree->capacity - 1);
}

static size_t name_slot(const dir_tree *tree, const dir_node *parent, hob_str name)
{
	uint64_t h = (uint64_t)(uintptr_t)parent * 0x9E3779B97F4A7C15u;
	for (size_t i = 0; i < name.len; i++)
		h = (h ^ (uint8_t)name.data[i]) * 1099511628211u;
	return (size_t)(h ^ h >> 31) & (tree->capacity - 1);
}

static hob_str name_of(const dir_node *node)
{
	return (hob_str){node->name, node->name_len};
}

static void link_wd(dir_tree *tree, dir_node *node)
{
	dir_node **slot = &tree->by_wd[wd_slot(tree, node->wd)];
	node->wd_next = *slot;
	*slot = node;
}

static void unlink_wd(dir_tree *tree, dir_node *node)
{
	dir_node **at = &tree->by_wd[wd_slot(tree, node->wd)];
	while (*at != node)
		at = &(*at)->wd_next;
	*at = node->wd_next;
}

static void link_name(dir_tree *tree, dir_node *node)
{
	dir_node **slot = &tree->by_name[name_slot(tree, node->parent, name_of(node))];
	node->name_next = *slot;
	*slot = node;
}

static void unlink_name(dir_tree *tree, dir_node *node)
{
	dir_node **at = &tree->by_name[name_slot(tree, node->parent, name_of(node))];
	while (*at != node)
		at = &(*at)->name_next;
	*at = node->name_next;
}

static dir_node *next_below(const dir_node *top, dir_node *node)
{
	if (node->first_child)
		return node->first_child;
	while (node != top && !node->next)
		node = node->parent;
	return node == top ? NULL : node->next;
}

static void grow(dir_tree *tree)
{
	dir_tree old = *tree;
	tree->capacity = old.capacity ? old.capacity * 2 : CAPACITY_MIN;
	tree->by_wd = hob_must(calloc(tree->capacity, sizeof(dir_node *)));
	tree->by_name = hob_must(calloc(tree->capacity, sizeof(dir_node *)));
	for (size_t i = 0; i < old.capacity; i++)
		for (dir_node *node = old.by_wd[i], *next; node; node = next) {
			next = node->wd_next;
			link_wd(tree, node);
			if (node->parent)
				link_name(tree, node);
		}
	free(old.by_wd);
	free(old.by_name);
}

void srv_dir_tree_release(dir_tree *tree)
{
	for (size_t i = 0; i < tree->capacity; i++)
		for (dir_node *node = tree->by_wd[i], *next; node; node = next) {
			next = node->wd_next;
			free(node);
		}
	free(tree->by_wd);
	free(tree->by_name);
	*tree = (dir_tree){0};
}

dir_node *srv_dir_tree_find_wd(const dir_tree *tree, int wd)
{
	dir_node *node = tree->capacity > 0 ? tree->by_wd[wd_slot(tree, wd)] : NULL;
	while (node && node->wd != wd)
		node = node->wd_next;
	return node;
}

dir_node *srv_dir_tree_child(const dir_tree *tree, const dir_node *parent, hob_str name)
{
	dir_node *node = tree->capacity > 0 ? tree->by_name[name_slot(tree, parent, name)] : NULL;
	while (node && (node->parent != parent || !hob_str_equal(name_of(node), name)))
		node = node->name_next;
	return node;
}

dir_node *srv_dir_tree_find(const dir_tree *tree, hob_str path)
{
	dir_node *node = tree->root;
	for (size_t from = 0; node && from < path.len;) {
		size_t slash = hob_str_find(path, HOB_STR("/"), from), end = slash == SIZE_MAX ? path.len : slash;
		node = srv_dir_tree_child(tree, node, hob_str_sub(path, from, end));
		from = end + 1;
	}
	return node;
}

static void attach(dir_tree *tree, dir_node *node, dir_node *parent)
{
	node->parent = parent;
	node->previous = NULL;
	node->next = parent->first_child;
	if (node->next)
		node->next->previous = node;
	parent->first_child = node;
	link_name(tree, node);
}

void srv_dir_tree_detach(dir_tree *tree, dir_node *node)
{
	if (!node->parent)
		return;
	unlink_name(tree, node);
	if (node->previous)
		node->previous->next = node->next;
	else
		node->parent->first_child = node->next;
	if (node->next)
		node->next->previous = node->previous;
	node->parent = node->next = node->previous = NULL;
}

static dir_node *new_node(hob_str name, int wd)
{
	dir_node *node = hob_must(calloc(1, sizeof *node + name.len + 1));
	node->wd = wd;
	node->name_len = (uint32_t)name.len;
	if (name.len > 0)
		memcpy(node->name, name.data, name.len);
	return node;
}

/* A move makes a new node, because a node contains its name, and removes one that has this name. A move below
 * itself, which no file system does, removes the folder and returns NULL. */
static dir_node *move(dir_tree *tree, dir_node *node, dir_node *parent, hob_str name, dir_tree_gone *gone,
					  void *user)
{
	dir_node *there = srv_dir_tree_child(tree, parent, name);
	if (there == node)
		return node;
	srv_dir_tree_detach(tree, node);
	for (const dir_node *up = parent; up; up = up->parent)
		if (up == node) {
			srv_dir_tree_remove(tree, node, gone, user);
			return NULL;
		}
	if (there)
		srv_dir_tree_remove(tree, there, gone, user);
	dir_node *moved = new_node(name, node->wd);
	moved->seen = node->seen;
	unlink_wd(tree, node);
	link_wd(tree, moved);
	attach(tree, moved, parent);
	/* Children are linked to the parent's address. */
	while (node->first_child) {
		dir_node *child = node->first_child;
		srv_dir_tree_detach(tree, child);
		attach(tree, child, moved);
	}
	free(node);
	return moved;
}

dir_node *srv_dir_tree_put(dir_tree *tree, dir_node *parent, hob_str name, int wd, dir_tree_gone *gone,
						   void *user)
{
	dir_node *same = srv_dir_tree_find_wd(tree, wd);
	if (!parent) {
		if (same && same == tree->root)
			return same;
		if (tree->root)
			srv_dir_tree_remove(tree, tree->root, gone, user);
	} else {
		dir_node *there = srv_dir_tree_child(tree, parent, name);
		if (there && there == same)
			return same;
		bool above = false;
		for (dir_node *up = parent; up && same; up = up->parent)
			above = above || up == same;
		if (same && !above)
			return move(tree, same, parent, name, gone, user);
		if (there)
			srv_dir_tree_remove(tree, there, gone, user);
		if (above)
			return same;
	}
	if (tree->count >= tree->capacity)
		grow(tree);
	dir_node *node = new_node(name, wd);
	tree->count++;
	link_wd(tree, node);
	if (parent)
		attach(tree, node, parent);
	else
		tree->root = node;
	return node;
}

void srv_dir_tree_remove(dir_tree *tree, dir_node *node, dir_tree_gone *gone, void *user)
{
	srv_dir_tree_detach(tree, node);
	if (tree->root == node)
		tree->root = NULL;
	/* Leaves first, so that no node outlives its parent. */
	for (dir_node *at = node; at;) {
		while (at->first_child)
			at = at->first_child;
		dir_node *parent = at == node ? NULL : at->parent;
		srv_dir_tree_detach(tree, at);
		unlink_wd(tree, at);
		tree->count--;
		gone(user, at->wd);
		free(at);
		at = parent;
	}
}

void srv_dir_tree_sweep(dir_tree *tree, uint32_t seen, dir_tree_gone *gone, void *user)
{
	dir_node *root = tree->root;
	for (dir_node *node = root, *next; node; node = next) {
		if (node == root || node->seen == seen) {
			next = next_below(root, node);
			continue;
		}
		/* Skips everything below the removed one. */
		dir_node *up = node;
		while (up != root && !up->next)
			up = up->parent;
		next = up == root ? NULL : up->next;
		srv_dir_tree_remove(tree, node, gone, user);
	}
}

bool srv_dir_tree_path(const dir_tree *tree, const dir_node *node, char *out, size_t room, size_t *len)
{
	size_t need = 0;
	const dir_node *up = node;
	for (; up->parent; up = up->parent)
		need += up->name_len + 1u;
	if (up != tree->root || need > room)
		return false;
	size_t at = need > 0 ? need - 1 : 0;
	*len = at;
	out[at] = 0;
	for (up = node; up->parent; up = up->parent) {
		at -= up->name_len;
		memcpy(out + at, up->name, up->name_len);
		if (at > 0)
			out[--at] = '/';
	}
	return true;
}
