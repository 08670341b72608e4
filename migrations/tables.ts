/** Access by paths of files and folders. */
interface Table {
  readonly writers: readonly string[];
  readonly readers: readonly string[];
}

const read = (...writers: string[]): Table => ({ writers, readers: ['query/', 'app/lookups'] });
const own = (writers: readonly string[], ...readers: string[]): Table => ({ writers, readers });

const audiences = [
  'projections/audience-members.ts',
  'projections/audiences.ts',
  'projections/delete-members.ts',
] as const;
const engine = ['projections/engine/'];
const expired = 'projections/expired-rows.ts';

/** Read by requests, within their account. */
const shown = {
  accounts: read('projections/account-rows.ts', 'projections/credentials.ts'),
  users: read('projections/account-rows.ts', 'projections/credentials.ts'),
  browser_origins: read('projections/account-rows.ts', 'projections/credentials.ts', expired),
  advertisers: read('projections/advertisers.ts'),
  advertiser_counts: read('projections/advertisers.ts'),
  adcp_agents: read('projections/agents.ts'),
  assets: read('projections/assets.ts', expired),
  asset_counts: read('projections/assets.ts'),
  audiences: read(...audiences),
  audience_sizes: read(...audiences, expired),
  tasks: read('projections/audiences.ts'),
  audit_entries: read('projections/audit.ts'),
  audit_campaigns: read('projections/audit.ts'),
  audit_causes: read('projections/audit.ts'),
  campaigns: read('projections/campaigns.ts'),
  campaign_counts: read('projections/campaigns.ts'),
  catalogs: read('projections/catalogs.ts'),
  conversion_hours: read('projections/conversions.ts', expired),
  conversion_health: read('projections/conversions.ts'),
  conversion_receipts: read('projections/conversions.ts', 'projections/conversion-receipts.ts', expired),
  creatives: read('projections/creatives.ts'),
  creative_campaigns: read('projections/creatives.ts'),
  creative_assets: read('projections/creatives.ts'),
  creative_counts: read('projections/creatives.ts'),
  creative_sessions: read('projections/creative-sessions.ts'),
  creative_submissions: read('projections/creative-submissions.ts'),
  engine_connections: read('projections/engine-connections.ts'),
  event_sources: read('projections/event-sources.ts'),
  notifications: read('projections/notifications.ts', expired),
  proposal_requests: read('projections/proposals.ts'),
  proposal_request_counts: read('projections/proposals.ts'),
  seller_delivery_days: read('projections/seller-delivery.ts', expired),
  sellers: read('projections/sellers.ts'),
  syndication_records: read('projections/syndication.ts'),
  syndication_counts: read('projections/syndication.ts'),
  webhook_subscriptions: read('projections/webhook-subscriptions.ts'),
};

/** Read by workers and the conversion ledger. */
const hidden = {
  seller_references: read('projections/seller-delivery.ts'),
  audience_members: read(...audiences),
  audience_removals: read(...audiences, expired),
  audience_batches: read(...audiences),
  conversion_segments: read('projections/conversions.ts', expired),
  conversion_commands: read('projections/conversions.ts', expired),
  notification_streams: read('projections/notifications.ts', 'projections/advertisers-of-streams.ts'),
};

/**
 * Not read models. `api_keys`: no event contains the hash; the projection repeats `announced` and
 * `revoked_at` after a crash or a restored backup; a reset of all read models finds the accounts in it, because
 * `accounts` may be incomplete then. `invitations`: no event contains the address. `work_list`: projections ask for work, `shared/work-list/` hands it out.
 */
