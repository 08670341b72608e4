import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { GrpcStatus } from './grpc-status.ts';

/** The answer to a read: messages at the pace of the client, until either side ends it. */
export interface Outgoing {
  readonly isOver: boolean;
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  /** Resolves when there is room for more, or it is over. */
  send(message: ReadResp): Promise<void>;
  /** Ends with a status, or with OK. */
  end(status?: GrpcStatus): void;
}

export const createOutgoing = (call: ServerWritableStream<ReadReq, ReadResp>): Outgoing => {
  let isOver = false;
  let finish = (): void => {};
  const over = new Promise<void>((resolve) => {
    finish = () => {
      isOver = true;
      resolve();
    };
  });
  call.on('cancelled', finish).on('close', finish).on('error', finish);
  return {
    get isOver() {
      return isOver;
    },
    over,
    send: async (message) => {
      if (isOver || call.write(message)) return;
      await Promise.race([over, new Promise<void>((resolve) => call.once('drain', resolve))]);
    },
    end: (status) => {
      if (isOver) return;
      finish();
      if (status === undefined) call.end();
      else call.emit('error', status);
    },
  };
};
