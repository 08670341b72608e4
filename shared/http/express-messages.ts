import { IncomingMessage, ServerResponse, type ServerOptions } from 'node:http';
import type { Express } from 'express';

/**
 * Request and response classes for the server of an Express application. Express replaces the prototype of each
 * request and response, so V8 loses its optimizations for their members. That costs several times what Node needs for
 * a request (https://github.com/expressjs/express/issues/5998; figures in test/bench/results/notes.md). These classes have
 * the prototype of Express from the start, so the replacement changes nothing.
 */
export const messagesOf = (app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> => {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  app.request = behind(app.request, AppRequest.prototype);
  app.response = behind(app.response, AppResponse.prototype);
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse } as Pick<
    ServerOptions,
    'IncomingMessage' | 'ServerResponse'
  >;
};

const behind = <Message extends object>(ofExpress: Message, ofClass: object): Message =>
  Object.setPrototypeOf(ofClass, ofExpress) as Message;
