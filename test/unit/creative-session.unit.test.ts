import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { evaluateSession, refineVariant } from '../../command/creative-sessions/commands.ts';
import {
  askEngine,
  GeneratedCopies,
  type CreativeEngine,
} from '../../command/creative-sessions/creative-engine.ts';
import { loadSession } from '../../command/creative-sessions/handler.ts';
import { builtInEngine } from '../../command/creative-sessions/built-in-engine.ts';
import type { SessionWrites } from '../../command/creative-sessions/handler.ts';
import { finalizeSession, startSession } from '../../command/creative-sessions/commands.ts';
import { runOnCampaign } from '../../command/campaigns/handler.ts';
import { loadCreative } from '../../command/creatives/handler.ts';
import { shownCampaignId, type Campaign } from '../../domain/campaigns/resource.ts';
import type { CreativeSessionEvent } from '../../domain/creative-sessions/events.ts';
import {
  shownSessionId,
  shownVariantId,
  type CreativeSession,
} from '../../domain/creative-sessions/resource.ts';
import {
  creativeSessionAggregate,
  creativeSessionStream,
} from '../../domain/creative-sessions/creative-session.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import {
  AppendOutcomeUnknownError,
  categoryOf,
  START,
  type EventStore,
} from '../../shared/event-store/event-store.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { CUSTOMER, openCampaignLog, type CampaignLog } from '../support/campaign-log.ts';
import { commandRequest } from '../support/command-request.ts';
import { createFailingAppends, everyAppendOf } from '../support/failing-appends.ts';
import { specificationOf } from '../support/given.ts';
import { processOf } from '../support/two-processes.ts';

const [at, later] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'];
const copy = { headline: 'Hello' };
const made = (variantId: string) => ({ variantId, copy });

