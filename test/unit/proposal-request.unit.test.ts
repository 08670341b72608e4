import { describe, expect, it } from '@jest/globals';
import type { ProposalRequestEvent, SellerAnswer } from '../../domain/proposals/events.ts';
import { proposalRequestAggregate } from '../../domain/proposals/proposal-request.ts';
import { proposalSlotAggregate } from '../../domain/proposals/proposal-slot.ts';
import { proposalResource } from '../../domain/proposals/resource.ts';
import { readAnswer } from '../../command/workers/proposals/read-answer.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(proposalRequestAggregate);

const [now, inTime, deadlineAt, late] = [0, 10, 30, 31].map(
  (seconds) => `2026-03-01T10:00:${String(seconds).padStart(2, '0')}.000Z`,
) as [string, string, string, string];
const executionId = '11111111-1111-4111-8111-111111111111';
const campaignId = '22222222-2222-4222-8222-222222222222';
const ofExecution = { advertiserId: 5, campaignId };

const data = {
  executionId,
  customerId: 7,
  ...ofExecution,
  campaignRevision: 3,
  request: { brief: 'Reach gardeners', buyerRef: 'ref' },
  deadlineAt,
  sellers: [
    { sellerId: 1, name: 'One' },
    { sellerId: 2, name: 'Two' },
  ],
};
const requested = { type: 'ProposalsRequested', data, occurredAt: now } as const;
const answer: SellerAnswer = {
  outcome: 'returned_products',
  proposalIds: [],
  products: [{ productId: 'p', name: 'P', channels: [], pricingOptions: [] }],
  counts: { received: 1, invalid: 0, unlisted: 0 },
};
const answered = (sellerId: number, occurredAt = inTime): ProposalRequestEvent => ({
  type: 'SellerAnswered',
  data: { sellerId, ...answer },
  occurredAt,
});
const lateAnswer = (sellerId: number): ProposalRequestEvent => ({
  type: 'LateAnswerRecorded',
  data: { sellerId, ...ofExecution, ...answer },
  occurredAt: late,
});
const timedOut = (sellerId: number, occurredAt = late): ProposalRequestEvent => ({
  type: 'SellerTimedOut',
  data: { sellerId },
  occurredAt,
});
const completed = (status: 'complete' | 'partial' | 'failed', occurredAt = inTime): ProposalRequestEvent => ({
  type: 'ProposalRequestCompleted',
  data: { ...ofExecution, status },
  occurredAt,
});
const accepted = (sellerId: number): ProposalRequestEvent => ({
  type: 'SellerTaskAccepted',
  data: { sellerId, taskId: 't', taskOf: 'ADCP' },
  occurredAt: inTime,
});
const record = (sellerId: number, at = inTime) =>
  ({ type: 'RecordAnswer', now: at, sellerId, answer }) as const;
const close = (at = late) => ({ type: 'CloseRound', now: at }) as const;

describe('a proposal request', () => {
  it('begins once', () => {
    const begin = { type: 'RequestProposals', now, requested: data } as const;
    given().when(begin).then(requested);
    given(requested).when(begin).thenRefused({ reason: 'already-exists' });
    given().when(record(1)).thenRefused({ reason: 'not-found' });
    given(requested).when(record(3)).thenRefused({ reason: 'not-found' });
  });
  it('without a seller that can be asked has failed at once', () => {
    const sellers = [{ sellerId: 1, name: 'One', skipped: { code: 'NOT_ELIGIBLE', message: 'Retired' } }];
    given()
      .when({ type: 'RequestProposals', now, requested: { ...data, sellers } })
      .then({ ...requested, data: { ...data, sellers } }, completed('failed', now));
  });
  it('completes with the last answer; an answer counts once', () => {
    given(requested).when(record(1)).then(answered(1));
    given(requested, answered(1)).when(record(1)).thenNothing();
    given(requested, answered(1)).when(record(2)).then(answered(2), completed('complete'));
  });
  it('is partial when some failed, failed when all did', () => {
    const fail = (sellerId: number) =>
      ({
        type: 'RecordFailure',
        now: inTime,
        sellerId,
        reasonCode: 'transport',
        code: 'C',
        message: 'M',
      }) as const;
    const failure = (sellerId: number): ProposalRequestEvent => ({
      type: 'SellerFailed',
      data: { sellerId, reasonCode: 'transport', code: 'C', message: 'M' },
      occurredAt: inTime,
    });
    given(requested, answered(1)).when(fail(2)).then(failure(2), completed('partial'));
    given(requested, failure(1)).when(fail(2)).then(failure(2), completed('failed'));
  });
  it('is closed at its deadline, not before; silent sellers have timed out, working ones are pending', () => {
    given(requested, answered(1)).when(close(inTime)).thenNothing();
    given(requested, answered(1)).when(close()).then(timedOut(2), completed('partial', late));
    const closed = given(requested, accepted(1)).when(close());
    closed.then(timedOut(2), completed('partial', late));
    expect(closed.state()).toMatchObject({ sellers: [{ status: 'pending' }, { status: 'failed' }] });
    given(requested, answered(1), timedOut(2), completed('partial', late)).when(close()).thenNothing();
  });
  it('records a late answer as late, which reopens nothing', () => {
    const over = given(requested, answered(1), timedOut(2), completed('partial', late));
    over.when(record(2, late)).then(lateAnswer(2));
    expect(over.when(record(2, late)).state()).toMatchObject({ status: 'partial', completedAt: late });
    given(requested, answered(1)).when(record(2, late)).then(lateAnswer(2), completed('complete', late));
    given(requested, answered(1), timedOut(2), completed('partial', late), lateAnswer(2))
      .when(record(2, late))
      .thenNothing();
  });
  it('shows products in the order of the answers, so that earlier pages stay as they were', () => {
    const state = given(requested, answered(2), answered(1)).state();
    if (state.status === 'none') throw new Error('it exists');
    const [first, second] = [0, 1].map((skip) => proposalResource(state, { skip, limit: 1 }));
    expect(first?.perSeller.map(({ products }) => products.length)).toEqual([0, 1]);
    expect(second?.perSeller.map(({ products }) => products.length)).toEqual([1, 0]);
  });
});

