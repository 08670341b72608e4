import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  archiveCreative,
  attachCreative,
  detachCreative,
  updateCreative,
} from '../../command/creatives/commands.ts';
import { createInCampaign } from '../../command/creatives/create-creative.ts';
import { duplicateCreative } from '../../command/creatives/create-creative.ts';
import { findHeldName } from '../../command/creatives/hold-names.ts';
import { loadCreative } from '../../command/creatives/handler.ts';
import { shownCampaignId, type Campaign } from '../../domain/campaigns/resource.ts';
import { copyNames, creativeNamesAggregate, newNames } from '../../domain/creatives/creative-names.ts';
import type { Creative } from '../../domain/creatives/resource.ts';
import { creativeStream } from '../../domain/creatives/creative.ts';
import { sleep } from '../../shared/async/backoff.ts';
import {
  AppendOutcomeUnknownError,
  categoryOf,
  START,
  type EventStore,
} from '../../shared/event-store/event-store.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { CUSTOMER, openCampaignLog, type CampaignLog } from '../support/campaign-log.ts';
import { commandRequest } from '../support/command-request.ts';
import { createFailingAppends, everyAppendOf } from '../support/failing-appends.ts';
import { specificationOf } from '../support/given.ts';
import { processOf } from '../support/two-processes.ts';

const LEASE_MS = 61_000;

describe('names', () => {
  const firsts = (names: (nth: number) => string) => [names(1), names(2), names(3)];
  it('of copies are numbered', () => {
    const copies = ['A (copy)', 'A (copy 2)', 'A (copy 3)'];
    for (const source of ['A', 'A (copy)', 'A (copy 17)']) expect(firsts(copyNames(source))).toEqual(copies);
    expect(copyNames('A (copy x)')(1)).toBe('A (copy x) (copy)');
    expect(copyNames(' (copy)')(2)).toBe(' (copy 2)');
  });
  it('stay within 255 code points without splitting a character', () => {
    for (const text of ['x', '👋']) {
      for (const nth of [1, 10, 100]) {
        const name = copyNames(text.repeat(255))(nth);
        expect([Array.from(name).length, name.isWellFormed()]).toEqual([255, true]);
      }
    }
    expect(Array.from(newNames('x'.repeat(255))(12)).length).toBe(255);
  });

  const at = '2026-01-01T00:00:00.000Z';
  const { given } = specificationOf(creativeNamesAggregate);
  const claimed = (name: string, creativeId = 'one', claimId = `claim of ${name}`) =>
    ({ type: 'CreativeNameClaimed', data: { creativeId, name, claimId }, occurredAt: at }) as const;
  const wanting = { now: at, creativeId: 'two', claimId: 'mine' };
  it('are held by one creative, with any text', () => {
    for (const name of ['A', '__proto__', 'constructor', 'toString']) {
      given()
        .when({ type: 'ClaimName', ...wanting, name })
        .then(claimed(name, 'two', 'mine'));
      given(claimed(name))
        .when({ type: 'ClaimName', ...wanting, name })
        .thenRefused({
          reason: 'name-taken',
          name,
          claim: { creativeId: 'one', claimId: `claim of ${name}`, at, isFirst: true },
        });
      const state = given(claimed(name)).state();
      expect(
        creativeNamesAggregate.decide(
          { type: 'ClaimName', ...wanting, name },
          JSON.parse(JSON.stringify(state)) as typeof state,
        ),
      ).toHaveProperty('refused');
    }
  });
  it('are released by their own claim only', () => {
    const release = { type: 'ReleaseName', now: at, creativeId: 'one', name: 'A' } as const;
    given(claimed('A'))
      .when({ ...release, claimId: 'an older one' })
      .thenNothing();
    expect(
      given(claimed('A'))
        .when({ ...release, claimId: 'claim of A' })
        .state(),
    ).toEqual({});
    expect(
      given(claimed('A', 'one', 'first'), claimed('A', 'one', 'second'))
        .when({ ...release, claimId: 'first' })
        .state(),
    ).toMatchObject({ A: { claimId: 'second', isFirst: false } });
  });
  it('the next free name is the first without a holder; its holder gets the same name again', () => {
    const names = copyNames('A');
    given(claimed('A (copy)'))
      .when({ type: 'ClaimFreeName', ...wanting, names })
      .then(claimed('A (copy 2)', 'two', 'mine'));
    given(claimed('A (copy 2)', 'two', 'earlier'))
      .when({ type: 'ClaimFreeName', ...wanting, names })
      .then(claimed('A (copy 2)', 'two', 'mine'));
  });
  it('number at most a thousand', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => claimed(`N ${n}`));
    given(...many)
      .when({ type: 'ClaimName', ...wanting, name: 'One more' })
      .thenRefused({ reason: 'too-many-creatives', limit: 1_000 });
  });
});

