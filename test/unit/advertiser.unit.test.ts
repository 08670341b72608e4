import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AdvertiserEvent } from '../../domain/advertisers/events.ts';
import {
  advertiserAggregate,
  type Advertiser,
  type AdvertiserCommand,
  type CreateAdvertiser,
  type UpdateAdvertiser,
} from '../../domain/advertisers/advertiser.ts';
import { brandDomainOf } from '../../domain/brands/brand.ts';
import { advertiserDetails } from '../support/advertiser-details.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(advertiserAggregate);
const day = (n: number): string => `2026-01-0${n}T00:00:00.000Z`;

const created: AdvertiserEvent = {
  type: 'AdvertiserCreated',
  data: { advertiserId: 5, customerId: 7, ...advertiserDetails, frequencyCaps: [] },
  occurredAt: day(1),
};
const archived: AdvertiserEvent = { type: 'AdvertiserArchived', data: {}, occurredAt: day(2) };
const restored: AdvertiserEvent = { type: 'AdvertiserRestored', data: {}, occurredAt: day(3) };
const locked: AdvertiserEvent = { type: 'AdvertiserCurrencyLocked', data: {}, occurredAt: day(2) };
const hourly = { max_impressions: 3, window: { interval: 60, unit: 'minutes' as const } };
const daily = { max_impressions: 9, window: { interval: 1, unit: 'days' as const } };
const capped: AdvertiserEvent = {
  type: 'AdvertiserFrequencyCapsReplaced',
  data: { caps: [{ id: 'cap-a', ...hourly }], archivedCapIds: [] },
  occurredAt: day(2),
};

const create = (over: Partial<CreateAdvertiser> = {}): CreateAdvertiser => ({
  type: 'CreateAdvertiser',
  now: day(1),
  advertiserId: 5,
  customerId: 7,
  details: advertiserDetails,
  frequencyCaps: [],
  newCapIds: [],
  ...over,
});
const update = (over: Partial<UpdateAdvertiser>): UpdateAdvertiser => ({
  type: 'UpdateAdvertiser',
  now: day(4),
  changes: {},
  newCapIds: ['new-1', 'new-2'],
  unchangeable: {},
  ...over,
});
const archive: AdvertiserCommand = { type: 'ArchiveAdvertiser', now: day(2) };
const restore: AdvertiserCommand = { type: 'RestoreAdvertiser', now: day(3) };

describe('creating an advertiser', () => {
  it('records the creation', () => given().when(create()).then(created));
  it('gives each distinct frequency cap an id', () =>
    given()
      .when(create({ frequencyCaps: [hourly, hourly, daily], newCapIds: ['a', 'b', 'c'] }))
      .then({
        ...created,
        data: {
          ...created.data,
          frequencyCaps: [
            { id: 'a', ...hourly },
            { id: 'b', ...daily },
          ],
        },
      }));
  it('refuses an existing id', () => given(created).when(create()).thenRefused({ reason: 'already-exists' }));
  it('leaves unset members out', () => {
    const state = given(created).state();
    expect(Object.keys(state)).not.toContain('description');
    expect(state).toMatchObject({
      id: 5,
      customerId: 7,
      status: 'ACTIVE',
      currencyLocked: false,
      createdAt: day(1),
    });
  });
});

describe('updating an advertiser', () => {
  it('records only changed members', () =>
    given(created)
      .when(update({ changes: { name: 'Acme', channels: ['ctv'] } }))
      .then({ type: 'AdvertiserUpdated', data: { changes: { channels: ['ctv'] } }, occurredAt: day(4) }));
  it('records nothing when nothing differs', () =>
    given(created)
      .when(update({ changes: { name: 'Acme', description: null, labels: {} }, frequencyCaps: [] }))
      .thenNothing());
  it('keeps absent autonomy members', () =>
    given(created)
      .when(update({ changes: { autonomy: { rebriefing: 'auto' } } }))
      .then({
        type: 'AdvertiserUpdated',
        data: { changes: { autonomy: { inventorySelection: 'manual', rebriefing: 'auto' } } },
        occurredAt: day(4),
      }));
  it('sets and clears the description', () => {
    const described = given(created).when(update({ changes: { description: 'Shoes' } }));
    expect(described.state()).toMatchObject({ description: 'Shoes', updatedAt: day(4) });
    const event: AdvertiserEvent = {
      type: 'AdvertiserUpdated',
      data: { changes: { description: 'Shoes' } },
      occurredAt: day(2),
    };
    const cleared = given(created, event).when(update({ changes: { description: null } }));
    expect(Object.keys(cleared.state())).not.toContain('description');
  });
  it('refuses an absent advertiser', () => given().when(update({})).thenRefused({ reason: 'not-found' }));
  it('refuses an archived one, even without changes', () =>
    given(created, archived).when(update({})).thenRefused({ reason: 'archived' }));
  it.each([
    ['id', 6],
    ['customerId', 8],
    ['status', 'ARCHIVED'],
    ['sandbox', true],
  ] as const)('refuses another %s', (member, value) =>
    given(created)
      .when(update({ unchangeable: { [member]: value } }))
      .thenRefused({ reason: 'unchangeable', member }),
  );
  it('accepts the current value of an unchangeable member', () =>
    given(created)
      .when(update({ unchangeable: { id: 5, customerId: 7, status: 'ACTIVE', sandbox: false } }))
      .thenNothing());
});

