/**
 * Tables that requests may read, within the rows of their account. The last three have no row policies: they contain
 * positions of the log only, and requests compare them before they see a row.
 */
const readable = [
  'advertisers',
  'advertiser_counts',
  'accounts',
  'users',
  'event_sources',
  'catalogs',
  'audiences',
  'audience_sizes',
  'tasks',
  'conversion_hours',
  'conversion_health',
  'adcp_agents',
  'engine_connections',
  'syndication_records',
  'syndication_counts',
  'campaigns',
  'campaign_counts',
  'creatives',
  'creative_campaigns',
  'creative_assets',
  'creative_counts',
  'creative_submissions',
  'sellers',
  'creative_sessions',
  'assets',
  'asset_counts',
  'audit_entries',
  'audit_campaigns',
  'audit_causes',
  'audit_attempts',
  'account_positions',
  'conversion_positions',
  'projection_checkpoints',
];

/**
 * The rights of requests. `api_keys.secret_hash` is written and never read: the caller is authenticated before.
 * @param role that requests run under
 */
export const requestRights = {
  readable,
  updatable: { table: 'api_keys', column: 'announced' },
  grants: (role: string): string => `
    grant select on ${readable.join(', ')} to ${role};
    grant select (projection, stream, customer_id) on parked_streams to ${role};
    grant select (key_id, customer_id, user_id, name, masked_key, scopes, created_at, expires_at, last_used_at,
      revoked_at, sealed_secret, sealed_until, announced), insert,
      update (revoked_at, sealed_secret, sealed_until, announced), delete on api_keys to ${role};
  `,
};
