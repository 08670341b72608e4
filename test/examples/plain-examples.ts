import { createHash } from 'node:crypto';
import type { Example } from '../../shared/http/examples.ts';
import type { RecordedExample } from './exchanges.ts';
import { DAY_MS, dayOf, HOUR_MS, timeOf } from './scenario.ts';

export interface PlainOptions {
  /** Texts of this run, e.g. addresses, and what the examples have in place of them. */
  readonly replaced: Readonly<Record<string, string>>;
  readonly startedMs: number;
}

/**
 * The same exchanges in every run: ids, times, addresses and secrets become fixed values. Secrets become placeholders
 * that contain `EXAMPLE`.
 */
export const plainExamples = (
  recorded: ReadonlyMap<string, RecordedExample>,
  options: PlainOptions,
): Readonly<Record<string, Example>> => {
  const shown = [...recorded].map(([id, example]) => [id, shortened(id, example)] as const);
  const secrets = secretsIn(shown);
  const ids = new Map<string, string>();
  const times = createTimes(options.startedMs);
  const examples = shown.map(([operationId, { atMs, ...example }]) => {
    times.begin(atMs);
    const plainText = (text: string, where: string): string => {
      const known = replaceAll(replaceAll(text, secrets), Object.entries(options.replaced));
      return plainEnds(times.replace(plainIds(known, `${operationId} ${where}`, ids)));
    };
    const plain = mapValues(example, 'example', (value, where) => {
      const name = where.split('.').at(-1) ?? '';
      if (typeof value === 'string') return fixed[name]?.(value) ?? plainText(value, where);
      return fixed[name]?.(value) ?? value;
    });
    return [operationId, plain as Example] as const;
  });
  return Object.fromEntries(examples.toSorted(([a], [b]) => (a < b ? -1 : 1)));
};

/** Members whose values differ between runs. */
const fixed: Readonly<Record<string, (value: unknown) => unknown>> = {
  durationMs: () => 42,
  client_id_issued_at: () => START_MS / 1_000,
  head: (value) => (typeof value === 'string' ? '0000000000000100' : undefined),
  position: (value) => (typeof value === 'string' ? '0000000000000100' : undefined),
  lagEvents: () => 0,
  // Deliveries go on.
  lastSuccess: () => timeOf(START_MS + HOUR_MS),
  code: (value) => (/^\d{6}$/.test(String(value)) ? '123456' : undefined),
  file: (value) => String(value).replace(/-[\w-]{8}\./, '-EXAMPLE0.'),
};

const ITEMS_MAX = 3;

/** Long lists end after a few items; the document is not an example of itself. */
const shortened = (operationId: string, example: RecordedExample): RecordedExample => {
  if (operationId === 'getOpenApi') {
    const { openapi, info, servers } = example.answer as Readonly<Record<string, unknown>>;
    return { ...example, answer: { openapi, info, servers } };
  }
  const shorten = (value: unknown): unknown => {
    if (Array.isArray(value))
      return (value.every((one) => typeof one === 'object') ? value.slice(0, ITEMS_MAX) : value).map(shorten);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shorten(member)]));
  };
  return 'answer' in example ? { ...example, answer: shorten(example.answer) } : example;
};

type Leaf = string | number | boolean | null;

const mapValues = (
  value: unknown,
  where: string,
  change: (value: Leaf, where: string) => unknown,
): unknown => {
  if (Array.isArray(value)) return value.map((one) => mapValues(one, where, change));
  if (typeof value !== 'object' || value === null) return change(value as Leaf, where);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, mapValues(member, `${where}.${name}`, change)]),
  );
};

const replaceAll = (text: string, pairs: Iterable<readonly [string, string]>): string => {
  let replaced = text;
  for (const [from, to] of pairs) replaced = replaced.replaceAll(from, to);
  return replaced;
};

const SECRET_NAMES = new Set([
  'access_token',
  'client_id',
  'cursor',
  'key',
  'lookupCodes',
  'nextCursor',
  'refresh_token',
  'secret',
  'ticket',
  'token',
  'uid',
]);

const LONG_SECRET = 16;

