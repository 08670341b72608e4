import { z } from 'zod';
import { shownIds } from '../shown-id.ts';
import type { EngineAccount, EngineAccountMapped, EngineConnected } from './engine-connection-events.ts';
import { creativeEngineOf } from './engine-resource.ts';
import { Timestamp } from '../values.ts';

/** The latest connection of an account to an engine, folded from its events. */
export interface EngineConnection extends EngineConnected {
  readonly status: 'connected' | 'disconnected';
  /** The replaced key: nothing else refers to it. */
  readonly replacedSecretId?: string;
  readonly selectedAccountId?: string;
  readonly mappings: readonly EngineAccountMapped[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

const Offset = z.int().min(0);
const Page = z.strictObject({
  offset: Offset,
  nextOffset: Offset.optional().meta({ description: 'Absent at the end.' }),
});

/** A connection as the API shows it (specification, Creative-engine connection). Shows only the masked key. */
export const EngineConnectionResource = z
  .strictObject({
    id: z.string(),
    target: z.strictObject({ kind: z.literal('creative_engine'), id: z.string() }),
    engineName: z.string(),
    status: z.enum(['connected', 'needs_attention', 'disconnected']),
    credential: z.strictObject({
      kind: z.literal('BEARER'),
      status: z.enum(['ACTIVE', 'REVOKED', 'ERROR']),
      maskedKey: z.string(),
    }),
    selectedAccountId: z.string().optional(),
    accounts: z.array(z.strictObject({ id: z.string(), name: z.string() })),
    accountsPage: Page,
    accountMappings: z.array(
      z.strictObject({
        linkId: z.string(),
        advertiserId: z.string(),
        advertiserName: z.string(),
        accountId: z.string(),
      }),
    ),
    accountMappingsPage: Page,
    requiresAdvertiserMapping: z.boolean().meta({
      description: 'Whether the engine requires it and some account is not mapped to an advertiser yet.',
    }),
    featurePolicy: z.strictObject({ feedsEnabled: z.boolean(), updatedAt: Timestamp }),
    connectedBy: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'EngineConnection' });

export type EngineConnectionResource = z.infer<typeof EngineConnectionResource>;

/** Page size of accounts and mappings (decisions.md E5). */
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

/** @param names names of `mappedAdvertisers`, by id */
export const engineConnectionResource = (
  connection: EngineConnection,
  names: ReadonlyMap<number, string>,
  { accountsOffset, mappingsOffset }: ConnectionOffsets,
): EngineConnectionResource => {
  const { engineId, status, selectedAccountId } = connection;
  const engine = creativeEngineOf(engineId);
  const accounts = pageOf(connection.accounts, accountsOffset);
  const mappings = pageOf(connection.mappings, mappingsOffset);
  return {
    id: shownConnectionId(connection.connectionId),
    target: { kind: 'creative_engine', id: String(engineId) },
    engineName: engine?.name ?? '',
    status,
    credential: {
      kind: 'BEARER',
      status: status === 'connected' ? 'ACTIVE' : 'REVOKED',
      maskedKey: connection.maskedKey,
    },
    ...(selectedAccountId === undefined ? {} : { selectedAccountId }),
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
    featurePolicy: { feedsEnabled: false, updatedAt: connection.createdAt },
    connectedBy: connection.connectedBy,
    createdAt: connection.createdAt,
    updatedAt: connection.updatedAt,
  };
};

const isUnmapped = ({ mappings }: EngineConnection): ((account: EngineAccount) => boolean) => {
  const mapped = new Set(mappings.map(({ accountId }) => accountId));
  return ({ id }) => !mapped.has(id);
};

const MASK = '****';
const SHOWN_CHARS = 4;
/** The visible characters would reveal too much of a shorter key. */
const KEY_CHARS_MIN = 12;

/** A masked key. Its fixed length does not reveal the key's. */
export const maskedKeyOf = (apiKey: string): string =>
  MASK + (apiKey.length < KEY_CHARS_MIN ? '*'.repeat(SHOWN_CHARS) : apiKey.slice(-SHOWN_CHARS));

const connectionIds = shownIds('con_');
export const shownConnectionId = connectionIds.shown;
export const connectionIdOf = connectionIds.idOf;
const shownLinkId = shownIds('lnk_').shown;
