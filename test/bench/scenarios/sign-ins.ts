import { openConnection, rawRequest } from '../http-load.ts';
import { alternate, lineOf } from '../measure.ts';
import { startOwnService, type OwnService } from '../stage.ts';
import { advertisersPath, authorized, loadWell } from './advertiser-requests.ts';
import type { Bench, Scenario } from './scenario.ts';

const PEOPLE = 10;
const SIGN_INS = 100;
const API_CONNECTIONS = 8;
const PASSWORD = 'correct horse battery staple';

/** From a different client address each time: `TRUSTED_PROXIES` is 1. */
const jsonRequest = (path: string, body: object, from: number): string =>
  rawRequest(
    'POST',
    path,
    { 'Content-Type': 'application/json', 'X-Forwarded-For': `10.1.${Math.floor(from / 250)}.${from % 250}` },
    JSON.stringify(body),
  );

const emailOf = (person: number): string => `person-${person}@bench.example`;

const signUpAll = async ({ service }: OwnService): Promise<void> => {
  const connection = await openConnection(service.port);
  for (let person = 0; person < PEOPLE; person++) {
    const body = { email: emailOf(person), password: PASSWORD, company: `Company ${person}` };
    const { status } = await connection.send(jsonRequest('/auth/signup', body, person));
    if (status !== 201) throw new Error(`sign-up answered ${status}`);
  }
  connection.close();
};

interface Burst {
  readonly longestMs: number;
  readonly signedIn: number;
}

/** Each sign-in has its own connection. An answer 503 says when to try again, and counts as answered. */
const signInAtOnce = async ({ service }: OwnService, round: number): Promise<Burst> => {
  const connections = await Promise.all(Array.from({ length: SIGN_INS }, () => openConnection(service.port)));
  const answers = await Promise.all(
    connections.map(async (connection, n) => {
      const sent = performance.now();
      const body = { email: emailOf(n % PEOPLE), password: PASSWORD };
      const { status } = await connection.send(jsonRequest('/auth/sign-in', body, round * SIGN_INS + n));
      if (status !== 200 && status !== 503) throw new Error(`a sign-in answered ${status}`);
      return { ms: performance.now() - sent, status };
    }),
  );
  for (const connection of connections) connection.close();
  return {
    longestMs: Math.max(...answers.map(({ ms }) => ms)),
    signedIn: answers.filter(({ status }) => status === 200).length,
  };
};

/** A list's median time while a hundred people sign in at once, against the same without sign-ins. */
export const signIns: Scenario = async (bench: Bench) => {
  const own = await startOwnService(bench, { TRUSTED_PROXIES: '1' });
  await signUpAll(own);
  const request = rawRequest('GET', `${advertisersPath}?take=50`, authorized(own));
  const read = (seconds: number) =>
    loadWell({
      port: own.service.port,
      connections: API_CONNECTIONS,
      seconds,
      request: () => request,
    });
  const bursts: Burst[] = [];
  const longestReadsMs: number[] = [];
  let round = 0;
  const seconds = Math.max(1, bench.seconds);
  const result = await alternate(
    bench.rounds,
    async () => {
      const [{ p50Ms, longestMs }, burst] = await Promise.all([read(seconds), signInAtOnce(own, round++)]);
      bursts.push(burst);
      longestReadsMs.push(longestMs);
      return p50Ms;
    },
    async () => (await read(seconds)).p50Ms,
  );
  const signedIn = bursts.map((burst) => burst.signedIn);
  return [
    lineOf({
      name: `GET list of 50 while ${SIGN_INS} people sign in at once, p50`,
      unit: 'ms',
      ...result,
      baselineName: 'without sign-ins',
      goal: 1.5,
      atMost: true,
      note: `${Math.min(...signedIn)} to ${Math.max(...signedIn)} signed in at once, the others were answered 503`,
    }),
    lineOf({
      name: 'the longest of these reads',
      unit: 'ms',
      ours: longestReadsMs,
      goal: 1_000,
      atMost: true,
    }),
    lineOf({
      name: 'the longest of these sign-ins',
      unit: 'ms',
      ours: bursts.map(({ longestMs }) => longestMs),
      goal: 1_000,
      atMost: true,
    }),
  ];
};
