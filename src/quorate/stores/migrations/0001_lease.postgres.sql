-- Which process holds an ask in flight, and until when by the server's clock.  Not a fact: no checksum.

create table lease (
    ask bigint primary key references ask,
    holder text not null,
    until timestamptz not null,
    posted boolean not null default false
);
create index lease_until on lease (until);
