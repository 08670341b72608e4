import { z } from 'zod';
import { derived, fixed, membersOf, resourceShape } from '../fields.ts';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';
import { creativeEngineOf } from './creative-engines.ts';

const account = { id: z.string(), name: z.string() };
export const EngineAccount = z.object(account);
export type EngineAccount = z.infer<typeof EngineAccount>;

export const AccountMapping = z.object({ linkId: z.string(), accountId: z.string(), advertiserId: z.int() });
export type AccountMapping = z.infer<typeof AccountMapping>;

const Offset = z.int().min(0);
const Page = z.strictObject({
  offset: Offset,
  nextOffset: Offset.optional().meta({ description: 'Absent at the end.' }),
});

/** Specification, Creative-engine connection. */
export const engineConnectionFields = {
  id: derived(z.string()),
  target: derived(z.strictObject({ kind: z.literal('creative_engine'), id: z.string() })),
  engineName: derived(z.string()),
  status: derived(z.enum(['connected', 'needs_attention', 'disconnected'])),
  credential: derived(
    z.strictObject({
      kind: z.literal('BEARER'),
      status: z.enum(['ACTIVE', 'REVOKED', 'ERROR']),
      maskedKey: z.string(),
    }),
  ),
  selectedAccountId: derived(z.string().optional()),
  // The engine's answer for the key; empty if the engine cannot be asked.
  accounts: fixed(z.array(z.strictObject(account)), { recorded: z.array(EngineAccount) }),
  accountsPage: derived(Page),
  accountMappings: derived(
    z.array(
      z.strictObject({
        linkId: z.string(),
        advertiserId: z.string(),
        advertiserName: z.string(),
        accountId: z.string(),
      }),
    ),
  ),
  accountMappingsPage: derived(Page),
  requiresAdvertiserMapping: derived(
    z.boolean().meta({
      description: 'Whether the engine requires it and some account is not mapped to an advertiser yet.',
    }),
  ),
  featurePolicy: derived(z.strictObject({ feedsEnabled: z.boolean(), updatedAt: Timestamp })),
  connectedBy: fixed(z.string()),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const EngineConnectionResource = z
  .strictObject(resourceShape(engineConnectionFields))
  .meta({ id: 'EngineConnection' });
export type EngineConnectionResource = z.infer<typeof EngineConnectionResource>;

type SameMembers = 'selectedAccountId' | 'accounts' | 'connectedBy' | 'createdAt' | 'updatedAt';

/** The latest connection of an account to an engine. */
export interface EngineConnection extends Pick<EngineConnectionResource, SameMembers> {
  readonly slotId: string;
  readonly connectionId: string;
  readonly customerId: number;
  readonly engineId: number;
  readonly secretId: string;
  readonly maskedKey: string;
  readonly status: 'connected' | 'disconnected';
  /** The replaced key: nothing else refers to it. */
  readonly replacedSecretId?: string;
  readonly mappings: readonly AccountMapping[];
}

const PAGE_SIZE = 50;

export interface ConnectionOffsets {
  readonly accountsOffset: number;
  readonly mappingsOffset: number;
}

const pageOf = <Item>(items: readonly Item[], offset: number) => {
  const end = offset + PAGE_SIZE;
  return {
    items: items.slice(offset, end),
    page: { offset, ...(end < items.length ? { nextOffset: end } : {}) },
  };
};

export const mappedAdvertisers = (
  { mappings }: EngineConnection,
  { mappingsOffset }: ConnectionOffsets,
): readonly number[] => [
  ...new Set(pageOf(mappings, mappingsOffset).items.map(({ advertiserId }) => advertiserId)),
];

export const engineConnectionResource = (
  connection: EngineConnection,
  names: ReadonlyMap<number, string>,
  { accountsOffset, mappingsOffset }: ConnectionOffsets,
): EngineConnectionResource => {
  const { engineId, status, maskedKey, createdAt } = connection;
  const engine = creativeEngineOf(engineId);
  const accounts = pageOf(connection.accounts, accountsOffset);
  const mappings = pageOf(connection.mappings, mappingsOffset);
  return membersOf(EngineConnectionResource, {
    ...connection,
    id: shownConnectionId(connection.connectionId),
    target: { kind: 'creative_engine', id: String(engineId) },
    engineName: engine?.name ?? '',
    credential: { kind: 'BEARER', status: status === 'connected' ? 'ACTIVE' : 'REVOKED', maskedKey },
    accounts: accounts.items.map(({ id, name }) => ({ id, name })),
    accountsPage: accounts.page,
    accountMappings: mappings.items.map(({ linkId, advertiserId, accountId }) => ({
      linkId: shownLinkId(linkId),
      advertiserId: String(advertiserId),
      advertiserName: names.get(advertiserId) ?? '',
      accountId,
    })),
    accountMappingsPage: mappings.page,
    requiresAdvertiserMapping:
      engine?.requiresAdvertiserMapping === true && connection.accounts.some(isUnmapped(connection)),
    featurePolicy: { feedsEnabled: false, updatedAt: createdAt },
  });
};

const isUnmapped = ({ mappings }: EngineConnection): ((account: EngineAccount) => boolean) => {
  const mapped = new Set(mappings.map(({ accountId }) => accountId));
  return ({ id }) => !mapped.has(id);
};

const MASK = '****';
const SHOWN_CHARS = 4;
/** The visible characters would reveal too much of a shorter key. */
const KEY_CHARS_MIN = 12;

/** The fixed length does not reveal the key's. */
export const maskedKeyOf = (apiKey: string): string =>
  MASK + (apiKey.length < KEY_CHARS_MIN ? '*'.repeat(SHOWN_CHARS) : apiKey.slice(-SHOWN_CHARS));

const connectionIds = shownIds('con_');
export const shownConnectionId = connectionIds.shown;
export const connectionIdOf = connectionIds.idOf;
const shownLinkId = shownIds('lnk_').shown;
