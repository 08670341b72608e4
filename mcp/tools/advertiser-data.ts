import type { Described } from '../confirm.ts';
import { idArgument } from '../places.ts';
import { inTheOpen, writes, type ToolRun } from '../tool.ts';
import type { Given, WriteTool } from '../write-tool.ts';

/** Specification, MCP v3: above it, a person must agree. */
const EVENTS_UNCONFIRMED_MAX = 1_000;

const advertiserId = idArgument('Id of the advertiser.');

interface SyncTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly operationId: string;
  /** Member with the list of items. */
  readonly items: string;
  readonly idMember: string;
  /** Member that removes the resources that the call does not name. */
  readonly deleteMissing: string;
  readonly noun: string;
}

const removes = ({ items, deleteMissing }: SyncTool, input: Given): boolean =>
  input[deleteMissing] === true || removedIn(items, input).length > 0;

const removedIn = (items: string, input: Given): readonly Given[] =>
  (input[items] as readonly unknown[]).filter(
    (item): item is Given => (item as Given | null)?.['delete'] === true,
  );

const syncTool = (sync: SyncTool): WriteTool => {
  const { name, title, operationId, items, idMember, deleteMissing, noun } = sync;
  const described = async (_input: Given, { given, invoke }: ToolRun): Promise<Described> => {
    const id = String(given['advertiserId']);
    const { data } = await invoke('getAdvertiser', { params: { id } });
    const advertiser = `advertiser ${JSON.stringify((data as { readonly name: string }).name)} (${id})`;
    const ids = removedIn(items, given).map((item) => JSON.stringify(item[idMember]));
    const named = (given[items] as readonly unknown[]).length;
    const summary =
      given[deleteMissing] === true
        ? `Of ${advertiser}, delete every ${noun} that is not among the ${named} in this call.`
        : `Of ${advertiser}, delete ${ids.length} ${noun}${ids.length === 1 ? '' : 's'}: ${ids.join(', ')}.`;
    return { summary };
  };
  return {
    name,
    title,
    description: `${sync.description} Deleting needs a confirmation: the first call returns {action: "pending_confirmation", confirmation}; repeat it with confirm: true and confirmationUid.`,
    annotations: writes,
    arguments: { advertiserId },
    steps: [
      {
        verb: 'save',
        action: 'saved',
        operationId,
        params: { id: 'advertiserId' },
        body: (input) => ({ account: { account_id: String(input['advertiserId']) } }),
      },
    ],
    leftOut: ['account', 'dry_run'],
    confirmed: {
      // The members of the body are read as they were sent: parsed ones may have another form.
      if: (_input, { given }) => removes(sync, given),
      describe: described,
    },
  };
};

const describeLog = async (input: Given, { given, invoke }: ToolRun): Promise<Described> => {
  const key = String(input['eventSourceId']);
  const { events, advertiserId: owner } = given as {
    readonly events: readonly unknown[];
    advertiserId?: unknown;
  };
  const body = { events, confirm: false, ...(owner !== undefined && { advertiserId: owner }) };
  const { data } = await invoke('logConversions', { params: { key }, body });
  const { accepted, rejected, duplicates } = data as {
    readonly accepted: number;
    readonly rejected: readonly unknown[];
    readonly duplicates: number;
  };
  return {
    summary: `Log ${events.length} conversion events to event source ${JSON.stringify(key)}: ${accepted} would count, ${duplicates} are known already, ${rejected.length} are invalid.`,
  };
};

export const advertiserDataTools: readonly WriteTool[] = [
  syncTool({
    name: 'save_event_source',
    title: 'Create or change event sources',
    description:
      'Creates or changes event sources of an advertiser, which conversion events are logged to. Each is saved by its ' +
      'own id, and an invalid one fails alone. Returns {action: "saved", object: {event_sources: [{event_source_id, ' +
      'action}]}}. Example: {"advertiserId":12,"event_sources":[{"event_source_id":"web-shop","event_types":["purchase"]}],' +
      '"idempotencyKey":"…"}.',
    operationId: 'syncEventSources',
    items: 'event_sources',
    idMember: 'event_source_id',
    deleteMissing: 'delete_missing',
    noun: 'event source',
  }),
  syncTool({
    name: 'save_audience',
    title: 'Create or change audiences',
    description:
      'Creates or changes audiences of an advertiser, and adds or removes members: hashes only, never e-mail addresses or ' +
      'phone numbers. Returns {action: "saved", object: {taskId, …}}: get the task for the outcome. Example: ' +
      '{"advertiserId":12,"audiences":[{"audienceId":"buyers","add":[{"hashedEmail":"<64 hex digits>"}]}],"idempotencyKey":"…"}.',
    operationId: 'syncAudiences',
    items: 'audiences',
    idMember: 'audienceId',
    deleteMissing: 'deleteMissing',
    noun: 'audience',
  }),
  syncTool({
    name: 'save_catalog',
    title: 'Create or change catalogs',
    description:
      'Creates or changes product catalogs of an advertiser, with their items or the address of a feed. Returns {action: ' +
      '"saved", object: {catalogs: [{catalog_id, action}]}}. Example: {"advertiserId":12,"catalogs":[{"catalog_id":"shoes",' +
      '"type":"product","url":"https://shop.example.com/feed.csv","feed_format":"google_merchant_center"}],"idempotencyKey":"…"}.',
    operationId: 'syncCatalogs',
    items: 'catalogs',
    idMember: 'catalog_id',
    deleteMissing: 'delete_missing',
    noun: 'catalog',
  }),
  {
    name: 'log_conversions',
    title: 'Log conversion events',
    description:
      'Logs 1 to 10,000 conversion events to an event source; each eventId counts once in 90 days. More than 1,000 need a ' +
      'confirmation: the first call returns {action: "pending_confirmation", confirmation}; repeat it with confirm: true ' +
      'and confirmationUid. Returns {action: "logged", object: {accepted, rejected, duplicates, health}}. Example: ' +
      '{"eventSourceId":"web-shop","events":[{"eventId":"o-1","eventTime":"2026-01-02T03:04:05Z","eventType":"purchase",' +
      '"value":9.5,"currency":"EUR"}],"idempotencyKey":"…"}.',
    annotations: writes,
    arguments: { eventSourceId: idArgument('Id of the event source.') },
    steps: [
      { verb: 'log', action: 'logged', operationId: 'logConversions', params: { key: 'eventSourceId' } },
    ],
    leftOut: ['confirm', 'confirmationUid'],
    confirmed: {
      if: ({ testEventCode }, { given }) =>
        testEventCode === undefined &&
        (given['events'] as readonly unknown[]).length > EVENTS_UNCONFIRMED_MAX,
      describe: describeLog,
    },
  },
  {
    name: 'syndicate',
    title: 'Syndicate to agents, or stop',
    description:
      'Sends an event source, audience or catalog to AdCP agents and keeps it up to date there, or with enabled: false has ' +
      'it deleted there. The agents are asked in the background: search kind syndication for the state of each. Returns ' +
      '{action: "syndicated", objects: {results: […]}}. Example: {"advertiserId":"12","resourceId":"buyers",' +
      '"adcpAgentIds":["agt_…"],"enabled":true,"idempotencyKey":"…"}.',
    annotations: inTheOpen(writes),
    arguments: { advertiserId },
    steps: [
      {
        verb: 'syndicate',
        action: 'syndicated',
        operationId: 'syndicate',
        params: { advertiserId: 'advertiserId' },
      },
    ],
  },
];
