import { IncomingMessage, ServerResponse, type ServerOptions } from 'node:http';
import type { Express } from 'express';

/**
 * Express replaces the prototype of each message, and V8 loses its optimizations: these have it from the
 * start (https://github.com/expressjs/express/issues/5998; docs/design/records/0010-express-messages.md).
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