it('an account has one slot, which is claimed again only by its holder', () => {
  const slot = specificationOf(proposalSlotAggregate);
  const claimed = {
    type: 'ProposalSlotClaimed',
    data: { executionId, claimId: 'c' },
    occurredAt: now,
  } as const;
  const claim = (holderId: string) => ({ type: 'ClaimSlot', now, holderId, claimId: 'c' }) as const;
  slot.given().when(claim(executionId)).then(claimed);
  slot
    .given(claimed)
    .when(claim('other'))
    .thenRefused({ reason: 'no-free-slot', slots: { [executionId]: { claimId: 'c', at: now } } });
  const released = { type: 'ProposalSlotReleased', data: claimed.data, occurredAt: now } as const;
  slot
    .given(claimed)
    .when({ ...claim(executionId), type: 'ReleaseSlot' })
    .then(released);
});

describe('an answer', () => {
  const products = (...all: unknown[]) => readAnswer({ products: all as never }, 'ref');

  it('loses its invalid items only', () => {
    const good = { product_id: 'a', name: 'A' };
    expect(products(good, { product_id: 'a', name: 'Again' }, { name: 'B' }, 7, null)).toMatchObject({
      answer: {
        outcome: 'returned_products',
        products: [{ productId: 'a' }],
        counts: { received: 5, invalid: 4 },
      },
    });
  });
  it('lists no more than fits into an event', () => {
    const long = { name: 'x'.repeat(5_000), description: 'y'.repeat(5_000) };
    const read = products(...Array.from({ length: 1_000 }, (_, n) => ({ product_id: `p${n}`, ...long })));
    if (!('answer' in read)) throw new Error('it can be read');
    expect(JSON.stringify(read.answer).length).toBeLessThan(60_000);
    expect(read.answer.products.length + read.answer.counts.unlisted).toBe(1_000);
  });
  it('to another request, or without products, is none', () => {
    const context = { buyer_ref: 'other' };
    expect(readAnswer({ products: [], context }, 'ref')).toMatchObject({
      problem: { code: 'FOREIGN_ANSWER' },
    });
    expect(readAnswer({ products: [], context: { buyer_ref: 'ref' } }, 'ref')).toHaveProperty('answer');
    for (const bad of [undefined, {}, { products: 'many' }]) {
      expect(readAnswer(bad, 'ref')).toMatchObject({ problem: { code: 'INVALID_ANSWER' } });
    }
  });
  it('has proposals only if they name its products and spend the whole budget', () => {
    const proposal = (id: string, ...parts: readonly (readonly [string, number])[]) => ({
      proposal_id: id,
      allocations: parts.map(([product_id, allocation_percentage]) => ({
        product_id,
        allocation_percentage,
      })),
    });
    const read = readAnswer(
      {
        products: [{ product_id: 'a', name: 'A' }],
        proposals: [
          proposal('own', ['a', 100]),
          proposal('foreign', ['z', 100]),
          proposal('half', ['a', 50]),
          {},
        ],
      },
      'ref',
    );
    expect(read).toMatchObject({ answer: { proposalIds: ['own'], counts: { invalid: 3 } } });
  });
});
