-- Schema 3: a machine offers cooks to workers; and a lookup may have more records than anybody reads. `hob farm init` runs this
-- file after farm_2.sql, or on a database of schema 2. Programs that know schema 2 go on working: they offer and take nothing.

update hob_farm set version = 3;

-- Lists of models that workers may cook, with the files that this takes: server/cli/offer.h. An offer is good as long as its owner
-- is seen, or until the owner deletes it.
create table hob_offer(
	id bigserial primary key,
	list bytea not null check (length(list) = 32),  -- a blob
	owner text not null,                            -- hob_node.id
	models int not null,
	made timestamptz not null default now());

-- As in schema 1, but `seen` counts at most 64 records, which is all that a machine reads.
create or replace function hob_claim(p_items json, p_owner text, p_seconds float8)
returns table(place bigint, verdict text, tries int, left_ms bigint, holder text) language plpgsql as $$
#variable_conflict use_column
declare
	i record;
	l hob_lookup;
begin
	for i in select ord - 1 as place, decode(item->>'lookup', 'hex') as lookup, (item->>'seen')::int as seen,
			item->>'what' as what from json_array_elements(p_items) with ordinality u(item, ord) order by 2 loop
		insert into hob_lookup as h(lookup, owner, until, attempt, what)
			values (i.lookup, p_owner, clock_timestamp() + make_interval(secs => p_seconds), 1, i.what)
			on conflict (lookup) do update set owner = excluded.owner, until = excluded.until,
				attempt = h.attempt + 1, what = excluded.what
			where least(h.records, 64) = least(i.seen, 64) and (h.until < clock_timestamp() or h.owner = excluded.owner)
			returning * into l;
		if found then
			return query select i.place, 'mine', l.attempt, 0::bigint, p_owner;
		else
			select * into l from hob_lookup h where h.lookup = i.lookup;
			return query select i.place, case when least(l.records, 64) <> least(i.seen, 64) then 'again' else 'held' end, l.attempt,
				greatest(0, extract(epoch from l.until - clock_timestamp()) * 1000)::bigint, l.owner;
		end if;
	end loop;
end $$;
