import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { fetchCompose, fetchKubectl } from '../containers/debian-programs.ts';
import { imagesOf } from '../containers/deployment.ts';
import { run, startDocker } from '../containers/docker.ts';
import { makeImages, OUTSIDE_IMAGE } from '../containers/images.ts';
import { imageNamesOf, makeSettings, timed } from '../containers/prepare.ts';
import { s3Settings } from '../containers/s3-store.ts';
import { FOLDER, PAUSE_IMAGE, type Prepared } from './prepared.ts';
import { buildPrograms } from './programs.ts';

/**
 * `npm run test:cluster`: follows docs/deploy/kubernetes.md against a Kubernetes cluster of one node, which it builds from
 * Debian's packages. Exits with status 1 if a command of the page fails, a write is lost or doubled, a rollout fails a request,
 * or the cluster does not do what the manifests ask for.
 */

/** What needs the network: programs and images. The cluster has none. */
const prepare = async (): Promise<Prepared> => {
  const programs = await timed('the programs of Kubernetes', () => buildPrograms(FOLDER));
  const config = await fetchCompose(FOLDER);
  const settings = { ...(await makeSettings(FOLDER, 0)), ...s3Settings };
  // It builds without a network, or with that of this machine: another daemon may run here, with the bridge of this name.
  const docker = await startDocker(FOLDER, config, { bridge: 'none', iptables: 'false' });
  try {
    const images = await imagesOf(docker, settings);
    await timed('stand-ins of published images', async () =>
      makeImages(docker, FOLDER, await imageNamesOf(images)),
    );
    const pause = join(FOLDER, 'pause');
    await mkdir(pause, { recursive: true });
    const command = `trap 'exit 0' TERM; sleep infinity & wait`;
    await writeFile(
      join(pause, 'Dockerfile'),
      `FROM ${OUTSIDE_IMAGE}\nCMD ${JSON.stringify(['sh', '-c', command])}\n`,
    );
    await docker('build', '--tag', PAUSE_IMAGE, pause);
    await timed('the image', () =>
      docker('build', '--network', 'host', '--tag', images['api'] ?? '', packageDirectory),
    );
    return { programs, config, settings, images, kubectl: await fetchKubectl(FOLDER) };
  } finally {
    await docker.stop();
  }
};

const prepared = await prepare();
const file = join(FOLDER, 'prepared.json');
await writeFile(file, JSON.stringify(prepared), { mode: 0o600 });
// Processes, mounts, bridges and rules of the packet filter end with the first process, also when that is killed.
const apart = ['--net', '--mount', '--pid', '--uts', '--fork', '--kill-child', '--mount-proc'];
const inside = join(import.meta.dirname, 'inside.js');
const child = spawn('unshare', [...apart, process.execPath, inside, file], { stdio: 'inherit' });
const [status] = (await once(child, 'exit')) as [number | null];
// The kubelet's control groups, which are in no namespace.
await run('sh', ['-c', `find /sys/fs/cgroup -depth -type d -path '*/kubepods*' -exec rmdir {} +`]);
process.exit(status ?? 1);
