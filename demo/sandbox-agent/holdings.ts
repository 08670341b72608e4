import type { AdcpToolMap } from '@adcp/sdk/server/legacy/v5';

type AudienceParams = AdcpToolMap['sync_audiences']['params'];
type SourceParams = AdcpToolMap['sync_event_sources']['params'];
type CatalogParams = AdcpToolMap['sync_catalogs']['params'];

type Member = NonNullable<NonNullable<AudienceParams['audiences']>[number]['add']>[number];

interface Audience {
  readonly name: string | undefined;
  readonly members: Map<string, Member>;
}

interface Holding {
  readonly audiences: Map<string, Audience>;
  readonly eventSources: Map<string, unknown>;
  readonly catalogs: Map<string, unknown>;
}

export interface ShownHolding {
  readonly account: unknown;
  readonly audiences: readonly {
    readonly audience_id: string;
    readonly name?: string | undefined;
    readonly members: number;
  }[];
  readonly event_sources: readonly unknown[];
  readonly catalogs: readonly unknown[];
}

export interface Holdings {
  syncAudiences(params: AudienceParams): ReturnType<typeof audienceRows>;
  syncEventSources(params: SourceParams): ReturnType<typeof sourceRows>;
  syncCatalogs(params: CatalogParams): ReturnType<typeof catalogRows>;
  shown(): readonly ShownHolding[];
  /** @param account the account reference as JSON */
  members(account: string, audienceId: string): readonly unknown[] | undefined;
}

export const createHoldings = (): Holdings => {
  const accounts = new Map<string, Holding>();
  const holdingOf = (account: unknown): Holding => {
    const key = JSON.stringify(account);
    const known = accounts.get(key) ?? { audiences: new Map(), eventSources: new Map(), catalogs: new Map() };
    accounts.set(key, known);
    return known;
  };
  return {
    syncAudiences: (params) => audienceRows(holdingOf(params.account).audiences, params),
    syncEventSources: (params) => sourceRows(holdingOf(params.account).eventSources, params),
    syncCatalogs: (params) => catalogRows(holdingOf(params.account).catalogs, params),
    members: (account, audienceId) => {
      const audience = accounts.get(account)?.audiences.get(audienceId);
      return audience === undefined ? undefined : [...audience.members.values()];
    },
    shown: () =>
      [...accounts].map(([account, { audiences, eventSources, catalogs }]) => ({
        account: JSON.parse(account) as unknown,
        audiences: [...audiences].map(([audience_id, { name, members }]) => ({
          audience_id,
          name,
          members: members.size,
        })),
        event_sources: [...eventSources.values()],
        catalogs: [...catalogs.values()],
      })),
  };
};

type Action = 'created' | 'updated' | 'deleted';

const put = <T>(kept: Map<string, T>, id: string, thing: T): Action => {
  const action = kept.has(id) ? 'updated' : 'created';
  kept.set(id, thing);
  return action;
};

const dropOthers = (
  kept: Map<string, unknown>,
  named: readonly string[],
  isAsked: boolean,
): readonly string[] => {
  const gone = isAsked ? [...kept.keys()].filter((id) => !named.includes(id)) : [];
  for (const id of gone) kept.delete(id);
  return gone;
};

const deleted = 'deleted' as const satisfies Action;

const audienceRows = (kept: Map<string, Audience>, params: AudienceParams) => {
  const wanted = params.audiences ?? [];
  const rows = wanted.map(({ audience_id, name, add = [], remove = [], delete: isDeleted }) => {
    if (isDeleted === true) {
      kept.delete(audience_id);
      return { audience_id, action: deleted };
    }
    const before = kept.get(audience_id);
    const members = before?.members ?? new Map<string, Member>();
    for (const member of add) members.set(member.external_id, member);
    for (const member of remove) members.delete(member.external_id);
    const action = put(kept, audience_id, { name: name ?? before?.name, members });
    return {
      audience_id,
      action,
      status: 'ready' as const,
      uploaded_count: add.length,
      total_uploaded_count: members.size,
      matched_count: members.size,
      ...matchBreakdown(members.values()),
    };
  });
  const named = wanted.map(({ audience_id }) => audience_id);
  const gone = dropOthers(kept, named, params.delete_missing === true);
  return [...rows, ...gone.map((audience_id) => ({ audience_id, action: deleted }))];
};

/** AdCP 3.0 uses other names for these identifier types in match results than in members. */
const MATCH_TYPES: Readonly<Record<string, string>> = {
  rampid_derived: 'rampid',
  publisher_first_party: 'other',
};

const matchBreakdown = (members: Iterable<Member>) => {
  const counts = new Map<string, number>();
  for (const { hashed_email, hashed_phone, uids = [] } of members) {
    const types = new Set(uids.map(({ type }) => MATCH_TYPES[type] ?? type));
    if (hashed_email !== undefined) types.add('hashed_email');
    if (hashed_phone !== undefined) types.add('hashed_phone');
    for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  if (counts.size === 0) return {};
  const match_breakdown = [...counts].map(([id_type, submitted]) => ({
    id_type,
    submitted,
    matched: submitted,
    match_rate: 1,
  }));
  return { match_breakdown };
};

const sourceRows = (kept: Map<string, unknown>, params: SourceParams) => {
  const wanted = params.event_sources ?? [];
  const rows = wanted.map((source) => ({
    event_source_id: source.event_source_id,
    action: put(kept, source.event_source_id, source),
  }));
  const named = wanted.map(({ event_source_id }) => event_source_id);
  const gone = dropOthers(kept, named, params.delete_missing === true);
  return [...rows, ...gone.map((event_source_id) => ({ event_source_id, action: deleted }))];
};

const catalogRows = (kept: Map<string, unknown>, params: CatalogParams) => {
  const wanted = (params.catalogs ?? []).map((catalog) => ({ ...catalog, id: catalog.catalog_id ?? '' }));
  const rows = wanted.map(({ id, ...catalog }) => ({
    catalog_id: id,
    action: put(kept, id, catalog),
    item_count: catalog.items?.length ?? 0,
  }));
  const named = wanted.map(({ id }) => id);
  const gone = dropOthers(kept, named, params.delete_missing === true);
  return [...rows, ...gone.map((catalog_id) => ({ catalog_id, action: deleted }))];
};