describe('decisions', () => {
  const { given } = specificationOf(creativeSessionAggregate);
  const session = {
    sessionId: 's',
    customerId: CUSTOMER,
    campaignId: 'c',
    title: 'Spring',
    formatKind: 'custom' as const,
    variants: [made('one'), made('two')],
  };
  const started: CreativeSessionEvent = { type: 'CreativeSessionStarted', data: session, occurredAt: at };
  const refinedTo = (variantId: string): CreativeSessionEvent => ({
    type: 'CreativeVariantRefined',
    data: { refinedFrom: 'one', feedback: 'Louder', variant: made(variantId) },
    occurredAt: at,
  });
  const evaluatedAt = (stage: string, ...ids: string[]): CreativeSessionEvent => ({
    type: 'CreativeVariantsEvaluated',
    data: { stage, evaluations: ids.map((variantId) => ({ variantId, score: 50 })) },
    occurredAt: at,
  });
  const finalized: CreativeSessionEvent = {
    type: 'CreativeSessionFinalized',
    data: { variantId: 'one', creativeId: 'cre' },
    occurredAt: at,
  };
  const refine = {
    type: 'RefineVariant',
    now: at,
    variantId: 'one',
    feedback: 'Louder',
    refined: made('three'),
  } as const;
  const evaluate = (stage: string, ...ids: string[]) =>
    ({
      type: 'EvaluateVariants',
      now: at,
      stage,
      evaluations: ids.map((variantId) => ({ variantId, score: 50 })),
    }) as const;
  const finalize = { type: 'FinalizeSession', now: at, variantId: 'one', creativeId: 'cre' } as const;
  const ended = { reason: 'finalized', variantId: 'one', creativeId: 'cre' } as const;

  it('a session starts once, with its variants', () => {
    const start = { type: 'StartSession', now: at, session } as const;
    given().when(start).then(started);
    given(started).when(start).thenRefused({ reason: 'already-exists' });
    given().when(refine).thenRefused({ reason: 'not-found' });
    expect(given(started).state()).toMatchObject({ status: 'drafting', revision: 1, updatedAt: at });
  });

  it('a refinement makes another variant, which is selected', () => {
    given(started).when(refine).then(refinedTo('three'));
    expect(given(started, refinedTo('three')).state()).toMatchObject({
      status: 'refining',
      revision: 2,
      variants: [
        { variantId: 'one', selected: false },
        { variantId: 'two', selected: false },
        { variantId: 'three', selected: true, refinedFrom: 'one', feedback: 'Louder' },
      ],
    });
    given(started)
      .when({ ...refine, variantId: 'nine' })
      .thenRefused({ reason: 'unknown-variant' });
    given(started)
      .when({ ...refine, expectedRevision: 2 })
      .thenRefused({ reason: 'stale', expectedRevision: 2, currentRevision: 1 });
    const many = Array.from({ length: 18 }, (_, n) => refinedTo(`more ${n}`));
    given(started, ...many)
      .when(refine)
      .thenRefused({ reason: 'too-many-variants', limit: 20 });
  });

  it('each variant is evaluated once for a stage', () => {
    given(started)
      .when(evaluate('a', 'one', 'two'))
      .then(evaluatedAt('a', 'one', 'two'));
    given(started, evaluatedAt('a', 'one', 'two'))
      .when(evaluate('a', 'one', 'two'))
      .thenNothing();
    given(started, evaluatedAt('a', 'one'))
      .when(evaluate('a', 'one', 'two'))
      .then(evaluatedAt('a', 'two'));
    const stages = Array.from({ length: 10 }, (_, n) => evaluatedAt(`stage ${n}`, 'one'));
    given(started, ...stages)
      .when(evaluate('one more', 'one'))
      .thenRefused({ reason: 'too-many-stages', limit: 10 });
    given(started, ...stages)
      .when(evaluate('stage 3', 'two'))
      .then(evaluatedAt('stage 3', 'two'));
    expect(given(started, evaluatedAt('a', 'two')).state()).toMatchObject({
      status: 'evaluating',
      variants: [{ evaluations: [] }, { evaluations: [{ stage: 'a', score: 50, evaluatedAt: at }] }],
    });
  });

  it('a session is finalized with an evaluated or selected variant, and is then read-only', () => {
    given(started).when(finalize).thenRefused({ reason: 'not-chosen' });
    given(started, evaluatedAt('a', 'one')).when(finalize).then(finalized);
    given(started, refinedTo('three'))
      .when({ ...finalize, variantId: 'three' })
      .then({ ...finalized, data: { variantId: 'three', creativeId: 'cre' } });
    const history = [started, evaluatedAt('a', 'one', 'two'), finalized];
    given(...history)
      .when(finalize)
      .thenNothing();
    for (const command of [
      { ...finalize, variantId: 'two' },
      refine,
      evaluate('a', 'one'),
      evaluate('b', 'one'),
    ] as const) {
      given(...history)
        .when(command)
        .thenRefused(ended);
    }
    expect(given(...history).state()).toMatchObject({ status: 'finalized', revision: 3 });
  });

  it("the time of a session never decreases, even if a node's clock does", () => {
    const history = [{ ...started, occurredAt: later }, refinedTo('three')];
    expect(given(...history).state()).toMatchObject({ revision: 2, updatedAt: later });
  });
});

describe('the engine', () => {
  const call = { key: 'k', signal: new AbortController().signal };
  it('if built in, answers deterministically and within the limits', async () => {
    // Text that cannot be stored is refused earlier.
    const unit = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((one) => one !== '\0');
    const text = fc.string({ unit, minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.option(text, { nil: undefined }),
        fc.constantFrom('image', 'audio_hosted', 'custom' as const),
        fc.constantFrom('shorter', 'bolder', 'Say 👋 '.repeat(300)),
        async (title, prompt, formatKind, feedback) => {
          const brief = { title, prompt, formatKind };
          const copies = GeneratedCopies.parse(await builtInEngine.generate(brief, call));
          expect(await builtInEngine.generate(brief, call)).toEqual(copies);
          const first = copies[0] ?? {};
          GeneratedCopies.parse([await builtInEngine.refine(brief, { copy: first, feedback }, call)]);
          const asked = { stage: 'draft', copies };
          const evaluations = await builtInEngine.evaluate(brief, asked, call);
          expect(await builtInEngine.evaluate(brief, asked, call)).toEqual(evaluations);
          expect(evaluations.every(({ score }) => score >= 0 && score <= 100)).toBe(true);
        },
      ),
    );
  });

  it.each([
    ['fails', () => Promise.reject(new Error('secret'))],
    ['says nothing', () => new Promise(() => undefined)],
    ['says too much', async () => Array.from({ length: 9 }, () => copy)],
    ['says something too long', async () => [{ headline: 'x'.repeat(1_001) }]],
    ['says what cannot be stored', async () => [{ headline: '\u0000' }]],
    ['says something else', async () => ({ headline: 'Hello' })],
  ])('that %s results in 503 without an effect', async (_what, ask) => {
    const refused = askEngine(GeneratedCopies, 'k', ask, 10);
    await expect(refused).rejects.toMatchObject({ status: 503, hadNoEffect: true });
    await expect(refused).rejects.not.toThrow('secret');
  });
});

