import { z } from 'zod';
import { say } from '../containers/write-and-kill.ts';
import type { Cluster } from './cluster.ts';
import { COMPONENTS, inExchange, podsOf } from './exchange.ts';

/** What the cluster does with what the manifests ask for. */

const MIB = 1_048_576;

/** A pod reaches the API by the name of its Service. */
export const checkService = async ({ kubectl }: Cluster): Promise<void> => {
  const script = `fetch('http://exchange-api.exchange/ready').then(({ status }) => console.log(status))`;
  const status = await kubectl(...inExchange, 'exec', 'deploy/exchange-worker', '--', 'node', '-e', script);
  if (status !== '200') throw new Error(`the Service answers ${status}`);
  say('a pod reaches the API through its Service');
};

/** The pods were admitted by the policy for restricted ones, which refuses others. */
export const checkAdmission = async (cluster: Cluster): Promise<void> => {
  const { kubectl } = cluster;
  const pods = await podsOf(cluster);
  for (const pod of pods) {
    const policy = await kubectl(
      ...inExchange,
      'get',
      'pod',
      pod,
      '--output',
      String.raw`jsonpath={.metadata.annotations.kubernetes\.io/psp}`,
    );
    if (policy !== 'restricted') throw new Error(`${pod} was admitted by ${policy}`);
  }
  await kubectl(
    ...inExchange,
    'create',
    'rolebinding',
    'edit',
    '--clusterrole=edit',
    '--serviceaccount=exchange:default',
  );
  const other = [
    'run',
    'other',
    '--image=other',
    '--dry-run=server',
    '--as=system:serviceaccount:exchange:default',
  ];
  const refusal = await kubectl(...inExchange, ...other).catch(String);
  if (!refusal.includes('unable to admit pod')) throw new Error(`a pod without restrictions: ${refusal}`);
  say(`${pods.length} pods were admitted as restricted; one without restrictions is not`);
};

const INSPECT = `const { readFileSync, writeFileSync } = require('fs');
const writes = (folder) => { try { writeFileSync(folder + '/written', ''); return 'yes'; } catch ({ code }) { return code; } };
const status = readFileSync('/proc/1/status', 'utf8');
const of = (name) => new RegExp('^' + name + ':\\\\s+(\\\\w+)', 'm').exec(status)[1];
console.log(JSON.stringify({ user: of('Uid'), capabilities: of('CapBnd'), noNewPrivileges: of('NoNewPrivs'), seccomp: of('Seccomp'),
  app: writes('/app'), data: writes('/data'), tmp: writes('/tmp'),
  memory: Number(readFileSync('/sys/fs/cgroup/memory/memory.limit_in_bytes', 'utf8')) }));`;

const Inspected = z.strictObject({
  user: z.literal('1000'),
  capabilities: z.literal('0000000000000000'),
  noNewPrivileges: z.literal('1'),
  /** A filter. */
  seccomp: z.literal('2'),
  app: z.literal('EROFS'),
  data: z.literal('yes'),
  tmp: z.literal('yes'),
  memory: z.number(),
});

/** More than any limit, in parts that are written to. */
const TAKE_MEMORY = 'const all = []; for (;;) all.push(Buffer.alloc(16 * 1048576, 1));';

/** What confines the processes: user, capabilities, file system, memory. */
export const checkLimits = async ({ kubectl }: Cluster): Promise<void> => {
  const exec = (component: string, script: string): Promise<string> =>
    kubectl(...inExchange, 'exec', `deploy/${component}`, '--', 'node', '-e', script);
  for (const component of COMPONENTS) {
    const { memory } = Inspected.parse(JSON.parse(await exec(component, INSPECT)));
    const limit = await kubectl(
      ...inExchange,
      'get',
      'deployment',
      component,
      '--output',
      'jsonpath={.spec.template.spec.containers[0].resources.limits.memory}',
    );
    if (memory !== Number.parseInt(limit, 10) * MIB)
      throw new Error(`${component}: ${memory} bytes, not ${limit}`);
    say(`${component}: user, capabilities, read-only file system and ${limit} are in force`);
  }
  const ended = await exec('exchange-worker', TAKE_MEMORY).catch(String);
  if (!ended.includes('exit code 137')) throw new Error(`a process that takes more memory: ${ended}`);
  say('a process that takes more memory is killed');
};
