import type { Knex } from 'knex';

const entries = `
  create table audit_entries (
    customer_id     bigint not null,
    occurred_at     timestamptz not null,
    position        text collate "C" not null,
    stream          text collate "C" not null,
    revision        bigint not null,
    event_id        uuid not null,
    type            text collate "C" not null,
    resource_type   text collate "C" not null,
    part            text collate "C",
    advertiser_id   integer,
    campaign_ids    text[],
    actor           text collate "C" not null,
    user_id         text collate "C",
    key_user_id     text collate "C",
    request_id      text collate "C" not null,
    correlation_id  text collate "C" not null,
    causation_id    text collate "C" not null,
    primary key (customer_id, occurred_at, position)
  );
  comment on column audit_entries.campaign_ids is 'After the event; the next of the stream goes on from it';
  comment on column audit_entries.user_id is 'Whose the key was that the actor came with';
  comment on column audit_entries.key_user_id is 'Whose the key is that was issued';
  create index audit_entries_by_revision on audit_entries (customer_id, stream, revision);
  create index audit_entries_by_stream on audit_entries (customer_id, stream, occurred_at, position);
  create index audit_entries_by_part on audit_entries (customer_id, part, occurred_at, position)
    where part is not null;
  create index audit_entries_by_type on audit_entries (customer_id, type, occurred_at, position);
  create index audit_entries_by_resource_type
    on audit_entries (customer_id, resource_type, occurred_at, position);
  create index audit_entries_by_advertiser on audit_entries (customer_id, advertiser_id, occurred_at, position)
    where advertiser_id is not null;
  create index audit_entries_by_user on audit_entries (customer_id, user_id, occurred_at, position)
    where user_id is not null;
  create index audit_entries_by_correlation
    on audit_entries (customer_id, correlation_id, occurred_at, position);
  create index audit_entries_by_key on audit_entries (customer_id, part) where key_user_id is not null;

  create table audit_campaigns (
    customer_id  bigint not null,
    campaign_id  text collate "C" not null,
    occurred_at  timestamptz not null,
    position     text collate "C" not null,
    primary key (customer_id, campaign_id, occurred_at, position)
  );
`;

const attempts = `
  create table audit_attempts (
    customer_id     bigint not null,
    occurred_at     timestamptz not null,
    id              uuid not null,
    operation       text collate "C" not null,
    resource_type   text collate "C",
    resource_id     text collate "C",
    advertiser_id   integer,
    campaign_id     text collate "C",
    actor           text collate "C" not null,
    user_id         text collate "C",
    request_id      text collate "C" not null,
    status          integer not null,
    outcome         text collate "C" not null,
    code            text collate "C" not null,
    field           text,
    primary key (customer_id, occurred_at, id)
  );
  create index audit_attempts_by_request on audit_attempts (customer_id, request_id, occurred_at, id);
  create index audit_attempts_by_outcome on audit_attempts (customer_id, outcome, occurred_at, id);
  create index audit_attempts_by_operation on audit_attempts (customer_id, operation, occurred_at, id);
  create index audit_attempts_by_resource_type on audit_attempts (customer_id, resource_type, occurred_at, id)
    where resource_type is not null;
  create index audit_attempts_by_resource on audit_attempts (customer_id, resource_id, occurred_at, id)
    where resource_id is not null;
  create index audit_attempts_by_advertiser on audit_attempts (customer_id, advertiser_id, occurred_at, id)
    where advertiser_id is not null;
  create index audit_attempts_by_campaign on audit_attempts (customer_id, campaign_id, occurred_at, id)
    where campaign_id is not null;
  create index audit_attempts_by_user on audit_attempts (customer_id, user_id, occurred_at, id)
    where user_id is not null;
  create index audit_attempts_by_age on audit_attempts (occurred_at);
`;

/**
 * - `audit_entries`: what entries of the audit log are found and ordered by, one narrow row for each event. What an event
 *   changed is not in it: whoever reads folds the stream. It is kept as long as the log is, of which it is an index.
 * - `audit_campaigns`: the campaigns that an entry is found by: a creative is in several.
 * - `audit_attempts`: what was refused. It follows from no event; it is kept for some weeks (docs/history.md).
 *
 * Each filter of the audit log has an index that begins with it and goes on in the order of the answer.
 */
export const auditLog = {
  name: '0031-audit-log',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(entries + attempts);
    for (const table of ['audit_entries', 'audit_campaigns', 'audit_attempts']) {
      await knex.raw(`
        alter table ${table} enable row level security;
        create policy tenant on ${table} using (customer_id = current_customer_id());
      `);
    }
  },
};
