import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { updateCreative } from '../../command/creatives/commands.ts';
import { createInCampaign } from '../../command/creatives/create-creative.ts';
import { reviewForSeller, submitCreative } from '../../command/creatives/review-creative.ts';
import { shownCampaignId } from '../../domain/campaigns/resource.ts';
import type { CreativeEvent } from '../../domain/creatives/events.ts';
import { shownCreativeId, type Creative } from '../../domain/creatives/resource.ts';
import {
  contentOf,
  creativeAggregate,
  type CreativeCommand,
  type CreativeStateOf,
} from '../../domain/creatives/creative.ts';
import { ReviewStatus, type ReviewStatus as Status } from '../../domain/creatives/seller-reviews.ts';
import { reviewSteps } from '../../domain/creatives/seller-reviews.ts';
import {
  sellerDirectoryAggregate,
  type SellerChanges,
  type SellerCommand,
} from '../../domain/sellers/seller-directory.ts';
import type { SellerEvent } from '../../domain/sellers/events.ts';
import { builtInSellers, sellsIn, type Seller } from '../../domain/sellers/resource.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { CUSTOMER, openCampaignLog } from '../support/campaign-log.ts';
import { commandRequest } from '../support/command-request.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(creativeAggregate);
const at = (n: number): string => `2026-01-01T00:00:${String(n).padStart(2, '0')}.000Z`;
const now = at(59);
const below = { now, advertiserIsArchived: false };
const content = {
  formatKind: 'display_tag' as const,
  slots: [],
  copy: { tag: '<b>' },
  trackers: {},
  carouselCards: [],
};

const missing = ['text in `copy` or a `urlAsset` with the urlType `tracker_script` or an asset in `slots`'];

const created = (state: 'ready' | 'draft' = 'ready'): CreativeEvent => ({
  type: 'CreativeCreated',
  data: {
    creativeId: 'c',
    customerId: 7,
    advertiserId: 5,
    name: 'Banner',
    state,
    promoted: false,
    source: 'uploaded',
    content,
    frequencyCaps: [],
  },
  occurredAt: at(0),
});
const submitted = (...sellerIds: number[]): CreativeEvent => ({
  type: 'CreativeSubmitted',
  data: { sellerIds },
  occurredAt: at(1),
});
const reviewed = (status: Status, takenOn = 2, sellerId = 1): CreativeEvent => ({
  type: 'CreativeReviewed',
  data: { sellerId, status, takenOn, ...(status === 'rejected' ? { rejectionReason: 'Too loud' } : {}) },
  occurredAt: at(2),
});
const updated = (changes: object): CreativeEvent => ({
  type: 'CreativeUpdated',
  data: { changes },
  occurredAt: at(3),
});
const gone: CreativeEvent = { type: 'CreativeArchived', data: {}, occurredAt: at(4) };

const submit = (sellerIds: number[], onlyNew = false): CreativeCommand => ({
  type: 'SubmitCreative',
  ...below,
  sellerIds,
  onlyNew,
});
const review = (status: Status, more: object = {}): CreativeCommand => ({
  type: 'ReviewCreative',
  ...below,
  sellerId: 1,
  status,
  expectedRevision: 2,
  ...(status === 'rejected' ? { rejectionReason: 'Too loud' } : {}),
  ...more,
});
const statusesOf = (state: CreativeStateOf): unknown =>
  state.state === 'none' ? [] : state.reviews?.map(({ sellerId, status }) => [sellerId, status]);

