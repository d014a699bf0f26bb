-- Columns of old rows, packed: a cache that makes opening fast.  `delete from pack` loses nothing.

create table pack (
    id integer primary key,
    campaign integer not null,
    tbl text not null,
    after integer not null,
    last integer not null,
    digest integer not null,
    data blob not null
);
create unique index one_pack on pack (campaign, tbl, after);

-- What is true of this file as a whole: 'backup' in a copy that has not been opened for buying yet.
create table mark (name text primary key) without rowid;
