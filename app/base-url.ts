import type { Config } from './config.ts';

/** @param port that the service listens on */
export const baseUrlOf = ({ BASE_URL, HOST }: Pick<Config, 'BASE_URL' | 'HOST'>, port: number): string =>
  BASE_URL ?? `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${port}`;