describe('in a campaign', () => {
  let log: CampaignLog;
  let campaign: Campaign;
  beforeEach(async () => {
    log = await openCampaignLog();
    campaign = await log.newCampaign();
  });
  const writes = (store?: EventStore, engine: CreativeEngine = builtInEngine): SessionWrites => ({
    ...log.writes(store),
    engines: { engineOf: async (_customer, connection) => (connection === undefined ? engine : undefined) },
  });
  const start = (through = writes()) =>
    startSession(
      through,
      shownCampaignId(campaign.campaignId),
      { title: 'Spring' },
      commandRequest(CUSTOMER),
    );
  const pathOf = ({ sessionId }: CreativeSession) => ({
    id: shownCampaignId(campaign.campaignId),
    sid: shownSessionId(sessionId),
  });
  /** A session with every variant evaluated. */
  const evaluated = async (): Promise<CreativeSession> =>
    evaluateSession(writes(), pathOf(await start()), 'draft', commandRequest(CUSTOMER));
  const variantOf = ({ variants }: CreativeSession, n: number): string =>
    shownVariantId(variants[n]?.variantId ?? '');
  const creativesOf = async () => {
    const events = await log.store.readAll({ after: START, limit: 10_000 });
    return events.filter(({ type }) => type === 'CreativeCreated');
  };
  const categories = async (): Promise<readonly string[]> =>
    (await log.store.readAll({ after: START, limit: 10_000 })).map(({ stream }) => categoryOf(stream));
  const refusalOf = (error: unknown) =>
    error instanceof ApiError ? [error.status, error.body.field, error.body.details] : error;

  it('a failing engine stores nothing, and no engine is called for an impossible command', async () => {
    let asked = 0;
    const unavailable = async (): Promise<never> => {
      asked += 1;
      throw new Error('unavailable');
    };
    const failing = writes(undefined, { generate: unavailable, refine: unavailable, evaluate: unavailable });
    await expect(start(failing)).rejects.toMatchObject({ status: 503, hadNoEffect: true });
    const session = await start();
    const before = await categories();
    const path = { ...pathOf(session), variantId: variantOf(session, 0) };
    const refine = { feedback: 'Louder' };
    await expect(refineVariant(failing, path, refine, commandRequest(CUSTOMER))).rejects.toMatchObject({
      status: 503,
    });
    await expect(evaluateSession(failing, path, 'draft', commandRequest(CUSTOMER))).rejects.toMatchObject({
      status: 503,
    });
    expect(asked).toBe(3);
    const stale = { ...refine, expectedRevision: 9 };
    await expect(refineVariant(failing, path, stale, commandRequest(CUSTOMER))).rejects.toMatchObject({
      status: 409,
    });
    expect([asked, await categories()]).toEqual([3, before]);
  });

  it('a repeated change does not call the engine again, and gives the same answer', async () => {
    const session = await start();
    const path = { ...pathOf(session), variantId: variantOf(session, 0) };
    const [id, body] = [randomUUID(), { feedback: 'Louder' }];
    const first = await refineVariant(writes(), path, body, commandRequest(CUSTOMER, id));
    await log.onAdvertiser({ type: 'ArchiveAdvertiser', now: later });
    const never: CreativeEngine['refine'] = () => Promise.reject(new Error('asked again'));
    const through = writes(undefined, { ...builtInEngine, refine: never });
    expect(await refineVariant(through, path, body, commandRequest(CUSTOMER, id, true))).toEqual(first);
    expect(
      refusalOf(await refineVariant(through, path, body, commandRequest(CUSTOMER)).catch((e) => e)),
    ).toEqual([409, undefined, undefined]);
  });

  describe.each([
    ['with its key', true],
    ['without a key', false],
  ])('finalizing is interrupted and repeated %s', (_how, isKeyed) => {
    it.each(everyAppendOf(3))(
      'at append %i (%s): creates one creative and closes the session',
      async (n, how) => {
        const session = await evaluated();
        const path = pathOf(session);
        const failing = createFailingAppends();
        const through = failing.wrap(log.store);
        const commandId = randomUUID();
        const body = { variantId: variantOf(session, 1), name: 'Ours' };
        failing.failFrom(n, how);
        await expect(
          finalizeSession(writes(through), path, body, commandRequest(CUSTOMER, commandId)),
        ).rejects.toThrow('cut');
        await failing.heal();
        const isMade = (await creativesOf()).length > 0;
        if (isMade) {
          // The campaign may have changed since: the repeat does not touch it.
          const now = isoTimestamp(log.nowMs);
          const archive = { type: 'ArchiveCampaign', now, advertiserIsArchived: false } as const;
          await runOnCampaign(log.writes(), campaign.campaignId, archive, commandRequest(CUSTOMER));
          const other = { variantId: variantOf(session, 0) };
          const refused = await finalizeSession(writes(), path, other, commandRequest(CUSTOMER)).catch(
            refusalOf,
          );
          expect(refused).toMatchObject([409, undefined, { variantId: body.variantId }]);
        }
        const repeat = () =>
          isKeyed ? commandRequest(CUSTOMER, commandId, true) : commandRequest(CUSTOMER, randomUUID());
        const again = await finalizeSession(writes(through), path, body, repeat());
        expect(await finalizeSession(writes(through), path, body, repeat())).toEqual(again);
        expect(await creativesOf()).toHaveLength(1);
        expect(await loadCreative(log.writes(), CUSTOMER, again.creativeId)).toMatchObject({
          name: 'Ours',
          source: 'generated',
          copy: session.variants[1]?.copy,
          madeIn: { sessionId: session.sessionId, variantId: session.variants[1]?.variantId },
        });
        expect(await log.typesOf(creativeSessionStream(CUSTOMER, session.sessionId))).toEqual([
          'CreativeSessionStarted',
          'CreativeVariantsEvaluated',
          'CreativeSessionFinalized',
        ]);
      },
    );
  });

  it('concurrent finalizations in separate processes, killed anywhere, create one creative', async () => {
    const variants = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ variant: fc.nat({ max: 2 }), endsAfter: fc.nat({ max: 4 }), done: fc.boolean() }),
          { minLength: 2, maxLength: 4 },
        ),
        fc.infiniteStream(fc.nat({ max: 5 })),
        async (requests, pauses) => {
          log = await openCampaignLog();
          campaign = await log.newCampaign();
          const session = await evaluated();
          const path = pathOf(session);
          const pause = (): number => (pauses.next().value as number | undefined) ?? 0;
          const finalize = async (n: number, through: EventStore) =>
            finalizeSession(
              writes(through),
              path,
              { variantId: variantOf(session, n) },
              commandRequest(CUSTOMER),
            );
          await Promise.all(
            requests.map(async ({ variant, endsAfter, done }) => {
              const failing = createFailingAppends();
              if (endsAfter > 0) failing.failFrom(endsAfter, done ? 'after' : 'before');
              const through = failing.wrap(processOf(log.store, pause));
              await finalize(variant, through).catch((error: unknown) => {
                if (!(error instanceof ApiError || error instanceof AppendOutcomeUnknownError)) throw error;
              });
            }),
          );
          // Later requests succeed for one variant and are refused for all others.
          const outcomes = [];
          for (const n of [0, 1, 2]) outcomes.push(await finalize(n, log.store).catch(refusalOf));
          expect(outcomes.filter((outcome) => Array.isArray(outcome))).toHaveLength(2);
          const [created, ...more] = await creativesOf();
          expect(more).toEqual([]);
          const ended = await loadSession(log.writes(), CUSTOMER, session.sessionId);
          const data = created?.data as { creativeId: string; madeIn: { variantId: string } };
          expect(ended?.final).toEqual({ variantId: data.madeIn.variantId, creativeId: data.creativeId });
          variants.add(session.variants.findIndex(({ variantId }) => variantId === data.madeIn.variantId));
        },
      ),
      { numRuns: 60 },
    );
    expect(variants.size).toBe(3);
  });
});
