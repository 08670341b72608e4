import { Alert, Paper, Progress, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { readPlain } from '../api/call.ts';
import { useWindow, type Window } from '../api/windows.ts';
import { Figures } from '../pieces/figures.tsx';
import type { Column } from '../pieces/list-table.tsx';
import { Page } from '../pieces/page.tsx';
import { Problem } from '../pieces/problem.tsx';

interface Limit {
  readonly name: string;
  readonly requests: number;
  readonly windowSeconds: number;
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly 'x-rate-limit'?: Limit }>>>>;
}

interface CountedLimit extends Limit {
  readonly operations: number;
}

/** What counts together has one name. */
const limitsIn = ({ paths }: ApiDocument): readonly CountedLimit[] => {
  const found = new Map<string, CountedLimit>();
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    const limit = operation['x-rate-limit'];
    if (limit === undefined) continue;
    found.set(limit.name, { ...limit, operations: (found.get(limit.name)?.operations ?? 0) + 1 });
  }
  return [...found.values()];
};

/** What is counted, in words; a limit of a later version has its name alone. */
const subjects: Readonly<Record<string, string>> = {
  credential: 'Each API key and access token; a browser that is signed in counts for its address',
  address: 'Calls without a credential, for the address they come from',
  auth: 'Sign-in and other calls below /auth/, for the address',
  signUp: 'Sign-up, for the address',
  passwordReset: 'Password reset, its steps together, for the address',
  clientRegistration: 'Registration of apps, for the address',
  token: 'Tokens of apps, for the address',
};

const units = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** e.g. `15 minutes` */
const spanText = (seconds: number): string => {
  const [unit, size] = units.find(([, one]) => seconds % one === 0) ?? ['second', 1];
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'long' }).format(
    seconds / size,
  );
};

const columns: readonly Column<CountedLimit>[] = [
  { title: 'Counted', text: ({ name }) => subjects[name] ?? name },
  { title: 'Requests', text: ({ requests }) => requests, cell: ({ requests }) => requests.toLocaleString() },
  { title: 'In', text: ({ windowSeconds }) => spanText(windowSeconds) },
  { title: 'Operations', text: ({ operations }) => operations, wide: true },
];

const Limits = () => {
  const { data, error } = useQuery({
    queryKey: ['/openapi.json'],
    queryFn: ({ signal }) => readPlain<ApiDocument>('/openapi.json', signal),
    staleTime: Infinity,
  });
  return (
    <Page
      title="Limits"
      about="How often this browser and your programs may call, and how much of that is left."
    >
      <Now />
      <Paper withBorder p="lg" style={{ minWidth: 0 }}>
        <Title order={2} size="h4">
          All limits
        </Title>
        <Problem error={error} />
        <Figures
          name="limits"
          rows={data === undefined ? [] : limitsIn(data)}
          columns={columns}
          rowKey={({ name }) => name}
          height={480}
          empty={data === undefined ? 'They are read from the API document.' : 'This service has no limits.'}
        />
      </Paper>
      <Text size="sm" c="dimmed">
        A window opens with the first request and closes a set time later. Above a limit, a request is refused
        (429), and says when to try again. Reading events live, and probes of the service, count nowhere.
      </Text>
    </Page>
  );
};

/** @returns seconds until then, each second */
const useSecondsUntil = (atMs: number): number => {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.ceil((atMs - nowMs) / 1_000));
};

const Now = () => {
  const last = useWindow();
  return (
    <Paper withBorder p="lg">
      <Title order={2} size="h4" mb="sm">
        Your network, now
      </Title>
      {last === undefined ? <Text>No request was counted yet.</Text> : <Open {...last} />}
    </Paper>
  );
};

const Open = ({ limit, remaining, closesAtMs }: Window) => {
  const left = useSecondsUntil(closesAtMs);
  if (left === 0)
    return (
      <Text>
        The last window has closed: {limit.toLocaleString()} requests are free, and the next one opens a
        window.
      </Text>
    );
  return (
    <Stack gap="xs">
      <Text>
        <strong>{remaining.toLocaleString()}</strong> of {limit.toLocaleString()} requests left for {left} s.
      </Text>
      <Progress
        value={(100 * (limit - remaining)) / limit}
        aria-label={`${limit - remaining} of ${limit} requests used`}
        color={remaining * 5 < limit ? 'red' : 'indigo'}
      />
      <Text size="sm" c="dimmed">
        Every browser tab and everyone who shares your network address counts here, as of the last answer to
        this tab.
      </Text>
      {remaining === 0 && <Alert color="yellow">Reads pause until then, and go on by themselves.</Alert>}
    </Stack>
  );
};

export default Limits;
