import { apiOf } from '../../support/api-client.ts';
import { fillLists } from '../fill-lists.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import { startOwnService, type OwnService } from '../stage.ts';
import { authorized, rate } from './advertiser-requests.ts';
import { middlePage } from './middle-page.ts';
import type { Bench, Scenario } from './scenario.ts';

const CONNECTIONS = 8;
const SMALL = 1_000;
const TAKE = 50;

/** The first row of a page in a list of `size` rows. Both sizes use equally many different pages. */
type From = (size: number) => number;
const ENDS: Readonly<Record<string, From>> = {
  'among the first pages': () => 0,
  'among the last pages': (size) => size - SMALL / 2 - TAKE,
};
const middle: From = (size) => size / 2 - SMALL / 4;

interface List {
  readonly name: string;
  readonly path: (advertiserId: number) => string;
  /** Default: no filter. A filtered list is read only in the middle. */
  readonly query?: string;
  /** The share of rows that match the filter. */
  readonly part?: number;
}

const MOST = 0.95;
const lists: readonly List[] = [
  { name: 'campaigns', path: () => 'campaigns' },
  { name: 'campaigns, one phase', path: () => 'campaigns', query: '&phase=active', part: MOST },
  { name: 'creatives', path: (id) => `advertisers/${id}/creatives` },
  {
    name: 'creatives, role and source',
    path: (id) => `advertisers/${id}/creatives`,
    query: '&role=evergreen&source=uploaded',
    part: 1 - 2 * (1 - MOST),
  },
  { name: 'assets', path: (id) => `advertisers/${id}/assets` },
  {
    name: 'assets, one kind',
    path: (id) => `advertisers/${id}/assets`,
    query: '&mediaKind=image',
    part: MOST,
  },
];

/** The same pages of lists with 1,000 rows and with many rows, each on its own database. */
export const growthOfLists: Scenario = async (bench) => {
  const small = await filled(bench, SMALL);
  const large = await filled(bench, bench.growTo);
  const lines: Line[] = [];
  const size = bench.growTo.toLocaleString('en');
  for (const list of lists) {
    for (const [place, from] of Object.entries(list.query === undefined ? ENDS : {})) {
      const ours = pagesOf(large, list, from);
      const baseline = pagesOf(small, list, from);
      const msOf = async ({ own }: FilledService, requests: () => string): Promise<number> =>
        (CONNECTIONS * 1000) / (await rate(own.service.port, CONNECTIONS, bench.seconds, requests));
      lines.push(
        lineOf({
          name: `GET ${list.name}, ${place}, ${size} rows`,
          unit: 'ms',
          ...(await alternate(
            bench.rounds,
            () => msOf(large, ours),
            () => msOf(small, baseline),
          )),
          baselineName: `${SMALL.toLocaleString('en')} rows`,
          goal: 1.3,
          atMost: true,
        }),
      );
    }
    const name = `GET ${list.name}, in the middle, ${size} rows`;
    lines.push(await middlePage(bench, name, large.own.service.port, pagesOf(large, list, middle)));
  }
  return lines;
};

interface FilledService {
  readonly own: OwnService;
  readonly advertiserId: number;
  readonly size: number;
}

const filled = async (bench: Bench, size: number): Promise<FilledService> => {
  const own = await startOwnService(bench);
  const api = apiOf(`http://127.0.0.1:${own.service.port}`, authorized(own));
  const advertiserId = (await api.post<{ id: number }>('/advertisers', { name: 'Bench' })).body.data.id;
  await fillLists(own.databaseUrl, { customerId: own.customerId, advertiserId }, size);
  return { own, advertiserId, size };
};

/** Rarely repeats a page, so that the cost of finding an answer is measured, not of repeating it. */
const pagesOf = (
  { own, advertiserId, size }: FilledService,
  { path, query = '', part = 1 }: List,
  from: From,
): (() => string) => {
  const first = Math.max(0, Math.floor(from(size * part)));
  const spread = Math.min(SMALL / 2, size * part - TAKE - first);
  return () => {
    const [skip, take] = [first + Math.floor(Math.random() * spread), TAKE - Math.floor(Math.random() * 20)];
    const url = `/api/v2/buyer/${path(advertiserId)}?take=${take}&skip=${skip}${query}`;
    return rawRequest('GET', url, authorized(own));
  };
};
