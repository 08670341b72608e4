import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSellerAccount } from '../../app/create-account.ts';
import { readConfig, variables } from '../../app/config.ts';
import type { ErrorBody } from '../../shared/http/errors.ts';
import { readOperations, type ApiDocument, type Operation, type Schema } from '../fuzz/read-operations.ts';
import { amount } from '../support/amount.ts';
import type { Api } from '../support/api-client.ts';
import { setUpByLink } from '../support/person.ts';
import { operate } from '../support/program.ts';
import { startSandboxAgent, type Behaviour } from '../support/sandbox-agent.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** Validation errors use this API's own messages on every route and member. */

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

/** Phrases of the schema library (zod's locale `en`), and regular expressions. */
const LIBRARY_PHRASES =
  /Invalid |Too small|Too big|expected |received |Unrecognized key|Unknown (?:key|member)|[<>]=|\bNaN\b|match the pattern|is not valid|none of the forms/;

/** One member of an input, and how to send a value for it. */
interface Member {
  readonly path: string;
  readonly schema: Schema;
  /** Called without a value, the member is missing. */
  readonly input: (...value: readonly unknown[]) => unknown;
}

const DEPTH_MAX = 5;

/** Every member of a body, also those in lists, records and each form of a union. */
const membersOf = (
  schema: Schema,
  resolve: ApiDocument['resolve'],
  at: Member = { path: '', schema, input: (...value) => value[0] },
  depth = 0,
): readonly Member[] => {
  const resolved = resolve(schema);
  const own = { ...at, schema: resolved };
  if (depth > DEPTH_MAX) return [own];
  const forms = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? []), ...(resolved.allOf ?? [])];
  const below = (name: string, member: Schema, wrap: (value: readonly unknown[]) => unknown) =>
    membersOf(
      member,
      resolve,
      {
        path: at.path === '' ? name : `${at.path}.${name}`,
        schema: member,
        input: (...value) => at.input(wrap(value)),
      },
      depth + 1,
    );
  return [
    own,
    ...forms.flatMap((form) => membersOf(form, resolve, { ...at, schema: form }, depth + 1)),
    ...Object.entries(resolved.properties ?? {}).flatMap(([name, member]) =>
      below(name, member, (value) => (value.length === 0 ? {} : { [name]: value[0] })),
    ),
    ...(resolved.items === undefined ? [] : below('0', resolved.items, (value) => [...value])),
    ...(typeof resolved.additionalProperties === 'object'
      ? below('other', resolved.additionalProperties, (value) => ({ other: value[0] }))
      : []),
  ];
};

const LONG = 'x'.repeat(70_000);

/** Values that are invalid for most members: another type, too long, too short, out of range, another form. */
const mistakesFor = ({ maxItems = 200, enum: values, minimum }: Schema): readonly unknown[] => [
  null,
  '',
  'no-such-value',
  'Not A Value!',
  LONG,
  '2026-13-45T00:00:00Z',
  -1,
  0,
  1.5,
  3_000_000_000,
  1e30,
  -1e30,
  true,
  [],
  [1],
  [null],
  ['x', 'x'],
  Array.from({ length: maxItems + 1 }, (_, n) => n),
  {},
  { other: 1 },
  { 'no name!': LONG },
  ...(values === undefined ? [] : [String(values[0]).toLowerCase(), ` ${String(values[0])}`]),
  ...(minimum === undefined ? [] : [minimum - 1]),
];

/** Members and parameters of one form are refused by one rule: the first of them is tried with every mistake. */
const allForTheFirst = (): (<Mistake>(form: unknown, mistakes: readonly Mistake[]) => readonly Mistake[]) => {
  const seen = new Set<string>();
  return (form, mistakes) => {
    const text = JSON.stringify(form, (name, value: unknown) => (name === 'description' ? undefined : value));
    const isFirst = !seen.has(text);
    seen.add(text);
    return isFirst ? mistakes : mistakes.slice(0, amount(2, mistakes.length));
  };
};

const wrongTexts = [
  '',
  'x',
  '-1',
  '1.5',
  '0',
  '99999999999',
  '9'.repeat(20),
  'true',
  'x'.repeat(2_000),
  '%F0',
];

interface Refusal {
  readonly where: string;
  readonly text: string;
  readonly error: ErrorBody | null;
}

const inParallel = async <Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
};

