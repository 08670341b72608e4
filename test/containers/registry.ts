import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { until, type Docker } from './docker.ts';
import { OUTSIDE_IMAGE } from './images.ts';

/** Debian's registry. Docker needs no TLS for one of this machine. @returns its host and port */
export const startRegistry = async (docker: Docker, port: number): Promise<string> => {
  const config = `${join(packageDirectory, 'test/containers/outside/registry.yml')}:/registry.yml:ro`;
  const command = ['docker-registry', 'serve', '/registry.yml'];
  const host = `127.0.0.1:${port}`;
  const options = ['--detach', '--name', 'registry', '--publish', `${host}:5000`, '--volume', config];
  await docker('run', ...options, OUTSIDE_IMAGE, ...command);
  await until('the registry answers', async () =>
    fetch(`http://${host}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return host;
};

/** Builds and pushes the image. It does not stay here, so that it must be pulled. */
export const pushImage = async (docker: Docker, name: string): Promise<void> => {
  await docker('build', '--network', 'host', '--tag', name, packageDirectory);
  await docker('push', name);
  await docker('rmi', name);
};
