import { expect } from '@jest/globals';
import { goodKey, type ToyService } from './toy-service.ts';

export const authorized = { Authorization: `Bearer ${goodKey}` };

export interface Envelope {
  readonly data: unknown;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly field?: string;
    readonly details?: { readonly issues?: readonly unknown[] };
  } | null;
}

export interface ToyClient {
  call(method: string, path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, body: string | Uint8Array, headers?: Record<string, string>): Promise<Response>;
}

/** Calls a toy service with its valid key, unless other headers are given. */
export const toyClient = (service: () => ToyService): ToyClient => ({
  call: (method, path, headers = authorized) => fetch(service().url + path, { method, headers }),
  post: (path, body, headers = {}) =>
    fetch(service().url + path, {
      method: 'POST',
      body,
      headers: { ...authorized, 'Content-Type': 'application/json', ...headers },
    }),
});

/** The envelope of an answer, which must have exactly its two members. */
export const envelopeOf = async (answer: Response): Promise<Envelope> => {
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const envelope = (await answer.json()) as Envelope;
  expect(Object.keys(envelope)).toEqual(['data', 'error']);
  return envelope;
};

/** Status, code and field of a refusal. */
export const refusal = async (answer: Response): Promise<readonly [number, string, string | undefined]> => {
  const { data, error } = await envelopeOf(answer);
  expect(data).toBeNull();
  return [answer.status, error?.code ?? '', error?.field];
};