const body = (name: string) => ({ formatKind: 'custom' as const, name });
const createdBy = (request: RequestContext): string => derivedId(request.commandId, 'creative');

const allOf = async ({ store, writes }: CampaignLog): Promise<readonly Creative[]> => {
  const events = await store.readAll({ after: START, limit: 100_000 });
  const ids = new Set(
    events
      .filter(({ stream }) => categoryOf(stream) === 'creative')
      .map(({ stream }) => stream.slice(`creative-${CUSTOMER}-`.length)),
  );
  const found = await Promise.all([...ids].map((id) => loadCreative(writes(), CUSTOMER, id)));
  return found.filter((one) => one !== undefined);
};

/** In every campaign each live creative has a unique name and holds it. */
const checkNames = async (log: CampaignLog, campaigns: readonly Campaign[]): Promise<void> => {
  const live = (await allOf(log)).filter(({ state }) => state !== 'archived');
  for (const { campaignId } of campaigns) {
    const inside = live.filter(({ campaignIds }) => campaignIds.includes(campaignId));
    const names = inside.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const one of inside) {
      expect(await findHeldName(log.writes(), campaignId, one, CUSTOMER)).toBeDefined();
    }
  }
};

interface Step {
  readonly what: 'create' | 'rename' | 'copy' | 'attach' | 'detach' | 'archive';
  readonly name: string;
  readonly campaign: number;
  readonly creative: number;
  /** Store calls until the request's process is killed. A large number means never. */
  readonly endsAfter: number;
  readonly done: boolean;
  /** Whether the request is repeated in a later round. */
  readonly isRepeated: boolean;
}

const stepOf = fc.record<Step>({
  what: fc.constantFrom('create', 'create', 'rename', 'copy', 'attach', 'detach', 'archive'),
  name: fc.constantFrom('A', 'B'),
  campaign: fc.nat({ max: 1 }),
  creative: fc.nat({ max: 5 }),
  endsAfter: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(1_000)),
  done: fc.boolean(),
  isRepeated: fc.boolean(),
});

const endingAfter = (store: EventStore, { endsAfter, done }: Step): EventStore => {
  let appends = 0;
  return {
    ...store,
    append: async (...asked) => {
      appends += 1;
      if (appends < endsAfter) return store.append(...asked);
      if (appends === endsAfter && done) await store.append(...asked);
      throw new AppendOutcomeUnknownError('ended');
    },
  };
};

