import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Installation } from '../../app/installation.ts';
import { createAccount } from '../../app/create-account.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { readConfig } from '../../app/config.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { createTestStores, describeStores, type TestStores } from '../support/test-stores.ts';
import { startBalancer } from './kit/balancer.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';
import { rolesRun } from './roles-run.ts';

/** `FAULT_ROUNDS=20` for the long form. */
const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 1);
/** 5 s are promised; three times as long for a machine that may stall. */
const TAKE_OVER_MS_MAX = 15_000;
const CLIENTS = 20;
const path = '/api/v2/buyer/advertisers';

describe('processes with one role each', () => {
  let stores: TestStores;
  let installation: Installation;
  let supervisor: Supervisor;
  let apiKey: string;
  beforeAll(async () => {
    stores = await createTestStores();
    console.log(describeStores(stores));
    installation = await openWithLongTimeouts(readConfig(stores.settings), 'faults');
    ({ apiKey } = await createAccount(installation, 'Roles'));
    supervisor = await startSupervisor(
      [
        // Five times the interval in which the balancer notices.
        ...['api', 'api'].map((role) => ({ ROLES: role, DRAIN_DELAY_MS: '500' })),
        ...['projector', 'projector', 'worker'].map((role) => ({ ROLES: role })),
      ],
      stores.settings,
    );
    await supervisor.ready();
  });
  afterAll(async () => {
    await supervisor.stop();
    await installation.close();
    await stores.drop();
  });

  const portOf = (index: number): number => supervisor.ports[index] ?? 0;
  const call = (port: number, method: string, url: string, body?: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${url}`, {
      method,
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const create = async (name: string, port = portOf(0)): Promise<number> => {
    const answer = await call(port, 'POST', path, { name });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { data: { id: number } }).data.id;
  };
  const listed = async (name: string, port: number): Promise<boolean> => {
    const answer = await call(port, 'GET', `${path}?name=${name}`);
    return answer.status === 200 && (await answer.text()).includes(`"${name}"`);
  };
  const leads = async (index: number): Promise<boolean> =>
    /"state":"(?!standby)/.test(await (await fetch(`http://127.0.0.1:${portOf(index)}/ready`)).text());

  it('an API process serves the rows of a projector process; processes without the role have no API', async () => {
    await create('Served');
    expect(await listed('Served', portOf(1))).toBe(true);
    expect([await leads(0), await leads(1), await leads(4)]).toEqual([false, false, false]);
    for (const index of [2, 3, 4]) {
      expect((await call(portOf(index), 'GET', path)).status).toBe(404);
      expect((await fetch(`http://127.0.0.1:${portOf(index)}/health`)).status).toBe(200);
    }
  });

  it('a killed projector is replaced within 5 s', async () => {
    const leader = (await leads(2)) ? 2 : 3;
    supervisor.kill(leader);
    const killedMs = performance.now();
    await create('After-the-kill');
    while (!(await listed('After-the-kill', portOf(1)))) await sleep(20);
    const tookMs = Math.round(performance.now() - killedMs);
    console.log(`the read model continued ${tookMs} ms after its projector was killed`);
    expect(tookMs).toBeLessThan(TAKE_OVER_MS_MAX);
    await supervisor.ready();
  });

  it('two API processes behind a balancer restart one after the other: no request fails', async () => {
    const balancer = await startBalancer([portOf(0), portOf(1)]);
    while ((await fetch(`http://127.0.0.1:${balancer.port}/health`)).status !== 200) await sleep(20);
    await sleep(300);
    const failures: string[] = [];
    let requests = 0;
    let going = true;
    const client = async (index: number): Promise<void> => {
      for (let n = 0; going; n += 1) {
        const isWrite = n % 3 === 0;
        try {
          const answer = await (isWrite
            ? call(balancer.port, 'POST', path, { name: `rolling-${index}-${n}` })
            : call(balancer.port, 'GET', `${path}?take=5`));
          const text = await answer.text();
          if (answer.status !== (isWrite ? 201 : 200)) failures.push(`${answer.status} ${text}`);
        } catch (error) {
          failures.push(String(error));
        }
        requests += 1;
        await sleep(5);
      }
    };
    const clients = Array.from({ length: CLIENTS }, (_, index) => client(index));
    for (const index of [0, 1]) {
      const ended = supervisor.crashes + 1;
      supervisor.signal(index, 'SIGTERM');
      while (supervisor.crashes < ended) await sleep(20);
      await supervisor.ready();
      // Gives the balancer time to notice.
      await sleep(500);
    }
    going = false;
    await Promise.all(clients);
    await balancer.close();
    console.log(`${requests} requests, ${failures.length} failed, nodes removed ${balancer.takenOut} times`);
    expect(failures).toEqual([]);
    expect(balancer.takenOut).toBeGreaterThanOrEqual(2);
  });
});

describe('two API processes, two projectors and two workers, each killed in rotation under load', () => {
  it.each(['postgres', 'eventstoredb'] as const)(
    'events in %s: nothing lost or doubled, read models equal the folded streams',
    async (events) => {
      const report = await rolesRun({ seed: 7, events, rounds: ROUNDS });
      const { findings, ...figures } = report;
      console.log(JSON.stringify(figures));
      expect(Object.entries(findings).filter(([, found]) => found.length > 0)).toEqual([]);
      expect(report.kills).toBeGreaterThanOrEqual(6 * ROUNDS);
      expect(report.commands).toBeGreaterThan(50);
    },
    60_000 + ROUNDS * 30_000,
  );
});
