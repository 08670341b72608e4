import { once } from 'node:events';
import { createServer } from 'node:net';

export class ListenError extends Error {
  override readonly name = 'ListenError';
}

export const listenErrorOf = (
  { code = 'unknown' }: NodeJS.ErrnoException,
  host: string,
  port: number,
  setting = 'PORT',
): ListenError => new ListenError(sentenceOf(code, host, port, setting));

const sentenceOf = (code: string, host: string, port: number, setting: string): string => {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use by another program: stop it, or set ${setting} to another port.`;
    case 'EACCES':
      return `Port ${port} needs more rights than this user has: set ${setting} to 1024 or more.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${setting.replace('PORT', 'HOST')}: this machine has no address ${host} (${code}).`;
    default:
      return `Cannot listen on ${host} port ${port} (${code}): set another address.`;
  }
};

/** Finds a wrong address before anything is created. @throws ListenError */
export const refuseUnusableAddress = async (host: string, port: number): Promise<void> => {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenErrorOf(error as NodeJS.ErrnoException, host, port);
  }
  server.close();
  await once(server, 'close');
};
