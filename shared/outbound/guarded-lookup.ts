import { lookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isLoopbackAddress, isPublicAddress, type OutboundPolicy } from './outbound-url.ts';
import { OutboundError } from './outbound-error.ts';

/** How names are resolved; replaced in tests by names that lead where they should not. */
export type ResolveName = (
  name: string,
  /** Without addresses when there is an error. */
  onAnswer: (error: Error | null, addresses?: readonly LookupAddress[]) => void,
) => void;

const systemResolve: ResolveName = (name, onAnswer) =>
  lookup(name, { all: true, verbatim: true }, (error, addresses) => onAnswer(error, addresses));

/**
 * The look-up of a connection: it connects to what was judged here, so a name that leads to a public address when
 * it is looked at and to a private one a moment later gains nothing. One private address among several is enough
 * to refuse the name.
 *
 * Node does not ask it for hosts that are addresses already: those are judged before (`urlProblem`).
 */
export const guardedLookup =
  ({ allowLoopback }: OutboundPolicy, resolve: ResolveName = systemResolve): LookupFunction =>
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
