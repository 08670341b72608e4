import type { Settings } from '../containers/deployment.ts';

/** It keeps programs, the base system and images for the next run. Not that of `test:containers`, which may run, too. */
export const FOLDER = '/var/tmp/buyer-exchange-cluster';

/** The name of the node. */
export const NODE = 'node';

/** The first container of each pod, which only waits. */
export const PAUSE_IMAGE = 'pause:local';

export interface Prepared {
  /** The folder of Kubernetes' programs. */
  readonly programs: string;
  readonly kubectl: string;
  /** The folder of Docker's client. */
  readonly config: string;
  readonly settings: Settings;
  /** Of the services of `docker-compose.yml`. */
  readonly images: Settings;
}