it('refuses every member of every route in plain words, and a missing member as "is required"', async () => {
  const { operations, resolve } = await readOperations(service.baseUrl);
  const account = await service.openAccount();
  const seller = await createSellerAccount(service.installation, 'Seller', 1);
  const email = 'reader@example.test';
  const { cookie } = await setUpByLink(service, account.customerId, `${account.customerId}-1`, email);
  const credentialFor = ({ scopes, needsSession }: Operation): Readonly<Record<string, string>> => {
    if (needsSession) return { Cookie: `__Host-sc_session=${cookie}`, Origin: service.baseUrl };
    const isSellers = scopes.length > 0 && scopes.every((scope) => scope === 'exchange:review');
    return { Authorization: `Bearer ${isSellers ? seller.apiKey : account.apiKey}` };
  };
  const refusals: Refusal[] = [];
  const libraryMessages: string[] = [];

  const send = async (
    operation: Operation,
    where: string,
    { body, query = '', path = pathOf(operation) }: { body?: unknown; query?: string; path?: string },
  ): Promise<Refusal> => {
    const answer = await fetch(`${service.baseUrl}${path}${query}`, {
      method: operation.method,
      headers: {
        ...credentialFor(operation),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    // A stream that was not refused has no end.
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (isStream) await answer.body?.cancel();
    const text = isStream ? '' : await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
    const refusal = {
      where,
      text,
      error: isJson ? (JSON.parse(text) as { error: ErrorBody | null }).error : null,
    };
    if (answer.status === 400) refusals.push(refusal);
    if (isJson && LIBRARY_PHRASES.test(text)) libraryMessages.push(`${where}: ${text.slice(0, 400)}`);
    return refusal;
  };

  const notRequired: string[] = [];
  const bodies = operations.filter(({ body }) => body?.mediaType === 'application/json');
  const some = allForTheFirst();
  const requests = bodies.flatMap((operation) => {
    const schema = operation.body?.schema ?? {};
    const members = membersOf(schema, resolve);
    const wrong = members.flatMap((member) =>
      some(member.schema, mistakesFor(member.schema)).map((value) => async () => {
        const where = `${operation.operationId} ${member.path}: ${JSON.stringify(value).slice(0, 60)}`;
        await send(operation, where, { body: member.input(value) });
      }),
    );
    const missing = (resolve(schema).required ?? []).map((name) => async () => {
      const where = `${operation.operationId} without ${name}`;
      const { error } = await send(operation, where, { body: {} });
      const said = issuesOf(error).find(({ path }) => path === name)?.message;
      if (said !== 'is required') notRequired.push(`${where}: ${said}`);
    });
    return [...wrong, ...missing];
  });
  const parameters = operations.flatMap((operation) => [
    ...operation.queryParameters.flatMap((parameter) =>
      some(parameter, wrongTexts).map((text) => async () => {
        const { name } = parameter;
        const query = `?${encodeURIComponent(name)}=${text.replace(/^%.*/, '%25F0')}`;
        await send(operation, `${operation.operationId} ?${name}=${text.slice(0, 60)}`, { query });
      }),
    ),
    ...operation.pathParameters.flatMap((parameter) =>
      some(
        parameter,
        wrongTexts.filter((text) => text !== ''),
      ).map((text) => async () => {
        const { name } = parameter;
        const path = pathOf(operation, { [name]: encodeURIComponent(text) });
        await send(operation, `${operation.operationId} {${name}}=${text.slice(0, 60)}`, { path });
      }),
    ),
  ]);
  await inParallel([...requests, ...parameters], (request) => request());

  expect(libraryMessages.slice(0, 20)).toEqual([]);
  expect(notRequired).toEqual([]);
  // The message begins with the member that `field` names.
  const unnamed = refusals.filter(
    ({ error }) => error?.details !== undefined && !error.message.startsWith(error.field ?? 'The request'),
  );
  expect(unnamed.map(({ where, error }) => [where, error?.message]).slice(0, 10)).toEqual([]);
  // Every operation with a JSON body has refused a member of it.
  const refused = new Set(refusals.map(({ where }) => where.split(' ')[0]));
  expect(bodies.map(({ operationId }) => operationId).filter((id) => !refused.has(id))).toEqual([]);
}, 240_000);

const issuesOf = (error: ErrorBody | null) =>
  (error?.details as { readonly issues?: readonly { path: string; message: string }[] } | undefined)
    ?.issues ?? [];

const pathOf = ({ path, pathParameters }: Operation, given: Readonly<Record<string, string>> = {}): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = pathParameters.find((parameter) => parameter.name === name)?.schema;
    return given[name] ?? (schema?.type === 'integer' || schema?.pattern !== undefined ? '1' : 'some-id');
  });

it("refuses a number above its member's limit with that limit", async () => {
  const { api } = await service.openAccount();
  const answer = await api.post('/advertisers', {
    name: 'Acme',
    frequencyCaps: [{ max_impressions: 1e30, window: { interval: 60 } }],
  });
  expect(answer.body.error).toEqual({
    code: 'VALIDATION_ERROR',
    message:
      'frequencyCaps.0.max_impressions must be at most 2147483647. Correct it and send the request again.',
    field: 'frequencyCaps.0.max_impressions',
    details: {
      issues: [
        {
          path: 'frequencyCaps.0.max_impressions',
          message: 'must be at most 2147483647',
          code: 'too_big',
        },
      ],
    },
  });
});

it('names a missing member as required', async () => {
  const { api } = await service.openAccount();
  expect((await api.post('/advertisers', {})).body.error?.message).toBe(
    'name is required. Correct it and send the request again.',
  );
  const agent = await api.post('/adcp-agents', { name: 'A', url: 'https://agent.example.com/mcp' });
  expect(agent.body.error?.message).toBe('protocol is required. Correct it and send the request again.');
});

it('names the limit of a query parameter', async () => {
  const { api } = await service.openAccount();
  expect((await api.get('/advertisers?take=500')).body.error?.message).toMatch(/^take must be at most 200\b/);
});

it("names the invalid member of a sandbox agent's behaviour", async () => {
  const agent = await startSandboxAgent();
  try {
    const wrong = { mode: 'lazy' } as unknown as Behaviour;
    await expect(agent.behave(wrong)).rejects.toThrow(/"mode must be one of \\"works\\", /);
  } finally {
    await agent.stop();
  }
});

it('names the setting that would allow an address, for such addresses only', async () => {
  const { api } = await service.openAccount();
  const message = async (url: string) =>
    (await api.post('/adcp-agents', { name: 'A', url, protocol: 'MCP' })).body.error?.message;
  for (const url of ['http://127.0.0.1:4300/mcp', 'https://localhost/mcp']) {
    expect(await message(url)).toMatch(
      /^url must .*, unless the service is started with OUTBOUND_ALLOW_LOOPBACK=true\./,
    );
  }
  for (const url of ['http://agent.example.com/mcp', 'https://10.0.0.1/mcp']) {
    expect(await message(url)).toMatch(/^url must (?!.*OUTBOUND)/);
  }
  const path = await advertiserPath(api);
  const feed = await api.post<{ catalogs: { errors: { message: string }[] }[] }>(`${path}/catalogs/sync`, {
    account: { account_id: path.split('/')[2] },
    catalogs: [{ catalog_id: 'shoes', type: 'product', url: 'http://127.0.0.1/feed', feed_format: 'custom' }],
  });
  expect(feed.body.data.catalogs[0]?.errors[0]?.message).toContain('OUTBOUND_ALLOW_LOOPBACK=true');
});

it('names the invalid member of a failed sync item, and the reason', async () => {
  const { api } = await service.openAccount();
  const path = await advertiserPath(api);
  const answer = await api.post<{ event_sources: { error: string }[] }>(`${path}/event-sources/sync`, {
    account: { account_id: path.split('/')[2] },
    event_sources: [
      { event_source_id: 'long', name: 'x'.repeat(300) },
      { event_source_id: 'typed', event_types: ['purchase', 'sale'] },
    ],
  });
  expect(answer.body.data.event_sources.map(({ error }) => error)).toEqual([
    expect.stringMatching(/^name must have at most \d+ characters$/),
    expect.stringMatching(/^event_types\.1 must be one of .*"page_view", /),
  ]);
});

const advertiserPath = async (api: Api): Promise<string> =>
  `/advertisers/${(await api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data.id}`;

describe("an operator's mistake", () => {
  it('in a setting is refused in plain words', () => {
    const wrong = (settings: Record<string, string>): string => {
      try {
        readConfig(settings);
        return '';
      } catch (error) {
        return (error as Error).message;
      }
    };
    const values = ['', 'x', '-1', '1e9', '999999999', '12.5', 'a=b', '://', ',', 'TRUE', '\u0000'];
    for (const name of Object.keys(variables)) {
      for (const value of values)
        expect(`${name}=${value} ${wrong({ [name]: value })}`).not.toMatch(LIBRARY_PHRASES);
    }
    expect(wrong({ PORT: '70000' })).toContain('PORT: must be a port number, 0 to 65535');
    expect(wrong({ LOG_SEAL_SECONDS: '999999999' })).toContain(
      'LOG_SEAL_SECONDS: must be a whole number, 0 to 86400',
    );
    expect(wrong({ NODE_ENV: 'prod' })).toContain(
      'NODE_ENV: must be one of "development", "production", "test"',
    );
  });

  it.each([
    ['sellers add --name', '--name must not be empty', ['sellers', 'add', '--name', '']],
    [
      'sellers add --channels',
      '--channels must be one of "display", ',
      ['sellers', 'add', '--name', 'A', '--channels', 'tv'],
    ],
    [
      'sellers change --logo-url',
      '--logo-url must be a URL starting with https://',
      ['sellers', 'change', '1', '--logo-url', 'x'],
    ],
    [
      'creatives review --status',
      '--status must be one of ',
      ['creatives', 'review', '1', 'cr', '1', '--status', 'fine'],
    ],
    [
      'creatives review --reason',
      '--reason is needed with "rejected"',
      ['creatives', 'review', '1', 'cr', '1', '--status', 'rejected'],
    ],
    [
      'creatives review --revision',
      'It must be the number of a revision.',
      ['creatives', 'review', '1', 'cr', '1', '--status', 'approved', '--revision', 'x'],
    ],
  ])('in %s is refused: %s', async (_, message, words) => {
    const refused = operate(words, async () => service.installation);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow(LIBRARY_PHRASES);
  });
});
