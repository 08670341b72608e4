import { IncomingMessage, ServerResponse, type ServerOptions } from 'node:http';
import type { Express } from 'express';

/**
 * The classes of requests and answers for the server of an Express application. Express gives each request and each
 * answer another prototype when it comes, and from then on V8 finds nothing of them where it did before: neither in
 * Node's own code nor in ours. That alone costs several times what Node needs for a request (docs/performance.md, What
 * was tried). Here they have that prototype from the start, so that giving it to them once more
 * changes nothing; all that Express puts on requests and answers is there as always.
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
