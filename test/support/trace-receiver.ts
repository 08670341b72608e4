import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const Attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]])));
const nanoseconds = z.string().regex(/^\d+$/).transform(BigInt);

/** What OTLP/HTTP in JSON must be; ids are hexadecimal. */
const Spans = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string().regex(/^[0-9a-f]{32}$/),
              spanId: z.string().regex(/^[0-9a-f]{16}$/),
              parentSpanId: z.string().optional(),
              name: z.string().min(1),
              kind: z.int().min(1).max(5),
              startTimeUnixNano: nanoseconds,
              endTimeUnixNano: nanoseconds,
              attributes: Attributes,
            }),
          ),
        }),
      ),
    }),
  ),
});

type Batch = z.output<typeof Spans>['resourceSpans'][number];

export type ReceivedSpan = Batch['scopeSpans'][number]['spans'][number] & {
  readonly resource: Batch['resource']['attributes'];
};

export interface TraceReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Everything that was received. */
  text(): string;
  stop(): Promise<void>;
}

/** Takes spans over OTLP/HTTP as a collector does, and refuses those with another form. */
export const startTraceReceiver = async (): Promise<TraceReceiver> => {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { success, data } = Spans.safeParse(JSON.parse(body));
      bodies.push(body);
      for (const { resource, scopeSpans } of data?.resourceSpans ?? []) {
        for (const one of scopeSpans.flatMap((scope) => scope.spans)) {
          spans.push({ ...one, resource: resource.attributes });
        }
      }
      response.writeHead(success && request.url === '/v1/traces' ? 200 : 400, {
        'Content-Type': 'application/json',
      });
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => bodies.join('\n'),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