describe('submitting', () => {
  it('adds each seller once, with the status processing', () => {
    const done = given(created()).when(submit([2, 1, 2]));
    done.then({ ...submitted(1, 2), occurredAt: now });
    expect(done.state()).toMatchObject({
      revision: 2,
      reviews: [
        { sellerId: 1, status: 'processing', since: 2, at: now },
        { sellerId: 2, status: 'processing', since: 2, at: now },
      ],
    });
  });
  it('changes no pending, approved or suspended review', () => {
    given(created(), submitted(1))
      .when(submit([1]))
      .thenNothing();
    for (const status of ['pending_review', 'approved'] as const) {
      given(created(), submitted(1), reviewed(status))
        .when(submit([1]))
        .thenNothing();
    }
    given(created(), submitted(1), reviewed('approved'), reviewed('suspended'))
      .when(submit([1]))
      .thenNothing();
  });
  it('submits again to sellers that rejected or archived it, unless only new sellers are requested', () => {
    for (const status of ['rejected', 'archived'] as const) {
      const before = given(created(), submitted(1), reviewed(status));
      before.when(submit([1, 2])).then({ ...submitted(1, 2), occurredAt: now });
      before.when(submit([1, 2], true)).then({ ...submitted(2), occurredAt: now });
    }
  });
  it('needs a ready, live creative', () => {
    given(created('draft'))
      .when(submit([1]))
      .thenRefused({ reason: 'not-ready', missing: [] });
    given(created(), updated({ copy: {}, state: 'draft' }))
      .when(submit([1]))
      .thenRefused({ reason: 'not-ready', missing });
    given(created(), gone)
      .when(submit([1]))
      .thenRefused({ reason: 'archived' });
    given()
      .when(submit([1]))
      .thenRefused({ reason: 'not-found' });
    given(created())
      .when({ type: 'SubmitCreative', now, advertiserIsArchived: true, sellerIds: [1], onlyNew: false })
      .thenRefused({ reason: 'advertiser-archived' });
  });
});

describe('a review', () => {
  /** Steps that lead to each status. */
  const ways: Readonly<Record<Status, readonly CreativeEvent[]>> = {
    processing: [],
    pending_review: [reviewed('pending_review')],
    approved: [reviewed('approved')],
    rejected: [reviewed('rejected')],
    suspended: [reviewed('approved'), reviewed('suspended')],
    archived: [reviewed('archived')],
  };
  it('allows exactly the listed steps', () => {
    for (const from of ReviewStatus.options) {
      const before = given(created(), submitted(1), ...ways[from]);
      for (const to of ReviewStatus.options) {
        const done = before.when(review(to));
        if (from === to) done.thenNothing();
        else if (reviewSteps[from].includes(to)) {
          done.then({ ...reviewed(to), occurredAt: now });
        } else done.thenRefused({ reason: 'wrong-review', status: from, wanted: reviewSteps[from] });
      }
    }
    expect(Object.values(reviewSteps).flat()).not.toContain('processing');
  });
  it('may change only its reason', () => {
    const done = given(created(), submitted(1), reviewed('rejected')).when(
      review('rejected', { rejectionReason: 'Too bright' }),
    );
    expect(done.state()).toMatchObject({ revision: 4, reviews: [{ rejectionReason: 'Too bright' }] });
  });
  it('is refused for sellers without a submission', () =>
    given(created(), submitted(2)).when(review('approved')).thenRefused({ reason: 'not-submitted' }));
  it('cannot approve an incomplete creative', () => {
    const draft = given(created(), submitted(1), updated({ copy: {}, state: 'draft' }));
    draft.when(review('approved', { expectedRevision: 3 })).thenRefused({ reason: 'not-ready', missing });
    expect(statusesOf(draft.when(review('rejected', { expectedRevision: 3 })).state())).toEqual([
      [1, 'rejected'],
    ]);
  });
  it('applies to the content that the seller reviewed', () => {
    const changed = given(
      created(),
      submitted(1, 2),
      reviewed('approved'),
      updated({ copy: { tag: '<i>' } }),
    );
    expect(changed.state()).toMatchObject({
      revision: 4,
      reviews: [
        { sellerId: 1, status: 'processing', since: 4 },
        { sellerId: 2, status: 'processing', since: 4 },
      ],
    });
    for (const expectedRevision of [1, 3, 5]) {
      changed
        .when(review('approved', { expectedRevision }))
        .thenRefused({ reason: 'stale', expectedRevision, currentRevision: 4 });
    }
    const late = given(created(), submitted(1, 2), reviewed('approved', 2, 2), updated({ name: 'Other' }));
    late
      .when(review('approved', { expectedRevision: 2 }))
      .then({ ...reviewed('approved', 2), occurredAt: now });
    expect(statusesOf(late.state())).toEqual([
      [1, 'processing'],
      [2, 'approved'],
    ]);
  });
  it('ends when the creative is archived; a seller that archived it gets no new content', () => {
    const all = given(created(), submitted(1, 2), reviewed('archived'), updated({ message: 'x' }));
    expect(statusesOf(all.state())).toEqual([
      [1, 'archived'],
      [2, 'processing'],
    ]);
    const over = given(created(), submitted(1), reviewed('approved'), gone);
    expect(statusesOf(over.state())).toEqual([[1, 'archived']]);
    over.when(review('suspended')).thenRefused({ reason: 'archived' });
  });
});