describe('the currency', () => {
  it('can change before the first campaign', () =>
    given(created)
      .when(update({ changes: { primaryCurrency: 'EUR' } }))
      .then({
        type: 'AdvertiserUpdated',
        data: { changes: { primaryCurrency: 'EUR' } },
        occurredAt: day(4),
      }));
  it('is locked by a campaign, once', () => {
    given(created)
      .when({ type: 'LockAdvertiserCurrency', now: day(2) })
      .then(locked);
    given(created, locked)
      .when({ type: 'LockAdvertiserCurrency', now: day(2) })
      .thenNothing();
  });
  it('cannot change while locked', () =>
    given(created, locked)
      .when(update({ changes: { primaryCurrency: 'EUR' } }))
      .thenRefused({ reason: 'currency-locked' }));
  it('may be repeated unchanged while locked', () =>
    given(created, locked)
      .when(update({ changes: { primaryCurrency: 'USD' } }))
      .thenNothing());
});

describe('frequency caps', () => {
  it('are replaced as a set; an equal cap keeps its id and its times', () => {
    const outcome = given(created, capped).when(update({ frequencyCaps: [daily, hourly] }));
    outcome.then({
      type: 'AdvertiserFrequencyCapsReplaced',
      data: {
        caps: [
          { id: 'new-1', ...daily },
          { id: 'cap-a', ...hourly },
        ],
        archivedCapIds: [],
      },
      occurredAt: day(4),
    });
    expect(outcome.state()).toMatchObject({
      frequencyCaps: [
        { id: 'new-1', targetLevel: 'ADVERTISER', targetId: '5', createdAt: day(4) },
        { id: 'cap-a', createdAt: day(2), updatedAt: day(2) },
      ],
    });
  });
  it('are cleared by an empty set; the old ones are archived', () =>
    given(created, capped)
      .when(update({ frequencyCaps: [] }))
      .then({
        type: 'AdvertiserFrequencyCapsReplaced',
        data: { caps: [], archivedCapIds: ['cap-a'] },
        occurredAt: day(4),
      }));
  it('stay when the set is the same', () =>
    given(created, capped)
      .when(update({ frequencyCaps: [hourly, hourly] }))
      .thenNothing());
});

describe('archiving and restoring', () => {
  it('archives once', () => {
    given(created).when(archive).then(archived);
    given(created, archived).when(archive).thenNothing();
    given().when(archive).thenRefused({ reason: 'not-found' });
  });
  it('restores an archived advertiser', () => given(created, archived).when(restore).then(restored));
  it('refuses to restore an absent or active advertiser', () => {
    given().when(restore).thenRefused({ reason: 'not-archived' });
    given(created, archived, restored).when(restore).thenRefused({ reason: 'not-archived' });
  });
});

describe('any history', () => {
  const commands = fc.array(
    fc.oneof(
      fc.constant(archive),
      fc.constant(restore),
      fc.constant<AdvertiserCommand>({ type: 'LockAdvertiserCurrency', now: day(2) }),
      fc
        .record({ name: fc.string(), primaryCurrency: fc.constantFrom('USD', 'EUR') })
        .map((changes) => update({ changes })),
      fc.subarray([hourly, daily]).map((frequencyCaps) => update({ frequencyCaps })),
    ),
    { maxLength: 20 },
  );
  const { decide, evolve, initialState } = advertiserAggregate;
  const play = (
    list: readonly AdvertiserCommand[],
  ): { state: ReturnType<typeof evolve>; events: AdvertiserEvent[] } => {
    let state: Advertiser = initialState;
    const events: AdvertiserEvent[] = [];
    for (const command of [create(), ...list]) {
      const decision = decide(command, state);
      if ('refused' in decision) continue;
      events.push(...decision.events);
      state = decision.events.reduce(evolve, state);
    }
    return { state, events };
  };

  it('folds to the same state, also with a JSON round trip as in the read model', () =>
    fc.assert(
      fc.property(commands, (list) => {
        const { state, events } = play(list);
        const throughText = events.reduce(
          (row, event) => JSON.parse(JSON.stringify(evolve(row, event))) as typeof row,
          initialState,
        );
        expect(JSON.stringify(throughText)).toBe(JSON.stringify(state));
      }),
    ));
  it('repeating an accepted command changes nothing', () =>
    fc.assert(
      fc.property(commands, (list) => {
        const { state } = play(list);
        for (const command of list) {
          if (command.type === 'RestoreAdvertiser') continue;
          const first = decide(command, state);
          if ('refused' in first) continue;
          expect(decide(command, first.events.reduce(evolve, state))).toEqual({ events: [] });
        }
      }),
    ));
});

describe('a brand', () => {
  it.each([
    ['acme.com', 'acme.com'],
    ['WWW.Acme.COM', 'acme.com'],
    ['https://www.acme.co.uk/shop?x=1', 'acme.co.uk'],
    ['http://shop.acme.com:8080', 'shop.acme.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['localhost', undefined],
    ['127.0.0.1', undefined],
    ['not a host', undefined],
    ['ftp://acme.com', undefined],
    ['https://user:secret@acme.com', undefined],
    ['', undefined],
    ['-acme.com', undefined],
  ])('%s names %s', (brand, domain) => expect(brandDomainOf(brand)).toBe(domain));
});
