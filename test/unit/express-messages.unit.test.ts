import { Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Request, type Response } from 'express';
import { messagesOf } from '../../shared/http/express-messages.ts';

it('requests and responses have the prototypes of Express before Express handles them', () => {
  const app = express();
  const { IncomingMessage: AppRequest, ServerResponse: AppResponse } = messagesOf(app);
  if (AppRequest === undefined || AppResponse === undefined) throw new Error('no classes');
  const request = new AppRequest(new Socket());
  const response = new AppResponse(request);
  request.method = 'GET';
  request.url = '/things/7?a=b';
  expect([request instanceof IncomingMessage, response instanceof ServerResponse]).toEqual([true, true]);
  const before = [Object.getPrototypeOf(request), Object.getPrototypeOf(response)];

  let seen: { readonly request: Request; readonly response: Response } | undefined;
  app.use((given, answer) => {
    seen = { request: given, response: answer };
  });
  app(request as Request, response as Response);

  expect([Object.getPrototypeOf(request), Object.getPrototypeOf(response)]).toEqual(before);
  expect(before).toEqual([app.request, app.response]);
  expect([seen?.request.path, seen?.request.app, typeof seen?.response.json]).toEqual([
    '/things/7',
    app,
    'function',
  ]);
});