it('names stay unique under concurrent requests in separate processes, killed anywhere, repeated or not', async () => {
  let effects = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(stepOf, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
      fc.infiniteStream(fc.nat({ max: 4 })),
      async (rounds, pauses) => {
        const log = await openCampaignLog();
        const campaigns = [await log.newCampaign('One'), await log.newCampaign('Two')];
        const pause = (): number => (pauses.next().value as number | undefined) ?? 0;
        const run = async (step: Step, request: RequestContext, isLast: boolean): Promise<void> => {
          const through = processOf(log.store, pause);
          const writes = log.writes(isLast ? through : endingAfter(through, step));
          const campaign = campaigns[step.campaign] as Campaign;
          const known = await allOf(log);
          const target = known[step.creative % Math.max(1, known.length)];
          await carryOut(writes, step, campaign, target, request).catch((error: unknown) => {
            if (!(error instanceof ApiError || error instanceof AppendOutcomeUnknownError)) throw error;
          });
        };
        const again: [Step, RequestContext][] = [];
        for (const round of rounds) {
          const repeats = again.splice(0);
          await Promise.all([
            ...round.map(async (step) => {
              const request = commandRequest(CUSTOMER);
              await run(step, request, false);
              if (step.isRepeated) again.push([step, { ...request, hasRunBefore: async () => true }]);
            }),
            ...repeats.map(([step, request]) => run(step, request, true)),
          ]);
          await checkNames(log, campaigns);
          log.nowMs += LEASE_MS;
        }
        // After any crash, names without a live creative are free.
        for (const campaign of campaigns) {
          const inside = (await allOf(log)).filter(
            ({ state, campaignIds }) => state !== 'archived' && campaignIds.includes(campaign.campaignId),
          );
          for (const name of ['A', 'B', 'A (copy)']) {
            if (inside.some((one) => one.name === name)) continue;
            const { campaignId } = campaign;
            await createInCampaign(
              log.writes(),
              shownCampaignId(campaignId),
              body(name),
              commandRequest(CUSTOMER),
            );
          }
        }
        await checkNames(log, campaigns);
        effects += (await allOf(log)).length;
      },
    ),
    { numRuns: Number(process.env['NAME_RUNS'] ?? 40) },
  );
  expect(effects).toBeGreaterThan(40);
});

const carryOut = async (
  writes: ReturnType<CampaignLog['writes']>,
  { what, name }: Step,
  campaign: Campaign,
  target: Creative | undefined,
  request: RequestContext,
): Promise<unknown> => {
  const { campaignId } = campaign;
  if (what === 'create') return createInCampaign(writes, shownCampaignId(campaignId), body(name), request);
  if (target === undefined) return undefined;
  switch (what) {
    case 'rename':
      return updateCreative(writes, target, { name }, request);
    case 'copy':
      return target.campaignIds.includes(campaignId)
        ? duplicateCreative(writes, target, campaign, request)
        : undefined;
    case 'attach':
      return attachCreative(writes, target, campaign, request);
    case 'detach':
      return detachCreative(writes, target, { campaignId, archivesLast: true }, request);
    case 'archive':
      return archiveCreative(writes, target, request);
    default:
      return what satisfies never;
  }
};