interface Step {
  readonly what: 'submit' | 'review' | 'change' | 'rename' | 'archive';
  readonly seller: number;
  readonly status: Status;
  readonly value: number;
  /** How many revisions ago the seller read the creative. */
  readonly lag: number;
}
const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom('submit', 'submit', 'review', 'review', 'review', 'change', 'rename', 'archive'),
    seller: fc.integer({ min: 1, max: 2 }),
    status: fc.constantFrom(...ReviewStatus.options, 'approved', 'approved', 'approved'),
    value: fc.nat({ max: 5 }),
    lag: fc.oneof(fc.constant(0), fc.nat({ max: 4 })),
  }),
  { minLength: 12, maxLength: 40 },
);

const commandOf = ({ what, seller, status, value, lag }: Step, { revision }: Creative): CreativeCommand => {
  if (what === 'submit') return submit([seller], value === 0);
  const expectedRevision = Math.max(1, revision - lag);
  if (what === 'review') return review(status, { sellerId: seller, expectedRevision });
  if (what === 'archive' && value === 0) return { type: 'ArchiveCreative', ...below };
  const changes =
    what === 'change' ? { copy: value === 0 ? {} : { tag: `<${value}>` } } : { name: `${value}` };
  const none = { unchangeable: {}, newCapIds: [], nameHeldAt: undefined };
  return { type: 'UpdateCreative', ...below, changes, ...none };
};

it('no sequence leaves an approval on content that was not reviewed', () => {
  let approvals = 0;
  fc.assert(
    fc.property(steps, (asked) => {
      let state = creativeAggregate.evolve(creativeAggregate.initialState, created()) as Creative;
      /** The content at each revision, and the content that each seller approved. */
      const contents = new Map([[1, JSON.stringify(contentOf(state))]]);
      const approved = new Map<number, string>();
      for (const step of asked) {
        const command = commandOf(step, state);
        const decision = creativeAggregate.decide(command, state);
        if ('refused' in decision) continue;
        expect(decision.events.length).toBeLessThan(2);
        for (const event of decision.events) {
          const before = state.revision;
          state = creativeAggregate.evolve(state, event) as Creative;
          expect(state.revision).toBe(before + 1);
          contents.set(state.revision, JSON.stringify(contentOf(state)));
          if (event.type === 'CreativeReviewed' && event.data.status === 'approved') {
            approved.set(event.data.sellerId, contents.get(event.data.takenOn) ?? '');
            approvals += 1;
          }
        }
        const current = JSON.stringify(contentOf(state));
        for (const { sellerId, status, since } of state.reviews ?? []) {
          if (status === 'approved' || status === 'suspended') expect(approved.get(sellerId)).toBe(current);
          if (status !== 'archived') expect(contents.get(since)).toBe(current);
        }
        const ids = (state.reviews ?? []).map(({ sellerId }) => sellerId);
        expect(new Set(ids).size).toBe(ids.length);
      }
    }),
    { numRuns: 500 },
  );
  expect(approvals).toBeGreaterThan(100);
});

