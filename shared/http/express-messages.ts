import { IncomingMessage, ServerResponse, type ServerOptions } from 'node:http';
import type { Express } from 'express';

/**
 * The classes of requests and answers for the server of an Express application. Express changes the prototype of each
 * request and each answer when it comes, and from then on V8 finds none of their members where it did before. That costs
 * several times what Node needs for a request (https://github.com/expressjs/express/issues/5998; figures in
 * docs/performance.md). These classes have that prototype from the start, so Express' own call changes nothing.
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

/** @returns the class' prototype, which has from now on all that Express' own has */
const behind = <Message extends object>(ofExpress: Message, ofClass: object): Message =>
  Object.setPrototypeOf(ofClass, ofExpress) as Message;