/** Values of members that are random, longest first, with their placeholders. */
const secretsIn = (
  recorded: readonly (readonly [string, RecordedExample])[],
): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const add = (value: string): void => {
    if (!found.has(value)) found.set(value, placeholder(value, found.size));
  };
  for (const [operationId, { path, query, body, answer }] of recorded) {
    mapValues({ path, query, body, answer }, operationId, (value, where) => {
      const name = where.split('.').at(-1) ?? '';
      const isCode = where === 'exchangeToken.body.code';
      if (typeof value !== 'string' || value.length < LONG_SECRET) return value;
      const [, keyId = '', keySecret = ''] = /^bx_([A-Za-z0-9]{16})_([\w-]+)$/.exec(value) ?? [];
      if (keyId !== '') [keyId, keySecret].forEach(add);
      else if (SECRET_NAMES.has(name) || isCode || where === 'revokeApiKey.path.id') add(value);
      return value;
    });
  }
  return new Map([...found].toSorted(([a], [b]) => b.length - a.length));
};

const PLACEHOLDER_MAX = 43;

/** As long as the value, or shorter, with its prefix. */
const placeholder = (value: string, count: number): string => {
  if (/^(?:\w{4}-){3}\w{4}$/.test(value)) return `exam-ple${count % 10}-exam-ple${count % 10}`;
  if (/^[A-Z2-7]{32}$/.test(value)) return 'EXAMPLESECRET'.repeat(3).slice(0, value.length);
  const [prefix = '', rest = value] = /^(bx_|at_|rt_|whsec_)?(.*)$/s.exec(value)?.slice(1) ?? [];
  const end = rest.endsWith('=') ? '=' : '';
  return `${prefix}${`EXAMPLE${String(count).padStart(2, '0')}`.repeat(30).slice(0, Math.min(rest.length, PLACEHOLDER_MAX) - end.length)}${end}`;
};

const ID = /(?<![\da-f])(?:[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{32}|[\da-f]{24})(?![\da-f])/g;

/** @param ids known ones; a new one gets a value that depends on where it is first */
const plainIds = (text: string, where: string, ids: Map<string, string>): string =>
  text.replaceAll(ID, (id) => {
    for (let count = 0; !ids.has(id); count += 1) {
      const hash = createHash('sha256').update(`${where} ${count}`).digest('hex');
      const plain = id.includes('-') ? uuidOf(hash, id) : hash.slice(0, id.length);
      if (![...ids.values()].includes(plain)) ids.set(id, plain);
    }
    return ids.get(id) ?? id;
  });

/** Of the same version. */
const uuidOf = (hash: string, id: string): string =>
  `${hash.slice(0, 8)}-${hash.slice(8, 12)}-${id[14]}${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;

const plainEnds = (text: string): string =>
  text
    .replaceAll(/\*{4}[\w-]{4}$/g, (end) => (text.startsWith('bx_') ? '****MPLE' : end))
    .replaceAll(/^id: \S{20,}$/gm, 'id: EXAMPLE-of-a-place')
    .replaceAll(/^retry: \d+$/gm, 'retry: 2000');

/** 9 o'clock on a Monday. */
const START_MS = Date.UTC(2026, 2, 2, 9);
const MINUTE_MS = 60_000;
const ROUNDED_MS = 5 * MINUTE_MS;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
/** Times and days that are farther away are not of the run, e.g. versions of protocols. */
const DAYS_MAX = 100;
const DAY = /^\d{4}-\d\d-\d\d$/;

interface Times {
  begin(atMs: number): void;
  replace(text: string): string;
}

/** Each exchange with new times is a minute later than the one before. Distances to others are rounded. */
const createTimes = (startedMs: number): Times => {
  const known = new Map<string, string>();
  let [nowMs, stepMs, isNew] = [0, START_MS, false];
  const plainOf = (time: string): string => {
    const ms = Date.parse(time);
    if (Math.abs(ms - nowMs) > DAYS_MAX * DAY_MS) return time;
    const inHours = (at: number): number => Math.floor(at / HOUR_MS);
    // A whole hour: it stands for that hour of the day.
    if (ms % HOUR_MS === 0) return timeOf(START_MS + (inHours(ms) - inHours(startedMs)) * HOUR_MS);
    isNew = true;
    return timeOf(stepMs + Math.round((ms - nowMs) / ROUNDED_MS) * ROUNDED_MS);
  };
  return {
    begin: (atMs) => {
      if (isNew) stepMs += MINUTE_MS;
      [nowMs, isNew] = [atMs, false];
    },
    replace: (text) => {
      if (DAY.test(text)) {
        const days = Math.round((Date.parse(text) - Date.parse(dayOf(startedMs))) / DAY_MS);
        return Math.abs(days) > DAYS_MAX ? text : dayOf(START_MS + days * DAY_MS);
      }
      return text.replaceAll(TIME, (time) => {
        const plain = known.get(time) ?? plainOf(time);
        known.set(time, plain);
        return plain;
      });
    },
  };
};