it('a concurrent change makes a review stale', async () => {
  const log = await openCampaignLog();
  const { campaignId } = await log.newCampaign();
  const body = { formatKind: 'display_tag', copy: { tag: '<b>' } } as const;
  const creative = await createInCampaign(
    log.writes(),
    shownCampaignId(campaignId),
    body,
    commandRequest(CUSTOMER),
  );
  const shown = shownCreativeId(creative.creativeId);
  await submitCreative(log.writes(), shown, [1], commandRequest(CUSTOMER));
  let changes = 0;
  const store: EventStore = {
    ...log.store,
    append: async (...asked) => {
      changes += 1;
      const change = { copy: { tag: '<i>' } };
      if (changes === 1) await updateCreative(log.writes(), creative, change, commandRequest(CUSTOMER));
      return log.store.append(...asked);
    },
  };
  const context = { commandId: randomUUID(), customerId: CUSTOMER, actor: 'test', requestId: 'r' };
  const decided = reviewForSeller(log.writes(store), shown, 1, { status: 'approved' }, context);
  await expect(decided).rejects.toMatchObject({ body: { code: 'CONFLICT', field: 'expectedRevision' } });
  expect(changes).toBe(1);
});

describe('the directory', () => {
  const directory = specificationOf(sellerDirectoryAggregate);
  const seller = (sellerId: number, more: Partial<Seller> = {}): Seller => ({
    sellerId,
    name: `Seller ${sellerId}`,
    channels: ['display'],
    retired: false,
    ...more,
  });
  const added = (data: Seller): SellerEvent => ({ type: 'SellerAdded', data, occurredAt: now });
  const add = (name: string): SellerCommand => ({
    type: 'AddSeller',
    now,
    seller: { name, channels: ['display'] },
  });
  const change = (sellerId: number, changes: SellerChanges) =>
    ({ type: 'ChangeSeller', now, sellerId, changes }) as const;

  it('begins with built-in sellers, and assigns ids above their range', () => {
    expect(directory.given().state()).toEqual(builtInSellers);
    directory
      .given()
      .when(add('Seller 1001'))
      .then(added(seller(1_001)));
    directory
      .given(added(seller(1_001)))
      .when(add('Seller 1002'))
      .then(added(seller(1_002)));
  });
  it('has each name once, with its owner', () => {
    const before = directory.given(added(seller(1_001)), added(seller(1_002)));
    before.when(add('SELLER 1002')).thenRefused({ reason: 'name-taken', sellerId: 1_002 });
    before.when(change(1_001, { name: 'sandbox tv' })).thenRefused({ reason: 'name-taken', sellerId: 2 });
    before.when(change(1_001, { name: 'Seller 1001' })).thenNothing();
  });
  it('changes and retires sellers, built-in ones too', () => {
    const before = directory.given(added(seller(1_001)));
    before
      .when(change(1_001, { channels: [] }))
      .then({ ...added(seller(1_001, { channels: [] })), type: 'SellerChanged' });
    expect(before.when(change(1, { retired: true })).state()[0]).toEqual({
      ...builtInSellers[0],
      retired: true,
    });
    before.when(change(4, { retired: true })).thenRefused({ reason: 'not-found' });
  });
  it('contains at most 200 sellers', () => {
    const full = Array.from({ length: 200 - builtInSellers.length }, (_, n) => added(seller(1_001 + n)));
    directory
      .given(...full)
      .when(add('One more'))
      .thenRefused({ reason: 'too-many-sellers', limit: 200 });
    directory
      .given(...full.slice(1))
      .when(add('One more'))
      .state();
  });
  it('an empty list of channels, on either side, means all channels', () => {
    expect(sellsIn(seller(1), [])).toBe(true);
    expect(sellsIn(seller(1), ['ctv', 'display'])).toBe(true);
    expect(sellsIn(seller(1), ['ctv'])).toBe(false);
    expect(sellsIn(seller(1, { channels: [] }), ['ctv'])).toBe(true);
    expect(sellsIn(seller(1, { retired: true }), [])).toBe(false);
  });
});
