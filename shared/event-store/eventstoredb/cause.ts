import { doubtOf, isNotAuthenticated, isNotPermitted, messageOf } from './failure.ts';
import type { NodeFailure } from './find-leader.ts';

/** Texts for operators: no part of the connection string except the address of a node. */

const UNTRUSTED = /certificate|self[- ]signed|altnames|CERT_/i;
const NOT_TLS = /wrong version number|packet length too long|EPROTO|SSL routines|before secure TLS/i;
/** Text of grpc-js when the server closed an accepted connection before HTTP/2 began. */
const CLOSED_AT_ONCE = /Failed to connect|ECONNRESET|socket hang up/i;
const SYSTEM_ERROR = /\b(?:ECONN|EHOST|ENET|ETIMEDOUT|ENOTFOUND|EAI_)[A-Z_]*\b/;

/** In the order in which an operator must fix them: a wrong password hides a missing leader. */
const causes: readonly {
  readonly matches: (error: unknown) => boolean;
  readonly text: (node: string, error: unknown) => string;
}[] = [
  {
    matches: isNotAuthenticated,
    text: (node) => `${node} refuses the user name or the password of EVENTSTORE_URL`,
  },
  {
    matches: isNotPermitted,
    text: (node) => `${node} does not let the user of EVENTSTORE_URL read $all: add it to $all's readRoles`,
  },
  {
    matches: (error) => UNTRUSTED.test(messageOf(error)),
    text: (node, error) =>
      `the certificate of ${node} is not trusted (${reasonOf(error)}): set tlsCAFile to its authority's certificate`,
  },
  {
    matches: (error) => NOT_TLS.test(messageOf(error)),
    text: (node) => `${node} does not speak TLS: set tls=false, or give the server a certificate`,
  },
  {
    matches: (error) => doubtOf(error) === 'not-leading',
    text: () => 'no node leads: the cluster has no majority, or an election is under way',
  },
  {
    matches: (error) => doubtOf(error) === 'silent',
    text: (node) => `${node} takes connections but does not answer`,
  },
  {
    matches: (error) => CLOSED_AT_ONCE.test(messageOf(error)),
    text: (node) =>
      `${node} closes connections at once: it is starting, or it expects TLS and tls=false is set`,
  },
  {
    matches: (error) => doubtOf(error) === 'broken',
    text: (node, error) => `${node} cannot be reached (${reasonOf(error)})`,
  },
  { matches: () => true, text: (node, error) => `${node} fails: ${messageOf(error)}` },
];

const LINE_CHARS_MAX = 200;

const reasonOf = (error: unknown): string => {
  const text = messageOf(error);
  const system = SYSTEM_ERROR.exec(text)?.[0];
  if (system !== undefined) return system;
  const [, last = text] = /Last error: (?:Error: )?(.*?)\.? Resolution note/s.exec(text) ?? [];
  return last.replaceAll(/\s+/g, ' ').slice(0, LINE_CHARS_MAX);
};

export const causeOfNodes = (failures: readonly NodeFailure[]): string => {
  for (const { matches, text } of causes) {
    const found = failures.find(({ error }) => matches(error));
    if (found === undefined) continue;
    const { address, port } = found.endpoint;
    return text(`${address}:${port}`, found.error);
  }
  return 'no node is known';
};