describe('concurrent requests for one creative', () => {
  const isNames = (stream: string): boolean => categoryOf(stream) === 'creativeNames';
  /** A process that calls a function before its first append of the kind, and one after the first that succeeds. */
  const around = (
    store: EventStore,
    isMeant: (stream: string) => boolean,
    { before, after }: Partial<Record<'before' | 'after', () => Promise<unknown>>>,
  ): EventStore => {
    const pending = { before, after };
    const once = async (when: keyof typeof pending): Promise<void> => {
      const happening = pending[when];
      pending[when] = undefined;
      await happening?.();
    };
    return {
      ...store,
      append: async (...asked) => {
        if (!isMeant(asked[0])) return store.append(...asked);
        await once('before');
        const appended = await store.append(...asked);
        await once('after');
        return appended;
      },
    };
  };
  const opened = async () => {
    const log = await openCampaignLog();
    const [one, two] = [await log.newCampaign('One'), await log.newCampaign('Two')];
    const created = await createInCampaign(
      log.writes(),
      shownCampaignId(one.campaignId),
      body('A'),
      commandRequest(CUSTOMER),
    );
    return { log, one, two, created };
  };

  it('a refused rename leaves the name to the successful one for the same creative', async () => {
    const { log, one, created } = await opened();
    const rename = (store: EventStore) =>
      updateCreative(
        log.writes(store),
        created,
        { name: 'B', expectedRevision: 1 },
        commandRequest(CUSTOMER),
      );
    let [claimed, done] = [false, false];
    let second: Promise<unknown> = Promise.resolve();
    const waits = async (): Promise<void> => {
      claimed = true;
      while (!done) await sleep(1);
    };
    const meets = async (): Promise<void> => {
      second = rename(around(log.store, isNames, { after: waits })).catch((error: unknown) => error);
      while (!claimed) await sleep(1);
    };
    const first = around(log.store, (stream) => !isNames(stream), {
      before: meets,
      after: async () => (done = true),
    });
    expect(await rename(first)).toMatchObject({ name: 'B', revision: 2 });
    expect(await second).toMatchObject({ status: 409 });
    await checkNames(log, [one]);
  });

  it('an attachment during a detachment keeps its name', async () => {
    const { log, one, two, created } = await opened();
    const attach = (store: EventStore) =>
      attachCreative(log.writes(store), created, two, commandRequest(CUSTOMER));
    const detach = async () => {
      const known = await loadCreative(log.writes(), CUSTOMER, created.creativeId);
      const { campaignId } = two;
      const place = { campaignId, archivesLast: false };
      await detachCreative(log.writes(), known ?? created, place, commandRequest(CUSTOMER));
    };
    const meeting = around(log.store, isNames, { before: () => attach(log.store), after: detach });
    expect((await attach(meeting)).campaignIds).toEqual([one.campaignId, two.campaignId]);
    await checkNames(log, [one, two]);
  });

  it('a detachment that is repeated after a new attachment keeps the name', async () => {
    const { log, one, two, created } = await opened();
    const attached = await attachCreative(log.writes(), created, two, commandRequest(CUSTOMER));
    const place = { campaignId: two.campaignId, archivesLast: false };
    const request = commandRequest(CUSTOMER);
    await detachCreative(log.writes(), attached, place, request);
    const again = await attachCreative(log.writes(), created, two, commandRequest(CUSTOMER));
    await detachCreative(log.writes(), again, place, { ...request, hasRunBefore: async () => true });
    await checkNames(log, [one, two]);
  });

  it('a rename that is refused for another reason claims nothing', async () => {
    const { log, one, created } = await opened();
    const refused = updateCreative(
      log.writes(),
      created,
      { name: 'B', state: 'archived' },
      commandRequest(CUSTOMER),
    );
    await expect(refused).rejects.toMatchObject({ body: { field: 'state' } });
    const names = await log.typesOf(`creativeNames-${CUSTOMER}-${one.campaignId}`);
    expect(names).toEqual(['CreativeNameClaimed']);
  });
});

describe('an interrupted creation', () => {
  it.each(everyAppendOf(2))('at append %i (%s): a repeat completes it once', async (n, how) => {
    const log = await openCampaignLog();
    const { campaignId } = await log.newCampaign();
    const failing = createFailingAppends();
    const writes = log.writes(failing.wrap(log.store));
    const request = commandRequest(CUSTOMER, randomUUID());
    const again = { ...request, hasRunBefore: async () => true };
    const create = (asked: RequestContext) =>
      createInCampaign(writes, shownCampaignId(campaignId), body('A'), asked);
    failing.failFrom(n, how);
    await expect(create(request)).rejects.toThrow('cut');
    await failing.heal();
    const created = await create(again);
    expect(await create(again)).toEqual(created);
    expect(await log.typesOf(creativeStream(CUSTOMER, createdBy(request)))).toEqual(['CreativeCreated']);
  });

  it('that is not repeated reserves its name only for the lease', async () => {
    const log = await openCampaignLog();
    const { campaignId } = await log.newCampaign();
    const failing = createFailingAppends();
    const create = (store: EventStore) =>
      createInCampaign(log.writes(store), shownCampaignId(campaignId), body('A'), commandRequest(CUSTOMER));
    failing.failFrom(2, 'before');
    await expect(create(failing.wrap(log.store))).rejects.toThrow('cut');
    await expect(create(log.store)).rejects.toMatchObject({ body: { code: 'CONFLICT', field: 'name' } });
    log.nowMs += LEASE_MS;
    expect(await create(log.store)).toMatchObject({ name: 'A', revision: 1 });
  });
});
