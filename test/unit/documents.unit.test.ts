import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  campaignAggregate,
  type CampaignCommand,
  type CampaignStep,
} from '../../domain/campaigns/campaign.ts';
import {
  creativeSessionAggregate,
  type CreativeSessionCommand,
} from '../../domain/creative-sessions/creative-session.ts';
import { ReviewStatus, reviewSteps, submittable, submitted } from '../../domain/creatives/seller-reviews.ts';
import { creativeEngines } from '../../domain/engines/creative-engines.ts';
import { steps } from '../../domain/syndication/syndication-states.ts';

/** Generated pages, and pages that are looked up rather than read. */
const GENERATED = /^docs\/reference\//;

/** Pages with a higher limit, in bytes. */
const LONGER: Readonly<Record<string, number>> = {
  'docs/performance.md': 12_000,
};

const read = (file: string): Promise<string> => readFile(file, 'utf8');

it('the oldest supported Node.js is the same everywhere', async () => {
  const Engines = z.object({ engines: z.object({ node: z.string() }) });
  const Lock = z.object({ packages: z.object({ '': Engines }) });
  const { engines } = Engines.parse(JSON.parse(await read('package.json')));
  const locked = Lock.parse(JSON.parse(await read('package-lock.json'))).packages[''].engines;
  expect([engines.node, locked.node]).toEqual(['>=20.19', '>=20.19']);
  expect(await read('README.md')).toContain('Node.js 20.19 or newer');
});

describe('stand-ins', () => {
  it('engines without an implementation are listed as stand-ins in the directory and in the documents', async () => {
    const document = await read('docs/guides/engines.md');
    for (const { id, name, standIn } of creativeEngines) {
      expect(document).toMatch(new RegExp(`^\\| ${id} +\\| ${name} +\\| ${standIn} `, 'm'));
    }
    expect(creativeEngines.filter(({ standIn }) => standIn).map(({ id }) => id)).toEqual([2, 3]);
    expect(await read('README.md')).toContain('`standIn: true`');
    expect(await read('README.md')).not.toContain('nothing here is a stub');
  });
});

const trackedFiles = (...patterns: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '' && existsSync(path));

describe('links of every document', () => {
  const files = trackedFiles('*.md');
  const anchorsOf = (path: string): readonly string[] =>
    [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
        .replaceAll(' ', '-'),
    );
  const brokenIn = (path: string): readonly string[] =>
    [...readFileSync(path, 'utf8').matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([link, file = '', anchor]) => {
        const target = file === '' ? path : join(dirname(path), file);
        if (!existsSync(target)) return [`${path}: ${link}`];
        return anchor === undefined || anchorsOf(target).includes(anchor) ? [] : [`${path}: ${link}`];
      },
    );

  it('point to an existing file and heading', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap(brokenIn)).toEqual([]);
  });
});

const documents = (): readonly string[] => trackedFiles('*.md');

const withoutCode = (page: string): string =>
  page.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, '');

