import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OtherOrigin {
  readonly url: string;
  stop(): void;
}

/** Another origin: the callback of an OAuth client, and a page that attacks. `/cookie` sets one like that of a session. */
export const startOtherOrigin = async (): Promise<OtherOrigin> => {
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html');
    if (request.url === '/cookie')
      response.setHeader('Set-Cookie', '__Host-probe=1; Secure; HttpOnly; Path=/; SameSite=Lax');
    response.end('<!doctype html><body>another origin');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