const owned = {
  webhook_endpoints: own(
    ['projections/webhook-endpoints.ts', 'projections/webhook-fan-out.ts', expired],
    'projections/webhook-rows.ts',
    'command/workers/webhooks/',
    'app/lookups/secrets-in-use.ts',
  ),
  webhook_disabled_accounts: own(['projections/webhook-endpoints.ts', 'projections/webhook-fan-out.ts']),
  webhook_streams: own(['projections/advertisers-of-streams.ts', 'projections/webhook-fan-out.ts']),
  webhook_messages: own(['projections/webhook-rows.ts', expired], 'query/', 'command/workers/webhooks/'),
  webhook_deliveries: own(
    ['projections/webhook-rows.ts', 'command/workers/webhooks/', expired],
    'query/',
    'app/lookups/',
  ),
  webhook_attempts: own(['command/workers/webhooks/', expired], 'query/'),
  webhook_health: own(['command/workers/webhooks/', expired], 'query/'),
  api_keys: own(
    ['command/accounts/', 'projections/credentials.ts', 'projections/account-rows.ts'],
    'query/accounts/',
    'query/history/key-users.ts',
    'projections/engine/reset.ts',
  ),
  invitations: own(
    ['command/accounts/', 'projections/account-rows.ts'],
    'query/accounts/',
    'app/lookups/find-invitation.ts',
  ),
  user_addresses: own(
    ['command/accounts/', 'projections/account-rows.ts'],
    'query/',
    'app/lookups/find-login.ts',
  ),
  logins: own(['command/accounts/', 'projections/account-rows.ts'], 'query/accounts/', 'app/lookups/'),
  sessions: own(
    ['command/accounts/', 'projections/account-rows.ts'],
    'query/accounts/',
    'query/history/key-users.ts',
  ),
  one_time_links: own(['command/accounts/', 'projections/account-rows.ts']),
  oauth_grants: own(
    ['projections/oauth-grant-rows.ts', 'command/accounts/'],
    'query/accounts/',
    'query/history/key-users.ts',
    'app/housekeeping.ts',
  ),
  oauth_clients: own(['command/accounts/oauth/']),
  oauth_records: own(
    ['command/accounts/oauth/'],
    'query/accounts/verify-access-token.ts',
    'app/housekeeping.ts',
  ),
  asset_objects: own(['command/assets/object-attempts.ts']),
  audit_attempts: own(['command/audit/attempt-log.ts'], 'query/history/'),
  confirmations: own(['shared/confirmations/']),
  syndication_deliveries: own([
    'command/workers/syndication/audience-delivery.ts',
    'command/workers/syndication/restart-deliveries.ts',
  ]),
  forgettings: own(['cli/forget.ts'], 'projections/audiences.ts'),
  work_list: own(
    [
      'shared/work-list/',
      'projections/syndication.ts',
      'projections/engine/reset.ts',
      'command/workers/sellers/list-launched.ts',
    ],
    'query/syndication/find-record-work.ts',
    'app/lookups/secrets-in-use.ts',
    'projections/engine/copy/copy-state.ts',
  ),
  secrets: own(['shared/secrets/', 'shared/personal-data/personal-keys.ts']),
  personal_keys: own(['shared/personal-data/personal-keys.ts'], 'cli/events-commands.ts'),
  snapshots: own(['shared/aggregate/snapshots.ts', 'projections/engine/reset.ts']),
  idempotency_keys: own(['shared/idempotency/']),
  rate_limits: own(['shared/limits/']),
  realtime_leases: own(['shared/limits/']),
  realtime_nodes: own(['shared/limits/'], 'app/housekeeping.ts'),
  proposal_answers: own(['command/workers/proposals/']),
  mcp_questions: own(['mcp/']),
  mcp_sessions: own(['mcp/'], 'app/housekeeping.ts'),
  log_checkpoints: own(['shared/log-chain/']),
  log_keys: own(['shared/log-chain/']),
  events: own(
    ['shared/event-store/postgres/'],
    'shared/log-chain/log-bytes.ts',
    'cli/backup/create-backup.ts',
  ),
  account_positions: own(
    ['shared/follow-log/', 'projections/engine/reset.ts'],
    'app/installation.ts',
    'app/realtime.ts',
    'query/',
  ),
  conversion_positions: own(
    ['shared/follow-log/', 'projections/engine/reset.ts'],
    'app/installation.ts',
    'query/',
  ),
  projection_checkpoints: own(
    engine,
    'query/',
    'app/lookups',
    'app/prepare-database.ts',
    'shared/follow-log/',
  ),
  parked_streams: own(engine, 'query/', 'app/lookups'),
  read_model_copies: own(engine),
};

/** A test compares this list with a migrated database and with the source. */
export const tables: Readonly<Record<string, Table>> = { ...shown, ...hidden, ...owned };

/** Not part of a backup: rows last seconds to hours, and belong to processes that are gone after a restore. */
export const shortLivedTables: readonly string[] = [
  'mcp_questions',
  'mcp_sessions',
  'rate_limits',
  'read_model_copies',
  'realtime_leases',
  'realtime_nodes',
];

export const readModelTables: readonly string[] = Object.keys({ ...shown, ...hidden });

/** The last three have no row policies: they contain log positions only, which requests compare first. */
export const requestTables: readonly string[] = [
  ...Object.keys(shown),
  'oauth_grants',
  'webhook_deliveries',
  'webhook_attempts',
  'webhook_health',
  'audit_attempts',
  'invitations',
  'user_addresses',
  'account_positions',
  'conversion_positions',
  'projection_checkpoints',
];