describe('pages', () => {
  it('are at most 7 kB (README) and 8 kB (others)', async () => {
    const sizes = await Promise.all(
      trackedFiles('*.md', ':!test').map(async (path) => ({
        path,
        bytes: Buffer.byteLength(await read(path)),
      })),
    );
    const most = (path: string): number => (path === 'README.md' ? 7_000 : (LONGER[path] ?? 8_000));
    const tooLong = sizes.filter(({ path, bytes }) => !GENERATED.test(path) && bytes > most(path));
    expect(tooLong).toEqual([]);
  });

  it('are each linked from another page', async () => {
    const linked = new Set<string>();
    const all = documents();
    for (const path of all) {
      for (const [, href = ''] of withoutCode(await read(path)).matchAll(/\]\(([^)\s#]+)/g)) {
        const target = join(dirname(path), href);
        if (target !== path) linked.add(target);
      }
    }
    expect(all.filter((path) => path.startsWith('docs/') && !linked.has(path))).toEqual([]);
  });
});

it('comments and settings refer to existing documents', async () => {
  const files = trackedFiles('*.ts', '*.yml', '.env.example');
  const named = await Promise.all(
    files.map(async (file) =>
      [...(await read(file)).matchAll(/(?<![\w./-])docs\/[\w/-]+\.(?:md|json|svg)\b/g)].map(([path]) => ({
        file,
        path,
      })),
    ),
  );
  expect(named.flat().length).toBeGreaterThan(10);
  expect(
    named.flat().filter(({ file, path }) => !existsSync(path) && !file.includes('unit/phrases')),
  ).toEqual([]);
});

/** `from --> to: label`; the label is empty where a diagram has none. `[*]` is the state before the first event. */
const edge = (from: string, to: string, label = ''): string => `${from} --> ${to}: ${label}`;

interface Decider<State, Command, Event> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
  readonly decide: (
    command: Command,
    state: State,
  ) => { readonly events: readonly Event[] } | { readonly refused: unknown };
}

/** Runs every command in every state that at most `stepsMax` commands lead to. Returns the changes of status. */
const transitionsOf = <State extends object, Command, Event>(
  { initialState, evolve, decide }: Decider<State, Command, Event>,
  statusOf: (state: State) => string,
  commandsAt: (step: number) => readonly (readonly [label: string, command: Command])[],
  stepsMax: number,
): readonly string[] => {
  const edges = new Set<string>();
  const seen = new Set<string>();
  const visit = (state: State, step: number): void => {
    const key = JSON.stringify({ ...state, revision: 0, updatedAt: '' });
    if (step === stepsMax || seen.has(key)) return;
    seen.add(key);
    for (const [label, command] of commandsAt(step)) {
      const decision = decide(command, state);
      if (!('events' in decision)) continue;
      const next = decision.events.reduce(evolve, state);
      const [from, to] = [statusOf(state), statusOf(next)];
      if (from !== to) edges.add(edge(from === 'none' ? '[*]' : from, to, label));
      visit(next, step + 1);
    }
  };
  visit(initialState, 0);
  return [...edges].sort();
};

describe('the state diagrams of docs/concepts.md show exactly', () => {
  const drawn = async (heading: string): Promise<readonly string[]> => {
    const section = new RegExp(`^### ${heading}\n.*?\`\`\`mermaid\n(.*?)\`\`\``, 'ms');
    const [, picture = ''] = section.exec(await read('docs/concepts.md')) ?? [];
    return [...picture.matchAll(/^ +(\S+) --> (\w+)(?:: (.+))?$/gm)]
      .map(([, from = '', to = '', label]) => edge(from, to, label))
      .sort();
  };
  const [duringFlight, afterFlight] = ['2026-06-01T12:00:00.000Z', '2026-07-01T12:00:00.000Z'];

  it('the decisions on a campaign', async () => {
    const labels = {
      LaunchCampaign: 'execute',
      PauseCampaign: 'pause',
      ReactivateCampaign: 'reactivate',
      CompleteCampaign: 'end of the flight',
      ArchiveCampaign: 'delete',
    } satisfies Readonly<Record<CampaignStep, string>>;
    const flight = { startAt: '2026-05-01T00:00:00.000Z', endAt: '2026-06-30T00:00:00.000Z' };
    const campaign = {
      campaignId: 'c',
      customerId: 1,
      advertiserId: 1,
      name: 'Spring',
      currency: 'USD',
      flight,
    };
    const commands: readonly (readonly [string, CampaignCommand])[] = [
      ['create', { type: 'CreateCampaign', now: duringFlight, campaign }],
      ...(Object.keys(labels) as CampaignStep[]).flatMap((type) =>
        [duringFlight, afterFlight].map(
          (now) => [labels[type], { type, now, advertiserIsArchived: false }] as const,
        ),
      ),
    ];
    const transitions = transitionsOf(
      campaignAggregate,
      ({ phase }) => phase,
      () => commands,
      10,
    );
    expect(await drawn('Campaign')).toEqual(transitions);
  });

  it('the reviews of a creative: the steps of a seller, and submissions', async () => {
    const bySeller = ReviewStatus.options.flatMap((from) => reviewSteps[from].map((to) => edge(from, to)));
    const review = { sellerId: 1, since: 1, at: duringFlight };
    const again = ReviewStatus.options
      .filter((status) => submittable([{ ...review, status }], [1], { onlyNew: false }).length > 0)
      .map((from) => edge(from, 'processing', 'submitted again'));
    const first = submitted([], [1], 1, duringFlight).map(({ status }) => edge('[*]', status, 'submitted'));
    expect(await drawn('Review of a creative')).toEqual([...first, ...bySeller, ...again].sort());
  });

  it('the decisions on a creative session', async () => {
    const now = duringFlight;
    const variantOf = (step: number) => ({ variantId: `v${step}`, copy: {} });
    const session = {
      sessionId: 's',
      customerId: 1,
      campaignId: 'cmp_1',
      title: 'Spring',
      formatKind: 'responsive_creative' as const,
      variants: [variantOf(0)],
    };
    const commandsAt = (step: number): readonly (readonly [string, CreativeSessionCommand])[] => [
      ['start', { type: 'StartSession', now, session }],
      [
        'refine',
        { type: 'RefineVariant', now, variantId: 'v0', feedback: 'Shorter.', refined: variantOf(step) },
      ],
      [
        'evaluate',
        {
          type: 'EvaluateVariants',
          now,
          stage: `stage ${step}`,
          evaluations: [{ variantId: 'v0', score: 50 }],
        },
      ],
      ...Array.from(
        { length: step },
        (_, variant) =>
          [
            'finalize',
            { type: 'FinalizeSession', now, variantId: `v${variant}`, creativeId: 'cre_1' },
          ] as const,
      ),
    ];
    const transitions = transitionsOf(creativeSessionAggregate, ({ status }) => status, commandsAt, 5);
    expect(await drawn('Creative session')).toEqual(transitions);
  });

  it('the table of steps of a syndication record', async () => {
    const declared = Object.entries(steps).flatMap(([name, step]) =>
      'to' in step
        ? step.from
            .filter((from) => from !== step.to)
            .map((from) => edge(from === 'NONE' ? '[*]' : from, step.to, name))
        : [],
    );
    expect(await drawn('Syndication')).toEqual(declared.sort());
  });
});
