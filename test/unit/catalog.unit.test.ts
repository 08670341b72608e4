import { describe, expect, it } from '@jest/globals';
import type { CatalogEvent } from '../../domain/catalogs/events.ts';
import type { Catalog } from '../../domain/catalogs/resource.ts';
import { catalogAggregate, type CatalogCommand, type FeedBasis } from '../../domain/catalogs/catalog.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(catalogAggregate);
const day = (n: number): string => `2026-01-0${n}T00:00:00.000Z`;

const identity = { catalogId: 'id', customerId: 7, advertiserId: 5, key: 'shoes' };
const definition = (contentHash: string) => ({
  type: 'product' as const,
  name: 'Shoes',
  content: { kind: 'inline' as const, contentHash, itemCount: 2 },
});
const published = (version: number, contentHash = 'aa'): CatalogEvent => ({
  type: 'CatalogPublished',
  data: { ...identity, version, definition: definition(contentHash) },
  occurredAt: day(version),
});
const archived: CatalogEvent = { type: 'CatalogArchived', data: {}, occurredAt: day(2) };
const publish = (contentHash = 'aa'): CatalogCommand => ({
  type: 'PublishCatalog',
  now: day(3),
  ...identity,
  definition: definition(contentHash),
});
const archive: CatalogCommand = { type: 'ArchiveCatalog', now: day(3) };
const at3 = (event: CatalogEvent): CatalogEvent => ({ ...event, occurredAt: day(3) });

describe('publishing', () => {
  it('creates version 1 of a new catalog', () => {
    given()
      .when(publish())
      .then(at3(published(1)));
  });

  it('changes nothing for the same content', () => {
    given(published(1)).when(publish()).thenNothing();
  });

  it('creates the next version for other content', () => {
    given(published(1))
      .when(publish('bb'))
      .then(at3(published(2, 'bb')));
    expect(given(published(1)).when(publish('bb')).state()).toMatchObject({
      version: 2,
      lastChange: 'updated',
      createdAt: day(1),
      updatedAt: day(3),
    });
  });

  it('recreates a deleted catalog, also with the same content', () => {
    given(published(1), archived)
      .when(publish())
      .then(at3(published(2)));
    expect(given(published(1), archived).when(publish()).state()).toMatchObject({
      status: 'ACTIVE',
      lastChange: 'created',
    });
  });
});

describe('archiving', () => {
  it('archives an active catalog once', () => {
    given(published(1)).when(archive).then(at3(archived));
    given(published(1), archived).when(archive).thenNothing();
  });

  it('is refused for an unknown one', () => {
    given().when(archive).thenRefused({ reason: 'not-found' });
  });
});

const url = 'https://feeds.example.com/a.csv';
type FeedDefinition = Extract<CatalogCommand, { type: 'PublishCatalog' }>['definition'];
const feedOf = (more: object = {}, name = 'Shoes'): FeedDefinition => ({
  type: 'product',
  name,
  content: { kind: 'feed', url, ...more },
});
const named = (version: number, wanted = feedOf()): CatalogEvent => ({
  type: 'CatalogPublished',
  data: { ...identity, version, definition: wanted },
  occurredAt: day(1),
});
const name = (wanted = feedOf()): CatalogCommand => ({
  type: 'PublishCatalog',
  now: day(3),
  ...identity,
  definition: wanted,
});
const read = (version: number, contentHash: string): CatalogEvent => ({
  type: 'CatalogFeedRead',
  data: { version, contentHash, bytes: 9 },
  occurredAt: day(3),
});
const failed = (reason: string, n = 3): CatalogEvent => ({
  type: 'CatalogFeedFailed',
  data: { reason },
  occurredAt: day(n),
});
const record = (basis: FeedBasis, contentHash: string): CatalogCommand => ({
  type: 'RecordFeed',
  now: day(3),
  basis,
  contentHash,
  bytes: 9,
});
const fail = (basis: FeedBasis, reason: string): CatalogCommand => ({
  type: 'FailFeed',
  now: day(3),
  basis,
  reason,
});
const superseded = { reason: 'superseded' } as const;
const catalogOf = (...history: readonly CatalogEvent[]) => given(...history).state() as Catalog;

describe('a feed', () => {
  it('keeps the version at its first read', () => {
    given(named(1))
      .when(record({ version: 1, revision: 0 }, 'aa'))
      .then(read(1, 'aa'));
    expect(catalogOf(named(1), read(1, 'aa'))).toMatchObject({
      version: 1,
      updatedAt: day(1),
      feed: { revision: 1, changes: 0, read: { contentHash: 'aa', since: day(3) } },
    });
  });

  it('creates the next version only for other content', () => {
    const history = [named(1), read(1, 'aa')];
    given(...history)
      .when(record({ version: 1, revision: 1 }, 'aa'))
      .thenNothing();
    given(...history)
      .when(record({ version: 1, revision: 1 }, 'bb'))
      .then(read(2, 'bb'));
    expect(catalogOf(...history, read(2, 'bb'))).toMatchObject({
      version: 2,
      updatedAt: day(3),
      lastChange: 'created',
      feed: { changes: 1 },
    });
  });

  it('records a failure once for each reason, with its start and the last content', () => {
    const history = [named(1), read(1, 'aa'), failed('gone', 4)];
    const basis = { version: 1, revision: 2 };
    given(...history)
      .when(fail(basis, 'gone'))
      .thenNothing();
    given(...history)
      .when(fail(basis, 'away'))
      .then(failed('away'));
    expect(catalogOf(...history, failed('away', 5)).feed).toMatchObject({
      read: { contentHash: 'aa' },
      failure: { reason: 'away', since: day(4) },
    });
    given(...history)
      .when(record(basis, 'aa'))
      .then(read(1, 'aa'));
    expect(catalogOf(...history, read(1, 'aa')).feed).not.toHaveProperty('failure');
  });

  it('is refused with another basis', () => {
    const basis = { version: 1, revision: 0 };
    given(named(1), read(1, 'bb')).when(record(basis, 'aa')).thenRefused(superseded);
    given(named(1), failed('gone')).when(fail(basis, 'away')).thenRefused(superseded);
    given(named(1), named(2, feedOf({ url: `${url}2` })))
      .when(record(basis, 'aa'))
      .thenRefused(superseded);
    given(named(1), archived).when(record(basis, 'aa')).thenRefused(superseded);
    given(published(1)).when(record(basis, 'aa')).thenRefused(superseded);
    given().when(fail(basis, 'gone')).thenRefused(superseded);
  });

  it('is read again after an unchanged sync, unless its schedule reads it soon', () => {
    const asked: CatalogEvent = { type: 'CatalogFeedAsked', data: {}, occurredAt: day(3) };
    given(named(1)).when(name()).then(asked);
    expect(catalogOf(named(1), asked).lastChange).toBe('unchanged');
    const daily = feedOf({ updateFrequency: 'daily' });
    given(named(1, daily)).when(name(daily)).thenNothing();
    given(named(1, daily), failed('gone')).when(name(daily)).then(asked);
  });

  it('keeps its results while URL and format stay', () => {
    const history = [named(1), read(1, 'aa')];
    expect(catalogOf(...history, named(2, feedOf({}, 'Boots'))).feed?.read?.contentHash).toBe('aa');
    for (const more of [{ url: `${url}2` }, { feedFormat: 'shopify' }]) {
      expect(catalogOf(...history, named(2, feedOf(more))).feed).toBeUndefined();
    }
    expect(catalogOf(...history, published(2)).feed).toBeUndefined();
  });
});
