import type { LookupFunction } from 'node:net';
import { isLoopbackAddress, isPublicAddress, type OutboundPolicy } from './outbound-url.ts';
import { OutboundError } from './outbound-error.ts';
import { createNameResolver, type ResolveName } from './resolve-name.ts';

/** One for the process: its limits hold for everything that names a host of the outside. */
const resolveName = createNameResolver();

/**
 * Checks the addresses that the connection uses: a name cannot pass with a public address and resolve to a
 * private one afterwards. Node does not call it for IP addresses: `urlProblem` checks those.
 */
export const guardedLookup =
  ({ allowLoopback }: OutboundPolicy, resolve: ResolveName = resolveName): LookupFunction =>
  (name, options, answer) => {
    const mayConnect = (address: string): boolean =>
      isPublicAddress(address) || (allowLoopback && name === 'localhost' && isLoopbackAddress(address));
    resolve(name, (error, addresses = []) => {
      const [first] = addresses;
      if (error !== null || first === undefined) {
        answer(new OutboundError('unreachable', { cause: error }), '', 0);
      } else if (!addresses.every(({ address }) => mayConnect(address))) {
        answer(new OutboundError('unreachable', { cause: new Error('a private address') }), '', 0);
      } else if (options.all === true) {
        answer(null, [...addresses]);
      } else {
        answer(null, first.address, first.family);
      }
    });
  };
