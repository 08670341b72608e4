import type { OutgoingHttpHeader, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { RequestClient } from './client.ts';
import { inTime } from './deadline.ts';
import { exchangeOf } from './http-exchange.ts';
import { isAfterLastAnswer } from './last-answer.ts';
import { refuseForbidden } from './refuse-forbidden.ts';
import type { HandedOverRoute } from './route.ts';
import type { RouteServices } from './route-handler.ts';

export const handedOverHandler =
  (route: HandedOverRoute, { gate, origins, site, log }: RouteServices): RequestHandler =>
  async (request, response) => {
    const exchange = exchangeOf(response);
    const { requestId } = exchange;
    exchange.pattern = route.path;
    exchange.errorForm = route.errors;
    const admitted = Promise.resolve(gate.admit(route, request, response, origins));
    const principal = await inTime(admitted, (error) =>
      log.warn({ err: error, requestId, route: route.path }, 'failed after it was answered 503'),
    );
    exchange.principal = principal;
    refuseForbidden(route, request, principal, site);
    keepHeaders(response);
    if (request.headers.expect !== undefined) response.writeContinue();
    await route.serve(request, response, {
      requestId,
      principal,
      client: new RequestClient(request, gate.clientAddress),
    });
  };

/** Some answerers remove all headers before they answer an error. */
const keepHeaders = (response: ServerResponse): void => {
  const kept = Object.entries(response.getHeaders());
  const writeHead = response.writeHead.bind(response) as (...head: unknown[]) => ServerResponse;
  response.writeHead = (...head: unknown[]): ServerResponse => {
    for (const [name, value] of kept) setIfMissing(response, name, value);
    if (isAfterLastAnswer(response.req)) setIfMissing(response, 'Connection', 'close');
    return writeHead(...head);
  };
};

const setIfMissing = (
  response: ServerResponse,
  name: string,
  value: OutgoingHttpHeader | undefined,
): void => {
  if (value !== undefined && !response.hasHeader(name)) response.setHeader(name, value);
};
